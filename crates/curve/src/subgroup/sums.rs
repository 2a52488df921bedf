//! Sums of many buckets of points, in lanes: the buckets advance together, one affine addition each a step, and share
//! one inversion.
//!
//! λ = (y2 - y1) / (x2 - x1), x3 = λ² - x1 - x2, y3 = λ (x1 - x3) - y1: 5M + 1S with Montgomery's trick. A bucket that
//! meets two points with the same x (a doubling or an inverse) is set aside and summed by complete formulas.

use group::Curve;
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;

use crate::Group;
use crate::simd::{Arch, CoordinateLanes, Lanes, Mask, Task, batch_invert};

/// The most lanes that any architecture has.
const MAX_LANES: usize = 8;
/// Buckets that one task sums: enough to share the inversion, few enough for the second-level cache.
const BATCH: usize = 1024;
/// Vectors of sums between asking the cache for points and adding them.
const PREFETCH_ROWS: usize = 4;
/// Points that one task converts.
const CONVERTED: usize = 4096;

/// A coordinate in an architecture's memory format.
type Row<A, G> = <<G as Group>::Lanes<A> as CoordinateLanes>::Row;

/// A point in an architecture's memory format.
type Rows<A, G> = (Row<A, G>, Row<A, G>);

/// The sum of each bucket of indices into `points`, none of which may be at infinity.
pub(super) fn sum_buckets<A: Arch, G: Group>(
    arch: A,
    points: &[G::Affine],
    buckets: &[&[u32]],
) -> Vec<G::Affine> {
    let mut rows = vec![Rows::<A, G>::default(); points.len()];
    points
        .par_chunks(CONVERTED)
        .zip(rows.par_chunks_mut(CONVERTED))
        .for_each(|(points, rows)| arch.run(Convert::<A, G> { points, rows }));
    let mut sums = vec![G::Affine::identity(); buckets.len()];
    buckets
        .par_chunks(BATCH)
        .zip(sums.par_chunks_mut(BATCH))
        .for_each(|(buckets, sums)| {
            let rows = &rows;
            let aside = arch.run(SumBatch::<A, G> {
                rows,
                buckets,
                sums,
            });
            for bucket in aside {
                let point = |&index: &u32| points[index as usize].to_curve();
                let sum: G::Projective = buckets[bucket].iter().map(point).sum();
                sums[bucket] = sum.to_affine();
            }
        });
    sums
}

/// Brings points into the memory format.
struct Convert<'a, A: Arch, G: Group> {
    points: &'a [G::Affine],
    rows: &'a mut [Rows<A, G>],
}

impl<A: Arch, G: Group> Task<A> for Convert<'_, A, G> {
    type Output = ();

    #[inline(always)]
    fn run(self, arch: A) {
        for (points, rows) in self
            .points
            .chunks(A::LANES)
            .zip(self.rows.chunks_mut(A::LANES))
        {
            let mut x = [G::Coordinate::default(); MAX_LANES];
            let mut y = [G::Coordinate::default(); MAX_LANES];
            for (lane, point) in points.iter().enumerate() {
                (x[lane], y[lane]) = G::coordinates(point);
            }
            let x = G::Lanes::<A>::from_scalars(arch, &x[..A::LANES]);
            let y = G::Lanes::<A>::from_scalars(arch, &y[..A::LANES]);
            x.scatter(|lane, row| {
                if let Some(place) = rows.get_mut(lane) {
                    place.0 = row;
                }
            });
            y.scatter(|lane, row| {
                if let Some(place) = rows.get_mut(lane) {
                    place.1 = row;
                }
            });
        }
    }
}

/// One vector of sums.
struct Sums<L> {
    x: L,
    y: L,
    /// Lanes whose bucket was set aside.
    aside: u64,
}

/// What a step adds to one vector of sums.
#[derive(Copy, Clone)]
struct Addend<L> {
    x: L,
    y: L,
    /// Lanes that stay as they are: no more points, or set aside.
    keep: u64,
}

/// Sums the buckets of one task, and returns those that were set aside.
struct SumBatch<'a, A: Arch, G: Group> {
    rows: &'a [Rows<A, G>],
    buckets: &'a [&'a [u32]],
    sums: &'a mut [G::Affine],
}

