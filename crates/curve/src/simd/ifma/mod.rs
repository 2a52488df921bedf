//! AVX-512 IFMA: eight elements at a time, in limbs of 52 bits.
//!
//! An element is spread over vectors, limb by limb: lane `i` of vector `j` is limb `j` of element `i`. `vpmadd52luq` and
//! `vpmadd52huq` multiply the low 52 bits of two words and add the low or high 52 bits of the product to a third.
#![allow(unsafe_code)]

mod fq;
mod fq2;
mod fr;
mod limbs;
mod ops;
mod transpose;

use fq::FqLanes;
use fq2::Fq2Lanes;
use fr::FrLanes;

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

use super::{Arch, Mask, Task};

/// Eight elements at a time by AVX-512 IFMA. A value exists only where [`Ifma::detect`] found the features.
#[derive(Copy, Clone, Debug)]
pub struct Ifma(());

impl Ifma {
    /// The token, where the machine has the features.
    pub fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512ifma")
            && is_x86_feature_detected!("bmi2");
        found.then_some(Self(()))
    }
}

impl Arch for Ifma {
    type Mask = Lanes8;
    type Fr = FrLanes;
    type Fq = FqLanes;
    type Fq2 = Fq2Lanes;

    const LANES: usize = 8;
    const NAME: &'static str = "avx512-ifma";

    #[inline]
    fn run<T: Task<Self>>(self, task: T) -> T::Output {
        // SAFETY: a value of `Ifma` exists, so the machine has the features.
        unsafe { run(self, task) }
    }

    #[inline(always)]
    fn prefetch<T: ?Sized>(self, place: &T) {
        let start = std::ptr::from_ref(place).cast::<i8>();
        for offset in (0..size_of_val(place)).step_by(64) {
            // SAFETY: the address lies in what `place` borrows, and a prefetch neither reads nor writes.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) };
        }
    }
}

/// Runs a task with the features of `arch`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,bmi2")]
fn run<T: Task<Ifma>>(arch: Ifma, task: T) -> T::Output {
    task.run(arch)
}

/// The mask of eight lanes.
#[derive(Copy, Clone, Debug)]
pub struct Lanes8(u8);

impl Mask for Lanes8 {
    type Arch = Ifma;

    #[inline(always)]
    fn from_bits(_: Ifma, bits: u64) -> Self {
        Self(bits as u8)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.0)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }
}
