//! Field elements and points in memory form, without unsafe code.

use blst::{blst_fp, blst_fp2, blst_fr};
use cuzk_curve::{Fq, Fq2, Fr, G1, G2, Group};
use group::prime::PrimeCurveAffine;

/// A value as it lies in the memory of blst and of the device.
pub trait Value: Copy {
    /// Bytes in memory.
    const BYTES: usize;
    /// Appends the memory form.
    fn write(&self, out: &mut Vec<u8>);
    /// Reads the memory form.
    fn read(bytes: &[u8]) -> Self;
}

fn write_limbs(limbs: &[u64], out: &mut Vec<u8>) {
    out.extend(limbs.iter().flat_map(|limb| limb.to_le_bytes()));
}

fn read_limbs<const N: usize>(bytes: &[u8]) -> [u64; N] {
    std::array::from_fn(|i| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap()))
}

impl Value for Fr {
    const BYTES: usize = 32;
    fn write(&self, out: &mut Vec<u8>) {
        write_limbs(&blst_fr::from(*self).l, out);
    }
    fn read(bytes: &[u8]) -> Self {
        blst_fr {
            l: read_limbs(bytes),
        }
        .into()
    }
}

impl Value for Fq {
    const BYTES: usize = 48;
    fn write(&self, out: &mut Vec<u8>) {
        let point = G1::from_coordinates(*self, *self);
        write_limbs(&point.as_ref().x.l, out);
    }
    fn read(bytes: &[u8]) -> Self {
        let mut point = cuzk_curve::G1Affine::identity();
        point.as_mut().x = blst_fp {
            l: read_limbs(bytes),
        };
        G1::coordinates(&point).0
    }
}

impl Value for Fq2 {
    const BYTES: usize = 96;
    fn write(&self, out: &mut Vec<u8>) {
        self.c0().write(out);
        self.c1().write(out);
    }
    fn read(bytes: &[u8]) -> Self {
        let mut point = cuzk_curve::G2Affine::identity();
        let part = |at: usize| blst_fp {
            l: read_limbs(&bytes[at..]),
        };
        point.as_mut().x = blst_fp2 {
            fp: [part(0), part(48)],
        };
        G2::coordinates(&point).0
    }
}
