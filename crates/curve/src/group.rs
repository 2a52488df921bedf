//! The two source groups of the pairing, behind one trait.

use std::fmt::Debug;

use ::group::prime::{PrimeCurve, PrimeCurveAffine};
use blst::{blst_p1, blst_p2};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective};

use crate::simd::{Arch, CoordinateLanes};
use crate::{Fq, Fq2, Fr};

/// One of the groups G1 and G2: what code that serves both needs to name.
pub trait Group: Copy + Clone + Debug + Send + Sync + 'static {
    /// A point in affine coordinates.
    type Affine: PrimeCurveAffine<Scalar = Fr, Curve = Self::Projective> + Copy + Send + Sync;
    /// A point in projective coordinates.
    type Projective: PrimeCurve<Scalar = Fr, Affine = Self::Affine> + Copy + Send + Sync;
    /// A coordinate.
    type Coordinate: Copy + Debug + Default + PartialEq + Send + Sync + 'static;
    /// Vectors of coordinates.
    type Lanes<A: Arch>: CoordinateLanes<Arch = A, Scalar = Self::Coordinate>;

    /// `"G1"` or `"G2"`.
    const NAME: &'static str;
    /// Bytes of a point as two big-endian coordinates (Zcash's serialisation): 96 or 192.
    const UNCOMPRESSED_BYTES: usize;

    /// Appends the uncompressed encoding of `point`.
    fn write_uncompressed(point: &Self::Affine, out: &mut Vec<u8>);

    /// Decodes an uncompressed point without checking that it lies on the curve or in the subgroup. `None` where the
    /// length, the flags or a coordinate (not below the modulus) is wrong.
    fn read_unchecked(bytes: &[u8]) -> Option<Self::Affine>;

    /// The coordinates x, y of an affine point; both zero for the point at infinity.
    fn coordinates(point: &Self::Affine) -> (Self::Coordinate, Self::Coordinate);

    /// The affine point (x, y), unchecked; infinity where both are zero.
    fn from_coordinates(x: Self::Coordinate, y: Self::Coordinate) -> Self::Affine;

    /// The point (X/Z², Y/Z³), unchecked; infinity where Z is zero.
    fn from_jacobian(
        x: Self::Coordinate,
        y: Self::Coordinate,
        z: Self::Coordinate,
    ) -> Self::Projective;
}

/// The group of points over Fq.
#[derive(Copy, Clone, Debug)]
pub struct G1;

/// The group of points over Fq2.
#[derive(Copy, Clone, Debug)]
pub struct G2;

macro_rules! group {
    ($name:ident, $affine:ident, $projective:ident, $raw:ident, $field:ident, $bytes:literal) => {
        impl Group for $name {
            type Affine = $affine;
            type Projective = $projective;
            type Coordinate = $field;
            type Lanes<A: Arch> = A::$field;
            const NAME: &'static str = stringify!($name);
            const UNCOMPRESSED_BYTES: usize = $bytes;

            fn write_uncompressed(point: &$affine, out: &mut Vec<u8>) {
                out.extend_from_slice(&point.to_uncompressed());
            }

            fn read_unchecked(bytes: &[u8]) -> Option<$affine> {
                let bytes: &[u8; $bytes] = bytes.try_into().ok()?;
                <$affine>::from_uncompressed_unchecked(bytes).into()
            }

            fn coordinates(point: &$affine) -> ($field, $field) {
                let raw = point.as_ref();
                ($field(raw.x), $field(raw.y))
            }

            fn from_coordinates(x: $field, y: $field) -> $affine {
                let mut point = <$affine as PrimeCurveAffine>::identity();
                let raw = point.as_mut();
                (raw.x, raw.y) = (x.0, y.0);
                point
            }

            fn from_jacobian(x: $field, y: $field, z: $field) -> $projective {
                let mut point = <$projective as ::group::Group>::identity();
                let raw: &mut $raw = point.as_mut();
                (raw.x, raw.y, raw.z) = (x.0, y.0, z.0);
                point
            }
        }
    };
}

group!(G1, G1Affine, G1Projective, blst_p1, Fq, 96);
group!(G2, G2Affine, G2Projective, blst_p2, Fq2, 192);
