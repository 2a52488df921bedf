//! Verification of vanilla proofs by the official verifiers.

use crate::error::Step;
use crate::payload::{Bytes32, Payload};
use crate::phase1::{SealCommitPhase1Output, same};
use crate::registered::{self, SealProof};
use crate::sector_size::{Arity, Tree, for_shape};
use crate::{Kind, SynthError};
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::sha256::Sha256Domain;
use filecoin_proofs::parameters::{
    public_params, window_post_public_params, winning_post_public_params,
};
use filecoin_proofs::{
    DefaultPieceHasher, FallbackPoStSectorProof, PartitionProof, as_safe_commitment,
};
use serde::de::DeserializeOwned;
use std::panic::{AssertUnwindSafe, catch_unwind};
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_core::sector::SectorId;
use storage_proofs_porep::stacked::{self, StackedDrg, generate_replica_id};
use storage_proofs_post::fallback::{self, FallbackPoSt};
use storage_proofs_update::EmptySectorUpdate;

/// Whether the payload's vanilla proofs are right, as the official verifiers see them: every challenge
/// follows from the statement, and every opening leads to the commitments of the statement.
///
/// # Errors
/// A payload that lacks a part of its statement or contradicts itself; vanilla proofs that cannot be read.
pub fn verify_vanilla(payload: &Payload) -> Result<bool, SynthError> {
    guarded("verify the vanilla proofs", || {
        for_shape!(payload.sector_size, verify_shape(payload))
    })
}

/// Runs a verifier of Filecoin's crates, which assert the form of proofs that somebody else made.
pub(crate) fn guarded(
    step: &'static str,
    verify: impl FnOnce() -> Result<bool, SynthError>,
) -> Result<bool, SynthError> {
    // Nothing that a panic could leave half-written outlives the call.
    catch_unwind(AssertUnwindSafe(verify)).unwrap_or(Err(SynthError::Panicked { step }))
}

fn verify_shape<V: Arity, W: Arity>(payload: &Payload) -> Result<bool, SynthError> {
    match payload.kind {
        Kind::PoRep => porep::<V, W>(payload),
        Kind::WindowPost | Kind::WinningPost => post::<V, W>(payload),
        Kind::Snap => snap::<V, W>(payload),
    }
}

fn porep<V: Arity, W: Arity>(payload: &Payload) -> Result<bool, SynthError> {
    let size = payload.sector_size;
    let proof = SealProof::from_number(size, payload.registered_proof)?;
    let output = SealCommitPhase1Output::<V, W>::from_vanilla_proof(
        &payload.vanilla_proof,
        payload.sector_number,
        size,
        proof,
    )?;
    let statement = [
        ("comm_r", payload.comm_r, output.comm_r),
        ("comm_d", payload.comm_d, output.comm_d),
        ("ticket", payload.ticket, output.ticket),
        ("seed", payload.seed, output.seed),
    ];
    for (field, wanted, found) in statement {
        same(field, hex(&payload.need(wanted, field)?), hex(&found))?;
    }
    let config = proof.config();
    let comm_d = Sha256Domain(output.comm_d);
    let replica_id = generate_replica_id::<PoseidonHasher, _>(
        &payload.prover_id(),
        payload.sector_number,
        &output.ticket,
        comm_d,
        &config.porep_id,
    );
    let tau = stacked::Tau {
        comm_d,
        comm_r: domain(&output.comm_r, "comm_r")?,
    };
    let inputs = stacked::PublicInputs {
        replica_id,
        tau: Some(tau),
        k: None,
        seed: Some(output.seed),
    };
    same(
        "replica_id",
        hex(&replica_id.into()),
        hex(&output.replica_id.into()),
    )?;
    let params = public_params::<Tree<V, W>>(&config).step("PoRep parameters")?;
    let proofs = output.into_proofs(size)?;
    same("partitions", usize::from(config.partitions), proofs.len())?;
    StackedDrg::<Tree<V, W>, DefaultPieceHasher>::verify_all_partitions(&params, &inputs, &proofs)
        .step("verify the vanilla PoRep")
}

