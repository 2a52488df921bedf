//! Halving the buckets' lists by batched-affine additions, before what is left is summed in XYZZ coordinates.

use cuzk_backend::BackendError;
use cuzk_curve::Group;
use cuzk_gpu::{Argument, Buffer, Grid};

use super::sort::Entries;
use super::{Points, affine_words, kernels};
use crate::CudaBackend;
use crate::error::failure;
use crate::memory::coordinate_words;

/// A round costs a dozen launches and the latency of an inversion, so shorter lists are left to XYZZ additions.
const MIN_ITEMS: usize = 1 << 21;
/// Where lists are this short on average, rounds are made of fewer items: soon most lists are single points, which need
/// no XYZZ additions.
const SHORT: usize = 16;
/// How many items.
const MIN_SHORT_ITEMS: usize = 1 << 19;
/// Eight times the mean length of a bucket's list below which rounds copy more than they add.
const MIN_MEAN: usize = 9;
/// Eight times the mean length, by its bound, from which on the items are counted.
const COUNTED_MEAN: usize = 24;
/// Pairs that share a thread's product at most.
const MAX_BATCH: usize = 48;
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
    /// Where each bucket's list starts, and at last the end of all.
    pub starts: Buffer<u32>,
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

/// What a round adds: two items and a place for each pair, an item and a place for each last odd one.
struct Work {
    pairs: Buffer<[u32; 2]>,
    places: Buffer<u32>,
    copies: Buffer<[u32; 2]>,
    /// Where the lists of sums start, and no more than how many they are.
    starts: Buffer<u32>,
    bound: usize,
}

/// What the threads that add pairs hold in memory.
pub(super) struct Slopes {
    pub threads: usize,
    /// The product of a thread's denominators before each pair's.
    pub before: Buffer<u64>,
    /// The product of all of a thread's, and then its inverse.
    pub products: Buffer<u64>,
}

impl CudaBackend {
    /// Whether a round of pairs pays for so many items in so many lists.
    pub(super) fn pairs_pay<G: Group>(items: usize, lists: usize) -> bool {
        let least = if items <= SHORT * lists {
            MIN_SHORT_ITEMS
        } else {
            MIN_ITEMS
        };
        items >= least * 6 / coordinate_words::<G>() && 8 * items > MIN_MEAN * lists
    }

    /// Halves the lists of digits until they are short.
    pub(super) fn add_pairs<G: Group>(
        &self,
        points: &Points<G>,
        entries: Entries,
        lists: usize,
    ) -> Result<Sums, BackendError> {
        let mut items = Items {
            starts: entries.starts,
            bound: entries.count,
            sums: None,
        };
        let mut digits = Some(entries.entries);
        loop {
            items = self.round(points, digits.take(), items, lists)?;
            let pay = Self::pairs_pay::<G>(items.bound, lists);
            if pay && 8 * items.bound > COUNTED_MEAN * lists {
                continue;
            }
            // The bound takes every list for one of an odd number of items.
            items.bound = self.read(&items.starts, lists)?;
            if !Self::pairs_pay::<G>(items.bound, lists) {
                break;
            }
        }
        let (keys, points) = items.sums.ok_or(BackendError::Length {
            what: "rounds of pairs",
            wanted: 1,
            found: 0,
        })?;
        Ok(Sums {
            keys,
            points,
            starts: items.starts,
            count: items.bound,
        })
    }

    /// One round.
    fn round<G: Group>(
        &self,
        points: &Points<G>,
        entries: Option<Buffer<[u32; 2]>>,
        items: Items,
        lists: usize,
    ) -> Result<Items, BackendError> {
        let stream = &self.stream;
        let bound = (items.bound + lists).div_ceil(2).min(items.bound);
        let starts = stream.alloc::<u32>(lists + 1).map_err(failure)?;
        let arguments = [
            (&items.starts).into(),
            (lists as u32).into(),
            (&starts).into(),
        ];
        self.launch("pairs_sizes", Grid::over(lists + 1, 256), &arguments)?;
        self.scan(&starts)?;
        let keys = stream.alloc::<u32>(bound).map_err(failure)?;
        let work = Work {
            pairs: stream.alloc(items.bound / 2).map_err(failure)?,
            places: stream.alloc(items.bound / 2).map_err(failure)?,
            copies: stream.alloc(lists.min(bound)).map_err(failure)?,
            starts,
            bound,
        };
        let null = Argument::null;
        let arguments = [
            entries.as_ref().map_or_else(null, Argument::from),
            items
                .sums
                .as_ref()
                .map_or_else(null, |(keys, _)| keys.into()),
            Argument::at(&items.starts, lists),
            (&items.starts).into(),
            (&work.starts).into(),
            (&keys).into(),
            (&work.pairs).into(),
            (&work.places).into(),
            (&work.copies).into(),
        ];
        self.launch("pairs_map", Grid::over(items.bound, 256), &arguments)?;
        drop(entries);
        let sums = self.add_work::<G>(points, &items, &work, lists)?;
        Ok(Items {
            starts: work.starts,
            bound,
            sums: Some((keys, sums)),
        })
    }

    /// The sums of a round: slopes, inversion, additions, copies.
    fn add_work<G: Group>(
        &self,
        points: &Points<G>,
        items: &Items,
        work: &Work,
        lists: usize,
    ) -> Result<Buffer<u64>, BackendError> {
        let (names, stream) = (kernels::<G>(), &self.stream);
        let words = affine_words::<G>();
        let slopes = self.slopes::<G>(items.bound / 2)?;
        let out = stream.alloc::<u64>(work.bound * words).map_err(failure)?;
        let (kernels, from) = match &items.sums {
            None => (&names.digits, &points.words),
            Some((_, sums)) => (&names.sums, sums),
        };
        let (count, new_count) = (
            Argument::at(&items.starts, lists),
            Argument::at(&work.starts, lists),
        );
        let copies = [
            from.into(),
            (&work.copies).into(),
            count,
            new_count,
            (&out).into(),
        ];
        self.launch(kernels.copy, Grid::over(work.copies.len(), 256), &copies)?;
        let mut arguments = vec![
            from.into(),
            (&work.pairs).into(),
            (&work.places).into(),
            count,
            new_count,
            (slopes.threads as u32).into(),
            (&slopes.before).into(),
            (&slopes.products).into(),
        ];
        let grid = Grid::over(slopes.threads, 128);
        self.launch(kernels.slopes, grid, &arguments)?;
        self.invert::<G>(&slopes)?;
        arguments.push((&out).into());
        self.launch(kernels.add, grid, &arguments)?;
        Ok(out)
    }

    /// Room for the slopes of so many pairs.
    pub(super) fn slopes<G: Group>(&self, pairs: usize) -> Result<Slopes, BackendError> {
        let words = coordinate_words::<G>();
        let threads = pairs.div_ceil(pairs.div_ceil(FILL).clamp(1, MAX_BATCH));
        let before = self.stream.alloc(pairs * words).map_err(failure)?;
        let products = self.stream.alloc(threads * words).map_err(failure)?;
        Ok(Slopes {
            threads,
            before,
            products,
        })
    }

    /// Inverts the products, none of which is zero.
    pub(super) fn invert<G: Group>(&self, slopes: &Slopes) -> Result<(), BackendError> {
        let (values, count) = (&slopes.products, slopes.threads);
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
