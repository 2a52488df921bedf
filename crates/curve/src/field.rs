//! The base field and its quadratic extension: single elements, for the ends of a computation.
//!
//! The bulk of the work goes through [`crate::simd`].
#![allow(unsafe_code)]

use std::fmt;

use blst::{
    blst_fp, blst_fp_add, blst_fp_eucl_inverse, blst_fp_mul, blst_fp_sqr, blst_fp_sub, blst_fp2,
    blst_fp2_add, blst_fp2_eucl_inverse, blst_fp2_mul, blst_fp2_sqr, blst_fp2_sub,
};

/// An element of the base field, in Montgomery form with the factor 2^384.
#[derive(Copy, Clone, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Fq(pub(crate) blst_fp);

/// An element c0 + c1·u of the quadratic extension, u² = -1.
#[derive(Copy, Clone, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Fq2(pub(crate) blst_fp2);

macro_rules! field {
    ($name:ident, $raw:ident, $add:ident, $sub:ident, $mul:ident, $square:ident, $invert:ident) => {
        impl $name {
            /// `self + rhs`.
            #[inline]
            pub fn add(&self, rhs: &Self) -> Self {
                let mut out = $raw::default();
                // SAFETY: blst reads two elements and writes one, all of them owned here.
                unsafe { $add(&mut out, &self.0, &rhs.0) };
                Self(out)
            }

            /// `self - rhs`.
            #[inline]
            pub fn sub(&self, rhs: &Self) -> Self {
                let mut out = $raw::default();
                // SAFETY: as in `add`.
                unsafe { $sub(&mut out, &self.0, &rhs.0) };
                Self(out)
            }

            /// `self * rhs`.
            #[inline]
            pub fn mul(&self, rhs: &Self) -> Self {
                let mut out = $raw::default();
                // SAFETY: as in `add`.
                unsafe { $mul(&mut out, &self.0, &rhs.0) };
                Self(out)
            }

            /// `self * self`.
            #[inline]
            pub fn square(&self) -> Self {
                let mut out = $raw::default();
                // SAFETY: blst reads one element and writes one, both owned here.
                unsafe { $square(&mut out, &self.0) };
                Self(out)
            }

            /// `1 / self`, or zero for zero.
            pub fn invert(&self) -> Self {
                let mut out = $raw::default();
                // SAFETY: as in `square`.
                unsafe { $invert(&mut out, &self.0) };
                Self(out)
            }

            /// Whether this is zero.
            #[inline]
            pub fn is_zero(&self) -> bool {
                *self == Self::default()
            }
        }
    };
}

field!(
    Fq,
    blst_fp,
    blst_fp_add,
    blst_fp_sub,
    blst_fp_mul,
    blst_fp_sqr,
    blst_fp_eucl_inverse
);
field!(
    Fq2,
    blst_fp2,
    blst_fp2_add,
    blst_fp2_sub,
    blst_fp2_mul,
    blst_fp2_sqr,
    blst_fp2_eucl_inverse
);

impl Fq {
    /// Bytes of the big-endian encoding.
    pub const BYTES: usize = 48;

    /// One: 2^384 modulo p.
    pub const ONE: Self = Self(blst_fp {
        l: [
            0x7609_0000_0002_fffd,
            0xebf4_000b_c40c_0002,
            0x5f48_9857_53c7_58ba,
            0x77ce_5853_7052_5745,
            0x5c07_1a97_a256_ec6d,
            0x15f6_5ec3_fa80_e493,
        ],
    });

    /// 2^768 modulo p: the Montgomery product with it brings an integer into Montgomery form.
    const R2: Self = Self(blst_fp {
        l: [
            0xf4df_1f34_1c34_1746,
            0x0a76_e6a6_09d1_04f1,
            0x8de5_476c_4c95_b6d5,
            0x67eb_88a9_939d_83c0,
            0x9a79_3e85_b519_952d,
            0x1198_8fe5_92ca_e3aa,
        ],
    });

    /// The modulus.
    pub(crate) const P: [u64; 6] = [
        0xb9fe_ffff_ffff_aaab,
        0x1eab_fffe_b153_ffff,
        0x6730_d2a0_f6b0_f624,
        0x6477_4b84_f385_12bf,
        0x4b1b_a7b6_434b_acd7,
        0x1a01_11ea_397f_e69a,
    ];

    /// Reads 48 big-endian bytes modulo p; the three flag bits of the first are ignored.
    pub fn from_encoded(bytes: &[u8; Self::BYTES]) -> Self {
        let mut limbs = [0; 6];
        for (limb, chunk) in limbs.iter_mut().rev().zip(bytes.chunks_exact(8)) {
            *limb = chunk
                .iter()
                .fold(0, |limb, byte| limb << 8 | u64::from(*byte));
        }
        limbs[5] &= u64::MAX >> 3;
        // Below 2^381, so at or above p at most once.
        let (reduced, borrow) = subtract(&limbs, &Self::P);
        let limbs = if borrow { limbs } else { reduced };
        Self(blst_fp { l: limbs }).mul(&Self::R2)
    }
}

/// `a - b` and whether it borrows.
fn subtract(a: &[u64; 6], b: &[u64; 6]) -> ([u64; 6], bool) {
    let mut out = [0; 6];
    let mut borrow = false;
    for i in 0..6 {
        let (difference, first) = a[i].overflowing_sub(b[i]);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        out[i] = difference;
        borrow = first || second;
    }
    (out, borrow)
}

impl Fq2 {
    /// Bytes of the big-endian encoding, c1 before c0.
    pub const BYTES: usize = 96;

    /// One.
    pub const ONE: Self = Self(blst_fp2 {
        fp: [Fq::ONE.0, blst_fp { l: [0; 6] }],
    });

    /// c0 + c1·u.
    pub fn new(c0: Fq, c1: Fq) -> Self {
        Self(blst_fp2 { fp: [c0.0, c1.0] })
    }

    /// The constant coefficient.
    pub fn c0(&self) -> Fq {
        Fq(self.0.fp[0])
    }

    /// The coefficient of u.
    pub fn c1(&self) -> Fq {
        Fq(self.0.fp[1])
    }
}

impl fmt::Debug for Fq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limbs = self.mul(&Self(blst_fp {
            l: [1, 0, 0, 0, 0, 0],
        }));
        write!(f, "0x")?;
        for limb in limbs.0.l.iter().rev() {
            write!(f, "{limb:016x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fq2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} + {:?}*u", self.c0(), self.c1())
    }
}
