//! Synthetic WindowPoSt and WinningPoSt: sectors whose replica tree is known at the challenged leaves alone.

use crate::error::Step;
use crate::merkle::replica_arities;
use crate::payload::{Payload, Replica, prover_id};
use crate::prf::{Prf, Purpose};
use crate::sector_size::{Arity, Tree, TreeProof};
use crate::sparse_tree::SparseTree;
use crate::{FIRST_SECTOR, Kind, MINER_ID, SectorSize, SynthError, registered};
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::{FallbackPoStSectorProof, generate_fallback_sector_challenges};
use rayon::prelude::*;
use std::collections::BTreeMap;
use storage_proofs_core::sector::SectorId;
use storage_proofs_post::fallback;

/// A PoSt payload over `sectors` sectors; of a WinningPoSt, one.
pub(crate) fn synthetic<V: Arity, W: Arity>(
    kind: Kind,
    size: SectorSize,
    sectors: usize,
    prf: &Prf,
) -> Result<Payload, SynthError> {
    let number = registered::current_number(kind, size);
    let config = registered::post_config(kind, size, number)?;
    let limit = config.sector_count;
    if sectors == 0 || sectors > limit {
        return Err(SynthError::SectorCount {
            size,
            limit,
            found: sectors,
        });
    }
    let randomness = prf.digest(Purpose::Randomness, 0, 0);
    let ids: Vec<SectorId> = (FIRST_SECTOR..).take(sectors).map(SectorId::from).collect();
    let challenges = generate_fallback_sector_challenges::<Tree<V, W>>(
        &config,
        &randomness,
        &ids,
        prover_id(MINER_ID),
    )
    .step("PoSt challenges")?;
    let challenges: Vec<(SectorId, Vec<u64>)> = challenges.into_iter().collect();
    let proofs: Vec<FallbackPoStSectorProof<Tree<V, W>>> = challenges
        .par_iter()
        .map(|(id, leaves)| sector_proof(size, *id, leaves, &prf.sector(u64::from(*id))))
        .collect();
    payload(kind, size, number, &proofs, randomness)
}

/// The payload of the given sectors' proofs.
pub(crate) fn payload<V: Arity, W: Arity>(
    kind: Kind,
    size: SectorSize,
    registered_proof: u64,
    proofs: &[FallbackPoStSectorProof<Tree<V, W>>],
    randomness: [u8; 32],
) -> Result<Payload, SynthError> {
    let serialize = |(index, proof): (usize, &FallbackPoStSectorProof<Tree<V, W>>)| {
        bincode::serialize(proof).map_err(|source| SynthError::Bincode {
            what: "sector proof",
            index,
            source,
        })
    };
    let replicas: Vec<Replica> = proofs
        .iter()
        .map(|proof| Replica {
            sector_number: u64::from(proof.sector_id),
            comm_r: proof.comm_r.into(),
        })
        .collect();
    Ok(Payload {
        vanilla_proofs: proofs
            .iter()
            .enumerate()
            .map(serialize)
            .collect::<Result<_, _>>()?,
        randomness,
        replicas,
        ..Payload::empty(kind, size, registered_proof)
    })
}

/// The vanilla proof of one sector at the given leaves.
fn sector_proof<V: Arity, W: Arity>(
    size: SectorSize,
    id: SectorId,
    leaves: &[u64],
    prf: &Prf,
) -> FallbackPoStSectorProof<Tree<V, W>> {
    let known: BTreeMap<u64, PoseidonDomain> = leaves
        .iter()
        .map(|&leaf| (leaf, prf.digest(Purpose::Replica, 0, leaf).into()))
        .collect();
    let tree = SparseTree::<PoseidonHasher>::new(
        replica_arities(size),
        prf.clone(),
        Purpose::TreeR,
        &known,
    );
    let comm_c = prf.digest(Purpose::CommC, 0, 0).into();
    let comm_r_last = tree.root();
    let open = |leaf| TreeProof::<V, W>::from_parts(known[leaf], comm_r_last, tree.path(*leaf));
    let sector = fallback::SectorProof {
        inclusion_proofs: leaves.iter().map(open).collect(),
        comm_c,
        comm_r_last,
    };
    FallbackPoStSectorProof {
        sector_id: id,
        comm_r: <PoseidonHasher as Hasher>::Function::hash2(&comm_c, &comm_r_last),
        vanilla_proof: fallback::Proof {
            sectors: vec![sector],
        },
    }
}
