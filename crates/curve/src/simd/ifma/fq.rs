//! Eight elements of the base field: eight limbs, Montgomery's factor 2^416, which is 4·10^10 times p.
//!
//! **Bounds**, as multiples of p. Reduced: below 2.1; products of operands below 2^16 are below 1.1, and
//! [`Ifma::reduced`] leaves less than 1.1 of operands below 2^10. Lazy: below 6.1.

use super::limbs::{Modulus, limbs_to_words, scalar_limbs, words_to_limbs};
use super::ops::V;
use super::{Ifma, Lanes8};
use crate::Fq;
use crate::simd::{CoordinateLanes, Lanes};

const P: Modulus<8> = Modulus::new(scalar_limbs(&Fq::P));

/// From blst's factor 2^384 to ours: a product with this, over 2^416, multiplies by 2^32.
const FROM_BLST: [u64; 8] = P.power_of_two(448);
/// From our factor to blst's: a product with this, over 2^416, divides by 2^32.
const TO_BLST: [u64; 8] = P.power_of_two(384);
/// From an integer to our form.
const FROM_INTEGER: [u64; 8] = P.power_of_two(832);
const ONE: [u64; 8] = P.power_of_two(416);

/// What a lazy difference adds: above every reduced value.
const LAZY_BIAS: [u64; 8] = P.spread_multiple(4);
/// What a difference adds: above every value that may be taken off.
const BIAS: [u64; 8] = P.spread_multiple(64);

/// Eight elements of the base field.
#[derive(Copy, Clone, Debug)]
pub struct FqLanes([V; 8]);

/// One element of the base field as a cache line: eight limbs.
#[derive(Copy, Clone, Debug, Default)]
#[repr(align(64))]
pub struct FqRow([u64; 8]);

impl FqLanes {
    /// The token: lanes exist only where one did.
    #[inline(always)]
    pub(super) fn ifma(self) -> Ifma {
        Ifma(())
    }

    /// (a0 + a1·u)·(b0 + b1·u) by Karatsuba's three products of columns, each coefficient reduced once. The constant
    /// coefficient is below 2.1p.
    #[inline(always)]
    pub(super) fn mul_pairs(a: (Self, Self), b: (Self, Self)) -> (Self, Self) {
        let arch = a.0.ifma();
        let low: [V; 16] = arch.product(&a.0.0, &b.0.0);
        let high: [V; 16] = arch.product(&a.1.0, &b.1.0);
        let (left, right) = (a.0.add_lazy(a.1), b.0.add_lazy(b.1));
        let mut cross: [V; 16] = arch.product(&left.0, &right.0);
        let mut constant = low;
        for k in 0..16 {
            constant[k] = arch.sub(low[k], high[k]);
            cross[k] = arch.sub(cross[k], arch.add(low[k], high[k]));
        }
        (
            Self(arch.montgomery_reduced::<8, 16, true>(&constant, &P)),
            Self(arch.montgomery_reduced::<8, 16, false>(&cross, &P)),
        )
    }

    #[inline(always)]
    fn times(self, limbs: &[u64; 8]) -> Self {
        let arch = self.ifma();
        Self(arch.montgomery(&self.0, &arch.words(limbs), &P))
    }
}

impl Lanes for FqLanes {
    type Arch = Ifma;
    type Scalar = Fq;

    #[inline(always)]
    fn arch(self) -> Ifma {
        self.ifma()
    }

    #[inline(always)]
    fn zero(arch: Ifma) -> Self {
        Self([arch.zero(); 8])
    }

    #[inline(always)]
    fn one(arch: Ifma) -> Self {
        Self(arch.words(&ONE))
    }

    #[inline(always)]
    fn splat(arch: Ifma, value: &Fq) -> Self {
        Self(arch.words(&scalar_limbs(&value.0.l))).times(&FROM_BLST)
    }

    #[inline(always)]
    fn from_scalars(arch: Ifma, values: &[Fq]) -> Self {
        assert_eq!(values.len(), 8, "eight lanes");
        let mut rows = [arch.zero(); 8];
        for (row, value) in rows.iter_mut().zip(values) {
            *row = arch.load_six(&value.0.l);
        }
        let [w0, w1, w2, w3, w4, w5, _, _] = arch.transpose_8(rows);
        Self(words_to_limbs(arch, &[w0, w1, w2, w3, w4, w5])).times(&FROM_BLST)
    }

