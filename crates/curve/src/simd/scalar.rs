//! The architecture of one lane: blst's arithmetic, on any machine.

use ff::Field;

use super::{Arch, CoordinateLanes, FrLanes, Lanes, Mask, Task};
use crate::{Fq, Fq2, Fr};

/// One element at a time, by blst, which itself chooses between its own code paths when it runs.
#[derive(Copy, Clone, Debug)]
pub struct Scalar;

impl Arch for Scalar {
    type Mask = Truth;
    type Fr = FrLane;
    type Fq = FqLane;
    type Fq2 = Fq2Lane;

    const LANES: usize = 1;
    const NAME: &'static str = "scalar";

    #[inline]
    fn run<T: Task<Self>>(self, task: T) -> T::Output {
        task.run(self)
    }
}

/// The mask of one lane.
#[derive(Copy, Clone, Debug)]
pub struct Truth(bool);

impl Mask for Truth {
    type Arch = Scalar;

    #[inline(always)]
    fn from_bits(_: Scalar, bits: u64) -> Self {
        Self(bits & 1 == 1)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.0)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0 && other.0)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0 || other.0)
    }

    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// One element of the scalar field.
#[derive(Copy, Clone, Debug)]
pub struct FrLane(Fr);

/// One element of the base field.
#[derive(Copy, Clone, Debug)]
pub struct FqLane(Fq);

/// One element of the quadratic extension.
#[derive(Copy, Clone, Debug)]
pub struct Fq2Lane(Fq2);

macro_rules! lane {
    ($lane:ident, $scalar:ty, $zero:expr, $one:expr, $is_zero:expr, $invert:expr) => {
        impl Lanes for $lane {
            type Arch = Scalar;
            type Scalar = $scalar;

            #[inline(always)]
            fn arch(self) -> Scalar {
                Scalar
            }

            #[inline(always)]
            fn zero(_: Scalar) -> Self {
                Self($zero)
            }

            #[inline(always)]
            fn one(_: Scalar) -> Self {
                Self($one)
            }

            #[inline(always)]
            fn splat(_: Scalar, value: &$scalar) -> Self {
                Self(*value)
            }

            #[inline(always)]
            fn from_scalars(_: Scalar, values: &[$scalar]) -> Self {
                assert_eq!(values.len(), 1, "one lane");
                Self(values[0])
            }

            #[inline(always)]
            fn to_scalars(self, values: &mut [$scalar]) {
                assert_eq!(values.len(), 1, "one lane");
                values[0] = self.0;
            }

            fn invert_scalar(value: &$scalar) -> $scalar {
                $invert(value)
            }

            fn mul_scalar(a: &$scalar, b: &$scalar) -> $scalar {
                a.mul(b)
            }

            #[inline(always)]
            fn add(self, rhs: Self) -> Self {
                Self(self.0.add(&rhs.0))
            }

            #[inline(always)]
            fn sub(self, rhs: Self) -> Self {
                Self(self.0.sub(&rhs.0))
            }

            #[inline(always)]
            fn mul(self, rhs: Self) -> Self {
                Self(self.0.mul(&rhs.0))
            }

            #[inline(always)]
            fn square(self) -> Self {
                Self(self.0.square())
            }

            #[inline(always)]
            fn add_lazy(self, rhs: Self) -> Self {
                self.add(rhs)
            }

            #[inline(always)]
            fn sub_lazy(self, rhs: Self) -> Self {
                self.sub(rhs)
            }

            #[inline(always)]
            fn is_zero(self) -> Truth {
                Truth($is_zero(&self.0))
            }

            #[inline(always)]
            fn select(mask: Truth, on_true: Self, on_false: Self) -> Self {
                if mask.0 { on_true } else { on_false }
            }
        }
    };
}

lane!(FqLane, Fq, Fq::default(), Fq::ONE, Fq::is_zero, Fq::invert);
lane!(
    Fq2Lane,
    Fq2,
    Fq2::default(),
    Fq2::ONE,
    Fq2::is_zero,
    Fq2::invert
);

