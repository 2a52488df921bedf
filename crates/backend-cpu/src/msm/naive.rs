//! The reference: one double-and-add a point.

use cuzk_curve::{EncodedPoints, Fr, Group};
use group::{Group as _, prime::PrimeCurveAffine};

/// The point at `index`, or the identity where the bytes are no point.
pub(crate) fn decode<G: Group>(points: &EncodedPoints<G>, index: usize) -> G::Affine {
    let start = index * G::UNCOMPRESSED_BYTES;
    let bytes = points.bytes().get(start..start + G::UNCOMPRESSED_BYTES);
    bytes
        .and_then(G::read_unchecked)
        .unwrap_or_else(G::Affine::identity)
}

/// The sum of `scalars[i] * points[i]`.
pub(crate) fn msm<G: Group>(points: &EncodedPoints<G>, scalars: &[Fr]) -> G::Projective {
    scalars
        .iter()
        .enumerate()
        .fold(G::Projective::identity(), |sum, (i, scalar)| {
            sum + decode(points, i) * scalar
        })
}
