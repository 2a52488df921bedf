//! A payload: what Curio sends for one proof, with what a verifier needs beside it.

use cuzk_proof_api::Request;

use crate::{FIRST_SECTOR, Kind, MINER_ID, SectorSize, SynthError};

/// A 32-byte commitment, ticket, seed or randomness.
pub type Bytes32 = [u8; 32];

/// One sector that a PoSt is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The sector's number.
    pub sector_number: u64,
    /// The sector's replica commitment.
    pub comm_r: Bytes32,
}

/// The request for one proof, and the statement that the proof is to prove.
///
/// The first group of fields is what goes over the wire (`cuzk.v1`, `SubmitProofRequest`); the second is
/// the rest of the statement, which verification needs and which the prover finds inside the vanilla proofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The proof type.
    pub kind: Kind,
    /// The sector size.
    pub sector_size: SectorSize,
    /// The number of the registered seal, PoSt or update proof.
    pub registered_proof: u64,
    /// The sector's number; of a PoSt, that of its first sector.
    pub sector_number: u64,
    /// The number of the miner's actor: 1000 for f01000.
    pub miner_id: u64,
    /// PoRep: the JSON object that wraps the output of commit phase 1. Empty otherwise.
    pub vanilla_proof: Vec<u8>,
    /// PoSt: bincode, one per sector. Snap: bincode, one per partition. Empty for PoRep.
    pub vanilla_proofs: Vec<Vec<u8>>,
    /// PoSt: the chain's randomness, below 2^254. Zero otherwise.
    pub randomness: Bytes32,
    /// WindowPoSt: the partition. Zero otherwise.
    pub partition_index: u32,
    /// Snap: the replica commitment before the update.
    pub comm_r_old: Option<Bytes32>,
    /// Snap: the replica commitment after the update.
    pub comm_r_new: Option<Bytes32>,
    /// Snap: the commitment to the new data.
    pub comm_d_new: Option<Bytes32>,

    /// PoRep: the replica commitment.
    pub comm_r: Option<Bytes32>,
    /// PoRep: the data commitment.
    pub comm_d: Option<Bytes32>,
    /// PoRep: the ticket that the replica was sealed with.
    pub ticket: Option<Bytes32>,
    /// PoRep: the seed that the challenges are drawn with.
    pub seed: Option<Bytes32>,
    /// PoSt: the sectors, in the order of `vanilla_proofs`, their numbers ascending.
    pub replicas: Vec<Replica>,
}

impl Payload {
    /// A payload of that kind about the first sector of the miner, without proofs or statement.
    pub(crate) fn empty(kind: Kind, sector_size: SectorSize, registered_proof: u64) -> Self {
        Payload {
            kind,
            sector_size,
            registered_proof,
            sector_number: FIRST_SECTOR,
            miner_id: MINER_ID,
            vanilla_proof: Vec::new(),
            vanilla_proofs: Vec::new(),
            randomness: [0; 32],
            partition_index: 0,
            comm_r_old: None,
            comm_r_new: None,
            comm_d_new: None,
            comm_r: None,
            comm_d: None,
            ticket: None,
            seed: None,
            replicas: Vec::new(),
        }
    }

    /// The prover id of the miner: its actor number as a varint, padded with zeros.
    pub fn prover_id(&self) -> Bytes32 {
        prover_id(self.miner_id)
    }

    /// The payload as the request that carries it over the wire.
    pub fn into_request(self) -> Request {
        let bytes = |value: Option<Bytes32>| value.map(Vec::from).unwrap_or_default();
        let post = matches!(self.kind, Kind::WindowPost | Kind::WinningPost);
        Request {
            sector_size: self.sector_size.bytes(),
            registered_proof: self.registered_proof,
            vanilla_proof: self.vanilla_proof,
            vanilla_proofs: self.vanilla_proofs,
            sector_number: self.sector_number,
            miner_id: self.miner_id,
            randomness: bytes(post.then_some(self.randomness)),
            partition_index: self.partition_index,
            comm_r_old: bytes(self.comm_r_old),
            comm_r_new: bytes(self.comm_r_new),
            comm_d_new: bytes(self.comm_d_new),
        }
    }

    /// The vanilla proofs as files, `(name, bytes)`, byte for byte as Curio sends them.
    pub fn raw_files(&self) -> Vec<(String, &[u8])> {
        match self.kind {
            Kind::PoRep => vec![("vanilla.json".to_owned(), self.vanilla_proof.as_slice())],
            _ => {
                let name = |index| format!("vanilla-{index:04}.bin");
                self.vanilla_proofs
                    .iter()
                    .enumerate()
                    .map(|(index, proof)| (name(index), proof.as_slice()))
                    .collect()
            }
        }
    }

    /// A field that a payload of this kind must hold.
    pub(crate) fn need(
        &self,
        value: Option<Bytes32>,
        field: &'static str,
    ) -> Result<Bytes32, SynthError> {
        value.ok_or(SynthError::Missing {
            kind: self.kind,
            field,
        })
    }
}

/// The prover id of a miner: the payload of its ID address (a varint of at most 10 bytes), padded with zeros.
pub fn prover_id(miner_id: u64) -> Bytes32 {
    let mut id = [0; 32];
    let mut rest = miner_id;
    for byte in &mut id {
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prover_ids_are_varints() {
        let start = |miner_id| prover_id(miner_id)[..3].to_vec();
        assert_eq!(start(0), [0, 0, 0]);
        assert_eq!(start(127), [127, 0, 0]);
        assert_eq!(start(128), [0x80, 1, 0]);
        assert_eq!(start(1000), [0xe8, 7, 0]);
        assert_eq!(prover_id(u64::MAX)[8..11], [0xff, 1, 0]);
    }
}