fn post<V: Arity, W: Arity>(payload: &Payload) -> Result<bool, SynthError> {
    let config =
        registered::post_config(payload.kind, payload.sector_size, payload.registered_proof)?;
    let proofs: Vec<FallbackPoStSectorProof<Tree<V, W>>> =
        decode(&payload.vanilla_proofs, "sector proof")?;
    same("vanilla_proofs", payload.replicas.len(), proofs.len())?;
    let mut public = Vec::with_capacity(proofs.len());
    for (replica, proof) in payload.replicas.iter().zip(&proofs) {
        same(
            "sector_id",
            replica.sector_number,
            u64::from(proof.sector_id),
        )?;
        same("comm_r", hex(&replica.comm_r), hex(&proof.comm_r.into()))?;
        let id = SectorId::from(replica.sector_number);
        public.push(fallback::PublicSector {
            id,
            comm_r: domain(&replica.comm_r, "comm_r")?,
        });
    }
    let mut sectors: Vec<_> = proofs
        .into_iter()
        .flat_map(|proof| proof.vanilla_proof.sectors)
        .collect();
    let params = match payload.kind {
        Kind::WinningPost => {
            // The circuit lists the one sector once for each challenge.
            sectors = sectors.iter().flat_map(one_challenge_each).collect();
            public = public.iter().cycle().take(sectors.len()).cloned().collect();
            winning_post_public_params::<Tree<V, W>>(&config)
        }
        _ => window_post_public_params::<Tree<V, W>>(&config),
    }
    .step("PoSt parameters")?;
    let last = sectors.last().cloned().ok_or(SynthError::Missing {
        kind: payload.kind,
        field: "vanilla_proofs",
    })?;
    // A partition that is not full repeats its last sector.
    sectors.resize(params.sector_count.max(sectors.len()), last);
    let inputs = fallback::PublicInputs {
        randomness: domain(&payload.randomness, "randomness")?,
        prover_id: domain(&payload.prover_id(), "prover_id")?,
        sectors: public,
        k: Some(payload.partition_index as usize),
    };
    FallbackPoSt::<Tree<V, W>>::verify(&params, &inputs, &fallback::Proof { sectors })
        .step("verify the vanilla PoSt")
}

type SectorProof<V, W> = fallback::SectorProof<crate::sector_size::TreeProof<V, W>>;

/// The openings of a sector as so many sectors of one opening.
fn one_challenge_each<V: Arity, W: Arity>(sector: &SectorProof<V, W>) -> Vec<SectorProof<V, W>> {
    let (comm_c, comm_r_last) = (sector.comm_c, sector.comm_r_last);
    let one = |opening: &_| fallback::SectorProof {
        inclusion_proofs: vec![Clone::clone(opening)],
        comm_c,
        comm_r_last,
    };
    sector.inclusion_proofs.iter().map(one).collect()
}

fn snap<V: Arity, W: Arity>(payload: &Payload) -> Result<bool, SynthError> {
    let proofs: Vec<PartitionProof<Tree<V, W>>> =
        decode(&payload.vanilla_proofs, "partition proof")?;
    let params = storage_proofs_update::PublicParams::from_sector_size(payload.sector_size.bytes());
    same("vanilla_proofs", params.partition_count, proofs.len())?;
    let inputs = storage_proofs_update::PublicInputs {
        k: 0,
        comm_r_old: domain(
            &payload.need(payload.comm_r_old, "comm_r_old")?,
            "comm_r_old",
        )?,
        comm_d_new: Sha256Domain(payload.need(payload.comm_d_new, "comm_d_new")?),
        comm_r_new: domain(
            &payload.need(payload.comm_r_new, "comm_r_new")?,
            "comm_r_new",
        )?,
        h: storage_proofs_update::constants::h_default(params.sector_nodes),
    };
    EmptySectorUpdate::<Tree<V, W>>::verify_all_partitions(&params, &inputs, &proofs)
        .step("verify the vanilla update")
}

/// A commitment as a field element, if it is below the modulus.
fn domain(bytes: &Bytes32, name: &'static str) -> Result<PoseidonDomain, SynthError> {
    as_safe_commitment(bytes, name).step("read a commitment")
}

fn decode<T: DeserializeOwned>(
    proofs: &[Vec<u8>],
    what: &'static str,
) -> Result<Vec<T>, SynthError> {
    let decode = |(index, bytes): (usize, &Vec<u8>)| {
        bincode::deserialize(bytes).map_err(|source| SynthError::Bincode {
            what,
            index,
            source,
        })
    };
    proofs.iter().enumerate().map(decode).collect()
}

fn hex(bytes: &Bytes32) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
