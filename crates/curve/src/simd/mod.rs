//! Vector field arithmetic with run-time dispatch.
//!
//! A computation is written once, generic over an [`Arch`], as a [`Kernel`]; [`dispatch`] runs it with the widest
//! arithmetic that the machine has: [`Ifma`] (AVX-512 IFMA, eight elements at a time) or [`Scalar`] (blst, one at a
//! time). Nothing here executes an instruction that the machine lacks.
//!
//! **How the features reach the code.** [`Arch::run`] calls the kernel inside a function that is compiled for the
//! architecture's features. All of the kernel must be inlined there to profit: mark `run` and every helper that takes
//! or returns lanes `#[inline(always)]`, and use loops rather than closures or iterator adaptors around lane operations
//! (a closure is a function of its own). Code that is not inlined stays correct and becomes many times slower. A task
//! that moves to another thread starts outside of those features: call [`Arch::run`] again inside the task.
//!
//! **Why it is sound.** Values of [`Ifma`] exist only after the features were detected, and every constructor of lanes
//! takes one.
//!
//! ```
//! use cuzk_curve::Fr;
//! use cuzk_curve::simd::{Arch, FrLanes, Kernel, Lanes, dispatch};
//!
//! struct Doubled<'a>(&'a mut [Fr]);
//!
//! impl Kernel for Doubled<'_> {
//!     type Output = ();
//!
//!     #[inline(always)]
//!     fn run<A: Arch>(self, arch: A) {
//!         for rows in self.0.chunks_exact_mut(A::LANES) {
//!             A::Fr::load(arch, rows, 1).double().store(rows, 1);
//!         }
//!     }
//! }
//!
//! let mut values = vec![Fr::from(21); 16];
//! dispatch(Doubled(&mut values));
//! assert_eq!(values, vec![Fr::from(42); 16]);
//! ```

#[cfg(target_arch = "x86_64")]
mod ifma;
mod inversion;
mod lanes;
mod scalar;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
pub use ifma::Ifma;
pub use inversion::{batch_invert, invert_lanes};
pub use lanes::{CoordinateLanes, FrLanes, Lanes, Mask};
pub use scalar::Scalar;

use crate::{Fq, Fq2, Fr};

/// A set of machine features and the vector types that use them. A value of an `Arch` proves that the machine has them.
pub trait Arch: Copy + Send + Sync + 'static {
    /// One truth value a lane.
    type Mask: Mask<Arch = Self>;
    /// Elements of the scalar field.
    type Fr: FrLanes<Arch = Self, Scalar = Fr>;
    /// Elements of the base field, G1's coordinates.
    type Fq: CoordinateLanes<Arch = Self, Scalar = Fq>;
    /// Elements of the quadratic extension, G2's coordinates.
    type Fq2: CoordinateLanes<Arch = Self, Scalar = Fq2>;

    /// Elements that one vector holds: a power of two.
    const LANES: usize;
    /// The name for people and logs.
    const NAME: &'static str;

    /// Runs `task` compiled for the features of this architecture.
    fn run<T: Task<Self>>(self, task: T) -> T::Output;

    /// Asks the cache for `place`, which will be read soon. It has no other effect, and may have none.
    #[inline(always)]
    fn prefetch<T: ?Sized>(self, place: &T) {
        let _ = place;
    }
}

/// A computation for one architecture; its fields may hold that architecture's lanes.
pub trait Task<A: Arch> {
    /// What the computation returns.
    type Output;

    /// The computation; mark it `#[inline(always)]`.
    fn run(self, arch: A) -> Self::Output;
}

/// A computation for any architecture.
pub trait Kernel {
    /// What the computation returns.
    type Output;

    /// The computation; mark it `#[inline(always)]`.
    fn run<A: Arch>(self, arch: A) -> Self::Output;
}

impl<K: Kernel, A: Arch> Task<A> for K {
    type Output = K::Output;

    #[inline(always)]
    fn run(self, arch: A) -> Self::Output {
        Kernel::run(self, arch)
    }
}

/// Runs `kernel` with the widest arithmetic that this machine has.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(arch) = Ifma::detect() {
        return arch.run(kernel);
    }
    Scalar.run(kernel)
}

/// Runs `kernel` one element at a time, whatever the machine has: the reference for tests.
pub fn dispatch_scalar<K: Kernel>(kernel: K) -> K::Output {
    Scalar.run(kernel)
}
