//! Groth16 over BLS12-381: proving in two halves on any backend, verification, batch verification, development keys.
//!
//! Five lines prove a circuit of your own (`examples/own_circuit.rs` is the whole program):
//!
//! ```ignore
//! let pce = Pce::record(MyCircuit::blank())?;
//! let key = keygen::in_memory(&CpuBackend, &pce, &mut OsRng)?;
//! let prover = Prover::new(CpuBackend, &pce, &key)?;
//! let proof = prover.prove(MyCircuit::new(secret))?;
//! assert!(verify(prover.verifying_key(), &proof, &[public])?);
//! ```
//!
//! The protocol is that of Groth, "On the Size of Pairing-Based Non-interactive Arguments" (2016), section 3.2, with the
//! quotient computed by six transforms: see [`cuzk_backend::Ntt::quotient`]. Keys and proofs are bellperson's, and for
//! the same r and s so are the proof's bytes.

mod error;
pub mod keygen;
mod pending;
mod proof;
mod prover;
mod verifier;

pub use error::{Groth16Error, ProofError};
pub use pending::{Canceller, Computed, Pending, Proved, Stages};
pub use proof::{PROOF_BYTES, Proof};
pub use prover::{Blinding, Prover};
pub use verifier::{PreparedVerifyingKey, verify, verify_batch};
