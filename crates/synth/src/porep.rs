//! Synthetic PoRep: vanilla proofs of a sector that was never sealed.
//!
//! Interactive challenges depend on the replica id and a seed, hence on CommD but not on CommR. So data in
//! closed form comes first, then the challenges, then labels, columns and trees around the challenged nodes
//! alone. Features that draw the challenges from CommR get every node of the (small) sector labelled.

use crate::data::Data;
use crate::error::Step;
use crate::labels::{BASE_DEGREE, DEGREE, Labels};
use crate::merkle::replica_arities;
use crate::payload::{Payload, prover_id};
use crate::phase1::{ChallengeProof, SealCommitPhase1Output, VanillaSealProof};
use crate::prf::{Prf, Purpose};
use crate::registered::SealProof;
use crate::sector_size::{Arity, Tree, TreeProof};
use crate::sparse_tree::SparseTree;
use crate::{FIRST_SECTOR, Kind, MINER_ID, PoRepFeature, SectorSize, SynthError};
use blstrs::Scalar;
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::sha256::Sha256Domain;
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::parameters::public_params;
use rayon::prelude::*;
use std::collections::BTreeMap;
use storage_proofs_core::drgraph::Graph;
use storage_proofs_porep::stacked::{
    Column, ColumnProof, EncodingProof, LabelingProof, PublicInputs, PublicParams,
    ReplicaColumnProof, Tau, generate_replica_id,
};

type Poseidon = <PoseidonHasher as Hasher>::Function;
type Inputs = PublicInputs<PoseidonDomain, Sha256Domain>;

/// The largest sector whose every node is labelled when the challenges depend on CommR.
const LARGEST_WHOLE_SECTOR: SectorSize = SectorSize::MIB_8;

/// A PoRep payload of all partitions.
pub(crate) fn synthetic<V: Arity, W: Arity>(
    size: SectorSize,
    feature: PoRepFeature,
    prf: &Prf,
) -> Result<Payload, SynthError> {
    if feature != PoRepFeature::Interactive && size > LARGEST_WHOLE_SECTOR {
        return Err(SynthError::NeedsSealedSector { feature, size });
    }
    let proof = SealProof::current(size, feature);
    let config = proof.config();
    let params = public_params::<Tree<V, W>>(&config).step("PoRep parameters")?;
    let (ticket, seed) = (
        prf.digest(Purpose::Ticket, 0, 0),
        prf.digest(Purpose::Seed, 0, 0),
    );
    let data = Data::new(size, prf);
    let replica_id = generate_replica_id::<PoseidonHasher, _>(
        &prover_id(MINER_ID),
        FIRST_SECTOR,
        &ticket,
        data.comm_d(),
        &config.porep_id,
    );
    let mut inputs = PublicInputs {
        replica_id,
        tau: None,
        k: None,
        seed: Some(seed),
    };
    let partitions = usize::from(config.partitions);
    let labelled = if feature == PoRepFeature::Interactive {
        challenges(&params, &inputs, partitions).concat()
    } else {
        (1..size.nodes()).collect()
    };
    let parents = parents(&params, &labelled)?;
    let sector = Sector::new(
        size,
        data,
        Labels::new(prf, replica_id, params.num_layers, parents),
        prf,
    )?;
    inputs.tau = Some(Tau {
        comm_d: sector.data.comm_d(),
        comm_r: sector.comm_r,
    });
    let nodes = challenges(&params, &inputs, partitions);
    let proofs = sector.prove_all::<V, W>(&nodes, params.num_layers)?;
    let output = SealCommitPhase1Output {
        registered_proof: proof.name(),
        vanilla_proofs: VanillaSealProof::new(size, proofs),
        comm_r: sector.comm_r.into(),
        comm_d: sector.data.comm_d().into(),
        replica_id,
        seed,
        ticket,
    };
    payload(size, proof, &output)
}

/// The payload around the output of commit phase 1.
pub(crate) fn payload<V: Arity, W: Arity>(
    size: SectorSize,
    proof: SealProof,
    output: &SealCommitPhase1Output<V, W>,
) -> Result<Payload, SynthError> {
    Ok(Payload {
        vanilla_proof: output.to_vanilla_proof(FIRST_SECTOR, size)?,
        comm_r: Some(output.comm_r),
        comm_d: Some(output.comm_d),
        ticket: Some(output.ticket),
        seed: Some(output.seed),
        ..Payload::empty(Kind::PoRep, size, proof.number())
    })
}

/// The challenged nodes of each partition.
fn challenges<V: Arity, W: Arity>(
    params: &PublicParams<Tree<V, W>>,
    inputs: &Inputs,
    partitions: usize,
) -> Vec<Vec<u64>> {
    let partition = |k| inputs.challenges(&params.challenges, params.graph.size(), Some(k));
    (0..partitions)
        .map(|k| partition(k).into_iter().map(|node| node as u64).collect())
        .collect()
}