    #[inline(always)]
    fn to_scalars(self, values: &mut [Fq]) {
        assert_eq!(values.len(), 8, "eight lanes");
        let arch = self.ifma();
        let limbs = arch.canonical(&self.times(&TO_BLST).0, &P);
        let [w0, w1, w2, w3, w4, w5] = limbs_to_words(arch, &limbs);
        let rows = arch.transpose_8([w0, w1, w2, w3, w4, w5, arch.zero(), arch.zero()]);
        for (row, value) in rows.into_iter().zip(values) {
            arch.store_six(row, &mut value.0.l);
        }
    }

    fn invert_scalar(value: &Fq) -> Fq {
        value.invert()
    }

    fn mul_scalar(a: &Fq, b: &Fq) -> Fq {
        a.mul(b)
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        let arch = self.ifma();
        Self(arch.reduced(&arch.add_limbs(&self.0, &rhs.0), &P))
    }

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        let arch = self.ifma();
        Self(arch.reduced(&arch.sub_limbs(&self.0, &rhs.0, &BIAS), &P))
    }

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        Self(self.ifma().montgomery(&self.0, &rhs.0, &P))
    }

    #[inline(always)]
    fn square(self) -> Self {
        let arch = self.ifma();
        let columns: [V; 16] = arch.square_product(&self.0);
        Self(arch.montgomery_reduced::<8, 16, false>(&columns, &P))
    }

    #[inline(always)]
    fn add_lazy(self, rhs: Self) -> Self {
        let arch = self.ifma();
        Self(arch.carried(&arch.add_limbs(&self.0, &rhs.0)))
    }

    #[inline(always)]
    fn sub_lazy(self, rhs: Self) -> Self {
        let arch = self.ifma();
        Self(arch.carried(&arch.sub_limbs(&self.0, &rhs.0, &LAZY_BIAS)))
    }

    #[inline(always)]
    fn is_zero(self) -> Lanes8 {
        Lanes8(self.ifma().zero_lanes(&self.0, &P))
    }

    #[inline(always)]
    fn select(mask: Lanes8, on_true: Self, on_false: Self) -> Self {
        let arch = on_true.ifma();
        Self(arch.select_limbs(mask.0, &on_true.0, &on_false.0))
    }
}

impl CoordinateLanes for FqLanes {
    type Row = FqRow;

    const ENCODED_BYTES: usize = Fq::BYTES;

    #[inline(always)]
    fn gather<'a>(arch: Ifma, mut row: impl FnMut(usize) -> &'a FqRow) -> Self {
        let mut rows = [arch.zero(); 8];
        for (i, slot) in rows.iter_mut().enumerate() {
            *slot = arch.load(&row(i).0);
        }
        Self(arch.transpose_8(rows))
    }

    #[inline(always)]
    fn scatter(self, mut put: impl FnMut(usize, FqRow)) {
        let arch = self.ifma();
        let rows = arch.transpose_8(self.0);
        for (i, row) in rows.into_iter().enumerate() {
            let mut words = FqRow::default();
            arch.store(row, &mut words.0);
            put(i, words);
        }
    }

    #[inline(always)]
    fn gather_encoded<'a>(arch: Ifma, mut bytes: impl FnMut(usize) -> &'a [u8]) -> Self {
        gather_encoded_at(arch, 0, &mut bytes)
    }
}

/// As [`CoordinateLanes::gather_encoded`], from byte `offset` of each slice.
#[inline(always)]
pub(super) fn gather_encoded_at<'a>(
    arch: Ifma,
    offset: usize,
    bytes: &mut impl FnMut(usize) -> &'a [u8],
) -> FqLanes {
    let mut rows = [arch.zero(); 8];
    for (i, row) in rows.iter_mut().enumerate() {
        let rest = bytes(i).get(offset..);
        if let Some(coordinate) = rest.and_then(|rest| rest.first_chunk::<48>()) {
            *row = arch.swap_bytes(arch.load_bytes(coordinate));
        }
    }
    let [w5, w4, w3, w2, w1, w0, _, _] = arch.transpose_8(rows);
    // The three highest bits are flags.
    let w5 = arch.and(w5, arch.word(u64::MAX >> 3));
    FqLanes(words_to_limbs(arch, &[w0, w1, w2, w3, w4, w5])).times(&FROM_INTEGER)
}
