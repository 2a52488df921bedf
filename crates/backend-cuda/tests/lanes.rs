//! Many proofs on device 0: on several lanes, given up at any point, under a budget that its keys exceed. Without a device
//! nothing is checked here, and the conformance tests check that the backend says so.

mod device;

use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::{CudaBackend, PciBusId, open_lanes};
use cuzk_curve::Fr;
use cuzk_groth16::keygen::{ToxicWaste, in_memory_with};
use cuzk_groth16::{Blinding, Prover};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_r1cs::PackedWitness;
use cuzk_testing::circuits::{Step, StepCircuit};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

/// Bytes of the device by which two hundred proofs may change what the driver has free: a megabyte each.
const LEFT: usize = 200 << 20;

/// Three bits, then a product of what came before.
fn circuit(steps: usize) -> StepCircuit {
    let steps = (0..steps).map(|i| match i % 4 {
        3 => Step::Product(vec![(i - 1, 1), (i / 2, 7)], vec![(i - 2, 1), (i / 3, -1)]),
        _ if i == 0 => Step::Aux(0x1234_5678_9abc),
        _ => Step::Bit(i % 3 == 0),
    });
    StepCircuit {
        steps: steps.collect(),
        blank: false,
    }
}

/// A circuit with a key, a witness and the proof that the CPU makes of it.
struct Case {
    pce: Pce,
    key: Parameters,
    witness: PackedWitness,
    wanted: [u8; 192],
}

impl Case {
    fn new(backend: &CudaBackend, steps: usize) -> Self {
        let circuit = circuit(steps);
        let pce = Pce::record(circuit.to_blank()).unwrap();
        let toxic = ToxicWaste::sample(&mut ChaCha12Rng::seed_from_u64(1));
        let key = in_memory_with(backend, &pce, &toxic).unwrap();
        let prover = Prover::new(CpuBackend, &pce, &key).unwrap();
        let witness = prover.witness(circuit).unwrap();
        let wanted = proof(&prover, &witness);
        Self {
            pce,
            key,
            witness,
            wanted,
        }
    }

    fn prover(&self, backend: &CudaBackend) -> Prover<CudaBackend> {
        Prover::new(backend.clone(), &self.pce, &self.key).unwrap()
    }
}

/// One test at a time has the device, so that what is free of it is this test's doing.
fn alone() -> MutexGuard<'static, ()> {
    static DEVICE: Mutex<()> = Mutex::new(());
    DEVICE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn blinding() -> Blinding {
    Blinding {
        r: Fr::from(12_345),
        s: Fr::from(678_910),
    }
}

fn proof<B: Backend>(prover: &Prover<B>, witness: &PackedWitness) -> [u8; 192] {
    let pending = prover.start(witness.clone(), blinding()).unwrap();
    pending.finish().unwrap().to_bytes()
}

