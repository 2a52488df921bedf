//! Sums of many points, and their way back to the host.

use cuzk_backend::BackendError;
use cuzk_curve::Group;
use cuzk_gpu::{Buffer, Grid};

use super::{kernels, xyzz_words};
use crate::CudaBackend;
use crate::error::failure;
use crate::memory::{coordinate_words, coordinates};

/// Values that one block of a fold adds up, where a row has more.
const FOLD_ROW: usize = 512;

impl CudaBackend {
    /// The sum of each of `rows` rows of `length` points in XYZZ coordinates, a power of two.
    pub(super) fn fold<G: Group>(
        &self,
        mut values: Buffer<u64>,
        rows: usize,
        mut length: usize,
    ) -> Result<Buffer<u64>, BackendError> {
        let names = kernels::<G>();
        while length > 1 {
            let part = length.min(FOLD_ROW);
            length /= part;
            let blocks = rows * length;
            let out = self
                .stream
                .alloc(blocks * xyzz_words::<G>())
                .map_err(failure)?;
            let grid = Grid::of(blocks as u32, names.fold_threads, 0);
            self.launch(
                names.fold,
                grid,
                &[(&values).into(), (part as u32).into(), (&out).into()],
            )?;
            values = out;
        }
        Ok(values)
    }

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
