//! Sums of the buckets and of the windows.

use cuzk_backend::BackendError;
use cuzk_curve::Group;
use cuzk_gpu::{Argument, Buffer, Grid};
use group::Group as _;

use super::levels::Runs;
use super::pairs::Sums;
use super::sort::{Entries, ScalarList, Selection, first_bucket, part_buckets};
use super::{Part, Plan, Points, kernels, xyzz_words};
use crate::CudaBackend;
use crate::error::failure;
use crate::memory::coordinate_words;

/// Chunks of the list of digits: enough to fill the largest device several times.
const CHUNKS: usize = 1 << 18;
/// Digits of a chunk at least.
const MIN_CHUNK: usize = 16;
/// Runs of buckets a multiprocessor that are summed up at once: as many threads as keep it busy.
const RUNS: usize = 256;
/// Partial sums of a chunk.
const PARTIAL_CHUNK: usize = 8;
/// Partial sums of which a block's threads add up one each: no more than fill the largest device once.
const COMBINED: usize = 1 << 16;
/// Entries that are sorted and added up at a time, at most: items are counted in 31 bits.
const MAX_ENTRIES: usize = 1 << 30;
/// The part of what is free that the entries of a multiplication may take, and of a device's budget: lanes leave each
/// other room.
const OF_FREE: usize = 2;
const OF_BUDGET: usize = 6;

/// Bytes that an entry takes at most while it is added to its bucket.
fn entry_bytes<G: Group>() -> usize {
    // In the second round of pairs there are the first one's sums, half as many, its own and the products between.
    16 * coordinate_words::<G>()
}

/// Bytes that a multiplication by so many scalars, with so many selected points, takes at most of a device of which
/// `budget` may be used, beside scalars and points.
pub(crate) fn workspace<G: Group>(
    plan: Plan,
    scalars: usize,
    selected: usize,
    budget: usize,
) -> usize {
    let (digits, lists) = (scalars * plan.windows as usize, plan.buckets() + 1);
    let each = if CudaBackend::pairs_pay::<G>(digits + selected, lists) {
        entry_bytes::<G>()
    } else {
        // Two partial sums for at least sixteen entries.
        16 + xyzz_words::<G>()
    };
    // Windows are not cut, and with tables scalars are not: a part has as many entries.
    let least = if plan.tables > 1 {
        plan.windows as usize
    } else {
        scalars
    };
    let most = (budget / OF_BUDGET).max(least * each);
    let list = 8 * (xyzz_words::<G>() + 3 * coordinate_words::<G>());
    (digits * each).min(most) + selected * each + lists * list
}

impl CudaBackend {
    /// The sum of scalars times points, and of selected points.
    pub(super) fn multiply_scalars<G: Group>(
        &self,
        points: &Points<G>,
        list: &ScalarList<'_>,
        selection: Option<&Selection<'_>>,
    ) -> Result<G::Projective, BackendError> {
        let plan = list.plan;
        if list.count == 0 && selection.is_none() {
            return Ok(G::Projective::identity());
        }
        let words = xyzz_words::<G>();
        // The last is that of the selected points.
        let buckets = self.stream.zeros::<u64>((plan.buckets() + 1) * words);
        let buckets = buckets.map_err(failure)?;
        let (available, budget) = self.device().memory();
        let limit = (available / OF_FREE).min(budget / OF_BUDGET) / entry_bytes::<G>();
        let mut parts = plan.parts(list.count, limit.min(MAX_ENTRIES));
        if parts.is_empty() {
            // Without scalars one part is left for the selection.
            parts.push(Part {
                windows: 0..plan.windows,
                scalars: 0..0,
            });
        }
        // Parts may share buckets, so that only a part alone may leave items to the reduction.
        let kept = match parts.len() {
            1 if list.count > 0 => plan.buckets(),
            _ => 0,
        };
        let mut singles = None;
        for (index, part) in parts.iter().enumerate() {
            // The last part's buckets end where the plan's do.
            let selection = selection.filter(|_| index + 1 == parts.len());
            let entries = self.sort(list, part, selection)?;
            let lists = part_buckets(plan, part) + usize::from(selection.is_some());
            let first = first_bucket(plan, part) * words;
            let to = Argument::at(&buckets, first);
            // What a part leaves is freed before the next one: it would come on top of what that takes.
            let left = self.add_up(points, entries, (lists, kept), to)?;
            singles = left.filter(|_| kept > 0);
        }
        if list.count == 0 {
            let last = self.stream.alloc(words).map_err(failure)?;
            let copied = self
                .stream
                .copy(&buckets, plan.buckets() * words, &last, 0, words);
            copied.map_err(failure)?;
            return Ok(self.results::<G>(&last, 1)?.into_iter().sum());
        }
        self.sum_groups::<G>(buckets, plan, singles)
    }

    /// Adds the points of a sorted list to their buckets, of which there are `lists`. Of the first `kept` buckets those
    /// that are one sum after rounds of pairs are left out, and the sums returned.
    fn add_up<G: Group>(
        &self,
        points: &Points<G>,
        entries: Entries,
        (lists, kept): (usize, usize),
        buckets: Argument<'_>,
    ) -> Result<Option<Sums>, BackendError> {
        if entries.count == 0 {
            return Ok(None);
        }
        let names = kernels::<G>();
        if Self::pairs_pay::<G>(entries.count, lists) {
            let sums = self.add_pairs(points, entries, lists)?;
            let list = [
                (&sums.keys).into(),
                (&sums.points).into(),
                (&sums.starts).into(),
                (kept as u32).into(),
            ];
            self.fill::<G>(buckets, names.accumulate_affine, &list, sums.count)?;
            return Ok(Some(sums));
        }
        let list = [(&entries.entries).into(), (&points.words).into()];
        self.fill::<G>(buckets, names.accumulate, &list, entries.count)?;
        Ok(None)
    }

