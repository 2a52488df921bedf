//! Points' way back to the host.

use cuzk_backend::BackendError;
use cuzk_curve::Group;
use cuzk_gpu::{Buffer, Grid};

use super::kernels;
use crate::CudaBackend;
use crate::error::failure;
use crate::memory::{coordinate_words, coordinates};

impl CudaBackend {
    /// Brings points in XYZZ coordinates to the host.
    pub(super) fn results<G: Group>(
        &self,
        values: &Buffer<u64>,
        count: usize,
    ) -> Result<Vec<G::Projective>, BackendError> {
        let words = 3 * coordinate_words::<G>();
        let jacobian = self.stream.alloc::<u64>(count * words).map_err(failure)?;
        let arguments = [values.into(), (count as u32).into(), (&jacobian).into()];
        self.launch(kernels::<G>().jacobian, Grid::over(count, 64), &arguments)?;
        let mut host = vec![0; count * words];
        self.stream
            .download(&jacobian, &mut host)
            .map_err(failure)?;
        let point = |words: &[u64]| {
            let [x, y, z] = coordinates::<G, 3>(words);
            G::from_jacobian(x, y, z)
        };
        Ok(host.chunks_exact(words).map(point).collect())
    }
}
