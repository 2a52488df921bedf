//! Circuits and keys: loaded once for many, evicted where there is no room, missing, and from files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cuzk_backend_cpu::CpuBackend;
use cuzk_engine::{Engine, Files, Outcome, Source, SourceError, Status, Submission};
use cuzk_groth16::keygen;
use cuzk_params::{KeyStore, Parameters};
use cuzk_pce::{Cache, Pce};
use cuzk_testing::simulated::{Settings, SimulatedDevice};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::support::*;

/// Counts what is asked of the source behind it, which has no compiled circuits at first and compiles behind a gate.
struct Counting {
    compiled: AtomicUsize,
    keys: AtomicUsize,
    gate: Gate,
}

struct Counted(Arc<Counting>);

impl Source for Counted {
    fn find(&self, circuit: &str) -> Result<Option<Pce>, SourceError> {
        let compiled = self.0.compiled.load(Ordering::SeqCst) > 0;
        Ok(compiled.then(|| toy_named(circuit).pce.clone()))
    }

    fn compile(&self, circuit: &str) -> Result<Pce, SourceError> {
        self.0.gate.pass();
        self.0.compiled.fetch_add(1, Ordering::SeqCst);
        Ok(toy_named(circuit).pce.clone())
    }

    fn key(&self, circuit: &str) -> Result<Parameters, SourceError> {
        self.0.keys.fetch_add(1, Ordering::SeqCst);
        Ok(toy_named(circuit).key.clone())
    }
}

#[test]
fn a_new_circuit_is_compiled_once_while_its_jobs_wait() {
    let counting = Arc::new(Counting {
        compiled: AtomicUsize::new(0),
        keys: AtomicUsize::new(0),
        gate: Gate::default(),
    });
    let devices = devices(2, Duration::from_millis(1));
    let taken = with_lanes(&devices, 2);
    let mut config = config();
    // None is left for a job of a circuit that is not compiled.
    config.scheduler.witness_slots = 1;
    let engine = Engine::new(config, taken, Counted(Arc::clone(&counting))).unwrap();
    let jobs: Vec<ToyJob> = (0..6)
        .map(|i| ToyJob::new("toy-chain", [i, i + 1]))
        .collect();
    let handles: Vec<_> = jobs.iter().map(|job| submit(&engine, job)).collect();
    let cancelled = submit(&engine, &ToyJob::new("toy-chain", [1]));
    let status = wait_for(&engine, "the circuit's jobs to wait", |status| {
        status.waiting == 13
    });
    assert!(status.circuits[0].preparing);
    assert_eq!(status.in_witness, 0);
    cancelled.cancel();
    assert_eq!(outcome(&cancelled), Outcome::Cancelled);
    counting.gate.open();
    for (handle, job) in handles.iter().zip(&jobs) {
        assert_completes(handle, job);
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    assert_eq!((count(&counting.compiled), count(&counting.keys)), (1, 1));
    assert_baseline(&engine, &devices);
}

/// A device with room for one key at a time: each takes the other's place, and both circuits' jobs complete.
#[test]
fn idle_keys_make_room() {
    let footprint = |toy: &Toy| cuzk_engine::Footprint::plain(toy.pce.r1cs()).unwrap();
    let (chain, long) = (footprint(&CHAIN), footprint(&LONG));
    let room = long.device_resident + 2 * long.device_work;
    assert!(room < chain.device_resident + long.device_resident + chain.device_work);
    let settings = Settings {
        memory_bytes: room,
        latency: Duration::from_micros(100),
    };
    let devices = [SimulatedDevice::new("simulated 0", settings)];
    let engine = engine(config(), &devices);
    for round in 0..3 {
        for circuit in [CHAIN.id, LONG.id] {
            let job = ToyJob::new(circuit, round..round + 3);
            assert_completes(&submit(&engine, &job), &job);
            let report = devices[0].report();
            assert!(report.peak_bytes <= settings.memory_bytes);
        }
    }
    let status = engine.status();
    assert!(status.counters.evictions >= 5, "{:?}", status.counters);
    assert_eq!(status.counters.faults, 0);
    assert_eq!(status.devices[0].resident.len(), 1);
    assert_baseline(&engine, &devices);
}

#[test]
fn a_circuit_is_loaded_in_advance_and_evicted_on_demand() {
    let devices = devices(2, Duration::ZERO);
    let engine = engine(config(), &devices);
    engine.preload("toy-chain");
    let host = |status: &Status| status.circuits.iter().any(|c| c.on_host);
    let on_all = |status: &Status| status.circuits.iter().any(|c| c.devices == [0, 1]);
    wait_for(&engine, "the circuit on all devices", on_all);
    let status = engine.status();
    assert!(devices.iter().all(|d| d.report().used_bytes > 0));
    assert!(status.host_reserved_bytes >= status.circuits[0].host_bytes);
    engine.evict("toy-chain");
    wait_for(&engine, "an empty memory", |status| {
        !host(status) && !on_all(status)
    });
    assert_baseline(&engine, &devices);
}

/// One word suffices for a circuit that is new, and while the circuit is being evicted; what cannot be has an error, until
/// the next attempt.
#[test]
fn a_new_circuit_is_compiled_in_advance_or_there_is_an_error() {
    let counting = Arc::new(Counting {
        compiled: AtomicUsize::new(0),
        keys: AtomicUsize::new(0),
        gate: Gate::default(),
    });
    let devices = devices(2, Duration::ZERO);
    let taken = with_lanes(&devices, 2);
    let engine = Engine::new(config(), taken, Counted(Arc::clone(&counting))).unwrap();
    engine.preload("toy-chain");
    wait_for(&engine, "a compilation", |s| s.circuits[0].preparing);
    counting.gate.open();
    let on_all = |status: &Status| status.circuits[0].devices == [0, 1];
    wait_for(&engine, "the circuit on all devices", on_all);
    engine.evict("toy-chain");
    engine.preload("toy-chain");
    wait_for(&engine, "the circuit on all devices again", on_all);
    assert_baseline(&engine, &devices);

    let mut config = config();
    let needed = cuzk_engine::Footprint::plain(CHAIN.pce.r1cs()).unwrap();
    config.scheduler.host_memory = cuzk_engine::Bytes(needed.host_resident - 1);
    let taken = with_lanes(&devices, 2);
    let engine = Engine::new(config, taken, toys()).unwrap();
    for (circuit, said) in [("toy-chain", "no room"), ("no-such", "no-such")] {
        engine.preload(circuit);
        let status = wait_for(&engine, "an error", |status| {
            let found = status.circuits.iter().find(|c| &*c.name == circuit);
            found.is_some_and(|found| found.error.is_some())
        });
        let mut errors = status.circuits.iter().filter_map(|c| c.error.as_deref());
        assert!(errors.any(|error| error.contains(said)), "{circuit}");
    }
    // There is room for a smaller one.
    engine.preload("toy-cubic");
    wait_for(&engine, "the small circuit", |status| {
        let found = status.circuits.iter().find(|c| &*c.name == "toy-cubic");
        found.is_some_and(|found| found.error.is_none() && found.devices == [0, 1])
    });
    assert_baseline(&engine, &devices);
}

/// An error is that of the last attempt.
#[test]
fn a_new_attempt_clears_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let (store, cache) = (folder.path().join("keys"), folder.path().join("circuits"));
    let devices = devices(1, Duration::ZERO);
    let files = Files::new(KeyStore::new(&store), Cache::new(&cache));
    let engine = Engine::new(config(), with_lanes(&devices, 2), files).unwrap();
    engine.preload("toy-chain");
    wait_for(&engine, "a missing key", |s| s.circuits[0].error.is_some());
    let pce = Cache::new(&cache).find("toy-chain").unwrap().unwrap();
    std::fs::create_dir_all(&store).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let key = store.join("toy-chain.params");
    keygen::write(&CpuBackend, &pce, &key, &mut rng, &mut |_| {}).unwrap();
    engine.preload("toy-chain");
    assert_eq!(engine.status().circuits[0].error, None);
    wait_for(&engine, "the key", |s| s.circuits[0].devices == [0]);
    assert_baseline(&engine, &devices);
}

