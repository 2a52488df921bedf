//! From a payload to a job, and from a job to proofs.

use std::path::Path;

use anyhow::Context;
use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_witness::WitnessCS;
use cuzk_groth16::{Blinding, Pending, Proved, Prover};
use cuzk_proof_api::{Job, by_id};
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
    let request = payload.clone().into_request();
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

/// Proves partitions of a job. The next partition's witness is made while the last one's proof is under way.
pub fn prove(
    job: &dyn Job,
    prover: &Prover<CpuBackend>,
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
    let mut pending: Option<(usize, Pending<CpuBackend>)> = None;
    for &partition in partitions {
        let what = format!("{id}: witness of partition {partition}");
        let made = console.step(&what, |_| witness(job, prover, partition))?;
        done.witness_s += made.seconds;
        if check {
            let what = format!("{id}: checking every constraint of partition {partition}");
            console.step(&what, |_| prover.r1cs().check(&made.value))?;
        }
        if let Some(previous) = pending.take() {
            finish(previous, &mut done, id, console)?;
        }
        let started = prover.start(made.value, Blinding::random(&mut OsRng))?;
        pending = Some((partition, started));
    }
    if let Some(last) = pending {
        finish(last, &mut done, id, console)?;
    }
    Ok(done)
}

fn witness(
    job: &dyn Job,
    prover: &Prover<CpuBackend>,
    partition: usize,
) -> anyhow::Result<PackedWitness> {
    let mut cs = WitnessCS::default();
    job.circuit(partition)?.witness(&mut cs)?;
    Ok(cs.into_assignment().pack(prover.r1cs())?)
}

fn finish(
    (partition, pending): (usize, Pending<CpuBackend>),
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
