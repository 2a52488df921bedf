//! Sums of the buckets and of the windows.

use cuzk_backend::BackendError;
use cuzk_curve::Group;
use cuzk_gpu::{Argument, Buffer, Grid};
use group::Group as _;

use super::sort::ScalarList;
use super::{Plan, Points, kernels, xyzz_words};
use crate::CudaBackend;
use crate::error::failure;

/// Chunks of the list of digits: enough to fill the largest device several times.
const CHUNKS: usize = 1 << 19;
/// Digits of a chunk at least.
const MIN_CHUNK: usize = 16;
/// Partial sums of a chunk.
const PARTIAL_CHUNK: usize = 8;
/// Runs of buckets that fill the largest device.
const RUNS: usize = 20_000;
/// Digits that a list may have: their places are counted in 32 bits.
const MAX_DIGITS: usize = u32::MAX as usize;

impl CudaBackend {
    /// The sum of scalars times points.
    pub(super) fn multiply_scalars<G: Group>(
        &self,
        points: &Points<G>,
        list: &ScalarList<'_>,
    ) -> Result<G::Projective, BackendError> {
        let plan = Plan::new(list.count);
        if list.count == 0 {
            return Ok(G::Projective::identity());
        }
        if list.count.saturating_mul(plan.windows as usize) > MAX_DIGITS {
            return Err(BackendError::Length {
                what: "digits of a multi-scalar multiplication (at most)",
                wanted: MAX_DIGITS,
                found: list.count.saturating_mul(plan.windows as usize),
            });
        }
        let entries = self.sort_digits(list, plan)?;
        if entries.count == 0 {
            return Ok(G::Projective::identity());
        }
        let words = xyzz_words::<G>();
        let buckets = self
            .stream
            .zeros::<u64>(plan.buckets() * words)
            .map_err(failure)?;
        let names = kernels::<G>();
        if self.pairs_pay::<G>(&entries, plan) {
            let sums = self.add_pairs(points, entries, plan)?;
            let list = [(&sums.keys).into(), (&sums.points).into()];
            self.fill::<G>(&buckets, names.accumulate_affine, list, sums.count)?;
        } else {
            let list = [(&entries.entries).into(), (&points.words).into()];
            self.fill::<G>(&buckets, names.accumulate, list, entries.count)?;
        }
        self.sum_windows::<G>(&buckets, plan)
    }

    /// Sums a sorted list of `count` points by bucket; buckets without a point are left as they are.
    fn fill<G: Group>(
        &self,
        buckets: &Buffer<u64>,
        kernel: &'static str,
        list: [Argument<'_>; 2],
        count: usize,
    ) -> Result<(), BackendError> {
        let words = xyzz_words::<G>();
        let names = kernels::<G>();
        let length = count.div_ceil(CHUNKS).max(MIN_CHUNK);
        let (mut chunks, mut keys, mut sums) = self.partials(count, length, words)?;
        let arguments = [
            list[0],
            list[1],
            (length as u32).into(),
            (count as u32).into(),
            buckets.into(),
            (&keys).into(),
            (&sums).into(),
        ];
        self.launch(kernel, Grid::over(chunks, 128), &arguments)?;
        while chunks > 1 {
            let count = 2 * chunks;
            let (next_chunks, next_keys, next_sums) = self.partials(count, PARTIAL_CHUNK, words)?;
            let arguments = [
                (&keys).into(),
                (&sums).into(),
                (PARTIAL_CHUNK as u32).into(),
                (count as u32).into(),
                buckets.into(),
                (&next_keys).into(),
                (&next_sums).into(),
            ];
            self.launch(
                names.accumulate_partial,
                Grid::over(next_chunks, 128),
                &arguments,
            )?;
            (chunks, keys, sums) = (next_chunks, next_keys, next_sums);
        }
        Ok(())
    }

    /// The number of chunks of a list, and room for two partial sums of each.
    fn partials(
        &self,
        count: usize,
        length: usize,
        words: usize,
    ) -> Result<(usize, Buffer<u32>, Buffer<u64>), BackendError> {
        let chunks = count.div_ceil(length);
        let keys = self.stream.alloc(2 * chunks).map_err(failure)?;
        let sums = self.stream.alloc(2 * chunks * words).map_err(failure)?;
        Ok((chunks, keys, sums))
    }

    /// The sum of digit times bucket over each window, and then over the windows.
    fn sum_windows<G: Group>(
        &self,
        buckets: &Buffer<u64>,
        plan: Plan,
    ) -> Result<G::Projective, BackendError> {
        let log_buckets = plan.log_buckets();
        // Long runs take fewer additions, short ones more threads.
        let runs = (plan.buckets() / RUNS).max(1).ilog2();
        let log_length = runs.min(log_buckets);
        let log_row = log_buckets - log_length;
        let threads = (plan.windows as usize) << log_row;
        let parts = self
            .stream
            .alloc(threads * xyzz_words::<G>())
            .map_err(failure)?;
        let arguments = [
            buckets.into(),
            log_buckets.into(),
            log_length.into(),
            plan.windows.into(),
            (&parts).into(),
        ];
        self.launch(kernels::<G>().reduce, Grid::over(threads, 128), &arguments)?;
        let windows = self.fold::<G>(parts, plan.windows as usize, 1 << log_row)?;
        let sums = self.results::<G>(&windows, plan.windows as usize)?;
        let shift = |sum: G::Projective| (0..plan.width).fold(sum, |sum, _| sum.double());
        let identity = G::Projective::identity();
        Ok(sums
            .into_iter()
            .rev()
            .fold(identity, |total, window| shift(total) + window))
    }
}
