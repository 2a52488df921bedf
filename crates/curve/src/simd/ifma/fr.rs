//! Eight elements of the scalar field: five limbs, Montgomery's factor 2^260, which is 35.3 times p.
//!
//! **Bounds**, as multiples of p. Reduced: below 1.97. Lazy: below 5 (a reduced one plus 3). A product is below
//! a·b / 35.3 + 1: of two lazy ones below 1.71, of two reduced ones below 1.11; of a loose one below 33.97 and a factor below
//! 1, below 1.97; of a loose one below 30 and a product of reduced ones, below 1.95. [`Ifma::reduced`] leaves less than 1.4.
//! A sum of sixteen products of reduced ones and factors is below 31.6 before its reduction, and below 1.9 after.

use blst::blst_fr;
use ff::Field;

use super::limbs::{Modulus, limbs_to_words, scalar_limbs, words_to_limbs};
use super::ops::V;
use super::{Ifma, Lanes8};
use crate::Fr;
use crate::simd::{self, Lanes as _};

const R: Modulus<5> = Modulus::new(scalar_limbs(&[
    0xffff_ffff_0000_0001,
    0x53bd_a402_fffe_5bfe,
    0x3339_d808_09a1_d805,
    0x73ed_a753_299d_7d48,
]));

/// From blst's factor 2^256 to ours: a product with this, over 2^260, multiplies by 2^4.
const FROM_BLST: [u64; 5] = R.power_of_two(264);
/// From our factor to blst's: a product with this, over 2^260, divides by 2^4.
const TO_BLST: [u64; 5] = R.power_of_two(256);
const ONE: [u64; 5] = R.power_of_two(260);

/// What a lazy difference adds: above every reduced value.
const LAZY_BIAS: [u64; 5] = R.spread_multiple(3);
/// What a difference adds: above every lazy value.
const BIAS: [u64; 5] = R.spread_multiple(6);
/// What a butterfly's difference adds: above every product.
const BUTTERFLY_BIAS: [u64; 5] = R.spread_multiple(2);

/// Eight elements of the scalar field.
#[derive(Copy, Clone, Debug)]
pub struct FrLanes([V; 5]);

/// An element for every lane, canonical in our Montgomery form.
#[derive(Copy, Clone, Debug)]
pub struct FrFactor([u64; 5]);

impl FrLanes {
    /// The token: lanes exist only where one did.
    #[inline(always)]
    fn ifma(self) -> Ifma {
        Ifma(())
    }

    /// Rows of blst's words to limbs of the same integers.
    #[inline(always)]
    fn load_integers(arch: Ifma, rows: &[Fr], stride: usize) -> Self {
        assert!(rows.len() > 7 * stride, "eight rows");
        let words = arch.rows_to_lanes_4([
            arch.load_halves(fr_words(&rows[0]), fr_words(&rows[4 * stride])),
            arch.load_halves(fr_words(&rows[stride]), fr_words(&rows[5 * stride])),
            arch.load_halves(fr_words(&rows[2 * stride]), fr_words(&rows[6 * stride])),
            arch.load_halves(fr_words(&rows[3 * stride]), fr_words(&rows[7 * stride])),
        ]);
        Self(words_to_limbs(arch, &words))
    }

    /// The canonical integers of the limbs to rows of blst's words.
    #[inline(always)]
    fn store_integers(self, rows: &mut [Fr], stride: usize) {
        assert!(rows.len() > 7 * stride, "eight rows");
        let arch = self.ifma();
        let words = limbs_to_words(arch, &arch.canonical(&self.0, &R));
        let [r02, r46, r13, r57] = arch.lanes_to_rows_4(words);
        arch.store_low(r02, fr_words_mut(&mut rows[0]));
        arch.store_low(r13, fr_words_mut(&mut rows[stride]));
        arch.store_high(r02, fr_words_mut(&mut rows[2 * stride]));
        arch.store_high(r13, fr_words_mut(&mut rows[3 * stride]));
        arch.store_low(r46, fr_words_mut(&mut rows[4 * stride]));
        arch.store_low(r57, fr_words_mut(&mut rows[5 * stride]));
        arch.store_high(r46, fr_words_mut(&mut rows[6 * stride]));
        arch.store_high(r57, fr_words_mut(&mut rows[7 * stride]));
    }

    #[inline(always)]
    fn times(self, limbs: &[u64; 5]) -> Self {
        let arch = self.ifma();
        Self(arch.montgomery(&self.0, &arch.words(limbs), &R))
    }
}

/// The Montgomery words of an element.
#[inline(always)]
fn fr_words(value: &Fr) -> &[u64; 4] {
    // SAFETY: `Fr` is a transparent wrapper of `blst_fr`, which is `repr(C)` with the one field `[u64; 4]`.
    unsafe { &*std::ptr::from_ref(value).cast() }
}

