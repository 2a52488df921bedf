//! Verification of finished proofs by the functions of `filecoin-proofs`.

use crate::error::Step;
use crate::payload::{Payload, Replica};
use crate::registered::{self, SealProof};
use crate::sector_size::{Arity, Tree, for_shape};
use crate::vanilla::guarded;
use crate::{Kind, SynthError};
use filecoin_proofs::{
    PublicReplicaInfo, verify_empty_sector_update_proof, verify_seal, verify_window_post,
    verify_winning_post,
};
use std::path::{Path, PathBuf};
use storage_proofs_core::sector::SectorId;

/// The environment variables that keep every file of `filecoin-proofs` in `folder`, with their values.
///
/// `FIL_PROOFS_PARAMETER_CACHE` names the folder in which the `.vk` and `.params` files lie,
/// `FIL_PROOFS_PARENT_CACHE` the one for the graph parents of sectors that are sealed. Both are read once,
/// when the process first needs either, and then hold until it ends. So give them to a child process
/// (`Command::envs`) or set them before the program starts. Without them the files stand in `/var/tmp`.
pub fn environment(folder: &Path) -> [(&'static str, PathBuf); 2] {
    [
        ("FIL_PROOFS_PARAMETER_CACHE", folder.join("parameters")),
        ("FIL_PROOFS_PARENT_CACHE", folder.join("parents")),
    ]
}

/// Whether `proof` proves the payload's statement, as `filecoin-proofs` sees it.
///
/// `proof` is what the prover returns: 192 bytes a partition, one after another; of a non-interactive
/// PoRep, the aggregate. The `.vk` file of the circuit is read from `FIL_PROOFS_PARAMETER_CACHE` as that
/// stood when this process first read the setting (see [`environment`]), and is kept in memory.
///
/// # Errors
/// A payload that lacks a part of its statement; [`SynthError::Filecoin`] when the verifying key cannot be
/// read, or the proof has the wrong length or holds bytes that are no points.
pub fn verify_proof(payload: &Payload, proof: &[u8]) -> Result<bool, SynthError> {
    guarded("verify the proof", || {
        for_shape!(payload.sector_size, verify_shape(payload, proof))
    })
}

fn verify_shape<V: Arity, W: Arity>(payload: &Payload, proof: &[u8]) -> Result<bool, SynthError> {
    match payload.kind {
        Kind::PoRep => porep::<V, W>(payload, proof),
        Kind::WindowPost => window_post::<V, W>(payload, proof),
        Kind::WinningPost => winning_post::<V, W>(payload, proof),
        Kind::Snap => snap::<V, W>(payload, proof),
    }
}

fn porep<V: Arity, W: Arity>(payload: &Payload, proof: &[u8]) -> Result<bool, SynthError> {
    let config = SealProof::from_number(payload.sector_size, payload.registered_proof)?.config();
    verify_seal::<Tree<V, W>>(
        &config,
        payload.need(payload.comm_r, "comm_r")?,
        payload.need(payload.comm_d, "comm_d")?,
        payload.prover_id(),
        SectorId::from(payload.sector_number),
        payload.need(payload.ticket, "ticket")?,
        payload.need(payload.seed, "seed")?,
        proof,
    )
    .step("verify_seal")
}

fn window_post<V: Arity, W: Arity>(payload: &Payload, proof: &[u8]) -> Result<bool, SynthError> {
    let config =
        registered::post_config(payload.kind, payload.sector_size, payload.registered_proof)?;
    let replicas = payload
        .replicas
        .iter()
        .map(public_replica)
        .collect::<Result<_, _>>()?;
    verify_window_post::<Tree<V, W>>(
        &config,
        &payload.randomness,
        &replicas,
        payload.prover_id(),
        proof,
    )
    .step("verify_window_post")
}

fn winning_post<V: Arity, W: Arity>(payload: &Payload, proof: &[u8]) -> Result<bool, SynthError> {
    let config =
        registered::post_config(payload.kind, payload.sector_size, payload.registered_proof)?;
    let replicas = payload
        .replicas
        .iter()
        .map(public_replica)
        .collect::<Result<Vec<_>, _>>()?;
    verify_winning_post::<Tree<V, W>>(
        &config,
        &payload.randomness,
        &replicas,
        payload.prover_id(),
        proof,
    )
    .step("verify_winning_post")
}

fn snap<V: Arity, W: Arity>(payload: &Payload, proof: &[u8]) -> Result<bool, SynthError> {
    verify_empty_sector_update_proof::<Tree<V, W>>(
        &registered::update_config(payload.sector_size),
        proof,
        payload.need(payload.comm_r_old, "comm_r_old")?,
        payload.need(payload.comm_r_new, "comm_r_new")?,
        payload.need(payload.comm_d_new, "comm_d_new")?,
    )
    .step("verify_empty_sector_update_proof")
}

fn public_replica(replica: &Replica) -> Result<(SectorId, PublicReplicaInfo), SynthError> {
    let info = PublicReplicaInfo::new(replica.comm_r).step("replica commitment")?;
    Ok((SectorId::from(replica.sector_number), info))
}
