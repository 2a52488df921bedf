//! Where the points of a sum come from: encoded bytes, or rows that were decoded before.

use cuzk_curve::simd::{Arch, CoordinateLanes, Lanes, Mask, Task};
use cuzk_curve::{EncodedPoints, Group, large_pages};
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;

/// Bit of an encoding's first byte that says the point is at infinity.
const INFINITY: u8 = 0x40;
/// The most lanes that any architecture has.
pub(crate) const MAX_LANES: usize = 8;
/// Points that one task decodes.
const DECODE_BLOCK: usize = 4096;

/// A coordinate in one architecture's memory format.
pub(crate) type Row<A, G> = <<G as Group>::Lanes<A> as CoordinateLanes>::Row;

/// An affine point in one architecture's memory format. The identity has both coordinates zero.
#[derive(Debug)]
pub(crate) struct Point<A: Arch, G: Group> {
    pub(crate) x: Row<A, G>,
    pub(crate) y: Row<A, G>,
}

impl<A: Arch, G: Group> Clone for Point<A, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Arch, G: Group> Copy for Point<A, G> {}

impl<A: Arch, G: Group> Default for Point<A, G> {
    fn default() -> Self {
        Self {
            x: Default::default(),
            y: Default::default(),
        }
    }
}

/// Points in lanes.
pub(crate) struct Gathered<L> {
    pub(crate) x: L,
    pub(crate) y: L,
    /// The lanes that hold the identity, a bit each.
    pub(crate) identity: u64,
}

/// Points that can be gathered into lanes by index.
pub(crate) trait Source<A: Arch, G: Group>: Sync {
    /// Lane i of the result is point `indices[i]`, for `LANES` indices.
    fn gather(&self, arch: A, indices: &[u32; MAX_LANES]) -> Gathered<G::Lanes<A>>;

    /// Asks the cache for those points.
    fn prefetch(&self, arch: A, indices: &[u32; MAX_LANES]);
}

/// Points straight from their encoding. An index past the end gives a point of zeros.
pub(crate) struct Encoded<'a> {
    bytes: &'a [u8],
    /// The points of the source are these ones of the bytes, or all.
    subset: Option<&'a [u32]>,
}

impl<'a> Encoded<'a> {
    /// The points that `subset` names, or all.
    pub(crate) fn new<G: Group>(points: &'a EncodedPoints<G>, subset: Option<&'a [u32]>) -> Self {
        Self {
            bytes: points.bytes(),
            subset,
        }
    }

    /// The encoding of a point and whatever follows it.
    #[inline(always)]
    fn point(&self, index: u32, size: usize) -> &'a [u8] {
        let index = match self.subset {
            Some(subset) => subset.get(index as usize).copied(),
            None => Some(index),
        };
        index
            .and_then(|index| self.bytes.get(index as usize * size..))
            .unwrap_or_default()
    }
}

impl<A: Arch, G: Group> Source<A, G> for Encoded<'_> {
    #[inline(always)]
    fn gather(&self, arch: A, indices: &[u32; MAX_LANES]) -> Gathered<G::Lanes<A>> {
        let size = G::UNCOMPRESSED_BYTES;
        let mut points = [&self.bytes[..0]; MAX_LANES];
        let mut identity = 0;
        for lane in 0..A::LANES {
            points[lane] = self.point(indices[lane], size);
            let first = points[lane].first().copied().unwrap_or(INFINITY);
            identity |= u64::from(first & INFINITY != 0) << lane;
        }
        Gathered {
            x: G::Lanes::<A>::gather_encoded(arch, |lane| points[lane]),
            y: G::Lanes::<A>::gather_encoded(arch, |lane| {
                points[lane].get(size / 2..).unwrap_or_default()
            }),
            identity,
        }
    }

    #[inline(always)]
    fn prefetch(&self, arch: A, indices: &[u32; MAX_LANES]) {
        for index in &indices[..A::LANES] {
            let size = G::UNCOMPRESSED_BYTES;
            let point = self.point(*index, size);
            arch.prefetch(point.get(..size).unwrap_or_default());
        }
    }
}

/// Points in rows.
pub(crate) struct Decoded<A: Arch, G: Group> {
    points: Vec<Point<A, G>>,
}

impl<A: Arch, G: Group> Decoded<A, G> {
    /// Takes points as a source.
    pub(crate) fn new(points: Vec<Point<A, G>>) -> Self {
        Self { points }
    }

