//! Times proofs of the real 2 KiB circuits on CUDA device 0, from a packed witness with the key resident.
//!
//! Arguments: kinds of proof (default all), a number of repetitions (default 5), and `check` to compare the proof with
//! the CPU's. A sector is sealed, the circuits are compiled and their keys made on the device. For each kind one line of
//! JSON: seconds, the median proof's stages, and the device memory that buffers may still take after the first and after
//! the last proof.

use anyhow::{Context, ensure};
use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::CudaBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::Fr;
use cuzk_groth16::keygen::{ToxicWaste, in_memory_with};
use cuzk_groth16::{Blinding, Proved, Prover};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_plugins as _;
use cuzk_proof_api::{Job, by_circuit, by_id};
use cuzk_r1cs::PackedWitness;
use cuzk_synth::{Kind, Payload, SectorSize, real};
use rand_core::OsRng;
use serde_json::json;
use std::time::Instant;

struct Options {
    kinds: Vec<Kind>,
    repetitions: usize,
    check: bool,
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options {
        kinds: Vec::new(),
        repetitions: 5,
        check: false,
    };
    for argument in std::env::args().skip(1) {
        if argument == "check" {
            options.check = true;
        } else if let Ok(repetitions) = argument.parse() {
            options.repetitions = repetitions;
        } else {
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == argument);
            let kind = kind.with_context(|| format!("no kind of proof: {argument}"))?;
            options.kinds.push(kind);
        }
    }
    if options.kinds.is_empty() {
        options.kinds = Kind::ALL.to_vec();
    }
    Ok(options)
}

fn decode(payload: &Payload) -> anyhow::Result<Box<dyn Job>> {
    let request = payload.clone().into_request();
    Ok(by_id(payload.kind.name())?.decode(&request)?)
}

fn timed<T>(run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let clock = Instant::now();
    let value = run()?;
    Ok((value, clock.elapsed().as_secs_f64()))
}

fn compile(id: &str) -> anyhow::Result<Pce> {
    let (proof_type, _) = by_circuit(id)?;
    let mut cs = RecordingCS::default();
    proof_type.blank(id)?.record(&mut cs)?;
    Ok(Pce::compile(cs.finish()?)?)
}

fn witness(job: &dyn Job, pce: &Pce) -> anyhow::Result<PackedWitness> {
    let mut cs = WitnessCS::default();
    job.circuit(0)?.witness(&mut cs)?;
    Ok(cs.into_assignment().pack(pce.r1cs())?)
}

fn prove<B: Backend>(prover: &Prover<B>, witness: &PackedWitness) -> anyhow::Result<Proved> {
    let blinding = Blinding {
        r: Fr::from(12_345),
        s: Fr::from(678_910),
    };
    Ok(prover.start(witness.clone(), blinding)?.finish()?)
}

/// Proves with the device until the repetitions are done; all proofs must be the same.
fn measure(
    backend: &CudaBackend,
    payload: &Payload,
    options: &Options,
) -> anyhow::Result<serde_json::Value> {
    let job = decode(payload)?;
    let (pce, compile_s) = timed(|| compile(job.circuit_id()))?;
    let toxic = ToxicWaste::sample(&mut OsRng);
    let (key, keygen_s) = timed(|| Ok(in_memory_with(backend, &pce, &toxic)?))?;
    let (prover, load_s) = timed(|| Ok(Prover::new(backend.clone(), &pce, &key)?))?;
    let (packed, witness_s) = timed(|| witness(&*job, &pce))?;
    let first = prove(&prover, &packed)?.to_bytes();
    let memory = || backend.device().memory().0;
    let memory_first = memory();
    let mut runs = Vec::with_capacity(options.repetitions);
    for run in 0..options.repetitions {
        let (proved, seconds) = timed(|| prove(&prover, &packed))?;
        ensure!(
            proved.to_bytes() == first,
            "proof {run} differs from the first"
        );
        runs.push((seconds, proved.stages));
    }
    let memory_last = memory();
    if options.check {
        check(&pce, &key, &packed, &first)?;
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (seconds, stages) = &runs[runs.len() / 2];
    Ok(json!({
        "circuit": job.circuit_id(),
        "constraints": pce.shape.constraints,
        "compile_s": compile_s,
        "keygen_s": keygen_s,
        "load_s": load_s,
        "witness_s": witness_s,
        "proof_s": seconds,
        "fastest_s": runs[0].0,
        "stages": format!("{stages:?}"),
        "repetitions": runs.len(),
        "memory_after_first": memory_first,
        "memory_after_last": memory_last,
        "equals_cpu": options.check,
    }))
}

fn check(pce: &Pce, key: &Parameters, witness: &PackedWitness, found: &[u8]) -> anyhow::Result<()> {
    let prover = Prover::new(CpuBackend, pce, key)?;
    let wanted = prove(&prover, witness)?.to_bytes();
    ensure!(wanted[..] == *found, "the proof differs from the CPU's");
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let options = options()?;
    let backend = CudaBackend::open(0)?;
    let scratch = tempfile::tempdir()?;
    let (payloads, seal_s) = timed(|| {
        let kinds = &options.kinds;
        Ok(real(SectorSize::KIB_2, kinds, scratch.path(), &mut |_| {})?)
    })?;
    println!("sealed in {seal_s:.1} s");
    for payload in &payloads {
        println!("{}", measure(&backend, payload, &options)?);
    }
    Ok(())
}
