//! Synthetic SnapDeals: an update whose three trees can be opened anywhere.
//!
//! The challenges hang on the new root, inside the circuit. So the data and the old replica repeat with a
//! period, and the new replica, `new = old + data * rho(block)`, repeats inside each block of equal rho.

use crate::data::{Data, PERIOD};
use crate::merkle::replica_arities;
use crate::payload::{Bytes32, Payload};
use crate::periodic_tree::{PeriodicTree, Repetition};
use crate::prf::{Prf, Purpose};
use crate::sector_size::{Arity, Tree, TreeProof};
use crate::{Kind, SectorSize, SynthError, registered};
use blstrs::Scalar;
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::PartitionProof;
use rayon::prelude::*;
use storage_proofs_update::constants::h_default;
use storage_proofs_update::vanilla::ChallengeProof;
use storage_proofs_update::{Challenges, PublicParams, phi, rho};

type Poseidon = <PoseidonHasher as Hasher>::Function;

/// A SnapDeals payload of all partitions.
pub(crate) fn synthetic<V: Arity, W: Arity>(
    size: SectorSize,
    prf: &Prf,
) -> Result<Payload, SynthError> {
    let params = PublicParams::from_sector_size(size.bytes());
    let update = Update::new(size, prf);
    let proofs: Vec<PartitionProof<Tree<V, W>>> = (0..params.partition_count)
        .into_par_iter()
        .map(|k| update.prove(&params, k))
        .collect();
    payload(
        size,
        &proofs,
        update.comm_r_old.into(),
        update.comm_r_new.into(),
        update.data.comm_d().into(),
    )
}

/// The payload of the given partitions' proofs.
pub(crate) fn payload<V: Arity, W: Arity>(
    size: SectorSize,
    proofs: &[PartitionProof<Tree<V, W>>],
    comm_r_old: Bytes32,
    comm_r_new: Bytes32,
    comm_d_new: Bytes32,
) -> Result<Payload, SynthError> {
    let serialize = |(index, proof): (usize, &PartitionProof<Tree<V, W>>)| {
        bincode::serialize(proof).map_err(|source| SynthError::Bincode {
            what: "partition proof",
            index,
            source,
        })
    };
    Ok(Payload {
        vanilla_proofs: proofs
            .iter()
            .enumerate()
            .map(serialize)
            .collect::<Result<_, _>>()?,
        comm_r_old: Some(comm_r_old),
        comm_r_new: Some(comm_r_new),
        comm_d_new: Some(comm_d_new),
        ..Payload::empty(
            Kind::Snap,
            size,
            registered::current_number(Kind::Snap, size),
        )
    })
}

/// A sector before and after the update.
struct Update {
    data: Data,
    comm_c: PoseidonDomain,
    old: PeriodicTree<PoseidonHasher>,
    comm_r_old: PoseidonDomain,
    new: PeriodicTree<PoseidonHasher>,
    comm_r_new: PoseidonDomain,
}

impl Update {
    fn new(size: SectorSize, prf: &Prf) -> Self {
        let data = Data::new(size, prf);
        let h = h_default(size.nodes() as usize);
        let block = size.nodes() >> h;
        let period = PERIOD.min(block);
        let comm_c = prf.digest(Purpose::CommC, 0, 0).into();
        let old_leaf =
            |node: u64| PoseidonDomain::from(prf.digest(Purpose::Replica, 0, node % period));
        let old = PeriodicTree::new(
            replica_arities(size),
            Repetition {
                block: size.nodes(),
                period,
            },
            old_leaf,
        );
        let comm_r_old = Poseidon::hash2(&comm_c, &old.root());
        let phi = phi(&data.comm_d(), &comm_r_old);
        let rhos: Vec<Scalar> = (0..1 << h)
            .into_par_iter()
            .map(|block: u32| rho(&phi, block))
            .collect();
        let new_leaf = |node: u64| {
            let rho = rhos[(node / block) as usize];
            PoseidonDomain::from(Scalar::from(old_leaf(node)) + data.scalar(node) * rho)
        };
        let new = PeriodicTree::new(
            replica_arities(size),
            Repetition { block, period },
            new_leaf,
        );
        let comm_r_new = Poseidon::hash2(&comm_c, &new.root());
        Update {
            data,
            comm_c,
            old,
            comm_r_old,
            new,
            comm_r_new,
        }
    }

    /// The vanilla proof of partition `k`.
    fn prove<V: Arity, W: Arity>(
        &self,
        params: &PublicParams,
        k: usize,
    ) -> PartitionProof<Tree<V, W>> {
        let apex_level =
            params.challenge_bit_len - params.partition_bit_len - params.apex_leaf_bit_len;
        let apex = |leaf| {
            self.data
                .node(apex_level, (k * params.apex_leaf_count + leaf) as u64)
        };
        let prove = |challenge| {
            let node = challenge as u64;
            ChallengeProof {
                proof_r_old: open::<V, W>(&self.old, node),
                proof_d_new: self.data.open(node),
                proof_r_new: open::<V, W>(&self.new, node),
            }
        };
        PartitionProof {
            comm_c: self.comm_c,
            apex_leafs: (0..params.apex_leaf_count).map(apex).collect(),
            challenge_proofs: Challenges::new(params.sector_nodes, self.comm_r_new, k)
                .map(prove)
                .collect(),
        }
    }
}

fn open<V: Arity, W: Arity>(tree: &PeriodicTree<PoseidonHasher>, node: u64) -> TreeProof<V, W> {
    TreeProof::from_parts(tree.node(0, node), tree.root(), tree.path(node))
}
