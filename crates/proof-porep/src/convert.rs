//! From the plain form of a challenge's proof to Filecoin's, with every count and every value checked.

use cuzk_curve::Fr;
use cuzk_filecoin::direct::levels;
use cuzk_filecoin::{Node, SectorTree, TreeProof, Within};
use cuzk_proof_api::ProofApiError;
use filecoin_hashers::poseidon::PoseidonDomain;
use filecoin_proofs::constants::{DRG_DEGREE, DefaultPieceHasher, EXP_DEGREE};
use generic_array::typenum::U2;
use storage_proofs_core::merkle::{MerkleProof, MerkleProofTrait};
use storage_proofs_porep::stacked::{
    ColumnProof, EncodingProof, LabelingProof, Proof, ReplicaColumnProof, TOTAL_PARENTS,
};

use crate::wire::{Partitions, WireColumnProof, WireColumns, WireLabel, WireProof};
use crate::witness::{Challenge, Column};

/// The challenges' proofs of one partition.
pub type PartitionProof<Tree> = Vec<Proof<Tree, DefaultPieceHasher>>;

/// The same with what the challenges open, for the direct witness.
pub type OpenedPartition<Tree> = (PartitionProof<Tree>, Vec<Challenge>);

/// A column of labels and its inclusion proof.
struct OpenedColumn<Tree: SectorTree> {
    index: u32,
    rows: Vec<PoseidonDomain>,
    inclusion: TreeProof<Tree>,
}

impl<Tree: SectorTree> OpenedColumn<Tree> {
    fn opening(&self) -> Column {
        Column {
            rows: self.rows.iter().map(|&row| Fr::from(row)).collect(),
            path: levels(&self.inclusion),
        }
    }

    fn into_proof(self) -> ColumnProof<TreeProof<Tree>> {
        ColumnProof::new(self.index, self.rows, self.inclusion)
    }
}

/// The columns that a challenge opens: the challenged node's and those of its parents.
struct Columns<Tree: SectorTree> {
    own: OpenedColumn<Tree>,
    drg: Vec<OpenedColumn<Tree>>,
    exp: Vec<OpenedColumn<Tree>>,
}

impl<Tree: SectorTree> Columns<Tree> {
    fn into_proof(self) -> ReplicaColumnProof<TreeProof<Tree>> {
        let all = |columns: Vec<OpenedColumn<Tree>>| {
            columns.into_iter().map(OpenedColumn::into_proof).collect()
        };
        ReplicaColumnProof {
            c_x: self.own.into_proof(),
            drg_parents: all(self.drg),
            exp_parents: all(self.exp),
        }
    }
}

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
    ) -> Result<Vec<OpenedPartition<Tree>>, ProofApiError> {
        partitions.exactly(self.partitions, "partitions", |partition| {
            let challenges = partition.exactly(self.challenges, "challenges", |proof| {
                self.challenge::<Tree>(proof)
            });
            Ok(challenges?.into_iter().unzip())
        })
    }

    fn challenge<Tree: SectorTree>(
        self,
        proof: WireProof,
    ) -> Result<(Proof<Tree, DefaultPieceHasher>, Challenge), ProofApiError> {
        let columns = self.columns::<Tree>(proof.replica_column_proofs);
        let labels = proof.labeling_proofs.exactly(self.layers, "layers", label);
        let (layer, node, parents) = label(proof.encoding_proof).within("encoding_proof")?;
        let encoding = EncodingProof::new(layer, node, parents);
        let data = proof.comm_d_proofs.in_shape(self.nodes);
        let data: MerkleProof<DefaultPieceHasher, U2> = data.within("comm_d_proofs")?;
        let replica = proof.comm_r_last_proof.in_tree::<Tree>(self.nodes);
        let replica = replica.within("comm_r_last_proof")?;
        let columns = columns.within("replica_column_proofs")?;
        let labels = labels.within("labeling_proofs")?;
        let openings =
            |columns: &[OpenedColumn<Tree>]| columns.iter().map(OpenedColumn::opening).collect();
        let challenge = Challenge {
            // The circuit takes the node from the first label.
            node: labels.first().map_or(0, |&(_, node, _)| node),
            data: Fr::from(data.leaf()),
            data_path: levels(&data),
            drg_parents: openings(&columns.drg),
            exp_parents: openings(&columns.exp),
            replica_path: levels(&replica),
            column_path: levels(&columns.own.inclusion),
        };
        let proof = Proof {
            comm_d_proofs: data,
            comm_r_last_proof: replica,
            replica_column_proofs: columns.into_proof(),
            labeling_proofs: labels
                .into_iter()
                .map(|(layer, node, parents)| LabelingProof::new(layer, node, parents))
                .collect(),
            encoding_proof: encoding,
        };
        Ok((proof, challenge))
    }

    fn columns<Tree: SectorTree>(
        self,
        columns: WireColumns,
    ) -> Result<Columns<Tree>, ProofApiError> {
        let column = |proof| self.column::<Tree>(proof);
        let drg = columns.drg_parents.exactly(DRG_DEGREE, "parents", column);
        let exp = columns.exp_parents.exactly(EXP_DEGREE, "parents", column);
        Ok(Columns {
            own: column(columns.c_x).within("c_x")?,
            drg: drg.within("drg_parents")?,
            exp: exp.within("exp_parents")?,
        })
    }

    fn column<Tree: SectorTree>(
        self,
        proof: WireColumnProof,
    ) -> Result<OpenedColumn<Tree>, ProofApiError> {
        let rows = proof
            .column
            .rows
            .exactly(self.layers, "layers", Node::domain);
        let inclusion = proof.inclusion_proof.in_tree::<Tree>(self.nodes);
        Ok(OpenedColumn {
            index: proof.column.index,
            rows: rows.within("rows").within("column")?,
            inclusion: inclusion.within("inclusion_proof")?,
        })
    }
}

fn label(label: WireLabel) -> Result<(u32, u64, Vec<PoseidonDomain>), ProofApiError> {
    let parents = label
        .parents
        .exactly(TOTAL_PARENTS, "parents", Node::domain);
    Ok((label.layer_index, label.node, parents.within("parents")?))
}
