//! From the plain form of a challenge's proof to Filecoin's, with every count and every value checked.

use cuzk_filecoin::{Node, SectorTree, TreeProof, Within};
use cuzk_proof_api::ProofApiError;
use filecoin_hashers::poseidon::PoseidonDomain;
use filecoin_proofs::constants::{DRG_DEGREE, DefaultPieceHasher, EXP_DEGREE};
use storage_proofs_porep::stacked::{
    ColumnProof, EncodingProof, LabelingProof, Proof, ReplicaColumnProof, TOTAL_PARENTS,
};

use crate::wire::{Partitions, WireColumnProof, WireColumns, WireLabel, WireProof};

/// The challenges' proofs of one partition.
pub type PartitionProof<Tree> = Vec<Proof<Tree, DefaultPieceHasher>>;

/// The numbers that fix the shape of a PoRep's vanilla proofs.
#[derive(Copy, Clone, Debug)]
pub struct Counts {
    /// Nodes of the sector.
    pub nodes: usize,
    /// Layers of labels.
    pub layers: usize,
    /// Partitions.
    pub partitions: usize,
    /// Challenges of a partition.
    pub challenges: usize,
}

impl Counts {
    /// All partitions.
    ///
    /// Errors: [`ProofApiError::Field`], its field relative to the list of partitions.
    pub fn partitions<Tree: SectorTree>(
        self,
        partitions: Partitions,
    ) -> Result<Vec<PartitionProof<Tree>>, ProofApiError> {
        partitions.exactly(self.partitions, "partitions", |partition| {
            partition.exactly(self.challenges, "challenges", |proof| {
                self.proof::<Tree>(proof)
            })
        })
    }

    fn proof<Tree: SectorTree>(
        self,
        proof: WireProof,
    ) -> Result<Proof<Tree, DefaultPieceHasher>, ProofApiError> {
        let columns = self.columns::<Tree>(proof.replica_column_proofs);
        let labels = proof
            .labeling_proofs
            .exactly(self.layers, "layers", |proof| {
                label(proof).map(|(layer, node, parents)| LabelingProof::new(layer, node, parents))
            });
        let (layer, node, parents) = label(proof.encoding_proof).within("encoding_proof")?;
        Ok(Proof {
            comm_d_proofs: proof
                .comm_d_proofs
                .in_shape(self.nodes)
                .within("comm_d_proofs")?,
            comm_r_last_proof: proof
                .comm_r_last_proof
                .in_tree::<Tree>(self.nodes)
                .within("comm_r_last_proof")?,
            replica_column_proofs: columns.within("replica_column_proofs")?,
            labeling_proofs: labels.within("labeling_proofs")?,
            encoding_proof: EncodingProof::new(layer, node, parents),
        })
    }

    fn columns<Tree: SectorTree>(
        self,
        columns: WireColumns,
    ) -> Result<ReplicaColumnProof<TreeProof<Tree>>, ProofApiError> {
        let column = |proof| self.column::<Tree>(proof);
        let drg = columns.drg_parents.exactly(DRG_DEGREE, "parents", column);
        let exp = columns.exp_parents.exactly(EXP_DEGREE, "parents", column);
        Ok(ReplicaColumnProof {
            c_x: column(columns.c_x).within("c_x")?,
            drg_parents: drg.within("drg_parents")?,
            exp_parents: exp.within("exp_parents")?,
        })
    }

    fn column<Tree: SectorTree>(
        self,
        proof: WireColumnProof,
    ) -> Result<ColumnProof<TreeProof<Tree>>, ProofApiError> {
        let rows = proof
            .column
            .rows
            .exactly(self.layers, "layers", Node::domain);
        let inclusion = proof.inclusion_proof.in_tree::<Tree>(self.nodes);
        Ok(ColumnProof::new(
            proof.column.index,
            rows.within("rows").within("column")?,
            inclusion.within("inclusion_proof")?,
        ))
    }
}

fn label(label: WireLabel) -> Result<(u32, u64, Vec<PoseidonDomain>), ProofApiError> {
    let parents = label
        .parents
        .exactly(TOTAL_PARENTS, "parents", Node::domain);
    Ok((label.layer_index, label.node, parents.within("parents")?))
}