    /// Sums a sorted list of `count` points by bucket; buckets without a point are left as they are.
    fn fill<G: Group>(
        &self,
        buckets: Argument<'_>,
        kernel: &'static str,
        list: &[Argument<'_>],
        count: usize,
    ) -> Result<(), BackendError> {
        let words = xyzz_words::<G>();
        let names = kernels::<G>();
        let length = count.div_ceil(CHUNKS).max(MIN_CHUNK);
        let (mut chunks, mut keys, mut sums) = self.partials(count, length, words)?;
        let mut arguments = list.to_vec();
        arguments.extend([
            Argument::from(length as u32),
            (count as u32).into(),
            buckets,
            (&keys).into(),
            (&sums).into(),
        ]);
        self.launch(kernel, Grid::over(chunks, 128), &arguments)?;
        while chunks > 1 {
            let count = 2 * chunks;
            let together = count <= COMBINED;
            let length = if together {
                names.fold_threads as usize
            } else {
                PARTIAL_CHUNK
            };
            let (next_chunks, next_keys, next_sums) = self.partials(count, length, words)?;
            let mut arguments = vec![(&keys).into(), (&sums).into()];
            if !together {
                arguments.push((length as u32).into());
            }
            arguments.extend([
                Argument::from(count as u32),
                buckets,
                (&next_keys).into(),
                (&next_sums).into(),
            ]);
            let (kernel, grid) = if together {
                let grid = Grid::of(next_chunks as u32, names.fold_threads, 0);
                (names.combine, grid)
            } else {
                (names.accumulate_partial, Grid::over(next_chunks, 128))
            };
            self.launch(kernel, grid, &arguments)?;
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

    /// The sum of digit times bucket over each group, and then over the groups, and the last bucket. `singles` holds the
    /// buckets that are one sum.
    fn sum_groups<G: Group>(
        &self,
        buckets: Buffer<u64>,
        plan: Plan,
        singles: Option<Sums>,
    ) -> Result<G::Projective, BackendError> {
        let (names, words) = (kernels::<G>(), xyzz_words::<G>());
        let groups = plan.groups() as usize;
        // Elements are of two points.
        let all = self.stream.alloc((2 * groups + 1) * words);
        let all = all.map_err(failure)?;
        let last = plan.buckets() * words;
        let copied = self
            .stream
            .copy(&buckets, last, &all, 2 * groups * words, words);
        copied.map_err(failure)?;
        let runs = match (singles, &names.levels) {
            (Some(singles), Some(levels)) if plan.by_levels() => {
                self.sum_levels::<G>(levels, buckets, singles, plan)?
            }
            (singles, _) => self.sum_runs::<G>(&buckets, singles, plan)?,
        };
        let arguments = [
            (&runs.elements).into(),
            (runs.each as u32).into(),
            (&all).into(),
        ];
        let grid = Grid::of(groups as u32, names.fold_threads, 0);
        self.launch(names.fold, grid, &arguments)?;
        // Each group's sum stands before its step, and at last the sum of the selected points.
        let mut sums = self.results::<G>(&all, 2 * groups + 1)?;
        let selected = sums.pop().unwrap_or(G::Projective::identity());
        let groups = (0..plan.groups()).zip(sums.into_iter().step_by(2));
        let identity = G::Projective::identity();
        let total = groups.rev().fold(identity, |total, (group, sum)| {
            (0..plan.bits(group)).fold(total, |total, _| total.double()) + sum
        });
        Ok(total + selected)
    }

    /// The buckets' sums times numbers, as elements that stand for runs of buckets.
    fn sum_runs<G: Group>(
        &self,
        buckets: &Buffer<u64>,
        singles: Option<Sums>,
        plan: Plan,
    ) -> Result<Runs, BackendError> {
        let names = kernels::<G>();
        let (size, groups) = (1usize << plan.log_buckets(), plan.groups() as usize);
        let threads = names.fold_threads as usize;
        // Long runs take fewer additions, short ones more threads. Blocks do not reach over groups.
        let most = RUNS * self.device().info().multiprocessors as usize / threads;
        let each = (most / groups).clamp(1, size.div_ceil(threads));
        let length = size.div_ceil(each * threads);
        let elements = self.stream.alloc(groups * each * 2 * xyzz_words::<G>());
        let elements = elements.map_err(failure)?;
        let null = || [Argument::null(); 2];
        let [starts, items] = singles
            .as_ref()
            .map_or_else(null, |sums| [(&sums.starts).into(), (&sums.points).into()]);
        let arguments = [
            buckets.into(),
            starts,
            items,
            plan.log_buckets().into(),
            (length as u32).into(),
            (each as u32).into(),
            (&elements).into(),
        ];
        let grid = Grid::of((groups * each) as u32, names.fold_threads, 0);
        self.launch(names.reduce, grid, &arguments)?;
        Ok(Runs { elements, each })
    }
}
