//! Batched-affine sums: many independent sums advance together, one addition each a step, and share one inversion.
//!
//! An affine addition is λ = (y2 - y1) / (x2 - x1), x3 = λ² - x1 - x2, y3 = λ (x1 - x3) - y1. Montgomery's trick turns
//! the divisions of a step into three multiplications each, so an addition costs 5M + 1S. The sums of a batch lie in
//! lanes; they and the step's points fit the L2 cache. Lanes without a plain addition (a doubling, an inverse, the
//! identity on either side) make their vector take a rare branch.

use cuzk_curve::Group;
use cuzk_curve::simd::{Arch, CoordinateLanes, Lanes, Mask, Task as ArchTask, invert_lanes};

use super::buckets::NEGATIVE;
use super::source::{Gathered, MAX_LANES, Point, Source, put};
use super::tasks::Task;

/// Products that run side by side, to hide the latency of the multiplications.
const CHAINS: usize = 2;

/// Sums that one batch carries: their working set is about 800 KiB.
pub(crate) const fn batch_tasks<G: Group>() -> usize {
    2048 * 96 / G::UNCOMPRESSED_BYTES
}

/// The working set of a batch, kept between batches.
pub(crate) struct Scratch<L> {
    /// The batch's tasks, the longest first, and their places among the sums.
    tasks: Vec<Task>,
    places: Vec<u32>,
    /// A row is one vector of sums.
    sums: Vec<Gathered<L>>,
    /// What the next step adds to the rows.
    wanted: Vec<Wanted>,
    /// The points that a step adds to the rows.
    points: Vec<(L, L)>,
    /// For each row, the product of the denominators before it in its chain.
    before: Vec<L>,
    specials: Vec<Special<L>>,
}

impl<L> Default for Scratch<L> {
    fn default() -> Self {
        Self {
            tasks: Vec::new(),
            places: Vec::new(),
            sums: Vec::new(),
            wanted: Vec::new(),
            points: Vec::new(),
            before: Vec::new(),
            specials: Vec::new(),
        }
    }
}

impl<L> Scratch<L> {
    /// Orders `tasks` by falling length, by counting.
    fn order(&mut self, tasks: &[Task]) {
        let longest = tasks.iter().map(|task| task.len).max().unwrap_or(0);
        let mut starts = vec![0u32; longest as usize + 1];
        for task in tasks {
            starts[task.len as usize] += 1;
        }
        let mut total = 0;
        for start in starts.iter_mut().rev() {
            total += std::mem::replace(start, total);
        }
        self.tasks.clear();
        self.tasks.resize(tasks.len(), Task::default());
        self.places.clear();
        self.places.resize(tasks.len(), 0);
        for (place, task) in tasks.iter().enumerate() {
            let start = &mut starts[task.len as usize];
            self.tasks[*start as usize] = *task;
            self.places[*start as usize] = place as u32;
            *start += 1;
        }
    }

    /// The number of tasks that have an entry `step`.
    fn active(&self, step: u32) -> usize {
        self.tasks.partition_point(|task| task.len > step)
    }
}

/// A row in which some lane has no plain addition.
struct Special<L> {
    row: usize,
    numerator: L,
    denominator: L,
    /// Lanes whose sum stays: the point is the identity, or there is none.
    keep: u64,
    /// Lanes whose sum becomes the point: the sum was the identity.
    take: u64,
    /// Lanes whose sum becomes the identity.
    cancel: u64,
}

/// Adds the points of each task to its sum.
pub(crate) struct SumTasks<'a, A: Arch, G: Group, S> {
    pub(crate) source: &'a S,
    pub(crate) entries: &'a [u32],
    pub(crate) tasks: &'a [Task],
    /// The sums, one a task.
    pub(crate) sums: &'a mut [Point<A, G>],
    /// Whether the sums start as the identity, whatever they hold.
    pub(crate) fresh: bool,
    pub(crate) scratch: &'a mut Scratch<G::Lanes<A>>,
}

