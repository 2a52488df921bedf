//! Byte formats of points, read in steps so that an error says which step failed.
//!
//! The formats are Zcash's: big-endian coordinates, `c1` before `c0` in Fq2, and three flags in the top bits of the
//! first byte: 0x80 compressed, 0x40 infinity, 0x20 the larger of the two roots (compressed points only).
//! `blst` takes a compressed point where an uncompressed one is wanted; the readers here do not.

use group::prime::PrimeCurveAffine;

use crate::{G1, G1Affine, G2, G2Affine, Group};

const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
const LARGER_ROOT: u8 = 0x20;
const FLAGS: u8 = COMPRESSED | INFINITY | LARGER_ROOT;

const COORDINATE_BYTES: usize = 48;

/// The modulus of Fq, big-endian.
const MODULUS: [u8; COORDINATE_BYTES] = [
    0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7,
    0x64, 0x77, 0x4b, 0x84, 0xf3, 0x85, 0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24,
    0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53, 0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab,
];

/// Why bytes are not a point, in the order in which the steps are taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingError {
    /// The number of bytes is not that of a point.
    #[error("wanted {wanted} bytes, found {found}")]
    Length {
        /// Bytes of a point in this format.
        wanted: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// The flags do not go with the format.
    #[error("flags {found:#04x} in the first byte do not go with the format")]
    Flags {
        /// The top three bits of the first byte, the others zero.
        found: u8,
    },
    /// A point at infinity whose other bits are not all zero.
    #[error("a point at infinity with other bits set")]
    InfinityBits,
    /// A coordinate is not below the modulus of Fq.
    #[error("coordinate {index} is not below the modulus")]
    Coordinate {
        /// Which 48 bytes, counted from 0: x and y, or x.c1, x.c0, y.c1, y.c0.
        index: usize,
    },
    /// The coordinates do not satisfy the curve's equation, or no point has the given x.
    #[error("not on the curve")]
    OffCurve,
    /// The point is on the curve but not of the prime order r.
    #[error("on the curve but outside the subgroup of prime order")]
    OutsideSubgroup,
    /// The point is at infinity where that is refused.
    #[error("at infinity")]
    Infinity,
}

/// Reading and writing points of a group. The readers accept the point at infinity; [`not_infinity`] refuses it.
pub trait Encoding: Group {
    /// Bytes of a compressed point: 48 or 96.
    const COMPRESSED_BYTES: usize = Self::UNCOMPRESSED_BYTES / 2;

    /// Decodes an uncompressed point and checks that it is on the curve, but not that it is in the subgroup.
    fn read_on_curve(bytes: &[u8]) -> Result<Self::Affine, EncodingError>;

    /// Decodes a compressed point, which cannot be off the curve, without the subgroup check.
    fn read_compressed_on_curve(bytes: &[u8]) -> Result<Self::Affine, EncodingError>;

    /// Whether a point on the curve is in the subgroup of prime order (infinity is).
    fn in_subgroup(point: &Self::Affine) -> bool;

    /// Appends the compressed encoding of `point`.
    fn write_compressed(point: &Self::Affine, out: &mut Vec<u8>);

    /// Decodes an uncompressed point with all checks.
    fn read_uncompressed(bytes: &[u8]) -> Result<Self::Affine, EncodingError> {
        subgroup_only::<Self>(Self::read_on_curve(bytes)?)
    }

    /// Decodes a compressed point with all checks.
    fn read_compressed(bytes: &[u8]) -> Result<Self::Affine, EncodingError> {
        subgroup_only::<Self>(Self::read_compressed_on_curve(bytes)?)
    }
}

/// Refuses the point at infinity.
pub fn not_infinity<A: PrimeCurveAffine>(point: A) -> Result<A, EncodingError> {
    if bool::from(point.is_identity()) {
        return Err(EncodingError::Infinity);
    }
    Ok(point)
}

fn subgroup_only<G: Encoding>(point: G::Affine) -> Result<G::Affine, EncodingError> {
    if G::in_subgroup(&point) {
        Ok(point)
    } else {
        Err(EncodingError::OutsideSubgroup)
    }
}

/// What the bytes say before any arithmetic.
enum Parsed<const N: usize> {
    Infinity,
    Coordinates([u8; N]),
}

