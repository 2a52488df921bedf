//! What can go wrong in proving and verifying.

use cuzk_backend::BackendError;
use cuzk_curve::encoding::EncodingError;
use cuzk_params::ParamsError;
use cuzk_pce::PceError;
use cuzk_r1cs::R1csError;

/// What can go wrong in proving and verifying.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Groth16Error {
    /// The backend.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The circuit's matrices or its witness.
    #[error(transparent)]
    R1cs(#[from] R1csError),
    /// The compiled circuit.
    #[error(transparent)]
    Pce(#[from] PceError),
    /// The key.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The bytes of a proof.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The number of public inputs is not the key's.
    #[error("public inputs: the key has {wanted} without ONE, found {found}")]
    PublicInputs {
        /// Inputs of the key, ONE not counted.
        wanted: usize,
        /// Inputs that were given.
        found: usize,
    },
    /// A verifying key without a point for ONE, which no reader returns: ic is empty.
    #[error("the verifying key is empty: ic has no point for ONE")]
    EmptyKey,
    /// A finished proof that does not verify although the witness satisfies every constraint.
    #[error(
        "the proof made by the {backend} backend does not verify although its witness satisfies every constraint: the \
         key belongs to another circuit, or the backend computed wrongly"
    )]
    Invalid {
        /// The backend's name.
        backend: &'static str,
    },
    /// An aux variable that stands in no constraint, so that keys for the circuit would be unsound.
    #[error("aux variable {index} is not constrained: no key can be made")]
    Unconstrained {
        /// The variable.
        index: usize,
    },
    /// Secrets of a setup that make no key.
    #[error("secrets that make no key: {reason}")]
    Toxic {
        /// What is wrong with them.
        reason: &'static str,
    },
    /// A witness without A·w and B·w, for a prover without matrices.
    #[error("the witness comes without its products, and the prover has no matrices")]
    NoMatrices,
    /// The proof was cancelled while it was under way.
    #[error("the proof was cancelled")]
    Cancelled,
    /// The thread that proves could not be started, or ended without a result.
    #[error("the proving thread {0}")]
    Thread(String),
}

/// What can be wrong with the bytes of a proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// Not the length of a proof.
    #[error("a proof has {wanted} bytes, found {found}")]
    Length {
        /// Bytes of a proof.
        wanted: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// A point that does not decode, lies outside the subgroup or is at infinity.
    #[error("proof: {point}: {source}")]
    Point {
        /// `A`, `B` or `C`.
        point: &'static str,
        /// What is wrong with it.
        source: EncodingError,
    },
}
