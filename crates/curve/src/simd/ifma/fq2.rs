//! Eight elements of the quadratic extension, as pairs of base field vectors.

use super::fq::{FqLanes, FqRow, gather_encoded_at};
use super::{Ifma, Lanes8};
use crate::simd::{CoordinateLanes, Lanes, Mask};
use crate::{Fq, Fq2};

/// Eight elements c0 + c1·u of the quadratic extension, u² = -1.
#[derive(Copy, Clone, Debug)]
pub struct Fq2Lanes {
    c0: FqLanes,
    c1: FqLanes,
}

impl Lanes for Fq2Lanes {
    type Arch = Ifma;
    type Scalar = Fq2;

    #[inline(always)]
    fn arch(self) -> Ifma {
        self.c0.ifma()
    }

    #[inline(always)]
    fn zero(arch: Ifma) -> Self {
        let zero = FqLanes::zero(arch);
        Self { c0: zero, c1: zero }
    }

    #[inline(always)]
    fn one(arch: Ifma) -> Self {
        Self {
            c0: FqLanes::one(arch),
            c1: FqLanes::zero(arch),
        }
    }

    #[inline(always)]
    fn splat(arch: Ifma, value: &Fq2) -> Self {
        Self {
            c0: FqLanes::splat(arch, &value.c0()),
            c1: FqLanes::splat(arch, &value.c1()),
        }
    }

    #[inline(always)]
    fn from_scalars(arch: Ifma, values: &[Fq2]) -> Self {
        assert_eq!(values.len(), 8, "eight lanes");
        let (mut c0, mut c1) = ([Fq::default(); 8], [Fq::default(); 8]);
        for (i, value) in values.iter().enumerate() {
            (c0[i], c1[i]) = (value.c0(), value.c1());
        }
        Self {
            c0: FqLanes::from_scalars(arch, &c0),
            c1: FqLanes::from_scalars(arch, &c1),
        }
    }

    #[inline(always)]
    fn to_scalars(self, values: &mut [Fq2]) {
        assert_eq!(values.len(), 8, "eight lanes");
        let (mut c0, mut c1) = ([Fq::default(); 8], [Fq::default(); 8]);
        self.c0.to_scalars(&mut c0);
        self.c1.to_scalars(&mut c1);
        for (i, value) in values.iter_mut().enumerate() {
            *value = Fq2::new(c0[i], c1[i]);
        }
    }

    fn invert_scalar(value: &Fq2) -> Fq2 {
        value.invert()
    }

    fn mul_scalar(a: &Fq2, b: &Fq2) -> Fq2 {
        a.mul(b)
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        Self {
            c0: self.c0.add(rhs.c0),
            c1: self.c1.add(rhs.c1),
        }
    }

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        Self {
            c0: self.c0.sub(rhs.c0),
            c1: self.c1.sub(rhs.c1),
        }
    }

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        let (c0, c1) = FqLanes::mul_pairs((self.c0, self.c1), (rhs.c0, rhs.c1));
        Self { c0, c1 }
    }

    /// (c0 + c1)(c0 - c1) + 2·c0·c1·u.
    #[inline(always)]
    fn square(self) -> Self {
        let sum = self.c0.add_lazy(self.c1);
        let product = self.c0.mul(self.c1);
        Self {
            c0: sum.mul(self.c0.sub(self.c1)),
            c1: product.add(product),
        }
    }

    #[inline(always)]
    fn add_lazy(self, rhs: Self) -> Self {
        Self {
            c0: self.c0.add_lazy(rhs.c0),
            c1: self.c1.add_lazy(rhs.c1),
        }
    }

    #[inline(always)]
    fn sub_lazy(self, rhs: Self) -> Self {
        Self {
            c0: self.c0.sub_lazy(rhs.c0),
            c1: self.c1.sub_lazy(rhs.c1),
        }
    }

    #[inline(always)]
    fn is_zero(self) -> Lanes8 {
        let zero = self.c0.is_zero();
        if zero.any() {
            zero.and(self.c1.is_zero())
        } else {
            zero
        }
    }

    #[inline(always)]
    fn select(mask: Lanes8, on_true: Self, on_false: Self) -> Self {
        Self {
            c0: FqLanes::select(mask, on_true.c0, on_false.c0),
            c1: FqLanes::select(mask, on_true.c1, on_false.c1),
        }
    }
}

impl CoordinateLanes for Fq2Lanes {
    type Row = [FqRow; 2];

    const ENCODED_BYTES: usize = Fq2::BYTES;

    #[inline(always)]
    fn gather<'a>(arch: Ifma, mut row: impl FnMut(usize) -> &'a [FqRow; 2]) -> Self {
        Self {
            c0: FqLanes::gather(arch, |i| &row(i)[0]),
            c1: FqLanes::gather(arch, |i| &row(i)[1]),
        }
    }

    #[inline(always)]
    fn scatter(self, mut put: impl FnMut(usize, [FqRow; 2])) {
        let mut rows = [[FqRow::default(); 2]; 8];
        self.c0.scatter(|i, row| rows[i][0] = row);
        self.c1.scatter(|i, row| rows[i][1] = row);
        for (i, row) in rows.into_iter().enumerate() {
            put(i, row);
        }
    }

    #[inline(always)]
    fn gather_encoded<'a>(arch: Ifma, mut bytes: impl FnMut(usize) -> &'a [u8]) -> Self {
        let mut whole = |i| {
            let bytes: &[u8] = bytes(i);
            bytes.get(..Fq2::BYTES).unwrap_or(&[])
        };
        Self {
            c0: gather_encoded_at(arch, Fq::BYTES, &mut whole),
            c1: gather_encoded_at(arch, 0, &mut whole),
        }
    }
}