/// Checks length, flags and ranges of an encoding of `N` bytes.
fn parse<const N: usize>(bytes: &[u8], compressed: bool) -> Result<Parsed<N>, EncodingError> {
    let encoding: [u8; N] = bytes.try_into().map_err(|_| EncodingError::Length {
        wanted: N,
        found: bytes.len(),
    })?;
    let (first, rest) = encoding.split_first().ok_or(EncodingError::Length {
        wanted: N,
        found: 0,
    })?;
    let flags = first & FLAGS;
    let base = if compressed { COMPRESSED } else { 0 };
    if flags == base | INFINITY {
        let clear = first & !FLAGS == 0 && rest.iter().all(|&byte| byte == 0);
        return if clear {
            Ok(Parsed::Infinity)
        } else {
            Err(EncodingError::InfinityBits)
        };
    }
    let sign = if compressed { LARGER_ROOT } else { 0 };
    if flags & !sign != base {
        return Err(EncodingError::Flags { found: flags });
    }
    for (index, coordinate) in encoding.chunks_exact(COORDINATE_BYTES).enumerate() {
        if !below_modulus(coordinate, index == 0) {
            return Err(EncodingError::Coordinate { index });
        }
    }
    Ok(Parsed::Coordinates(encoding))
}

/// Whether a big-endian coordinate, its flags cleared where it is the first, is below the modulus.
fn below_modulus(coordinate: &[u8], first: bool) -> bool {
    let top = coordinate
        .first()
        .map_or(0, |&byte| if first { byte & !FLAGS } else { byte });
    match top.cmp(&MODULUS[0]) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => coordinate[1..] < MODULUS[1..],
    }
}

/// Why the decoder of G1 refuses coordinates in range. There are two points with x = 0, (0, 2) and (0, -2), of order 3:
/// `blst` refuses them while it decodes, so that they must be told from points off the curve here.
fn g1_refusal(coordinates: &[u8]) -> EncodingError {
    let Some((x, y)) = coordinates.split_at_checked(COORDINATE_BYTES) else {
        return EncodingError::OffCurve;
    };
    let x_zero = x[0] & !FLAGS == 0 && x[1..].iter().all(|&byte| byte == 0);
    let (y_start, y_last) = match y.split_last() {
        Some((last, start)) => (start, Some(*last)),
        None => (y, None),
    };
    let modulus_last = MODULUS[COORDINATE_BYTES - 1];
    let y_two = match y_last {
        None => true,
        Some(2) => y_start.iter().all(|&byte| byte == 0),
        Some(last) => last == modulus_last - 2 && *y_start == MODULUS[..COORDINATE_BYTES - 1],
    };
    if x_zero && y_two {
        EncodingError::OutsideSubgroup
    } else {
        EncodingError::OffCurve
    }
}

macro_rules! encoding {
    ($group:ty, $affine:ty, $bytes:literal, $refusal:expr) => {
        impl Encoding for $group {
            fn read_on_curve(bytes: &[u8]) -> Result<$affine, EncodingError> {
                match parse::<$bytes>(bytes, false)? {
                    Parsed::Infinity => Ok(<$affine>::identity()),
                    // Despite its name, the decoder checks the curve's equation; a test here pins that.
                    Parsed::Coordinates(encoding) => {
                        Option::from(<$affine>::from_uncompressed_unchecked(&encoding))
                            .ok_or_else(|| $refusal(&encoding))
                    }
                }
            }

            fn read_compressed_on_curve(bytes: &[u8]) -> Result<$affine, EncodingError> {
                match parse::<{ $bytes / 2 }>(bytes, true)? {
                    Parsed::Infinity => Ok(<$affine>::identity()),
                    Parsed::Coordinates(encoding) => {
                        Option::from(<$affine>::from_compressed_unchecked(&encoding))
                            .ok_or_else(|| $refusal(&encoding))
                    }
                }
            }

            fn in_subgroup(point: &$affine) -> bool {
                point.is_torsion_free().into()
            }

            fn write_compressed(point: &$affine, out: &mut Vec<u8>) {
                out.extend_from_slice(&point.to_compressed());
            }
        }
    };
}

encoding!(G1, G1Affine, 96, g1_refusal);
encoding!(G2, G2Affine, 192, |_| EncodingError::OffCurve);

#[cfg(test)]
mod tests;
