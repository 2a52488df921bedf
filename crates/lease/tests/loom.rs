//! Every interleaving of a few threads, by loom: the crate's own source over loom's primitives.

#[path = "../src/leases.rs"]
mod leases;
#[path = "../src/pci.rs"]
mod pci;

/// loom's primitives under the names that the source uses.
mod sync {
    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
}

use leases::{Lane, LeaseError, Leases};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use pci::PciBusId;

const DEVICE: PciBusId = PciBusId {
    domain: 0,
    bus: 0x1b,
    device: 0,
    function: 0,
};

/// What a lane has to itself: how often it was run on.
type Runs = u32;

/// A device's lanes, and whether somebody is on each: kept beside the leases, as a device would notice.
struct Machine {
    leases: Leases<Runs>,
    occupied: Vec<AtomicBool>,
}

impl Machine {
    fn new(lanes: usize) -> Arc<Self> {
        Arc::new(Self {
            leases: Leases::new([(DEVICE, vec![0; lanes])]).unwrap(),
            occupied: (0..lanes).map(|_| AtomicBool::new(false)).collect(),
        })
    }

    fn run(&self, mut lease: leases::DeviceLease<Runs>) {
        let occupied = &self.occupied[lease.lane().0 as usize];
        assert!(!occupied.swap(true, Ordering::Relaxed), "two on a lane");
        *lease += 1;
        occupied.store(false, Ordering::Relaxed);
    }

    /// All runs; every lane has been given back.
    fn total(&self) -> Runs {
        let (_, lanes) = self.leases.devices().next().unwrap();
        let leases = (0..lanes).map(|lane| self.leases.try_acquire_lane(DEVICE, Lane(lane)));
        leases
            .map(|lease| *lease.unwrap().expect("given back"))
            .sum()
    }
}

type Acquire = fn(&Leases<Runs>) -> leases::DeviceLease<Runs>;

/// Runs one here and the others on threads of their own; all get their turn. Two are run in every order, three in every
/// order with at most two switches that no thread asks for.
fn race<const COUNT: usize>(lanes: usize, acquire: [Acquire; COUNT]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = (COUNT > 2).then_some(2);
    model.check(move || {
        let machine = Machine::new(lanes);
        let spawn = |acquire: Acquire| {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.run(acquire(&machine.leases)))
        };
        let threads: Vec<_> = acquire[1..].iter().copied().map(spawn).collect();
        machine.run(acquire[0](&machine.leases));
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(machine.total(), COUNT as Runs);
    });
}

fn any(leases: &Leases<Runs>) -> leases::DeviceLease<Runs> {
    leases.acquire(DEVICE).unwrap()
}

fn lane<const LANE: u32>(leases: &Leases<Runs>) -> leases::DeviceLease<Runs> {
    leases.acquire_lane(DEVICE, Lane(LANE)).unwrap()
}

#[test]
fn two_on_one_lane_take_turns() {
    race(1, [any, any]);
    race(1, [any, lane::<0>]);
}

#[test]
fn two_on_two_lanes_do_not_meet() {
    race(2, [any, any]);
    race(2, [lane::<0>, any]);
}

#[test]
fn three_on_one_lane_take_turns() {
    race(1, [any, any, lane::<0>]);
}

#[test]
fn three_on_two_lanes_all_get_one() {
    race(2, [any, any, any]);
}

#[test]
fn who_waits_for_a_lane_is_woken_beside_who_waits_for_any() {
    race(2, [lane::<0>, lane::<1>, any]);
    race(2, [lane::<0>, lane::<0>, lane::<1>]);
}

#[test]
fn a_lane_that_is_given_back_wakes_who_waits_for_it() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let machine = Machine::new(2);
        let [first, second] = [0, 1].map(|lane| {
            let leases = &machine.leases;
            leases.acquire_lane(DEVICE, Lane(lane)).unwrap()
        });
        let [waits_for_first, waits_for_second] = [lane::<0>, lane::<1>].map(|acquire: Acquire| {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.run(acquire(&machine.leases)))
        });
        drop(second);
        waits_for_second.join().unwrap();
        drop(first);
        waits_for_first.join().unwrap();
        assert_eq!(machine.total(), 2);
    });
}

#[test]
fn trying_never_waits_and_never_shares() {
    loom::model(|| {
        let machine = Machine::new(1);
        let other = Arc::clone(&machine);
        let attempt = |machine: &Machine| {
            let lease = machine.leases.try_acquire(DEVICE).unwrap();
            lease.map(|lease| machine.run(lease)).is_some()
        };
        let thread = thread::spawn(move || attempt(&other));
        let here = attempt(&machine);
        let there = thread.join().unwrap();
        assert!(here || there);
        assert_eq!(machine.total(), u32::from(here) + u32::from(there));
    });
}

#[test]
fn unknown_devices_and_lanes_are_errors() {
    loom::model(|| {
        let machine = Machine::new(1);
        let device = PciBusId {
            bus: 0x1c,
            ..DEVICE
        };
        let unknown = machine.leases.acquire(device).map(drop);
        assert_eq!(unknown, Err(LeaseError::UnknownDevice { device }));
    });
}