/// The Montgomery words of an element, to be overwritten by those of another.
#[inline(always)]
fn fr_words_mut(value: &mut Fr) -> &mut [u64; 4] {
    // SAFETY: as in `fr_words`; any words are a valid `blst_fr`.
    unsafe { &mut *std::ptr::from_mut(value).cast() }
}

impl simd::Lanes for FrLanes {
    type Arch = Ifma;
    type Scalar = Fr;

    #[inline(always)]
    fn arch(self) -> Ifma {
        self.ifma()
    }

    #[inline(always)]
    fn zero(arch: Ifma) -> Self {
        Self([arch.zero(); 5])
    }

    #[inline(always)]
    fn one(arch: Ifma) -> Self {
        Self(arch.words(&ONE))
    }

    #[inline(always)]
    fn splat(arch: Ifma, value: &Fr) -> Self {
        Self(arch.words(&<Self as simd::FrLanes>::factor(arch, value).0))
    }

    #[inline(always)]
    fn from_scalars(arch: Ifma, values: &[Fr]) -> Self {
        assert_eq!(values.len(), 8, "eight lanes");
        Self::load_integers(arch, values, 1).times(&FROM_BLST)
    }

    #[inline(always)]
    fn to_scalars(self, values: &mut [Fr]) {
        assert_eq!(values.len(), 8, "eight lanes");
        self.times(&TO_BLST).store_integers(values, 1);
    }

    fn invert_scalar(value: &Fr) -> Fr {
        value.invert().unwrap_or(Fr::ZERO)
    }

    fn mul_scalar(a: &Fr, b: &Fr) -> Fr {
        a * b
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        let arch = self.ifma();
        Self(arch.reduced(&arch.add_limbs(&self.0, &rhs.0), &R))
    }

    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        let arch = self.ifma();
        Self(arch.reduced(&arch.sub_limbs(&self.0, &rhs.0, &BIAS), &R))
    }

    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        Self(self.ifma().montgomery(&self.0, &rhs.0, &R))
    }

    #[inline(always)]
    fn square(self) -> Self {
        self.mul(self)
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
        Lanes8(self.ifma().zero_lanes(&self.0, &R))
    }

    #[inline(always)]
    fn select(mask: Lanes8, on_true: Self, on_false: Self) -> Self {
        let arch = on_true.ifma();
        Self(arch.select_limbs(mask.0, &on_true.0, &on_false.0))
    }
}

impl simd::FrLanes for FrLanes {
    type Factor = FrFactor;

    const LOADED_PRODUCT: u64 = 16;

    #[inline(always)]
    fn load(arch: Ifma, rows: &[Fr], stride: usize) -> Self {
        Self::load_integers(arch, rows, stride)
    }

    #[inline(always)]
    fn store(self, rows: &mut [Fr], stride: usize) {
        self.store_integers(rows, stride);
    }

    #[inline(always)]
    fn factor(_: Ifma, value: &Fr) -> FrFactor {
        // Sixteen times the element in blst's form has the words of the element in ours.
        let shifted = blst_fr::from(value.double().double().double().double());
        FrFactor(scalar_limbs(&shifted.l))
    }

    #[inline(always)]
    fn broadcast(arch: Ifma, factor: &FrFactor) -> Self {
        Self(arch.words(&factor.0))
    }

    /// One reduction for all products: sixteen of reduced values sum up to 31.6·p², and a column to 160·2^52.
    #[inline(always)]
    fn dot(arch: Ifma, values: &[Self], factors: &[FrFactor]) -> Self {
        let mut columns = [arch.zero(); 10];
        for (value, factor) in values.iter().zip(factors) {
            arch.add_product(&mut columns, &value.0, &arch.words(&factor.0));
        }
        Self(arch.montgomery_reduced::<5, 10, false>(&columns, &R))
    }

    #[inline(always)]
    fn scale(self, factor: &FrFactor) -> Self {
        let arch = self.ifma();
        Self(arch.carried(&self.0)).times(&factor.0)
    }

    #[inline(always)]
    fn mul_loose(self, rhs: Self) -> Self {
        Self(self.ifma().carried(&self.0)).mul(rhs)
    }

    #[inline(always)]
    fn reduce(self) -> Self {
        Self(self.ifma().reduced(&self.0, &R))
    }

    #[inline(always)]
    fn butterfly(a: Self, b: Self, w: &FrFactor) -> (Self, Self) {
        Self::butterfly_one(a, b.scale(w))
    }

    #[inline(always)]
    fn butterfly_one(a: Self, b: Self) -> (Self, Self) {
        let arch = a.ifma();
        (
            Self(arch.add_limbs(&a.0, &b.0)),
            Self(arch.sub_limbs(&a.0, &b.0, &BUTTERFLY_BIAS)),
        )
    }
}
