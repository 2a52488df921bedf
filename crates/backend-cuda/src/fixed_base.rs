//! Many multiples of one point.

use cuzk_backend::{BackendError, FixedBase};
use cuzk_curve::{Fr, Group};
use cuzk_gpu::{Argument, Buffer, Grid};
use rayon::prelude::*;

use crate::CudaBackend;
use crate::error::failure;
use crate::memory::{coordinates, coordinates_to_words, elements};
use crate::msm::{affine_words, kernels};

/// Windows of eight bits in a scalar.
const WINDOWS: u32 = 32;
/// Scalars that a thread multiplies.
const BATCH: usize = 8;
/// Scalars of a launch at most.
const MAX_PART: usize = 1 << 22;
/// The part of the free memory that a launch's scalars and points may take.
const MEMORY: usize = 4;

impl CudaBackend {
    fn multiples_of<G: Group>(
        &self,
        base: &G::Affine,
        scalars: &[Fr],
    ) -> Result<Vec<G::Affine>, BackendError> {
        let words = affine_words::<G>();
        let (x, y) = G::coordinates(base);
        let base = self
            .stream
            .upload(&coordinates_to_words::<G>(&[x, y]))
            .map_err(failure)?;
        let table = self
            .stream
            .alloc::<u64>(((WINDOWS as usize) << 8) * words)
            .map_err(failure)?;
        let arguments = [Argument::from(&base), (&table).into()];
        // SAFETY: the table holds 256 points a window; a block makes those of one.
        unsafe {
            self.stream.launch(
                kernels::<G>().multiples,
                Grid::of(WINDOWS, 256, 0),
                &arguments,
            )
        }
        .map_err(failure)?;
        let mut out = Vec::with_capacity(scalars.len());
        let each = size_of::<Fr>() + words * size_of::<u64>();
        let part = (self.device().memory().0 / MEMORY / each).clamp(1, MAX_PART);
        for part in scalars.chunks(part) {
            self.multiply_part::<G>(&table, part, &mut out)?;
        }
        Ok(out)
    }

    fn multiply_part<G: Group>(
        &self,
        table: &Buffer<u64>,
        scalars: &[Fr],
        out: &mut Vec<G::Affine>,
    ) -> Result<(), BackendError> {
        let words = affine_words::<G>();
        let scalars = self.stream.upload(elements(scalars)).map_err(failure)?;
        let points = self
            .stream
            .alloc::<u64>(scalars.len() * words)
            .map_err(failure)?;
        let count = scalars.len() as u32;
        let arguments = [
            Argument::from(table),
            (&scalars).into(),
            count.into(),
            (&points).into(),
        ];
        let grid = Grid::over(scalars.len().div_ceil(BATCH), 128);
        // SAFETY: the table has all windows; `points` holds a point a scalar; a thread takes `BATCH` of them.
        unsafe {
            self.stream
                .launch(kernels::<G>().multiply, grid, &arguments)
        }
        .map_err(failure)?;
        let mut host = vec![0; points.len()];
        self.stream.download(&points, &mut host).map_err(failure)?;
        let point = |words: &[u64]| {
            let [x, y] = coordinates::<G, 2>(words);
            G::from_coordinates(x, y)
        };
        out.par_extend(host.par_chunks_exact(words).map(point));
        Ok(())
    }
}

impl FixedBase for CudaBackend {
    fn fixed_base<G: Group>(
        &self,
        base: &G::Affine,
        scalars: &[Fr],
    ) -> Result<Vec<G::Affine>, BackendError> {
        // Callers overlap pieces, so each has a lane of its own.
        self.lane()?.multiples_of::<G>(base, scalars)
    }
}