impl<A: Arch, G: Group, S: Source<A, G>> ArchTask<A> for SumTasks<'_, A, G, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, arch: A) {
        const { assert!(A::LANES <= MAX_LANES) };
        let scratch = self.scratch;
        scratch.order(self.tasks);
        scratch.sums.clear();
        let points = (self.source, self.entries);
        let rows = self.tasks.len().div_ceil(A::LANES);
        scratch.wanted.resize(rows, Wanted::default());
        for row in 0..rows {
            prepare::<A, G, S>(arch, points, scratch, row, 0);
        }
        for row in 0..rows {
            let sums = if self.fresh {
                let first = scratch.wanted[row];
                prepare::<A, G, S>(arch, points, scratch, row, 1);
                first.gather::<A, G, S>(arch, self.source)
            } else {
                earlier::<A, G>(arch, self.sums, &scratch.places, row)
            };
            scratch.sums.push(sums);
        }
        let longest = scratch.tasks.first().map_or(0, |task| task.len);
        for step in u32::from(self.fresh)..longest {
            add_points::<A, G, S>(arch, points, step, scratch);
        }
        for (row, places) in scratch.places.chunks(A::LANES).enumerate() {
            put::<A, G>(arch, &scratch.sums[row], |lane, point| {
                if let Some(&place) = places.get(lane) {
                    self.sums[place as usize] = point;
                }
            });
        }
    }
}

/// Which points a step adds to the lanes of a row.
#[derive(Copy, Clone, Default)]
struct Wanted {
    indices: [u32; MAX_LANES],
    /// Lanes whose point is to be subtracted.
    negative: u64,
    /// Lanes whose task has no more entries.
    absent: u64,
}

impl Wanted {
    /// For a row of tasks, of which the lanes have one each.
    #[inline(always)]
    fn new(lanes: usize, entries: &[u32], tasks: &[Task], row: usize, step: u32) -> Self {
        let mut wanted = Self::default();
        let tasks = tasks.get(row * lanes..).unwrap_or_default();
        for lane in 0..lanes {
            match tasks.get(lane) {
                Some(task) if task.len > step => {
                    let entry = entries[task.entry(step)];
                    wanted.indices[lane] = entry & !NEGATIVE;
                    wanted.negative |= u64::from(entry >> 31) << lane;
                }
                _ => wanted.absent |= 1 << lane,
            }
        }
        wanted
    }

    /// The points themselves; the identity where there is none.
    #[inline(always)]
    fn gather<A: Arch, G: Group, S: Source<A, G>>(
        &self,
        arch: A,
        source: &S,
    ) -> Gathered<G::Lanes<A>> {
        if self.absent == (1 << A::LANES) - 1 {
            let zero = G::Lanes::<A>::zero(arch);
            return Gathered {
                x: zero,
                y: zero,
                identity: self.absent,
            };
        }
        let mut points = source.gather(arch, &self.indices);
        if self.negative != 0 {
            let mask = A::Mask::from_bits(arch, self.negative);
            points.y = Lanes::select(mask, points.y.neg(), points.y);
        }
        points.identity |= self.absent;
        points
    }
}

/// Finds out which points the next step adds to a row, and asks the cache for them.
#[inline(always)]
fn prepare<A: Arch, G: Group, S: Source<A, G>>(
    arch: A,
    (source, entries): (&S, &[u32]),
    scratch: &mut Scratch<G::Lanes<A>>,
    row: usize,
    step: u32,
) {
    let wanted = Wanted::new(A::LANES, entries, &scratch.tasks, row, step);
    source.prefetch(arch, &wanted.indices);
    scratch.wanted[row] = wanted;
}

/// The sums of the tasks of a row as they were before the batch.
#[inline(always)]
fn earlier<A: Arch, G: Group>(
    arch: A,
    sums: &[Point<A, G>],
    places: &[u32],
    row: usize,
) -> Gathered<G::Lanes<A>> {
    let place = |lane: usize| {
        let task = (row * A::LANES + lane).min(places.len() - 1);
        places[task] as usize
    };
    let x = G::Lanes::<A>::gather(arch, |lane| &sums[place(lane)].x);
    let y = G::Lanes::<A>::gather(arch, |lane| &sums[place(lane)].y);
    let identity = x.is_zero().bits() & y.is_zero().bits();
    Gathered { x, y, identity }
}

