//! Circuits that are still being compiled: their jobs prove by full synthesis meanwhile, as far as there is room.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuzk_engine::{
    Bytes, Config, Engine, Footprint, JobEvent, JobState, Outcome, Source, SourceError, Submission,
};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_testing::simulated::{Fault, SimulatedDevice, Step};

use crate::support::*;

/// Compiles behind a gate, or fails to.
#[derive(Default)]
struct Compiler {
    gate: Gate,
    /// How long that takes besides.
    takes: Duration,
    fails: AtomicBool,
    compiled: Mutex<HashSet<String>>,
    keys: AtomicUsize,
    /// Whether the keys are those of another circuit.
    wrong_keys: bool,
}

struct Held(Arc<Compiler>);

impl Source for Held {
    fn find(&self, circuit: &str) -> Result<Option<Pce>, SourceError> {
        let compiled = self.0.compiled.lock().unwrap().contains(circuit);
        Ok(compiled.then(|| toy_named(circuit).pce.clone()))
    }

    fn compile(&self, circuit: &str) -> Result<Pce, SourceError> {
        self.0.gate.pass();
        std::thread::sleep(self.0.takes);
        if self.0.fails.load(Ordering::SeqCst) {
            let circuit = circuit.to_owned();
            return Err(SourceError::UnknownCircuit { circuit });
        }
        self.0.compiled.lock().unwrap().insert(circuit.to_owned());
        Ok(toy_named(circuit).pce.clone())
    }

    fn key(&self, circuit: &str) -> Result<Parameters, SourceError> {
        self.0.keys.fetch_add(1, Ordering::SeqCst);
        let toy = if self.0.wrong_keys {
            &CUBIC
        } else {
            toy_named(circuit)
        };
        Ok(toy.key.clone())
    }
}

/// An engine whose circuits are not compiled yet. It synthesises one partition at a time.
fn held(config: Config, devices: &[SimulatedDevice]) -> (SimulatedEngine, Arc<Compiler>) {
    held_by(Compiler::default(), config, devices)
}

fn held_by(
    compiler: Compiler,
    mut config: Config,
    devices: &[SimulatedDevice],
) -> (SimulatedEngine, Arc<Compiler>) {
    config.scheduler.witness_slots = 2;
    let compiler = Arc::new(compiler);
    (engine_of(&compiler, config, devices), compiler)
}

fn engine_of(
    compiler: &Arc<Compiler>,
    config: Config,
    devices: &[SimulatedDevice],
) -> SimulatedEngine {
    let devices = with_lanes(devices, config.scheduler.lanes as usize);
    Engine::new(config, devices, Held(Arc::clone(compiler))).unwrap()
}

/// An engine that needs so long to compile a circuit.
pub fn slow(takes: Duration, config: Config, devices: &[SimulatedDevice]) -> SimulatedEngine {
    let compiler = Compiler {
        takes,
        ..Compiler::default()
    };
    compiler.gate.open();
    engine_of(&Arc::new(compiler), config, devices)
}

fn synthesised(engine: &SimulatedEngine) -> u64 {
    engine.status().counters.synthesised
}

fn gated(circuit: &'static str, partitions: u64) -> (ToyJob, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let mut job = ToyJob::new(circuit, 1..=partitions);
    job.witness_gate = Some(Arc::clone(&gate));
    (job, gate)
}

/// The devices that a circuit is on.
fn devices_of(engine: &SimulatedEngine, circuit: &str) -> Vec<usize> {
    let circuits = engine.status().circuits;
    let found = circuits.into_iter().find(|c| &*c.name == circuit);
    found.map(|found| found.devices).unwrap_or_default()
}

#[test]
fn the_first_job_is_proved_before_its_circuit_is_compiled() {
    let devices = devices(2, Duration::from_millis(1));
    let (engine, compiler) = held(config(), &devices);
    let (job, gate) = gated("toy-chain", 5);
    let handle = submit(&engine, &job);
    let events = handle.subscribe();
    gate.open();
    assert_completes(&handle, &job);
    let ways = |event: JobEvent| match event {
        JobEvent::Proved { synthesised, .. } => Some(synthesised),
        _ => None,
    };
    assert_eq!(
        events.iter().filter_map(ways).collect::<Vec<_>>(),
        [true; 5]
    );
    let status = engine.status();
    assert!(status.circuits[0].preparing && !status.circuits[0].on_host);
    assert_eq!(&*status.circuits[1].name, "toy-chain (uncompiled)");
    assert!(status.circuits[1].on_host && !status.circuits[1].preparing);
    assert_eq!(
        (status.counters.proofs, status.counters.synthesised),
        (5, 5)
    );
    // Later jobs need not wait either.
    let second = ToyJob::new("toy-chain", [7]);
    assert_completes(&submit(&engine, &second), &second);
    assert_eq!(synthesised(&engine), 6);

    // It takes the uncompiled one's place, on the devices too.
    let held = devices_of(&engine, "toy-chain (uncompiled)");
    assert!(!held.is_empty());
    compiler.gate.open();
    wait_for(&engine, "the compiled circuit alone", |status| {
        let alone = status.circuits.len() == 1 && !status.circuits[0].preparing;
        alone && status.circuits[0].devices == held
    });
    assert_completes(&submit(&engine, &second), &second);
    assert_eq!(synthesised(&engine), 6);
    assert_eq!(compiler.keys.load(Ordering::SeqCst), 1);
    assert_eq!(engine.status().circuits.len(), 1);
    assert_baseline(&engine, &devices);
}

