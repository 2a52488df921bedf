//! Times proofs of the real 2 KiB circuits on CUDA device 0, from a packed witness with the key resident.
//!
//! Arguments: kinds of proof (default all), a number of repetitions (default 5), and `check` to compare the proof with
//! the CPU's. A sector is sealed, the circuits are compiled and their keys made on the device. For each kind one line of
//! JSON: seconds, the median proof's stages, the device memory that buffers may still take after the first and after
//! the last proof, and what key and proof took at most beside what was foretold.
//!
//! Of a key's seconds `qap_s` are those before the first multiple is wanted; then up to three pieces are made at a time, so
//! that `multiples_s`, of all of them, can be more than what passed.

use anyhow::{Context, anyhow, ensure};
use cuzk_backend::{Backend, BackendError, FixedBase, MatVec};
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::{CudaBackend, device_bytes};
use cuzk_cs_recording::RecordingCS;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::{Fr, Group};
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
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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

/// Multiples of a device, and when they were wanted: since `start`, first and in all.
struct TimedMultiples<'a> {
    backend: &'a CudaBackend,
    start: Instant,
    first_and_all: Mutex<(Option<Duration>, Duration)>,
}

impl FixedBase for TimedMultiples<'_> {
    fn fixed_base<G: Group>(
        &self,
        base: &G::Affine,
        scalars: &[Fr],
    ) -> Result<Vec<G::Affine>, BackendError> {
        let clock = Instant::now();
        let multiples = self.backend.fixed_base::<G>(base, scalars);
        let mut times = self
            .first_and_all
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        times.0.get_or_insert(clock - self.start);
        times.1 += clock.elapsed();
        multiples
    }
}

/// A key that is made with the device, and what that took.
fn keygen(backend: &CudaBackend, pce: &Pce) -> anyhow::Result<(Parameters, serde_json::Value)> {
    let toxic = ToxicWaste::sample(&mut OsRng);
    let multiples = TimedMultiples {
        backend,
        start: Instant::now(),
        first_and_all: Mutex::default(),
    };
    let key = in_memory_with(&multiples, pce, &toxic)?;
    let all_s = multiples.start.elapsed().as_secs_f64();
    let times = multiples.first_and_all.into_inner();
    let (first, all) = times.unwrap_or_else(PoisonError::into_inner);
    let times = json!({
        "all_s": all_s,
        "qap_s": first.unwrap_or_default().as_secs_f64(),
        "multiples_s": all.as_secs_f64(),
    });
    Ok((key, times))
}

/// What the circuit takes of a device on which at most `budget` bytes may be used, as was foretold and as was found; and that
/// proofs on two lanes at once succeed with no more than was foretold for each.
fn memory(
    pce: &Pce,
    key: &Parameters,
    witness: &PackedWitness,
    wanted: &[u8],
    budget: Option<usize>,
) -> anyhow::Result<serde_json::Value> {
    let backend = CudaBackend::open_within(0, budget)?;
    let free = || backend.device().memory().0;
    let (empty, limit) = backend.device().memory();
    let foretold = device_bytes(pce.r1cs(), empty)?;
    let matrices = backend.load_matrices(Arc::clone(pce.r1cs()))?;
    let matrices_bytes = empty - free();
    drop(matrices);
    let prover = Prover::new(backend.clone(), pce, key)?;
    let resident = empty - free();
    ensure!(
        prove(&prover, witness)?.to_bytes()[..] == *wanted,
        "another proof"
    );
    let most = backend.device().peak_memory() - (limit - empty);
    let filler = backend
        .stream()
        .alloc::<u8>(free().saturating_sub(2 * foretold.work))?;
    let lanes = [backend.lane()?, backend.lane()?];
    let proved = std::thread::scope(|scope| {
        let threads = lanes.map(|lane| {
            let prover = prover.on(lane);
            scope.spawn(move || {
                (0..10)
                    .map(|_| prove(&prover, witness))
                    .collect::<Result<Vec<_>, _>>()
            })
        });
        threads.map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked")))
    });
    for proofs in proved {
        let mut proofs = proofs??.into_iter();
        ensure!(
            proofs.all(|proof| proof.to_bytes()[..] == *wanted),
            "another proof"
        );
    }
    drop(filler);
    let both = foretold.resident + foretold.work;
    for (foretold, found) in [(foretold.resident, resident), (both, most)] {
        let ratio = foretold as f64 / found as f64;
        let fits = (1.0..1.5).contains(&ratio);
        ensure!(fits, "foretold {foretold} bytes, found {found}");
    }
    Ok(json!({
        "budget": limit,
        "matrices_host": pce.r1cs().matrices.size_bytes(),
        "matrices": matrices_bytes,
        "resident_foretold": foretold.resident,
        "resident": resident,
        "work_foretold_and_enough": foretold.work,
        "work_where_all_is_free": most - resident,
    }))
}

/// Proves with the device until the repetitions are done; all proofs must be the same.
fn measure(
    backend: &CudaBackend,
    payload: &Payload,
    options: &Options,
) -> anyhow::Result<serde_json::Value> {
    let job = decode(payload)?;
    let (pce, compile_s) = timed(|| compile(job.circuit_id()))?;
    let (key, keygen) = keygen(backend, &pce)?;
    let (prover, load_s) = timed(|| Ok(Prover::new(backend.clone(), &pce, &key)?))?;
    let (packed, witness_s) = timed(|| witness(&*job, &pce))?;
    let first = prove(&prover, &packed)?.to_bytes();
    let left = || backend.device().memory().0;
    let memory_first = left();
    let mut runs = Vec::with_capacity(options.repetitions);
    for run in 0..options.repetitions {
        let (proved, seconds) = timed(|| prove(&prover, &packed))?;
        ensure!(
            proved.to_bytes() == first,
            "proof {run} differs from the first"
        );
        runs.push((seconds, proved.stages));
    }
    let memory_last = left();
    let budgets = [None, Some(8 << 30)];
    let memories = budgets.map(|budget| {
        memory(&pce, &key, &packed, &first, budget)
            .with_context(|| format!("with a budget of {budget:?} bytes"))
    });
    let memories: Vec<_> = memories.into_iter().collect::<Result<_, _>>()?;
    if options.check {
        check(&pce, &key, &packed, &first)?;
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (seconds, stages) = &runs[runs.len() / 2];
    Ok(json!({
        "circuit": job.circuit_id(),
        "constraints": pce.shape.constraints,
        "compile_s": compile_s,
        "keygen": keygen,
        "load_s": load_s,
        "witness_s": witness_s,
        "proof_s": seconds,
        "fastest_s": runs[0].0,
        "stages": format!("{stages:?}"),
        "repetitions": runs.len(),
        "memory_after_first": memory_first,
        "memory_after_last": memory_last,
        "memory": memories,
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
