//! What a proof type is, and the registry in which proof types are found.
//!
//! A proof type is a crate that implements [`ProofType`] on a unit struct and registers it:
//!
//! ```ignore
//! inventory::submit! { cuzk_proof_api::Registered(&MyProof) }
//! ```
//!
//! A binary sees it once something links the crate in (`use my_crate as _;`, as `cuzk-plugins` does). Nothing above
//! this crate names a proof type: [`registry`] yields all of them, [`by_id`] and [`by_wire_kind`] one.

mod circuit;
mod error;
mod job;
mod registry;
mod witness;

pub use circuit::AnyCircuit;
pub use error::ProofApiError;
pub use inventory;
pub use job::{Job, Request};
pub use registry::{Registered, by_circuit, by_id, by_wire_kind, registry};
pub use witness::{
    DIRECT_VERSION, Standing, WitnessCounts, Witnesses, by_closures, by_synthesis, direct_topic,
};

/// Bytes of a Groth16 proof over BLS12-381: A and C compressed in G1, B in G2, in the order A, B, C.
pub const PROOF_BYTES: usize = 192;

/// How urgent a proof is, as `cuzk.v1` numbers it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Work that can wait.
    Low = 1,
    /// The usual.
    Normal = 2,
    /// Ahead of the usual.
    High = 3,
    /// Has a deadline of minutes or seconds.
    Critical = 4,
}

/// One circuit of a proof type: the shape that a key belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct CircuitSpec {
    /// The identifier of `cuzk.v1` and of the command line, such as `porep-32g`.
    pub id: &'static str,
    /// Bytes of a sector.
    pub sector_bytes: u64,
    /// Partitions of a whole proof, each proved on its own; 1 where the number depends on the request.
    pub partitions: usize,
}

/// The file names of a circuit's key, as in Filecoin's parameters.json.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNames {
    /// The proving key, `v28-….params`.
    pub params: String,
    /// The verifying key beside it, `v28-….vk`.
    pub vk: String,
}

/// A kind of proof: its circuits, its payloads and its keys.
pub trait ProofType: Sync {
    /// The pinned identifier, such as `porep`.
    fn id(&self) -> &'static str;

    /// The number of the kind in `cuzk.v1`'s `ProofKind`.
    fn wire_kind(&self) -> i32;

    /// The priority of requests that name none.
    fn priority(&self) -> Priority;

    /// All circuits of this type, smallest sector first.
    fn circuits(&self) -> &'static [CircuitSpec];

    /// The circuit without a witness, for compiling and key generation.
    ///
    /// Errors: [`ProofApiError::UnknownCircuit`].
    fn blank(&self, circuit: &str) -> Result<Box<dyn AnyCircuit>, ProofApiError>;

    /// The file names of a circuit's key.
    ///
    /// Errors: [`ProofApiError::UnknownCircuit`].
    fn key_names(&self, circuit: &str) -> Result<KeyNames, ProofApiError>;

    /// Decodes a request into a job, checking every field that the type reads.
    fn decode(&self, request: &Request) -> Result<Box<dyn Job>, ProofApiError>;
}
