//! Cancelling while a proof is being finished: its device's part is done, and it is not verified yet.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use cuzk_backend_cpu::CpuBackend;
use cuzk_curve::Fr;
use cuzk_groth16::{PROOF_BYTES, keygen};
use cuzk_lease::PciBusId;
use cuzk_pce::Pce;
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError};
use cuzk_testing::circuits::Cubic;
use cuzk_testing::simulated::{Settings, SimulatedBackend, SimulatedDevice};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::{InMemory, Outcome};

const NAME: &str = "cubic";
/// Long enough for anything that must happen on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A partition for each number.
struct Cubes(Vec<u64>);

impl Job for Cubes {
    fn circuit_id(&self) -> &'static str {
        NAME
    }

    fn partitions(&self) -> usize {
        self.0.len()
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        Ok(vec![Cubic::output(Fr::from(self.0[partition]))])
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        let x = Some(Fr::from(self.0[partition]));
        Ok(Box::new(Cubic { x }))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        Ok(())
    }
}

/// An engine on simulated devices, each of whose finishers says that it has a proof and waits until it is let go.
struct Held {
    /// The first one.
    device: SimulatedDevice,
    engine: Engine<SimulatedBackend>,
    /// A message for each proof that is about to be finished.
    arrived: Receiver<()>,
    /// Lets one proof be finished with each message, and all of them when it is dropped.
    release: Option<Sender<()>>,
}

impl Held {
    fn new() -> Self {
        Self::on(1)
    }

    /// On so many devices.
    fn on(count: u32) -> Self {
        let config = Config::default();
        let lanes = config.scheduler.lanes as usize;
        let one = |device: u32| {
            let name = format!("simulated {device}");
            let simulated = SimulatedDevice::new(name.clone(), Settings::default());
            let pci = PciBusId {
                domain: device,
                bus: 0,
                device: 0,
                function: 0,
            };
            let loader = simulated.lane(usize::MAX);
            let lanes = (0..lanes).map(|lane| simulated.lane(lane)).collect();
            let bytes = simulated.memory_bytes();
            let taken = Device::new(name, pci, bytes, loader, lanes);
            (simulated, taken)
        };
        let (mut simulated, taken): (Vec<_>, _) = (0..count).map(one).unzip();
        let device = simulated.remove(0);
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let key = keygen::in_memory(&CpuBackend, &pce, &mut ChaCha8Rng::seed_from_u64(7));
        let source = InMemory::default().with(NAME, pce, key.unwrap());
        let (arrive, arrived) = unbounded();
        let (release, gate): (Sender<()>, Receiver<()>) = bounded(0);
        let finish = move |task: Finish, report: &Sender<Message<SimulatedBackend>>| {
            let _ = arrive.send(());
            // An error says that everything is let go.
            let _ = gate.recv();
            task.run(report);
        };
        let engine = Engine::finishing_by(config, taken, source, finish).unwrap();
        Self {
            device,
            engine,
            arrived,
            release: Some(release),
        }
    }

    fn submit(&self, numbers: &[u64]) -> JobHandle {
        let job = Submission::job(Cubes(numbers.to_vec()));
        self.engine.submit(job).unwrap()
    }

    fn let_go(&mut self) {
        self.release = None;
    }

    fn wait_for(&self, what: &str, wanted: impl Fn(&Status) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !wanted(&self.engine.status()) {
            assert!(
                Instant::now() < until,
                "{what}: {:#?}",
                self.engine.status()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Nothing is left of the jobs, and the circuit can be evicted.
    fn is_empty(&self) {
        self.wait_for("an empty memory", |status| {
            // A cancelled partition keeps the circuit for as long as it is being finished.
            self.engine.evict(NAME);
            let reserved = status.host_reserved_bytes + status.devices[0].reserved_bytes;
            status.jobs.is_empty() && reserved == 0
        });
        let report = self.device.report();
        let left = (report.used_bytes, report.in_flight, report.violations);
        assert_eq!(left, (0, 0, 0));
    }
}

fn completes(handle: &JobHandle, partitions: usize) {
    match handle.wait_timeout(PATIENCE) {
        Some(Outcome::Completed(completed)) => {
            assert_eq!(completed.proof.len(), partitions * PROOF_BYTES);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn cancelled_while_its_only_proof_is_finished() {
    let mut held = Held::new();
    let handle = held.submit(&[3]);
    held.arrived.recv_timeout(PATIENCE).unwrap();
    // The lane is free, the proof is not there, and what it took of the host is still reserved.
    held.wait_for("free lanes", |status| {
        status.devices[0]
            .lanes
            .iter()
            .all(|lane| lane.work.is_none())
    });
    assert_eq!(held.device.report().in_flight, 0);
    handle.cancel();
    let outcome = handle.wait_timeout(PATIENCE);
    assert!(matches!(outcome, Some(Outcome::Cancelled)), "{outcome:?}");
    let during = held.engine.status().host_reserved_bytes;
    held.let_go();
    held.wait_for("the witness's bytes", |status| {
        status.host_reserved_bytes < during
    });
    held.is_empty();
    let counters = held.engine.status().counters;
    assert_eq!((counters.cancelled, counters.completed), (1, 0));
    assert_eq!(counters.faults, 0);
    // The device is as good as before.
    completes(&held.submit(&[4, 5]), 2);
    held.is_empty();
}

#[test]
fn cancelled_with_one_proof_done_and_one_being_finished() {
    let mut held = Held::new();
    let handle = held.submit(&[3, 4]);
    for _ in 0..2 {
        held.arrived.recv_timeout(PATIENCE).unwrap();
    }
    held.release.as_ref().unwrap().send(()).unwrap();
    held.wait_for("one proof", |status| status.counters.proofs == 1);
    assert_eq!(handle.progress(), (1, 2));
    // Another job's proof is held at the same place, and is not touched.
    let beside = held.submit(&[5]);
    held.arrived.recv_timeout(PATIENCE).unwrap();
    handle.cancel();
    let outcome = handle.wait_timeout(PATIENCE);
    assert!(matches!(outcome, Some(Outcome::Cancelled)), "{outcome:?}");
    assert!(beside.wait_timeout(Duration::ZERO).is_none());
    held.let_go();
    completes(&beside, 1);
    held.is_empty();
    let counters = held.engine.status().counters;
    assert_eq!((counters.cancelled, counters.completed), (1, 1));
}

/// As many proofs are finished at once as there are lanes on four devices: finishing does not bound many devices.
#[test]
fn every_device_brings_finishers() {
    let mut held = Held::on(4);
    let numbers: Vec<u64> = (3..11).collect();
    let handle = held.submit(&numbers);
    for _ in &numbers {
        held.arrived.recv_timeout(PATIENCE).unwrap();
    }
    assert_eq!(handle.progress(), (0, 8));
    held.let_go();
    completes(&handle, numbers.len());
}
