//! Ten partitions under a budget of host memory that fits two: all are proved, and the heap stays within the budget.
//!
//! The allocator counts the whole process, so this test is a program of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use cuzk_backend_cpu::CpuBackend;
use cuzk_curve::Fr;
use cuzk_engine::{
    Bytes, Config, Device, Engine, Footprint, InMemory, Outcome, PciBusId, Submission,
};
use cuzk_groth16::{PROOF_BYTES, PreparedVerifyingKey, Proof, keygen, verify};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError, by_synthesis};
use cuzk_testing::simulated::{Fault, Settings, SimulatedDevice, Step};
use ff::Field;
use peak_alloc::PeakAlloc;
use rand_core::OsRng;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const PARTITIONS: usize = 10;
/// Long enough for anything that must happen on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Field elements of a witness: 512 KiB packed.
const LENGTH: usize = 1 << 14;

/// A chain of squares.
struct Chain {
    x: Option<u64>,
}

fn output(x: u64) -> Fr {
    (0..LENGTH).fold(Fr::from(x), |x, _| x.square() + Fr::ONE)
}

impl Circuit<Fr> for Chain {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let known = |value: Option<Fr>| value.ok_or(SynthesisError::AssignmentMissing);
        let mut value = self.x.map(Fr::from);
        let mut x = cs.alloc(|| "x", || known(value))?;
        for _ in 0..LENGTH {
            value = value.map(|x| x.square() + Fr::ONE);
            let next = cs.alloc(|| "next", || known(value))?;
            let right = |lc| lc + next - CS::one();
            cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, right);
            x = next;
        }
        let end = cs.alloc_input(|| "end", || known(value))?;
        cs.enforce(|| "end", |lc| lc + x, |lc| lc + CS::one(), |lc| lc + end);
        Ok(())
    }
}

/// So many chains.
struct Chains(usize);

impl Job for Chains {
    fn circuit_id(&self) -> &'static str {
        "chain"
    }

    fn partitions(&self) -> usize {
        self.0
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        Ok(vec![output(partition as u64)])
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        let x = Some(partition as u64);
        Ok(Box::new(Chain { x }))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        Ok(())
    }
}

/// What a run took.
struct Taken {
    /// Partitions with a witness when no more witness could be started.
    held: usize,
    /// By how much the heap had grown at most until then, no sum having been computed.
    held_bytes: usize,
    /// By how much the heap had grown at most in the end.
    bytes: usize,
}

/// Proves partitions under a budget of host memory, the first of them held on the device until no witness can be started
/// any more.
fn run(pce: &Pce, key: &Parameters, partitions: usize, host: u64, device_bytes: u64) -> Taken {
    let settings = Settings {
        memory_bytes: device_bytes,
        latency: Duration::from_millis(1),
    };
    let simulated = SimulatedDevice::new("simulated 0", settings);
    simulated.inject(Step::Msm, Fault::Hang, 1);
    let pci = PciBusId {
        domain: 0,
        bus: 0,
        device: 0,
        function: 0,
    };
    let lanes = vec![simulated.lane(0)];
    let device = Device::new("simulated 0", pci, device_bytes, simulated.lane(1), lanes);
    let mut config = Config::default();
    config.scheduler.lanes = 1;
    config.scheduler.witness_slots = PARTITIONS;
    config.scheduler.ready_per_lane = PARTITIONS;
    config.scheduler.host_memory = Bytes(host);
    let source = InMemory::default().with("chain", pce.clone(), key.clone());
    let engine = Engine::new(config, vec![device], source).unwrap();

    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let handle = engine.submit(Submission::job(Chains(partitions))).unwrap();
    let until = Instant::now() + PATIENCE;
    let mut at_most = None;
    while handle.wait_timeout(Duration::from_millis(1)).is_none() {
        assert!(Instant::now() < until, "{:?}", handle.progress());
        let status = engine.status();
        let reserved = status.host_reserved_bytes;
        assert!(reserved <= host, "{reserved} of {host} bytes are reserved");
        let full = status.in_witness == 0 && simulated.report().hanging == 1;
        if full && at_most.is_none() {
            let held = status.ready + status.on_device;
            at_most = Some((held, HEAP.peak_usage() - before));
            simulated.heal();
        }
    }
    let bytes = HEAP.peak_usage() - before;
    let (held, held_bytes) = at_most.unwrap();
    let Outcome::Completed(completed) = handle.wait() else {
        panic!("{:?}", handle.outcome());
    };
    let vk = PreparedVerifyingKey::from(key.vk());
    for (i, proof) in completed.proof.chunks(PROOF_BYTES).enumerate() {
        let proof = Proof::from_bytes(proof).unwrap();
        assert!(verify(&vk, &proof, &[output(i as u64)]).unwrap());
    }
    assert!(simulated.report().peak_bytes <= device_bytes);
    Taken {
        held,
        held_bytes,
        bytes,
    }
}

/// A full synthesis takes what is reserved for it, and what is left is what it says.
fn synthesise(key: &Parameters) {
    let footprint = Footprint::plain_of_key(key);
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let synthesis = by_synthesis(&Chains(1), 0, &Arc::default()).unwrap();
    let outline = synthesis.outline();
    let witness = synthesis.pack(&outline).unwrap();
    let (most, left) = (HEAP.peak_usage() - before, HEAP.current_usage() - before);
    let reserved = (footprint.host_witness + footprint.host_resident) as usize;
    println!("a synthesis: {most} bytes of heap, {left} left; reserved {reserved}");
    assert!(most <= reserved, "{most} of {reserved}");
    let known = witness.size_bytes() + outline.size_bytes();
    assert!(left <= known + 4096, "{left}, of which {known} are known");
    assert!(outline.size_bytes() as u64 <= footprint.host_resident);
}

#[test]
fn ten_partitions_under_a_budget_for_two() {
    let pce = Pce::record(Chain { x: None }).unwrap();
    let key = keygen::in_memory(&CpuBackend, &pce, &mut OsRng).unwrap();
    synthesise(&key);
    let footprint = Footprint::plain(pce.r1cs()).unwrap();
    let device = footprint.device_resident + footprint.device_work;
    let two = footprint.host_resident + 2 * footprint.host_witness;
    let alone = run(&pce, &key, 1, two, device);
    let bounded = run(&pce, &key, PARTITIONS, two, device);
    let unbounded = run(&pce, &key, PARTITIONS, 1 << 40, device);
    for (what, taken) in [
        ("one partition", &alone),
        ("ten, a budget for two", &bounded),
        ("ten, no budget", &unbounded),
    ] {
        println!(
            "{what}: {} witnesses at once, then {} bytes of heap, in the end {}; the budget for two is {two}",
            taken.held, taken.held_bytes, taken.bytes
        );
    }
    // What is left of a witness once it is packed is smaller, so more than two may wait where two are computed.
    assert_eq!((alone.held, unbounded.held), (1, PARTITIONS));
    assert!((2..PARTITIONS).contains(&bounded.held), "{}", bounded.held);
    // A simulated device uses the heap as well: what it holds, and when sums are computed, what the processor needs for
    // them. The keys' points are those of the source.
    let bound = (two + footprint.device_work) as usize;
    assert!(
        bounded.held_bytes <= bound,
        "{} of {bound}",
        bounded.held_bytes
    );
    let bound = alone.bytes + two as usize;
    assert!(bounded.bytes <= bound, "{} of {bound}", bounded.bytes);
}
