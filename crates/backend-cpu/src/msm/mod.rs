//! Multi-scalar multiplication on encoded points.
//!
//! Everything is a sum of lists of points ([`sums`]), done by batched-affine additions in lanes ([`batch`]): the buckets
//! of Pippenger's method, their reduction, and the sum of selected points. Points that are not on the curve give some
//! point, never a panic.

pub(crate) mod batch;
pub(crate) mod buckets;
pub(crate) mod digits;
#[cfg(test)]
mod naive;
pub(crate) mod pippenger;
pub(crate) mod reduce;
mod schedule;
pub(crate) mod source;
pub(crate) mod sums;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;

use cuzk_curve::simd::{Arch, Kernel, dispatch};
use cuzk_curve::{EncodedPoints, Fr, Group};
use group::Group as _;

use buckets::Lists;
use source::{Encoded, to_affine};

/// The sum of `scalars[i]` times point `indices[i]` (or i where there are no indices) of `points`. A point that does not
/// exist is the identity.
pub fn msm_indexed<G: Group>(
    points: &EncodedPoints<G>,
    indices: Option<&[u32]>,
    scalars: &[Fr],
) -> G::Projective {
    dispatch(Msm {
        points,
        indices,
        scalars,
    })
}

/// The sum of the points `indices` of `points`. A point that does not exist is the identity.
pub fn sum_selected<G: Group>(points: &EncodedPoints<G>, indices: &[u32]) -> G::Projective {
    dispatch(Selected { points, indices })
}

struct Msm<'a, G: Group> {
    points: &'a EncodedPoints<G>,
    indices: Option<&'a [u32]>,
    scalars: &'a [Fr],
}

impl<G: Group> Kernel for Msm<'_, G> {
    type Output = G::Projective;

    fn run<A: Arch>(self, arch: A) -> G::Projective {
        let points = Encoded::new(self.points, self.indices);
        pippenger::msm::<A, G>(arch, &points, self.scalars)
    }
}

/// Points that are selected at a time, so that their lists stay small beside the points.
const SELECTED_CHUNK: usize = 1 << 22;

struct Selected<'a, G: Group> {
    points: &'a EncodedPoints<G>,
    indices: &'a [u32],
}

impl<G: Group> Kernel for Selected<'_, G> {
    type Output = G::Projective;

    fn run<A: Arch>(self, arch: A) -> G::Projective {
        let chunks = self.indices.chunks(SELECTED_CHUNK);
        chunks.fold(G::Projective::identity(), |sum, indices| {
            let source = Encoded::new(self.points, Some(indices));
            let mut lists = Lists::default();
            lists.push(0..indices.len() as u32);
            let sums = sums::sum_lists::<A, G, _>(arch, &source, &lists);
            to_affine::<A, G>(arch, &sums)
                .iter()
                .fold(sum, |sum, part| sum + part)
        })
    }
}
