//! Filecoin's PoSt circuits at 2 KiB beside toys: several jobs at once, all valid, and faults under them.

use std::sync::LazyLock;
use std::time::Duration;

use cuzk_backend_cpu::CpuBackend;
use cuzk_engine::{Engine, InMemory, Outcome, Submission};
use cuzk_groth16::{PreparedVerifyingKey, Proof, keygen, verify};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_plugins as _;
use cuzk_proof_api::{Priority, Request, by_circuit};
use cuzk_synth::{Kind, Options, SectorSize, synthetic};
use cuzk_testing::simulated::{Fault, SimulatedDevice, Step};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::support::*;

/// A circuit of a registered proof type with a key, and a request for a proof of it.
struct Real {
    circuit: &'static str,
    pce: Pce,
    key: Parameters,
    request: Request,
}

fn real(circuit: &'static str, kind: Kind) -> Real {
    let (proof_type, _) = by_circuit(circuit).unwrap();
    let mut cs = cuzk_cs_recording::RecordingCS::default();
    proof_type.blank(circuit).unwrap().record(&mut cs).unwrap();
    let pce = Pce::compile(cs.finish().unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let key = keygen::in_memory(&CpuBackend, &pce, &mut rng).unwrap();
    let payload = synthetic(kind, SectorSize::KIB_2, &Options::default()).unwrap();
    Real {
        circuit,
        pce,
        key,
        request: Request {
            sector_size: payload.sector_size.bytes(),
            registered_proof: payload.registered_proof,
            vanilla_proofs: payload.vanilla_proofs.clone(),
            sector_number: payload.sector_number,
            miner_id: payload.miner_id,
            randomness: payload.randomness.to_vec(),
            partition_index: payload.partition_index,
            ..Request::default()
        },
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

fn source() -> InMemory {
    [&*WINDOW, &*WINNING].into_iter().fold(toys(), |source, r| {
        source.with(r.circuit, r.pce.clone(), r.key.clone())
    })
}

fn engine_on(devices: &[SimulatedDevice]) -> SimulatedEngine {
    let mut config = config();
    config.scheduler.max_faults = 1000;
    Engine::new(config, with_lanes(devices, 2), source()).unwrap()
}

#[test]
fn eight_mixed_jobs_at_once_are_all_valid() {
    let devices = devices(2, Duration::from_millis(1));
    let engine = engine_on(&devices);
    let toys = [
        ToyJob::new("toy-cubic", 0..10),
        ToyJob::new("toy-chain", 0..10),
        ToyJob::new("toy-chain", 10..13),
    ];
    let reals = [&*WINDOW, &*WINNING, &*WINDOW, &*WINNING, &*WINDOW];
    let submitted: Vec<_> = reals
        .iter()
        .map(|real| engine.submit(real.submission()).unwrap())
        .collect();
    let low = |job: &ToyJob| Submission::job(job.clone()).priority(Priority::Low);
    let beside: Vec<_> = toys
        .iter()
        .map(|job| engine.submit(low(job)).unwrap())
        .collect();
    for (handle, real) in submitted.iter().zip(reals) {
        real.assert_valid(&outcome(handle));
    }
    for (handle, job) in beside.iter().zip(&toys) {
        assert_completes(handle, job);
    }
    assert_eq!(engine.status().counters.faults, 0);
    assert_baseline(&engine, &devices);
}

#[test]
fn a_real_proof_survives_every_fault_of_one_device() {
    let devices = devices(2, Duration::ZERO);
    let engine = engine_on(&devices);
    for (step, fault) in [
        (Step::LoadPoints, Fault::Error),
        (Step::LoadWitness, Fault::OutOfMemory),
        (Step::MatVec, Fault::WrongResult),
        (Step::Quotient, Fault::Error),
        (Step::Msm, Fault::OutOfMemory),
        (Step::MsmQuery, Fault::WrongResult),
    ] {
        devices[0].inject(step, fault, 1);
        let handle = engine.submit(WINDOW.submission()).unwrap();
        WINDOW.assert_valid(&outcome(&handle));
        devices[0].heal();
    }
    // The payload of another miner states what its proofs do not show.
    let mut request = WINDOW.request.clone();
    request.randomness[0] ^= 1;
    let (proof_type, _) = by_circuit("wpost-2k").unwrap();
    let handle = engine.submit(Submission::request(proof_type, request));
    match outcome(&handle.unwrap()) {
        Outcome::Failed(failure) => assert_eq!(failure.device, None, "{failure}"),
        other => panic!("{other}"),
    }
    let handle = engine.submit(WINDOW.submission()).unwrap();
    WINDOW.assert_valid(&outcome(&handle));
    assert_baseline(&engine, &devices);
}