impl<A: Arch, G: Group> Task<A> for SumBatch<'_, A, G> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run(self, arch: A) -> Vec<usize> {
        // The fullest first, so that those with points left are always the first ones.
        let mut order: Vec<usize> = (0..self.buckets.len())
            .filter(|&bucket| !self.buckets[bucket].is_empty())
            .collect();
        order.sort_by_key(|&bucket| std::cmp::Reverse(self.buckets[bucket].len()));
        let lanes = Lists::<A, G> {
            rows: self.rows,
            buckets: order.iter().map(|&bucket| self.buckets[bucket]).collect(),
        };
        let longest = lanes.buckets.first().map_or(0, |bucket| bucket.len());
        let mut sums = Vec::with_capacity(order.len().div_ceil(A::LANES));
        for row in 0..order.len().div_ceil(A::LANES) {
            let first = lanes.gather(arch, row, 0);
            sums.push(Sums {
                x: first.x,
                y: first.y,
                aside: 0,
            });
        }
        let mut scratch = Scratch {
            addends: Vec::new(),
            differences: Vec::new(),
            products: Vec::new(),
        };
        for step in 1..longest {
            lanes.add_step(arch, step, &mut sums, &mut scratch);
        }
        let mut aside = Vec::new();
        for (sums, places) in sums.iter().zip(order.chunks(A::LANES)) {
            let mut x = [G::Coordinate::default(); MAX_LANES];
            let mut y = [G::Coordinate::default(); MAX_LANES];
            sums.x.to_scalars(&mut x[..A::LANES]);
            sums.y.to_scalars(&mut y[..A::LANES]);
            for (lane, &place) in places.iter().enumerate() {
                if sums.aside >> lane & 1 == 1 {
                    aside.push(place);
                } else {
                    self.sums[place] = G::from_coordinates(x[lane], y[lane]);
                }
            }
        }
        aside
    }
}

/// A task's memory, used again in each step.
struct Scratch<L> {
    addends: Vec<Addend<L>>,
    differences: Vec<L>,
    products: Vec<L>,
}

/// The buckets of a task by falling length, and the points.
struct Lists<'a, A: Arch, G: Group> {
    rows: &'a [Rows<A, G>],
    buckets: Vec<&'a [u32]>,
}

impl<A: Arch, G: Group> Lists<'_, A, G> {
    /// The points that `step` adds to the vector `row`; any point where a lane has none.
    #[inline(always)]
    fn gather(&self, arch: A, row: usize, step: usize) -> Addend<G::Lanes<A>> {
        let mut indices = [0usize; MAX_LANES];
        let mut keep = 0;
        for (lane, index) in indices.iter_mut().enumerate().take(A::LANES) {
            let bucket = self.buckets.get(row * A::LANES + lane);
            match bucket.and_then(|bucket| bucket.get(step)) {
                Some(&point) => *index = point as usize,
                None => keep |= 1 << lane,
            }
        }
        Addend {
            x: G::Lanes::<A>::gather(arch, |lane| &self.rows[indices[lane]].0),
            y: G::Lanes::<A>::gather(arch, |lane| &self.rows[indices[lane]].1),
            keep,
        }
    }

    /// Has the cache fetch the points of a step to come.
    #[inline(always)]
    fn prefetch(&self, arch: A, row: usize, step: usize) {
        for lane in 0..A::LANES {
            let bucket = self.buckets.get(row * A::LANES + lane);
            if let Some(&point) = bucket.and_then(|bucket| bucket.get(step)) {
                arch.prefetch(&self.rows[point as usize]);
            }
        }
    }

    /// Adds to each sum the point number `step` of its bucket.
    #[inline(always)]
    fn add_step(
        &self,
        arch: A,
        step: usize,
        sums: &mut [Sums<G::Lanes<A>>],
        scratch: &mut Scratch<G::Lanes<A>>,
    ) {
        let one = G::Lanes::<A>::one(arch);
        let active = self.buckets.partition_point(|bucket| bucket.len() > step);
        let active = active.div_ceil(A::LANES);
        scratch.addends.clear();
        scratch.differences.clear();
        for (row, sum) in sums.iter_mut().enumerate().take(active) {
            self.prefetch(arch, row + PREFETCH_ROWS, step);
            let mut addend = self.gather(arch, row, step);
            let mut difference = addend.x.sub(sum.x);
            sum.aside |= difference.is_zero().bits() & !addend.keep;
            addend.keep |= sum.aside;
            if addend.keep != 0 {
                let keep = A::Mask::from_bits(arch, addend.keep);
                difference = Lanes::select(keep, one, difference);
            }
            scratch.addends.push(addend);
            scratch.differences.push(difference);
        }
        batch_invert(arch, &mut scratch.differences, &mut scratch.products);
        let inverses = &scratch.differences;
        for ((sum, addend), inverse) in sums.iter_mut().zip(&scratch.addends).zip(inverses) {
            let slope = inverse.mul(addend.y.sub_lazy(sum.y));
            let x = slope.square().sub(sum.x.add_lazy(addend.x));
            let y = slope.mul(sum.x.sub_lazy(x)).sub(sum.y);
            if addend.keep == 0 {
                (sum.x, sum.y) = (x, y);
            } else {
                let keep = A::Mask::from_bits(arch, addend.keep);
                sum.x = Lanes::select(keep, sum.x, x);
                sum.y = Lanes::select(keep, sum.y, y);
            }
        }
    }
}