/// The parents of nodes, computed one by one: a cache of all parents has 56 GiB at 32 GiB.
fn parents<V: Arity, W: Arity>(
    params: &PublicParams<Tree<V, W>>,
    nodes: &[u64],
) -> Result<BTreeMap<u64, [u32; DEGREE]>, SynthError> {
    let parents_of = |&node: &u64| {
        let mut parents = [0; DEGREE];
        params
            .graph
            .parents(node as usize, &mut parents)
            .step("parents of a node")?;
        Ok((node, parents))
    };
    nodes.par_iter().map(parents_of).collect()
}

/// A sector as far as it is opened.
struct Sector {
    data: Data,
    labels: Labels,
    tree_c: SparseTree<PoseidonHasher>,
    column_hashes: BTreeMap<u64, PoseidonDomain>,
    tree_r: SparseTree<PoseidonHasher>,
    replica: BTreeMap<u64, PoseidonDomain>,
    comm_r: PoseidonDomain,
}

impl Sector {
    /// Encodes the data with the labels and commits to both.
    fn new(size: SectorSize, data: Data, labels: Labels, prf: &Prf) -> Result<Self, SynthError> {
        let hash = |(&node, rows): (&u64, &Vec<PoseidonDomain>)| {
            Ok((node, column(node, rows)?.hash().into()))
        };
        let column_hashes: BTreeMap<u64, PoseidonDomain> = labels
            .columns()
            .par_iter()
            .map(hash)
            .collect::<Result<_, SynthError>>()?;
        let encode = |node| {
            (
                node,
                (Scalar::from(labels.key(node)) + data.scalar(node)).into(),
            )
        };
        let replica: BTreeMap<u64, PoseidonDomain> = labels.labelled().map(encode).collect();
        let tree_c = SparseTree::new(
            replica_arities(size),
            prf.clone(),
            Purpose::TreeC,
            &column_hashes,
        );
        let tree_r = SparseTree::new(replica_arities(size), prf.clone(), Purpose::TreeR, &replica);
        let comm_r = Poseidon::hash2(&tree_c.root(), &tree_r.root());
        Ok(Sector {
            data,
            labels,
            tree_c,
            column_hashes,
            tree_r,
            replica,
            comm_r,
        })
    }

    /// The vanilla proofs of the challenged nodes of each partition.
    fn prove_all<V: Arity, W: Arity>(
        &self,
        partitions: &[Vec<u64>],
        layers: usize,
    ) -> Result<Vec<Vec<ChallengeProof<V, W>>>, SynthError> {
        let prove = |nodes: &Vec<u64>| {
            nodes
                .par_iter()
                .map(|&node| self.prove(node, layers))
                .collect()
        };
        partitions.iter().map(prove).collect()
    }

    /// The vanilla proof of one challenged node.
    fn prove<V: Arity, W: Arity>(
        &self,
        node: u64,
        layers: usize,
    ) -> Result<ChallengeProof<V, W>, SynthError> {
        let (base, expansion) = self.labels.parents(node).split_at(BASE_DEGREE);
        let columns = |nodes: &[u32]| {
            nodes
                .iter()
                .map(|&node| self.column_proof(u64::from(node)))
                .collect::<Result<Vec<_>, _>>()
        };
        let labeling =
            |layer| LabelingProof::new(layer as u32, node, self.labels.preimage(layer, node));
        Ok(ChallengeProof::<V, W> {
            comm_d_proofs: self.data.open(node),
            comm_r_last_proof: TreeProof::from_parts(
                self.replica[&node],
                self.tree_r.root(),
                self.tree_r.path(node),
            ),
            replica_column_proofs: ReplicaColumnProof {
                c_x: self.column_proof(node)?,
                drg_parents: columns(base)?,
                exp_parents: columns(expansion)?,
            },
            labeling_proofs: (1..=layers).map(labeling).collect(),
            encoding_proof: EncodingProof::new(
                layers as u32,
                node,
                self.labels.preimage(layers, node),
            ),
        })
    }

    /// The opening of a node's column.
    fn column_proof<V: Arity, W: Arity>(
        &self,
        node: u64,
    ) -> Result<ColumnProof<TreeProof<V, W>>, SynthError> {
        let path = self.tree_c.path(node);
        let opening = TreeProof::from_parts(self.column_hashes[&node], self.tree_c.root(), path);
        ColumnProof::from_column(column(node, &self.labels.columns()[&node])?, opening)
            .step("opening of a column")
    }
}

/// The labels of one node in the type that hashes them.
fn column(node: u64, rows: &[PoseidonDomain]) -> Result<Column<PoseidonHasher>, SynthError> {
    Column::new(node as u32, rows.to_vec()).step("column of labels")
}
