//! The vanilla proof of one partition of an update: bincode of `PartitionProof`.

use cuzk_filecoin::{
    InclusionProof, List, Node, SectorSize, SectorTree, Within, decode_bincode, wrong,
};
use cuzk_proof_api::ProofApiError;
use serde::Deserialize;
use storage_proofs_core::merkle::{MerkleProof, MerkleProofTrait};
use storage_proofs_update::constants::{TreeDArity, TreeDHasher};
use storage_proofs_update::{ChallengeProof, PartitionProof, PublicParams};

/// At most 128 apex leaves and 86 challenges: those of 512 MiB sectors and up.
#[derive(Deserialize)]
struct WirePartition {
    comm_c: Node,
    apex_leafs: List<Node, 128>,
    challenge_proofs: List<WireChallenge, 86>,
}

#[derive(Deserialize)]
struct WireChallenge {
    proof_r_old: InclusionProof,
    proof_d_new: InclusionProof,
    proof_r_new: InclusionProof,
}

/// Decodes an item of a request's `vanilla_proofs`.
///
/// Errors: [`ProofApiError::Field`], its field relative to the item.
pub fn decode_partition<Tree: SectorTree>(
    bytes: &[u8],
    size: SectorSize,
    params: &PublicParams,
) -> Result<PartitionProof<Tree>, ProofApiError> {
    let wire: WirePartition = decode_bincode(bytes, "PartitionProof")?;
    let leaves = wire
        .apex_leafs
        .exactly(params.apex_leaf_count, "leaves", Node::domain);
    let challenge = |proof: WireChallenge| proof.check::<Tree>(size);
    let challenges = wire
        .challenge_proofs
        .exactly(params.challenge_count, "challenges", challenge);
    let partition = PartitionProof {
        comm_c: wire.comm_c.domain().within("comm_c")?,
        apex_leafs: leaves.within("apex_leafs")?,
        challenge_proofs: challenges.within("challenge_proofs")?,
    };
    same_partition(&partition, params)?;
    Ok(partition)
}

impl WireChallenge {
    fn check<Tree: SectorTree>(
        self,
        size: SectorSize,
    ) -> Result<ChallengeProof<Tree>, ProofApiError> {
        let nodes = size.nodes();
        Ok(ChallengeProof {
            proof_r_old: self
                .proof_r_old
                .in_tree::<Tree>(nodes)
                .within("proof_r_old")?,
            proof_d_new: self.proof_d_new.in_shape(nodes).within("proof_d_new")?,
            proof_r_new: self
                .proof_r_new
                .in_tree::<Tree>(nodes)
                .within("proof_r_new")?,
        })
    }
}

/// All challenges of a partition lie below one node of TreeD, so the siblings above that node are the same in all of
/// them. The circuit asserts it.
fn same_partition<Tree: SectorTree>(
    partition: &PartitionProof<Tree>,
    params: &PublicParams,
) -> Result<(), ProofApiError> {
    let height = params.challenge_bit_len - params.partition_bit_len;
    let above = |proof: &MerkleProof<TreeDHasher, TreeDArity>| {
        proof
            .path()
            .into_iter()
            .skip(height)
            .map(|(siblings, _)| siblings)
            .collect::<Vec<_>>()
    };
    let mut paths = partition
        .challenge_proofs
        .iter()
        .map(|c| above(&c.proof_d_new));
    let first = paths.next();
    match paths.position(|path| Some(&path) != first.as_ref()) {
        None => Ok(()),
        Some(other) => Err(wrong(
            "the siblings of challenge_proofs[0] above the partition",
            "others",
        ))
        .within("proof_d_new")
        .within_item(other + 1)
        .within("challenge_proofs"),
    }
}
