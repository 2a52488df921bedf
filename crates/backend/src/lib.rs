//! What a proving backend can do, as one trait an operation, summed into [`Backend`].
//!
//! A backend keeps its data where it computes: a [`Vectors::Vector`] may live on a device, and only [`Vectors::download`]
//! brings it back. Data enters as what the formats hold: [`CompactR1cs`], [`PackedWitness`] and encoded points.
//! [`conformance`] holds every backend to the same oracles.

pub mod conformance;

use std::sync::Arc;

use cuzk_curve::{EncodedPoints, Fr, Group};
use cuzk_r1cs::{Classes, CompactR1cs, PackedWitness, RowVector, VariableSet};

/// What can go wrong in an operation of a backend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// Two lengths that must agree do not.
    #[error("{what}: wanted a length of {wanted}, found {found}")]
    Length {
        /// What was measured.
        what: &'static str,
        /// The length that was wanted.
        wanted: usize,
        /// The length that was found.
        found: usize,
    },
    /// A domain's size is not a power of two, or is larger than the scalar field's two-adicity allows.
    #[error("a domain of {size} elements: wanted a power of two of at most 2^32")]
    Domain {
        /// The size that was asked for.
        size: usize,
    },
    /// Matrices that do not decode.
    #[error(transparent)]
    Matrices(#[from] cuzk_r1cs::R1csError),
    /// A device reported a failure.
    #[error("{device}: {call}: {message}")]
    Device {
        /// The device, as `cuzk devices` names it.
        device: String,
        /// The call that failed.
        call: &'static str,
        /// The device's own words.
        message: String,
    },
    /// A device has less memory than was wanted. Nothing is wrong with it.
    #[error("{device}: {call}: {message}")]
    OutOfMemory {
        /// The device, as `cuzk devices` names it.
        device: String,
        /// The call that failed.
        call: &'static str,
        /// What was wanted and what there is, or the device's own words.
        message: String,
    },
}

/// Vectors of scalars where the backend computes.
pub trait Vectors: Send + Sync {
    /// A vector of scalars that belongs to the backend.
    type Vector: Send + 'static;

    /// Brings scalars to the backend.
    fn upload(&self, values: Vec<Fr>) -> Result<Self::Vector, BackendError>;

    /// Brings values of rows to the backend, with zeros up to `len`: A·w or B·w on the domain, where they come evaluated.
    ///
    /// Errors: [`BackendError::Length`] where there are more than `len`.
    fn upload_rows(&self, rows: &RowVector, len: usize) -> Result<Self::Vector, BackendError>;

    /// Brings scalars back from the backend.
    fn download(&self, vector: Self::Vector) -> Result<Vec<Fr>, BackendError>;
}

/// The evaluations of A·w and B·w, one value a constraint row and one an input row, zero-padded to the domain.
#[derive(Debug)]
pub struct Evaluations<V> {
    /// A·w on the domain.
    pub a: V,
    /// B·w on the domain.
    pub b: V,
}

/// The sparse matrix-vector product.
pub trait MatVec: Vectors {
    /// A circuit's matrices as the backend holds them.
    type Matrices: Send + Sync + 'static;
    /// A witness as the backend holds it.
    type Witness: Send + Sync + 'static;

    /// Makes a circuit's matrices resident.
    fn load_matrices(&self, r1cs: Arc<CompactR1cs>) -> Result<Self::Matrices, BackendError>;

    /// Brings a witness to the backend. The caller keeps its own reference, for reports.
    fn load_witness(&self, witness: Arc<PackedWitness>) -> Result<Self::Witness, BackendError>;

    /// A·w and B·w in constraint order, then for each input i a row `input_i * 0 = 0` (as bellperson appends them),
    /// then zeros up to the domain's size.
    fn mat_vec(
        &self,
        matrices: &Self::Matrices,
        witness: &Self::Witness,
    ) -> Result<Evaluations<Self::Vector>, BackendError>;
}

/// Which way a transform goes, and on which domain.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// Coefficients to values on the subgroup of roots of unity.
    Forward,
    /// Values on the subgroup to coefficients.
    Inverse,
    /// Coefficients to values on the coset g·H, g the field's multiplicative generator (7).
    CosetForward,
    /// Values on the coset g·H to coefficients.
    CosetInverse,
}

/// Number-theoretic transforms over Fr.
pub trait Ntt: Vectors {
    /// Transforms a vector whose length is a power of two, natural order in and out.
    fn ntt(&self, vector: &mut Self::Vector, transform: Transform) -> Result<(), BackendError>;

    /// The coefficients of h = (a·b - c) / (x^m - 1) from the values of a and b on the domain of m elements, where c
    /// is the polynomial whose values are the products a_i·b_i. m coefficients; the last is zero.
    fn quotient(
        &self,
        evaluations: Evaluations<Self::Vector>,
    ) -> Result<Self::Vector, BackendError>;
}

/// Multi-scalar multiplication.
pub trait Msm: MatVec {
    /// Points that are multiplied by a vector of scalars.
    type Bases<G: Group>: Send + Sync + 'static;
    /// Points that are multiplied by the witness: one for each variable of a [`VariableSet`].
    type Query<G: Group>: Send + Sync + 'static;

    /// Makes points resident.
    fn load_bases<G: Group>(
        &self,
        points: EncodedPoints<G>,
    ) -> Result<Self::Bases<G>, BackendError>;

    /// Makes the points of a query resident. There is one point for each variable of `variables`: its inputs first,
    /// then its aux, each in ascending order.
    fn load_query<G: Group>(
        &self,
        points: EncodedPoints<G>,
        variables: Arc<VariableSet>,
        classes: Classes<'_>,
    ) -> Result<Self::Query<G>, BackendError>;

    /// The sum of `scalars[i] * bases[i]` over the first `bases.len()` scalars.
    fn msm<G: Group>(
        &self,
        bases: &Self::Bases<G>,
        scalars: &Self::Vector,
    ) -> Result<G::Projective, BackendError>;

    /// The sum over a query's variables of the variable's value times its point, by class: selected sums for bits,
    /// buckets for the rest.
    fn msm_query<G: Group>(
        &self,
        query: &Self::Query<G>,
        witness: &Self::Witness,
    ) -> Result<G::Projective, BackendError>;
}

/// Many multiples of one point.
pub trait FixedBase: Send + Sync {
    /// `scalars[i] * base` for each i.
    fn fixed_base<G: Group>(
        &self,
        base: &G::Affine,
        scalars: &[Fr],
    ) -> Result<Vec<G::Affine>, BackendError>;
}

/// All that a prover needs.
pub trait Backend: MatVec + Ntt + Msm + FixedBase + 'static {
    /// The backend's name for people and logs, such as `cpu`.
    fn name(&self) -> &'static str;
}