    /// Decodes `count` points of `source` from its point `start`.
    pub(crate) fn decode(arch: A, source: &Encoded<'_>, start: usize, count: usize) -> Self {
        let mut points = large_pages(count, Point::default());
        points
            .par_chunks_mut(DECODE_BLOCK)
            .enumerate()
            .for_each(|(block, out)| {
                arch.run(Decode::<A, G> {
                    source,
                    start: start + block * DECODE_BLOCK,
                    out,
                });
            });
        Self { points }
    }

    /// The points.
    #[cfg(test)]
    pub(crate) fn points(&self) -> &[Point<A, G>] {
        &self.points
    }
}

impl<A: Arch, G: Group> Source<A, G> for Decoded<A, G> {
    #[inline(always)]
    fn gather(&self, arch: A, indices: &[u32; MAX_LANES]) -> Gathered<G::Lanes<A>> {
        let x = G::Lanes::<A>::gather(arch, |lane| &self.points[indices[lane] as usize].x);
        let y = G::Lanes::<A>::gather(arch, |lane| &self.points[indices[lane] as usize].y);
        let mut identity = x.is_zero().bits();
        if identity != 0 {
            identity &= y.is_zero().bits();
        }
        Gathered { x, y, identity }
    }

    #[inline(always)]
    fn prefetch(&self, arch: A, indices: &[u32; MAX_LANES]) {
        for index in &indices[..A::LANES] {
            if let Some(point) = self.points.get(*index as usize) {
                arch.prefetch(point);
            }
        }
    }
}

/// Decodes points from `start` on, one for each place of `out`.
struct Decode<'a, A: Arch, G: Group> {
    source: &'a Encoded<'a>,
    start: usize,
    out: &'a mut [Point<A, G>],
}

impl<A: Arch, G: Group> Task<A> for Decode<'_, A, G> {
    type Output = ();

    #[inline(always)]
    fn run(self, arch: A) {
        for (block, out) in self.out.chunks_mut(A::LANES).enumerate() {
            let first = self.start + block * A::LANES;
            let mut indices = [u32::MAX; MAX_LANES];
            for (lane, index) in indices.iter_mut().enumerate().take(out.len()) {
                *index = (first + lane) as u32;
            }
            let points = Source::<A, G>::gather(self.source, arch, &indices);
            put::<A, G>(arch, &points, |lane, point| {
                if let Some(place) = out.get_mut(lane) {
                    *place = point;
                }
            });
        }
    }
}

/// Gives the point of each lane to `put`.
#[inline(always)]
pub(crate) fn put<A: Arch, G: Group>(
    arch: A,
    points: &Gathered<G::Lanes<A>>,
    mut put: impl FnMut(usize, Point<A, G>),
) {
    let (mut x, mut y) = (points.x, points.y);
    if points.identity != 0 {
        let identity = A::Mask::from_bits(arch, points.identity);
        let zero = G::Lanes::<A>::zero(arch);
        x = Lanes::select(identity, zero, x);
        y = Lanes::select(identity, zero, y);
    }
    let mut rows = [Row::<A, G>::default(); MAX_LANES];
    x.scatter(|lane, row| rows[lane] = row);
    y.scatter(|lane, row| {
        put(
            lane,
            Point {
                x: rows[lane],
                y: row,
            },
        )
    });
}

/// The points as affine points of the group.
pub(crate) fn to_affine<A: Arch, G: Group>(arch: A, points: &[Point<A, G>]) -> Vec<G::Affine> {
    let mut out = vec![G::Affine::identity(); points.len()];
    points
        .par_chunks(DECODE_BLOCK)
        .zip(out.par_chunks_mut(DECODE_BLOCK))
        .for_each(|(points, out)| arch.run(ToAffine::<A, G> { points, out }));
    out
}

/// Writes `points` to `out`.
struct ToAffine<'a, A: Arch, G: Group> {
    points: &'a [Point<A, G>],
    out: &'a mut [G::Affine],
}

impl<A: Arch, G: Group> Task<A> for ToAffine<'_, A, G> {
    type Output = ();

    #[inline(always)]
    fn run(self, arch: A) {
        let blocks = self
            .points
            .chunks(A::LANES)
            .zip(self.out.chunks_mut(A::LANES));
        for (points, out) in blocks {
            let last = points.len() - 1;
            let mut x = [G::Coordinate::default(); MAX_LANES];
            let mut y = [G::Coordinate::default(); MAX_LANES];
            G::Lanes::<A>::gather(arch, |lane| &points[lane.min(last)].x)
                .to_scalars(&mut x[..A::LANES]);
            G::Lanes::<A>::gather(arch, |lane| &points[lane.min(last)].y)
                .to_scalars(&mut y[..A::LANES]);
            for (lane, place) in out.iter_mut().enumerate() {
                *place = G::from_coordinates(x[lane], y[lane]);
            }
        }
    }
}
