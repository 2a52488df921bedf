//! From a payload to a job, and from a job to proofs.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::Context;
use cuzk_backend::Backend;
use cuzk_cs_witness::WitnessCS;
use cuzk_groth16::{Blinding, Pending, Proved, Prover};
use cuzk_proof_api::{Job, Request, by_id};
use cuzk_r1cs::PackedWitness;
use cuzk_synth::Payload;
use rand_core::OsRng;

use crate::console::Console;

/// Reads a payload file.
pub fn read_payload(path: &Path) -> anyhow::Result<Payload> {
    let json = std::fs::read(path).with_context(|| path.display().to_string())?;
    Payload::from_json(&json).with_context(|| path.display().to_string())
}

/// Decodes a payload as the daemon would decode the request that carries it.
pub fn decode(payload: &Payload) -> anyhow::Result<Box<dyn Job>> {
    let bytes = |value: Option<[u8; 32]>| value.map(Vec::from).unwrap_or_default();
    let request = Request {
        sector_size: payload.sector_size.bytes(),
        registered_proof: payload.registered_proof,
        vanilla_proof: payload.vanilla_proof.clone(),
        vanilla_proofs: payload.vanilla_proofs.clone(),
        sector_number: payload.sector_number,
        miner_id: payload.miner_id,
        randomness: payload.randomness.to_vec(),
        partition_index: payload.partition_index,
        comm_r_old: bytes(payload.comm_r_old),
        comm_r_new: bytes(payload.comm_r_new),
        comm_d_new: bytes(payload.comm_d_new),
    };
    Ok(by_id(payload.kind.name())?.decode(&request)?)
}

/// The proofs of a job and the seconds that they took.
pub struct ProvedJob {
    /// The proofs, in the order of the partitions.
    pub proofs: Vec<Proved>,
    /// Seconds of witness generation.
    pub witness_s: f64,
    /// Seconds of everything after it. Where there are many partitions the two overlap.
    pub prove_s: f64,
}

/// Proves partitions of a job, on each prover in turn. The next partition's witness is made while the last ones' proofs
/// are under way, one a prover.
pub fn prove<B: Backend>(
    job: &dyn Job,
    provers: &[Prover<B>],
    partitions: &[usize],
    check: bool,
    console: &Console,
) -> anyhow::Result<ProvedJob> {
    let id = job.circuit_id();
    let mut done = ProvedJob {
        proofs: Vec::with_capacity(partitions.len()),
        witness_s: 0.0,
        prove_s: 0.0,
    };
    let mut pending: VecDeque<(usize, Pending<B>)> = VecDeque::new();
    for (&partition, prover) in partitions.iter().zip(provers.iter().cycle()) {
        let what = format!("{id}: witness of partition {partition}");
        let made = console.step(&what, |_| witness(job, prover, partition))?;
        done.witness_s += made.seconds;
        if check {
            let what = format!("{id}: checking every constraint of partition {partition}");
            console.step(&what, |_| prover.r1cs().check(&made.value))?;
        }
        if pending.len() == provers.len()
            && let Some(oldest) = pending.pop_front()
        {
            finish(oldest, &mut done, id, console)?;
        }
        let started = prover.start(made.value, Blinding::random(&mut OsRng))?;
        pending.push_back((partition, started));
    }
    for last in pending {
        finish(last, &mut done, id, console)?;
    }
    Ok(done)
}

fn witness<B: Backend>(
    job: &dyn Job,
    prover: &Prover<B>,
    partition: usize,
) -> anyhow::Result<PackedWitness> {
    let mut cs = WitnessCS::default();
    job.circuit(partition)?.witness(&mut cs)?;
    Ok(cs.into_assignment().pack(prover.r1cs())?)
}

fn finish<B: Backend>(
    (partition, pending): (usize, Pending<B>),
    done: &mut ProvedJob,
    id: &str,
    console: &Console,
) -> anyhow::Result<()> {
    let proved = console.step(&format!("{id}: proving partition {partition}"), |_| {
        pending
            .finish()
            .with_context(|| format!("{id}: partition {partition}"))
    })?;
    done.prove_s += proved.seconds;
    done.proofs.push(proved.value);
    Ok(())
}
