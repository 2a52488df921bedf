//! Jobs of several proof types at once in one engine, on simulated devices: all valid, and faults under them. The PoSt
//! circuits at 2 KiB, since their keys are made in seconds.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_engine::{Config, Device, Engine, InMemory, JobHandle, Outcome, PciBusId, Submission};
use cuzk_groth16::{PreparedVerifyingKey, Proof, keygen, verify};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_plugins as _;
use cuzk_proof_api::{Request, by_circuit};
use cuzk_synth::{Kind, Options, SectorSize, synthetic};
use cuzk_testing::simulated::{Fault, Settings, SimulatedBackend, SimulatedDevice, Step};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Long enough for anything that must happen on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A circuit of a registered proof type with a key, and a request for a proof of it.
struct Real {
    circuit: &'static str,
    pce: Pce,
    key: Parameters,
    request: Request,
}

fn real(circuit: &'static str, kind: Kind) -> Real {
    let (proof_type, _) = by_circuit(circuit).unwrap();
    let mut cs = RecordingCS::default();
    proof_type.blank(circuit).unwrap().record(&mut cs).unwrap();
    let pce = Pce::compile(cs.finish().unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let key = keygen::in_memory(&CpuBackend, &pce, &mut rng).unwrap();
    let payload = synthetic(kind, SectorSize::KIB_2, &Options::default()).unwrap();
    Real {
        circuit,
        pce,
        key,
        request: payload.into_request(),
    }
}

static WINDOW: LazyLock<Real> = LazyLock::new(|| real("wpost-2k", Kind::WindowPost));
static WINNING: LazyLock<Real> = LazyLock::new(|| real("winning-2k", Kind::WinningPost));

impl Real {
    fn submission(&self) -> Submission {
        let (proof_type, _) = by_circuit(self.circuit).unwrap();
        Submission::request(proof_type, self.request.clone())
    }

    /// Holds the answer against the statement.
    fn assert_valid(&self, outcome: &Outcome) {
        let Outcome::Completed(completed) = outcome else {
            panic!("{}: {outcome}", self.circuit);
        };
        let (proof_type, _) = by_circuit(self.circuit).unwrap();
        let public = proof_type.decode(&self.request).unwrap().public_inputs(0);
        let proof = Proof::from_bytes(&completed.proof).unwrap();
        let vk = PreparedVerifyingKey::from(self.key.vk());
        assert!(verify(&vk, &proof, &public.unwrap()).unwrap());
    }
}

fn two_devices() -> [SimulatedDevice; 2] {
    let settings = Settings {
        latency: Duration::from_millis(1),
        ..Settings::default()
    };
    [0, 1].map(|ordinal| SimulatedDevice::new(format!("simulated {ordinal}"), settings))
}

fn engine_on(devices: &[SimulatedDevice; 2]) -> Engine<SimulatedBackend> {
    let mut config = Config::default();
    config.scheduler.max_faults = 1000;
    let device = |ordinal: u32| {
        let simulated = &devices[ordinal as usize];
        let pci = PciBusId {
            domain: ordinal,
            bus: 0,
            device: 0,
            function: 0,
        };
        let lanes = vec![simulated.lane(0), simulated.lane(1)];
        let (bytes, loader) = (simulated.memory_bytes(), simulated.lane(2));
        Device::new(simulated.name(), pci, bytes, loader, lanes)
    };
    let source = [&*WINDOW, &*WINNING].into_iter();
    let source = source.fold(InMemory::default(), |source, real| {
        source.with(real.circuit, real.pce.clone(), real.key.clone())
    });
    Engine::new(config, vec![device(0), device(1)], source).unwrap()
}

fn outcome(handle: &JobHandle) -> Outcome {
    let outcome = handle.wait_timeout(PATIENCE);
    outcome.unwrap_or_else(|| panic!("{handle:?} has no outcome"))
}

/// Evicts all circuits and waits until nothing is reserved and nothing is left on the devices.
fn assert_baseline(engine: &Engine<SimulatedBackend>, devices: &[SimulatedDevice; 2]) {
    let until = Instant::now() + PATIENCE;
    loop {
        let status = engine.status();
        let reserved = status.devices.iter().map(|device| device.reserved_bytes);
        let reserved = reserved.sum::<u64>() + status.host_reserved_bytes;
        let used: u64 = devices
            .iter()
            .map(|device| device.report().used_bytes)
            .sum();
        if (reserved, used) == (0, 0) {
            break;
        }
        assert!(Instant::now() < until, "{used} bytes used, {status:#?}");
        for circuit in &status.circuits {
            engine.evict(&circuit.name);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    for device in devices {
        let report = device.report();
        assert_eq!((report.in_flight, report.violations), (0, 0));
    }
}

#[test]
fn eight_mixed_jobs_at_once_are_all_valid() {
    let devices = two_devices();
    let engine = engine_on(&devices);
    let jobs = [
        &*WINDOW, &*WINNING, &*WINDOW, &*WINDOW, &*WINNING, &*WINDOW, &*WINDOW, &*WINDOW,
    ];
    let handles: Vec<_> = jobs
        .iter()
        .map(|job| engine.submit(job.submission()).unwrap())
        .collect();
    for (handle, job) in handles.iter().zip(jobs) {
        job.assert_valid(&outcome(handle));
    }
    let status = engine.status();
    assert_eq!((status.counters.proofs, status.counters.faults), (8, 0));
    assert!(status.devices.iter().all(|device| device.proofs > 0));
    assert_baseline(&engine, &devices);
}

/// Each fault once on each device in turn, under each proof type: the proof is made elsewhere.
#[test]
fn faults_are_made_good_for_every_proof_type() {
    let devices = two_devices();
    let engine = engine_on(&devices);
    let cases = [
        (Step::LoadPoints, Fault::Error),
        (Step::LoadWitness, Fault::OutOfMemory),
        (Step::MatVec, Fault::WrongResult),
        (Step::Quotient, Fault::Error),
        (Step::Msm, Fault::OutOfMemory),
        (Step::MsmQuery, Fault::WrongResult),
    ];
    for (number, (step, fault)) in cases.into_iter().enumerate() {
        let proofs = || {
            engine
                .status()
                .devices
                .iter()
                .map(|d| d.proofs)
                .collect::<Vec<_>>()
        };
        // The device that an idle and empty engine uses first.
        let before = proofs();
        WINDOW.assert_valid(&outcome(&engine.submit(WINDOW.submission()).unwrap()));
        assert_baseline(&engine, &devices);
        let first = usize::from(proofs()[1] > before[1]);

        devices[first].inject(step, fault, 1);
        let job = if number % 3 == 2 { &*WINNING } else { &*WINDOW };
        job.assert_valid(&outcome(&engine.submit(job.submission()).unwrap()));
        let counters = engine.status().counters;
        assert_eq!(counters.faults, number as u64 + 1, "{step:?}, {fault:?}");
        assert_baseline(&engine, &devices);
    }
}

/// A payload whose statement its vanilla proofs do not bear out fails and is nobody else's fault.
#[test]
fn a_wrong_payload_fails_without_a_second_try() {
    let devices = two_devices();
    let engine = engine_on(&devices);
    let mut request = WINDOW.request.clone();
    request.randomness[0] ^= 1;
    let (proof_type, _) = by_circuit(WINDOW.circuit).unwrap();
    let handle = engine.submit(Submission::request(proof_type, request));
    match outcome(&handle.unwrap()) {
        Outcome::Failed(failure) => assert_eq!(failure.device, None, "{failure}"),
        other => panic!("{other}"),
    }
    assert_eq!(engine.status().counters.faults, 0);
    WINDOW.assert_valid(&outcome(&engine.submit(WINDOW.submission()).unwrap()));
    assert_baseline(&engine, &devices);
}
