//! Halving the buckets' lists by batched-affine additions, before what is left is summed in XYZZ coordinates.

use cuzk_backend::BackendError;
use cuzk_curve::Group;
use cuzk_gpu::{Argument, Buffer, Grid};

use super::sort::Entries;
use super::{Plan, Points, affine_words, kernels};
use crate::CudaBackend;
use crate::error::failure;

/// A round costs a dozen launches and the latency of an inversion, so shorter lists are left to XYZZ additions.
const MIN_ITEMS: usize = 1 << 19;
/// The mean length of a bucket's list below which rounds copy more than they add.
const MIN_MEAN: usize = 2;
/// Sums that share a thread's product at most.
const MAX_BATCH: usize = 24;
/// Threads that fill the largest device.
const FILL: usize = 1 << 17;
/// Threads of an inversion at most that each invert on their own.
const INVERTERS: usize = 1 << 14;

/// A sorted list of affine points with their buckets.
pub(super) struct Sums {
    /// The bucket of each point.
    pub keys: Buffer<u32>,
    /// The points.
    pub points: Buffer<u64>,
    /// Number of points.
    pub count: usize,
}

/// What a round reads: where the buckets' lists start, and no more than how many items there are.
struct Items {
    starts: Buffer<u32>,
    bound: usize,
    /// The last round's sums; none before the first, whose items are the digits.
    sums: Option<(Buffer<u32>, Buffer<u64>)>,
}

impl CudaBackend {
    /// Whether rounds of pairs pay for a list of digits, and their workspace fits.
    pub(super) fn pairs_pay<G: Group>(&self, entries: &Entries, plan: Plan) -> bool {
        let bytes = entries.count / 2 * (8 * affine_words::<G>() * 2);
        entries.count >= MIN_ITEMS
            && entries.count < 1 << 31
            && entries.count > MIN_MEAN * plan.buckets()
            && bytes < self.stream.device().memory().0 / 2
    }

    /// Halves the lists of digits until they are short.
    pub(super) fn add_pairs<G: Group>(
        &self,
        points: &Points<G>,
        entries: Entries,
        plan: Plan,
    ) -> Result<Sums, BackendError> {
        let Entries {
            entries,
            count,
            starts,
        } = entries;
        let mut items = Items {
            starts,
            bound: count,
            sums: None,
        };
        loop {
            items = self.round(points, &entries, items, plan)?;
            if items.bound < MIN_ITEMS || items.bound < MIN_MEAN * plan.buckets() {
                break;
            }
        }
        let count = self.read(&items.starts, plan.buckets())?;
        let (keys, points) = items.sums.ok_or(BackendError::Length {
            what: "rounds of pairs",
            wanted: 1,
            found: 0,
        })?;
        Ok(Sums {
            keys,
            points,
            count,
        })
    }

    /// One round.
    fn round<G: Group>(
        &self,
        points: &Points<G>,
        entries: &Buffer<[u32; 2]>,
        items: Items,
        plan: Plan,
    ) -> Result<Items, BackendError> {
        let buckets = plan.buckets();
        let bound = (items.bound + buckets).div_ceil(2);
        let starts = self.stream.alloc::<u32>(buckets + 1).map_err(failure)?;
        let arguments = [
            (&items.starts).into(),
            (buckets as u32).into(),
            (&starts).into(),
        ];
        self.launch("pairs_sizes", Grid::over(buckets + 1, 256), &arguments)?;
        self.scan(&starts)?;
        let keys = self.stream.alloc::<u32>(bound).map_err(failure)?;
        let sources = self.stream.alloc::<u32>(bound).map_err(failure)?;
        let (old_keys, stride) = match &items.sums {
            None => (entries.into(), 2u32),
            Some((keys, _)) => (keys.into(), 1u32),
        };
        let arguments = [
            old_keys,
            stride.into(),
            Argument::at(&items.starts, buckets),
            (&items.starts).into(),
            (&starts).into(),
            (&keys).into(),
            (&sources).into(),
        ];
        self.launch("pairs_map", Grid::over(items.bound, 256), &arguments)?;
        let count = Argument::at(&starts, buckets);
        let sums = self.add_sources::<G>(points, entries, &items, (&sources, count, bound))?;
        Ok(Items {
            starts,
            bound,
            sums: Some((keys, sums)),
        })
    }

    /// The sums of a round: slopes, inversion, additions.
    fn add_sources<G: Group>(
        &self,
        points: &Points<G>,
        entries: &Buffer<[u32; 2]>,
        items: &Items,
        (sources, count, bound): (&Buffer<u32>, Argument<'_>, usize),
    ) -> Result<Buffer<u64>, BackendError> {
        let names = kernels::<G>();
        let words = affine_words::<G>();
        let threads = bound.div_ceil(bound.div_ceil(FILL).clamp(1, MAX_BATCH));
        let before = self
            .stream
            .alloc::<u64>(bound * words / 2)
            .map_err(failure)?;
        let products = self
            .stream
            .alloc::<u64>(threads * words / 2)
            .map_err(failure)?;
        let out = self.stream.alloc::<u64>(bound * words).map_err(failure)?;
        let (slopes, add, mut arguments) = match &items.sums {
            None => {
                let arguments = vec![entries.into(), Argument::from(&points.words)];
                (names.slopes_digits, names.add_digits, arguments)
            }
            Some((_, sums)) => (names.slopes_sums, names.add_sums, vec![sums.into()]),
        };
        arguments.extend([sources.into(), count, (threads as u32).into()]);
        arguments.extend([Argument::from(&before), (&products).into()]);
        self.launch(slopes, Grid::over(threads, 128), &arguments)?;
        self.invert::<G>(&products, threads)?;
        arguments.push((&out).into());
        self.launch(add, Grid::over(threads, 128), &arguments)?;
        Ok(out)
    }

    /// Inverts coordinates, none of which is zero.
    fn invert<G: Group>(&self, values: &Buffer<u64>, count: usize) -> Result<(), BackendError> {
        let before = self.stream.alloc::<u64>(values.len()).map_err(failure)?;
        let threads = count.div_ceil(4).min(INVERTERS.max(count.div_ceil(64)));
        let arguments = [
            values.into(),
            (count as u32).into(),
            (threads as u32).into(),
            (&before).into(),
        ];
        self.launch(kernels::<G>().invert, Grid::over(threads, 64), &arguments)
    }
}