#[test]
fn what_has_not_begun_goes_the_usual_way_once_the_circuit_is_compiled() {
    let devices = devices(2, Duration::ZERO);
    let (engine, compiler) = held(config(), &devices);
    let (job, gate) = gated("toy-chain", 6);
    let handle = submit(&engine, &job);
    wait_for(&engine, "a synthesis", |status| status.in_witness == 1);
    compiler.gate.open();
    wait_for(&engine, "the compiled circuit", |status| {
        status.circuits[0].on_host && status.in_witness == 2
    });
    assert_eq!(
        engine.status().jobs[0].circuit.as_deref(),
        Some("toy-chain")
    );
    // The one that is being synthesised is stopped, and goes the usual way too.
    gate.open();
    assert_completes(&handle, &job);
    assert_eq!(synthesised(&engine), 0);
    assert_eq!(engine.status().counters.proofs, 6);
    assert_baseline(&engine, &devices);
}

#[test]
fn a_job_without_room_waits_for_the_compilation() {
    let devices = devices(1, Duration::ZERO);
    let mut small = config();
    let early = Footprint::plain_of_key(&CHAIN.key);
    let compiled = Footprint::plain(CHAIN.pce.r1cs()).unwrap();
    let room = early.host_witness + early.host_resident - 1;
    assert!(compiled.host_witness + compiled.host_resident <= room);
    small.scheduler.host_memory = Bytes(room);
    let (engine, compiler) = held(small, &devices);
    let job = ToyJob::new("toy-chain", [1, 2, 3]);
    let handles = [submit(&engine, &job), submit(&engine, &job)];
    let soon = Instant::now() + Duration::from_millis(50);
    let expires = Submission::job(job.clone()).deadline(soon);
    let expires = engine.submit(expires).unwrap();
    eventually("the key", || compiler.keys.load(Ordering::SeqCst) == 1);
    assert_eq!(outcome(&expires), Outcome::Expired);
    // Whether the key was known when they came or not.
    let late = submit(&engine, &job);
    wait_for(&engine, "jobs that wait", |status| {
        let waits = |job: &cuzk_engine::JobSummary| job.state == JobState::Compiling;
        status.jobs.len() == 3 && status.jobs.iter().all(waits)
    });
    late.cancel();
    assert_eq!(outcome(&late), Outcome::Cancelled);
    // Those with room go on.
    let cubic = ToyJob::new("toy-cubic", [4]);
    assert_completes(&submit(&engine, &cubic), &cubic);
    assert_eq!(synthesised(&engine), 1);
    compiler.gate.open();
    for handle in &handles {
        assert_completes(handle, &job);
        assert!(handle.timings().resources > Duration::ZERO);
    }
    assert_eq!(synthesised(&engine), 1);
    assert_baseline(&engine, &devices);
}

#[test]
fn a_synthesis_that_is_cancelled_or_too_late_gives_its_memory_back() {
    let devices = devices(1, Duration::ZERO);
    let (engine, compiler) = held(config(), &devices);
    for expires in [false, true] {
        let (job, gate) = gated("toy-chain", 2);
        let mut submission = Submission::job(job);
        if expires {
            submission = submission.deadline(Instant::now() + Duration::from_millis(100));
        }
        let handle = engine.submit(submission).unwrap();
        wait_for(&engine, "a synthesis", |status| status.in_witness == 1);
        let reserved = Footprint::plain_of_key(&CHAIN.key).host_witness;
        assert!(engine.status().host_reserved_bytes >= reserved);
        if expires {
            assert_eq!(outcome(&handle), Outcome::Expired);
        } else {
            handle.cancel();
            assert_eq!(outcome(&handle), Outcome::Cancelled);
        }
        assert!(engine.status().host_reserved_bytes >= reserved);
        gate.open();
        wait_for(&engine, "what was reserved", |status| {
            status.host_reserved_bytes < reserved
        });
    }
    assert_baseline(&engine, &devices);
    let next = ToyJob::new("toy-chain", [3]);
    assert_completes(&submit(&engine, &next), &next);
    compiler.gate.open();
    assert_baseline(&engine, &devices);
}

