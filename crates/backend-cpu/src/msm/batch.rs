//! Batched-affine sums: many independent sums advance together, one addition each a step, and share one inversion.
//!
//! An affine addition is λ = (y2 - y1) / (x2 - x1), x3 = λ² - x1 - x2, y3 = λ (x1 - x3) - y1. Montgomery's trick turns
//! the divisions of a step into three multiplications each, so an addition costs 5M + 1S. The sums of a batch lie in
//! lanes; they and the step's points fit the L2 cache. Lanes without a plain addition (a doubling, an inverse, the
//! identity on either side) make their vector take a rare branch.

use cuzk_curve::Group;
use cuzk_curve::simd::{Arch, CoordinateLanes, Lanes, Mask, Task as ArchTask, invert_lanes};

use super::buckets::NEGATIVE;
use super::schedule::{Row, Schedule};
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
    schedule: Schedule,
    /// A row is one vector of sums.
    sums: Vec<Gathered<L>>,
    /// The points that a step adds to the rows.
    points: Vec<(L, L)>,
    /// For each row, the product of the denominators before it in its chain.
    before: Vec<L>,
    specials: Vec<Special<L>>,
}

impl<L> Default for Scratch<L> {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            sums: Vec::new(),
            points: Vec::new(),
            before: Vec::new(),
            specials: Vec::new(),
        }
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
        scratch.schedule.fill(A::LANES, self.tasks, self.entries);
        let schedule = &scratch.schedule;
        scratch.sums.clear();
        for row in 0..self.tasks.len().div_ceil(A::LANES) {
            fetch::<A, G, S>(arch, self.source, schedule.row(A::LANES, row, 0));
        }
        for (row, places) in schedule.places().chunks(A::LANES).enumerate() {
            let sums = if self.fresh {
                fetch::<A, G, S>(arch, self.source, schedule.row(A::LANES, row, 1));
                gather::<A, G, S>(arch, self.source, schedule.row(A::LANES, row, 0))
            } else {
                earlier::<A, G>(arch, self.sums, places)
            };
            scratch.sums.push(sums);
        }
        for step in usize::from(self.fresh)..scratch.schedule.steps() {
            add_points::<A, G, S>(arch, self.source, step, scratch);
        }
        for (row, places) in scratch.schedule.places().chunks(A::LANES).enumerate() {
            put::<A, G>(arch, &scratch.sums[row], |lane, point| {
                if let Some(&place) = places.get(lane) {
                    self.sums[place as usize] = point;
                }
            });
        }
    }
}

/// The points that a step adds to the sums of a row; the identity where there is none.
#[inline(always)]
fn gather<A: Arch, G: Group, S: Source<A, G>>(
    arch: A,
    source: &S,
    row: Option<Row<'_>>,
) -> Gathered<G::Lanes<A>> {
    let Some(row) = row else {
        let zero = G::Lanes::<A>::zero(arch);
        return Gathered {
            x: zero,
            y: zero,
            identity: all::<A>(),
        };
    };
    let mut negative = 0;
    for lane in 0..A::LANES {
        negative |= u64::from(row.entries[lane] >> 31) << lane;
    }
    let mut points = source.gather(arch, &indices::<A>(row));
    if negative != 0 {
        let mask = A::Mask::from_bits(arch, negative);
        points.y = Lanes::select(mask, points.y.neg(), points.y);
    }
    if row.present < A::LANES {
        points.identity |= all::<A>() << row.present & all::<A>();
    }
    points
}

/// Asks the cache for points that a step will add.
#[inline(always)]
fn fetch<A: Arch, G: Group, S: Source<A, G>>(arch: A, source: &S, row: Option<Row<'_>>) {
    if let Some(row) = row {
        source.prefetch(arch, &indices::<A>(row));
    }
}

/// The indices of a row's points, one a lane.
#[inline(always)]
fn indices<A: Arch>(row: Row<'_>) -> [u32; MAX_LANES] {
    let mut indices = [0; MAX_LANES];
    for (index, entry) in indices.iter_mut().zip(&row.entries[..A::LANES]) {
        *index = entry & !NEGATIVE;
    }
    indices
}

/// A bit for each lane.
const fn all<A: Arch>() -> u64 {
    (1 << A::LANES) - 1
}

/// The sums of the tasks of a row as they were before the batch.
#[inline(always)]
fn earlier<A: Arch, G: Group>(
    arch: A,
    sums: &[Point<A, G>],
    places: &[u32],
) -> Gathered<G::Lanes<A>> {
    let place = |lane: usize| places[lane.min(places.len() - 1)] as usize;
    let x = G::Lanes::<A>::gather(arch, |lane| &sums[place(lane)].x);
    let y = G::Lanes::<A>::gather(arch, |lane| &sums[place(lane)].y);
    let identity = x.is_zero().bits() & y.is_zero().bits();
    Gathered { x, y, identity }
}

/// One step: adds to each sum its task's point.
#[inline(always)]
fn add_points<A: Arch, G: Group, S: Source<A, G>>(
    arch: A,
    source: &S,
    step: usize,
    scratch: &mut Scratch<G::Lanes<A>>,
) {
    let schedule = &scratch.schedule;
    let rows = schedule.active(step).div_ceil(A::LANES);
    let mut products = [G::Lanes::<A>::one(arch); CHAINS];
    scratch.points.clear();
    scratch.before.clear();
    scratch.specials.clear();
    for row in 0..rows {
        let point = gather::<A, G, S>(arch, source, schedule.row(A::LANES, row, step));
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
        fetch::<A, G, S>(arch, source, schedule.row(A::LANES, row, step + 1));
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
