//! Number-theoretic transforms over Fr, and the quotient polynomial of Groth16.
//!
//! A transform of n = n1·n2 elements is seen as a matrix of n1 rows and n2 columns, in two passes over memory: the
//! columns are transformed, multiplied by twiddles and stored, then the rows ("Accelerating the Fourier transform: the
//! four-step algorithm", Bailey, 1990). As many columns or rows as the machine has lanes are transformed together in a
//! buffer of the second-level cache, so that every twiddle of [`layers`] is the same in all lanes.

mod domain;
mod layers;
#[cfg(test)]
mod naive;
mod passes;
mod quotient;
#[cfg(test)]
mod tests;

use cuzk_backend::{BackendError, Transform};
use cuzk_curve::Fr;
use cuzk_curve::simd::{Arch, Kernel, dispatch, dispatch_scalar};

use domain::Domain;

/// Transforms `values`, whose length must be a power of two, in natural order.
pub fn transform(values: &mut Vec<Fr>, transform: Transform) -> Result<(), BackendError> {
    let domain = Domain::new(values.len())?;
    let input = std::mem::take(values);
    *values = domain.dispatch(passes::Transformed {
        input,
        domain: &domain,
        transform,
    });
    Ok(())
}

/// The coefficients of h = (a·b - c) / (x^m - 1) from the values of a and b on the domain of m elements, where c is the
/// polynomial with the values a_i·b_i. m coefficients; the last is zero.
pub fn quotient(a: Vec<Fr>, b: Vec<Fr>) -> Result<Vec<Fr>, BackendError> {
    let domain = Domain::new(a.len())?;
    if a.len() != b.len() {
        return Err(BackendError::Length {
            what: "the evaluations of B",
            wanted: a.len(),
            found: b.len(),
        });
    }
    Ok(domain.dispatch(quotient::Quotient {
        a,
        b,
        domain: &domain,
    }))
}

/// The lanes of the widest architecture for which a domain is large enough.
struct Lanes;

impl Kernel for Lanes {
    type Output = usize;

    #[inline(always)]
    fn run<A: Arch>(self, _: A) -> usize {
        A::LANES
    }
}

impl Domain {
    /// Runs `kernel` with the widest architecture that fills its lanes with rows and with columns.
    fn dispatch<K: Kernel>(&self, kernel: K) -> K::Output {
        if self.rows.min(self.columns) < dispatch(Lanes) {
            dispatch_scalar(kernel)
        } else {
            dispatch(kernel)
        }
    }
}