/// One step: adds to each sum its task's point.
#[inline(always)]
fn add_points<A: Arch, G: Group, S: Source<A, G>>(
    arch: A,
    points: (&S, &[u32]),
    step: u32,
    scratch: &mut Scratch<G::Lanes<A>>,
) {
    let rows = scratch.active(step).div_ceil(A::LANES);
    let mut products = [G::Lanes::<A>::one(arch); CHAINS];
    scratch.points.clear();
    scratch.before.clear();
    scratch.specials.clear();
    for row in 0..rows {
        let point = scratch.wanted[row].gather::<A, G, S>(arch, points.0);
        let sum = &scratch.sums[row];
        let mut denominator = point.x.sub(sum.x);
        if denominator.is_zero().bits() | sum.identity | point.identity != 0 {
            let special = special::<A, G>(arch, row, sum, &point);
            denominator = special.denominator;
            scratch.specials.push(special);
        }
        scratch.points.push((point.x, point.y));
        scratch.before.push(products[row % CHAINS]);
        products[row % CHAINS] = products[row % CHAINS].mul(denominator);
    }
    let mut inverses = invert_chains(products);
    for row in (0..rows).rev() {
        prepare::<A, G, S>(arch, points, scratch, row, step + 1);
        let point = scratch.points[row];
        let inverse = inverses[row % CHAINS].mul(scratch.before[row]);
        let sum = &mut scratch.sums[row];
        if scratch.specials.last().is_some_and(|last| last.row == row) {
            if let Some(special) = scratch.specials.pop() {
                inverses[row % CHAINS] = inverses[row % CHAINS].mul(special.denominator);
                add_special::<A, G>(arch, sum, point, inverse, &special);
            }
            continue;
        }
        inverses[row % CHAINS] = inverses[row % CHAINS].mul(point.0.sub_lazy(sum.x));
        let slope = inverse.mul(point.1.sub_lazy(sum.y));
        (sum.x, sum.y) = third(slope, (sum.x, sum.y), point.0);
    }
}

/// The inverse of each product, for one inversion.
#[inline(always)]
fn invert_chains<L: Lanes>([first, second]: [L; CHAINS]) -> [L; CHAINS] {
    let inverse = invert_lanes(first.mul(second));
    [inverse.mul(second), inverse.mul(first)]
}

/// The third point, negated, on the line of the given slope through `(x1, y1)` and a point with `x2`: their sum.
#[inline(always)]
fn third<L: Lanes>(slope: L, (x1, y1): (L, L), x2: L) -> (L, L) {
    let x = slope.square().sub(x1.add_lazy(x2));
    let y = slope.mul(x1.sub_lazy(x)).sub(y1);
    (x, y)
}

/// Sorts out a row in which some lane has no plain addition. Every denominator is other than zero.
#[inline(always)]
fn special<A: Arch, G: Group>(
    arch: A,
    row: usize,
    sum: &Gathered<G::Lanes<A>>,
    point: &Gathered<G::Lanes<A>>,
) -> Special<G::Lanes<A>> {
    let mut numerator = point.y.sub(sum.y);
    let mut denominator = point.x.sub(sum.x);
    let keep = point.identity;
    let take = sum.identity & !keep;
    let same_x = denominator.is_zero().bits() & !(keep | take);
    let mut cancel = 0;
    if same_x != 0 {
        // y2 = y1 other than zero is a doubling; all else must be y2 = -y1.
        let twice_y = sum.y.double();
        let double = same_x & numerator.is_zero().bits() & !twice_y.is_zero().bits();
        cancel = same_x & !double;
        let square = sum.x.square();
        let mask = A::Mask::from_bits(arch, double);
        numerator = Lanes::select(mask, square.double().add(square), numerator);
        denominator = Lanes::select(mask, twice_y, denominator);
    }
    let no_slope = A::Mask::from_bits(arch, keep | take | cancel);
    denominator = Lanes::select(no_slope, G::Lanes::<A>::one(arch), denominator);
    Special {
        row,
        numerator,
        denominator,
        keep,
        take,
        cancel,
    }
}

/// The addition in such a row.
#[inline(always)]
fn add_special<A: Arch, G: Group>(
    arch: A,
    sum: &mut Gathered<G::Lanes<A>>,
    point: (G::Lanes<A>, G::Lanes<A>),
    inverse: G::Lanes<A>,
    special: &Special<G::Lanes<A>>,
) {
    let slope = inverse.mul(special.numerator);
    let (x, y) = third(slope, (sum.x, sum.y), point.0);
    let keep = A::Mask::from_bits(arch, special.keep);
    let take = A::Mask::from_bits(arch, special.take);
    sum.x = Lanes::select(keep, sum.x, Lanes::select(take, point.0, x));
    sum.y = Lanes::select(keep, sum.y, Lanes::select(take, point.1, y));
    sum.identity = sum.identity & special.keep | special.cancel;
}
