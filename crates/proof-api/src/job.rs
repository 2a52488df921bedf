//! Requests and the jobs that they decode to.

use cuzk_curve::Fr;
use cuzk_r1cs::Assignment;

use crate::{AnyCircuit, PROOF_BYTES, ProofApiError};

/// A request for a proof: the fields of `cuzk.v1`'s SubmitProofRequest that a proof type reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Bytes of a sector.
    pub sector_size: u64,
    /// The number of the registered seal, PoSt or update proof.
    pub registered_proof: u64,
    /// The whole vanilla proof, where it is one document (PoRep).
    pub vanilla_proof: Vec<u8>,
    /// The vanilla proofs, one a sector (PoSt) or a partition (SnapDeals).
    pub vanilla_proofs: Vec<Vec<u8>>,
    /// The sector.
    pub sector_number: u64,
    /// The miner's actor id.
    pub miner_id: u64,
    /// 32 bytes of chain randomness (PoSt).
    pub randomness: Vec<u8>,
    /// The WindowPoSt partition.
    pub partition_index: u32,
    /// 32 bytes: the replica's commitment before the update (SnapDeals).
    pub comm_r_old: Vec<u8>,
    /// 32 bytes: the replica's commitment after the update (SnapDeals).
    pub comm_r_new: Vec<u8>,
    /// 32 bytes: the data's commitment after the update (SnapDeals).
    pub comm_d_new: Vec<u8>,
}

/// A decoded request: one circuit a partition, and how their proofs make the answer.
pub trait Job: Send + Sync {
    /// The circuit that every partition is an instance of, one of the type's [`crate::CircuitSpec`]s.
    fn circuit_id(&self) -> &'static str;

    /// Number of partitions, each proved on its own.
    fn partitions(&self) -> usize;

    /// The public inputs of a partition, without ONE.
    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError>;

    /// The circuit of a partition with its witness.
    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError>;

    /// The assignment of a partition computed directly, ONE as the first input: equal to what the circuit's closures
    /// yield. None where there is no direct way.
    fn direct_witness(&self, partition: usize) -> Result<Option<Assignment>, ProofApiError> {
        let _ = partition;
        Ok(None)
    }

    /// Checks the vanilla proofs with the proof type's own verifier, so that a bad payload is told from a bad prover.
    fn self_check(&self) -> Result<(), ProofApiError>;

    /// The answer from the proofs of all partitions, in order.
    fn assemble(&self, proofs: &[[u8; PROOF_BYTES]]) -> Result<Vec<u8>, ProofApiError> {
        if proofs.len() != self.partitions() {
            return Err(ProofApiError::Partition {
                found: proofs.len(),
                partitions: self.partitions(),
            });
        }
        Ok(proofs.concat())
    }
}