mod fr {
    //! `Fr`'s operators come from traits; its lane stands apart so that their names do not meet those of [`Lanes`].

    use std::ops::{Add, Mul, Sub};

    use super::{Field, Fr, FrLane, Lanes, Scalar, Truth};

    lane!(
        FrLane,
        Fr,
        Fr::ZERO,
        Fr::ONE,
        Fr::is_zero_vartime,
        |value: &Fr| value.invert().unwrap_or(Fr::ZERO)
    );
}

impl FrLanes for FrLane {
    type Factor = Fr;

    const LOADED_PRODUCT: u64 = 1;

    #[inline(always)]
    fn load(_: Scalar, rows: &[Fr], _stride: usize) -> Self {
        Self(rows[0])
    }

    #[inline(always)]
    fn store(self, rows: &mut [Fr], _stride: usize) {
        rows[0] = self.0;
    }

    #[inline(always)]
    fn factor(_: Scalar, value: &Fr) -> Fr {
        *value
    }

    #[inline(always)]
    fn broadcast(_: Scalar, factor: &Fr) -> Self {
        Self(*factor)
    }

    #[inline(always)]
    fn dot(_: Scalar, values: &[Self], factors: &[Fr]) -> Self {
        let mut sum = Fr::ZERO;
        for (value, factor) in values.iter().zip(factors) {
            sum += value.0 * factor;
        }
        Self(sum)
    }

    #[inline(always)]
    fn scale(self, factor: &Fr) -> Self {
        Self(self.0 * factor)
    }

    #[inline(always)]
    fn mul_loose(self, rhs: Self) -> Self {
        self.mul(rhs)
    }

    #[inline(always)]
    fn reduce(self) -> Self {
        self
    }

    #[inline(always)]
    fn butterfly(a: Self, b: Self, w: &Fr) -> (Self, Self) {
        Self::butterfly_one(a, b.scale(w))
    }

    #[inline(always)]
    fn butterfly_one(a: Self, b: Self) -> (Self, Self) {
        (a.add(b), a.sub(b))
    }
}

impl CoordinateLanes for FqLane {
    type Row = Fq;

    const ENCODED_BYTES: usize = Fq::BYTES;

    #[inline(always)]
    fn gather<'a>(_: Scalar, mut row: impl FnMut(usize) -> &'a Fq) -> Self {
        Self(*row(0))
    }

    #[inline(always)]
    fn scatter(self, mut put: impl FnMut(usize, Fq)) {
        put(0, self.0);
    }

    #[inline(always)]
    fn gather_encoded<'a>(_: Scalar, mut bytes: impl FnMut(usize) -> &'a [u8]) -> Self {
        Self(encoded(bytes(0), 0))
    }
}

impl CoordinateLanes for Fq2Lane {
    type Row = Fq2;

    const ENCODED_BYTES: usize = Fq2::BYTES;

    #[inline(always)]
    fn gather<'a>(_: Scalar, mut row: impl FnMut(usize) -> &'a Fq2) -> Self {
        Self(*row(0))
    }

    #[inline(always)]
    fn scatter(self, mut put: impl FnMut(usize, Fq2)) {
        put(0, self.0);
    }

    #[inline(always)]
    fn gather_encoded<'a>(_: Scalar, mut bytes: impl FnMut(usize) -> &'a [u8]) -> Self {
        let bytes = bytes(0);
        match bytes.len() < Fq2::BYTES {
            true => Self(Fq2::default()),
            false => Self(Fq2::new(encoded(bytes, Fq::BYTES), encoded(bytes, 0))),
        }
    }
}

/// The coordinate at `offset`, or zero where the bytes end too soon.
fn encoded(bytes: &[u8], offset: usize) -> Fq {
    let bytes = bytes.get(offset..).and_then(|rest| rest.first_chunk());
    bytes.map_or(Fq::default(), Fq::from_encoded)
}