/// Waits until nothing is left of work that was given up: buffers may take `wanted` bytes again.
fn settled(backend: &CudaBackend, wanted: usize) {
    let clock = Instant::now();
    while backend.device().memory().0 != wanted {
        assert!(
            clock.elapsed() < Duration::from_secs(20),
            "{:?}",
            backend.device().memory()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn two_hundred_proofs_leave_the_memory_as_it_was() {
    let _alone = alone();
    let Some(backend) = device::usable(CudaBackend::open(0)) else {
        return;
    };
    let case = Case::new(&backend, 9000);
    let prover = case.prover(&backend);
    assert!(proof(&prover, &case.witness) == case.wanted);
    let memory = || {
        (
            backend.device().memory().0,
            backend.device().physical_free().unwrap(),
        )
    };
    let (available, physical) = memory();
    for run in 0..200 {
        assert!(proof(&prover, &case.witness) == case.wanted, "proof {run}");
    }
    let after = memory();
    assert_eq!(after.0, available);
    assert!(after.1.abs_diff(physical) < LEFT, "{physical} {}", after.1);
}

#[test]
fn a_proof_may_be_given_up_at_any_point() {
    let _alone = alone();
    let Some(backend) = device::usable(CudaBackend::open(0)) else {
        return;
    };
    let case = Case::new(&backend, 60_000);
    let prover = case.prover(&backend);
    assert!(proof(&prover, &case.witness) == case.wanted);
    let available = backend.device().memory().0;
    for run in 0..60 {
        let pending = prover.start(case.witness.clone(), blinding()).unwrap();
        std::thread::sleep(Duration::from_micros(run * 400));
        drop(pending);
    }
    settled(&backend, available);
    assert!(proof(&prover, &case.witness) == case.wanted);
    // The work outlives its prover, whose key it reads, and leaves nothing behind.
    let empty = CudaBackend::open(0).unwrap();
    let before = empty.device().memory().0;
    for run in 0..20 {
        let prover = case.prover(&empty);
        let pending = prover.start(case.witness.clone(), blinding()).unwrap();
        drop(prover);
        if run % 4 == 0 {
            assert!(pending.finish().unwrap().to_bytes() == case.wanted);
        } else {
            std::thread::sleep(Duration::from_micros(run * 300));
            drop(pending);
        }
    }
    settled(&empty, before);
}

#[test]
fn lanes_prove_at_once() {
    let three = NonZeroU32::new(3).unwrap();
    let _alone = alone();
    let Some(leases) = device::usable(open_lanes(&[0], None, three)) else {
        return;
    };
    let devices: Vec<(PciBusId, u32)> = leases.devices().collect();
    assert_eq!((devices.len(), devices[0].1), (1, 3));
    let id = devices[0].0;
    let (case, prover) = {
        let lease = leases.acquire(id).unwrap();
        let case = Case::new(&lease, 20_000);
        let prover = case.prover(&lease);
        (case, prover)
    };
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let lane = leases.acquire(id).unwrap();
                    let pending = prover.start_on(lane, case.witness.clone(), blinding());
                    assert!(pending.unwrap().finish().unwrap().to_bytes() == case.wanted);
                }
            });
        }
    });
    let held: Vec<_> = (0..3).map(|_| leases.try_acquire(id).unwrap()).collect();
    assert!(held.iter().all(Option::is_some));
    assert!(leases.try_acquire(id).unwrap().is_none());
}

/// With half of the budget in use nothing of a key becomes resident, and proofs are the same.
#[test]
fn keys_beyond_the_budget_are_streamed() {
    let _alone = alone();
    let Some(free) = device::usable(CudaBackend::open(0)) else {
        return;
    };
    let case = Case::new(&free, 400_000);
    let budget = 1 << 30;
    let backend = CudaBackend::open_within(0, Some(budget)).unwrap();
    assert_eq!(backend.device().memory().1, budget);
    let (available, _) = backend.device().memory();
    let filler = backend
        .stream()
        .alloc::<u8>(available - budget / 2)
        .unwrap();
    let prover = case.prover(&backend);
    let left = backend.device().memory().0;
    // The matrices' rows are streamed too; the key is about 190 MB.
    assert!(left > budget / 2 - (32 << 20), "{left}");
    for _ in 0..3 {
        assert!(proof(&prover, &case.witness) == case.wanted);
    }
    assert_eq!(backend.device().memory().0, left);
    drop(filler);
    // Some sections fit now, and the others are streamed.
    let part = backend
        .stream()
        .alloc::<u8>(available - budget / 2 - (100 << 20))
        .unwrap();
    let mixed = case.prover(&backend);
    assert!(backend.device().memory().0 < available - part.bytes() - (40 << 20));
    assert!(proof(&mixed, &case.witness) == case.wanted);
}

#[test]
fn what_does_not_fit_the_budget_is_an_error() {
    let _alone = alone();
    let Some(backend) = device::usable(CudaBackend::open_within(0, Some(64 << 20))) else {
        return;
    };
    let error = backend.stream().alloc::<u64>(64 << 20).unwrap_err();
    assert!(error.to_string().contains("536870912 bytes"), "{error}");
    let (available, _) = backend.device().memory();
    let all = backend.stream().alloc::<u8>(available).unwrap();
    assert!(backend.stream().alloc::<u8>(1).is_err());
    drop(all);
    backend.stream().alloc::<u8>(available).unwrap();
}
