//! How long the first job of a circuit takes that is not compiled:
//! `cargo run --release -p cuzk-cli --example first_job -- ~/.cache/cuzk/params`.
//!
//! Arguments: a folder of keys, or `-` to measure compiling and full synthesis alone; circuits (default the four of 2 KiB).
//! Prints a line of JSON a circuit: seconds of compiling and of one partition's synthesis, each alone, and the bytes that
//! are left of the latter; then seconds from the submission to the first partition's witness, to its proof and to the job's
//! end on the processor: where partitions are synthesised while the circuit is compiled, where they wait for it (one witness at a
//! time, so that no slot is left beside it), and once it is compiled.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_engine::{
    Bytes, Config, Device, Engine, JobEvent, Outcome, PciBusId, Source, SourceError, Submission,
};
use cuzk_params::{KeyStore, Parameters};
use cuzk_pce::Pce;
use cuzk_plugins as _;
use cuzk_proof_api::{CircuitSpec, Request, by_circuit, by_synthesis};
use cuzk_synth::{Kind, Options, SectorSize, synthetic};
use serde_json::json;

const CIRCUITS: [&str; 4] = ["porep-2k", "snap-2k", "winning-2k", "wpost-2k"];

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let keys = arguments
        .next()
        .context("usage: first_job KEYS|- [CIRCUIT...]")?;
    let mut circuits: Vec<String> = arguments.collect();
    if circuits.is_empty() {
        circuits = CIRCUITS.map(str::to_owned).to_vec();
    }
    for id in &circuits {
        let request = request(id)?;
        let (compile_s, synthesis_s, bytes) = parts(id, &request)?;
        let mut row = json!({
            "circuit": id,
            "compile_s": compile_s,
            "synthesis_s": synthesis_s,
            "synthesis_bytes": bytes,
        });
        if keys != "-" {
            // The first to use a key reads it from the disk.
            let (_, compiled) = jobs(id, &request, (&keys, 1))?;
            let (meanwhile, _) = jobs(id, &request, (&keys, 2))?;
            let (waiting, _) = jobs(id, &request, (&keys, 1))?;
            row["by_synthesis"] = meanwhile;
            row["waiting"] = waiting;
            row["compiled"] = compiled;
        }
        println!("{row}");
    }
    Ok(())
}

/// A request for a proof of this circuit.
fn request(id: &str) -> anyhow::Result<Request> {
    let (proof_type, CircuitSpec { sector_bytes, .. }) = by_circuit(id)?;
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| kind.name() == proof_type.id());
    let kind = kind.with_context(|| format!("{id}: no payloads are made for it"))?;
    let size = SectorSize::from_bytes(sector_bytes)?;
    Ok(synthetic(kind, size, &Options::default())?.into_request())
}

/// Seconds of compiling, seconds and bytes of a synthesis.
fn parts(id: &str, request: &Request) -> anyhow::Result<(f64, f64, usize)> {
    let (proof_type, _) = by_circuit(id)?;
    let job = proof_type.decode(request)?;
    let clock = Instant::now();
    drop(compile(id)?);
    let compile_s = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let synthesis = by_synthesis(&*job, 0, &Arc::default())?;
    let outline = synthesis.outline();
    let witness = synthesis.pack(&outline)?;
    let synthesis_s = clock.elapsed().as_secs_f64();
    Ok((compile_s, synthesis_s, witness.size_bytes()))
}

fn compile(id: &str) -> Result<Pce, SourceError> {
    let (proof_type, _) = by_circuit(id)?;
    let mut cs = RecordingCS::default();
    proof_type.blank(id)?.record(&mut cs)?;
    Ok(Pce::compile(cs.finish()?)?)
}

/// The usual keys, and compiled circuits that are kept in memory.
struct Fresh {
    keys: KeyStore,
    compiled: Mutex<Option<Pce>>,
}

impl Source for Fresh {
    fn find(&self, _: &str) -> Result<Option<Pce>, SourceError> {
        let compiled = self.compiled.lock();
        Ok(compiled.map_or(None, |compiled| compiled.clone()))
    }

    fn compile(&self, circuit: &str) -> Result<Pce, SourceError> {
        let pce = compile(circuit)?;
        if let Ok(mut compiled) = self.compiled.lock() {
            *compiled = Some(pce.clone());
        }
        Ok(pce)
    }

    fn key(&self, circuit: &str) -> Result<Parameters, SourceError> {
        let (proof_type, _) = by_circuit(circuit)?;
        let names = proof_type.key_names(circuit)?;
        let name = names.params.trim_end_matches(".params");
        Ok(self.keys.parameters(name)?)
    }
}

/// The first job of an engine that has not compiled the circuit, and the next one once it has.
fn jobs(
    id: &str,
    request: &Request,
    (keys, witness_slots): (&str, usize),
) -> anyhow::Result<(serde_json::Value, serde_json::Value)> {
    let mut config = Config::default();
    config.scheduler.witness_slots = witness_slots;
    let Bytes(memory) = config.scheduler.host_memory;
    let pci = PciBusId {
        domain: 0,
        bus: 0,
        device: 0xff,
        function: 0,
    };
    let lanes = vec![CpuBackend; config.scheduler.lanes as usize];
    let device = Device::new("processor", pci, memory, CpuBackend, lanes);
    let source = Fresh {
        keys: KeyStore::new(keys),
        compiled: Mutex::default(),
    };
    let engine = Engine::new(config, vec![device], source)?;
    let first = run(&engine, id, request)?;
    while engine.status().circuits.iter().any(|c| c.preparing) {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok((first, run(&engine, id, request)?))
}

fn run(
    engine: &Engine<CpuBackend>,
    id: &str,
    request: &Request,
) -> anyhow::Result<serde_json::Value> {
    let (proof_type, _) = by_circuit(id)?;
    let before = engine.status().counters.synthesised;
    let clock = Instant::now();
    let handle = engine.submit(Submission::request(proof_type, request.clone()))?;
    let (mut ready_s, mut first_s) = (None, None);
    for event in handle.subscribe() {
        let time = match event {
            JobEvent::WitnessDone { .. } => &mut ready_s,
            JobEvent::Proved { .. } => &mut first_s,
            _ => continue,
        };
        time.get_or_insert(clock.elapsed().as_secs_f64());
    }
    let all_s = clock.elapsed().as_secs_f64();
    let Outcome::Completed(_) = handle.wait() else {
        bail!("{id}: {:?}", handle.outcome());
    };
    ensure!(first_s.is_some(), "{id}: no proof was told of");
    Ok(json!({
        "first_witness_s": ready_s,
        "first_proof_s": first_s,
        "job_s": all_s,
        "partitions": handle.progress().1,
        "synthesised": engine.status().counters.synthesised - before,
    }))
}
