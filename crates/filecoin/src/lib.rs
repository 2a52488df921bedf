//! What Filecoin's proof types share.
//!
//! Filecoin's own types decode whatever has the right number of bytes and panic later, on a path of the wrong length
//! or a value that is no field element. So payloads are decoded into plain types here, checked, and only then turned
//! into Filecoin's: [`InclusionProof`] for Merkle proofs, [`Node`] for 32-byte field elements, [`List`] for lists with
//! a bound. Every refusal is a [`cuzk_proof_api::ProofApiError::Field`] whose field is the whole path into the payload.
//!
//! Filecoin's circuits are generic over the shape of the replica tree. Five sector sizes have three shapes between
//! them; [`with_tree!`] picks one, so nothing is compiled more than three times.

mod bytes;
mod circuit;
pub mod direct;
mod error;
mod list;
mod merkle;
mod poseidon;
mod post;
mod post_proof;
mod post_witness;
mod size;
mod tree;

pub use bytes::{Node, decode_bincode, non_zero, prover_id, scalar};
pub use circuit::{Boxed, CircuitVisitor, key_names, size_of};
pub use error::{Within, library, verified, wrong};
pub use list::List;
pub use merkle::InclusionProof;
pub use poseidon::poseidon;
pub use post::{PostJob, PostRequest};
pub use post_proof::OpenedSector;
pub use size::SectorSize;
pub use tree::{Base, SectorTree, Sub8, Top2, TreeProof, TreeShape};