#[test]
fn a_circuit_or_key_that_is_missing_makes_jobs_unavailable() {
    let devices = devices(1, Duration::ZERO);
    let unavailable = |outcome: Outcome| match outcome {
        Outcome::Unavailable { reason } => reason,
        other => panic!("{other}"),
    };
    let memory = engine(config(), &devices);
    let reason = unavailable(outcome(&submit(
        &memory,
        &ToyJob::new("no-such-circuit", [1]),
    )));
    assert!(reason.contains("no-such-circuit"), "{reason}");

    let folder = tempfile::tempdir().unwrap();
    let (store, cache) = (folder.path().join("keys"), folder.path().join("circuits"));
    let files = || Files::new(KeyStore::new(&store), Cache::new(&cache));
    let engine = Engine::new(config(), with_lanes(&devices, 2), files()).unwrap();
    let job = ToyJob::new("toy-chain", [1, 2]);
    let reason = unavailable(outcome(&submit(&engine, &job)));
    assert!(reason.contains("toy-chain.params"), "{reason}");
    let known = engine.status().circuits;
    assert!(
        known[0]
            .error
            .as_deref()
            .is_some_and(|e| e.contains("toy-chain"))
    );

    // The circuit was compiled and kept; with a key beside it, the same engine proves.
    let pce = Cache::new(&cache).find("toy-chain").unwrap().unwrap();
    std::fs::create_dir_all(&store).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let key = store.join("toy-chain.params");
    keygen::write(&CpuBackend, &pce, &key, &mut rng, &mut |_| {}).unwrap();
    assert_completes(&submit(&engine, &job), &job);
    assert_baseline(&engine, &devices);
}

/// The witness of a circuit that the key is not of: the job fails, and no device is held to be at fault.
#[test]
fn a_key_of_another_circuit_is_refused() {
    let source = cuzk_engine::InMemory::default();
    let source = source.with("toy-cubic", CUBIC.pce.clone(), CHAIN.key.clone());
    let devices = devices(1, Duration::ZERO);
    let taken = with_lanes(&devices, 2);
    let engine = Engine::new(config(), taken, source).unwrap();
    let handle = engine.submit(Submission::job(ToyJob::new("toy-cubic", [1])));
    let ended = outcome(&handle.unwrap());
    assert!(!matches!(ended, Outcome::Completed(_)), "{ended}");
    assert!(ended.to_string().contains("wanted"), "{ended}");
}