/// Nothing that is under way is lost, and the next job has the circuit compiled again.
#[test]
fn a_compilation_that_fails_takes_nothing_along() {
    let devices = devices(1, Duration::ZERO);
    let (engine, compiler) = held(config(), &devices);
    let (job, gate) = gated("toy-chain", 4);
    let handle = submit(&engine, &job);
    wait_for(&engine, "a synthesis", |status| status.in_witness == 1);
    compiler.fails.store(true, Ordering::SeqCst);
    compiler.gate.open();
    wait_for(&engine, "the failure", |status| {
        status.circuits[0].error.is_some()
    });
    gate.open();
    assert_completes(&handle, &job);
    assert_eq!(synthesised(&engine), 4);
    compiler.fails.store(false, Ordering::SeqCst);
    let next = ToyJob::new("toy-chain", [9]);
    assert_completes(&submit(&engine, &next), &next);
    wait_for(&engine, "the circuit", |status| {
        status.circuits[0].error.is_none() && !status.circuits[0].preparing
    });
    assert_completes(&submit(&engine, &next), &next);
    assert_baseline(&engine, &devices);
}

#[test]
fn faults_of_devices_have_their_second_try() {
    let steps = [
        Step::LoadPoints,
        Step::LoadWitness,
        Step::MatVec,
        Step::Quotient,
        Step::Msm,
        Step::MsmQuery,
    ];
    for step in steps {
        for fault in [Fault::Error, Fault::OutOfMemory, Fault::WrongResult] {
            let loads = matches!(step, Step::LoadPoints | Step::LoadWitness);
            if fault == Fault::WrongResult && loads {
                continue;
            }
            let devices = devices(2, Duration::ZERO);
            let (engine, _compiler) = held(config(), &devices);
            devices.iter().for_each(|d| d.inject(step, fault, 1));
            let job = ToyJob::new("toy-chain", [5]);
            let first = submit(&engine, &job);
            let failed = !matches!(outcome(&first), Outcome::Completed(_));
            devices.iter().for_each(SimulatedDevice::heal);
            // Both devices failed it; the next job passes.
            assert!(failed, "{step:?} {fault:?}");
            wait_for(&engine, "devices", |s| {
                s.devices.iter().all(|d| d.in_service)
            });
            assert_completes(&submit(&engine, &job), &job);
            devices[0].inject(step, fault, 1);
            for _ in 0..3 {
                assert_completes(&submit(&engine, &job), &job);
            }
            let status = engine.status();
            assert_eq!(status.counters.synthesised, 4);
            assert!(status.counters.faults >= 2, "{step:?} {fault:?}");
            _compiler.gate.open();
            wait_for(&engine, "the circuit", |s| !s.circuits[0].preparing);
            assert_baseline(&engine, &devices);
        }
    }
}

#[test]
fn wrong_jobs_and_wrong_keys_fail_and_say_why() {
    let devices = devices(1, Duration::ZERO);
    let (engine, compiler) = held(config(), &devices);
    let failure = |outcome: Outcome| match outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("{other}"),
    };
    let mut job = ToyJob::new("toy-cubic", [1, 2, 3]);
    job.unsatisfied = Some(1);
    let failed = failure(outcome(&submit(&engine, &job)));
    assert_eq!((failed.partition, failed.attempts), (Some(1), 0));
    let mut job = ToyJob::new("toy-chain", [1, 2]);
    job.misstates = Some(0);
    let failed = failure(outcome(&submit(&engine, &job)));
    assert!(
        failed.message.contains("public input 0 of partition 0"),
        "{failed}"
    );
    let mut job = ToyJob::new("toy-chain", [1, 2]);
    job.panics = Some(1);
    let failed = failure(outcome(&submit(&engine, &job)));
    assert!(failed.message.contains("panics"), "{failed}");
    compiler.gate.open();
    assert_eq!(engine.status().counters.faults, 0);
    assert_baseline(&engine, &devices);

    let wrong = Compiler {
        wrong_keys: true,
        ..Compiler::default()
    };
    let (engine, compiler) = held_by(wrong, config(), &devices);
    let failed = failure(outcome(&submit(&engine, &ToyJob::new("toy-chain", [1]))));
    assert!(failed.message.contains("the key wanted"), "{failed}");
    compiler.gate.open();
    assert_eq!(engine.status().counters.faults, 0);
    assert_baseline(&engine, &devices);
}
