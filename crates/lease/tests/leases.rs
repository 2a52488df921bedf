//! Leases and bus ids from outside.

use cuzk_lease::{DeviceLease, Lane, LeaseError, Leases, PciBusId};
use proptest::prelude::*;

fn id(bus: u8) -> PciBusId {
    PciBusId {
        domain: 0,
        bus,
        device: 0,
        function: 0,
    }
}

fn two_devices() -> Leases<(u8, u32)> {
    let lanes = |bus| (id(bus), vec![(bus, 0), (bus, 1)]);
    Leases::new([lanes(1), lanes(2)]).unwrap()
}

#[test]
fn a_lease_gives_its_own_lane_of_its_own_device() {
    let leases = two_devices();
    let mut held: Vec<DeviceLease<(u8, u32)>> = Vec::new();
    for (bus, lane) in [(2, 0), (1, 0), (1, 1), (2, 1)] {
        let lease = leases.acquire(id(bus)).unwrap();
        assert_eq!(*lease, (bus, lane));
        assert_eq!((lease.device(), lease.lane()), (id(bus), Lane(lane)));
        held.push(lease);
    }
    assert!(leases.try_acquire(id(1)).unwrap().is_none());
    held.remove(2);
    assert_eq!(leases.try_acquire(id(1)).unwrap().unwrap().lane(), Lane(1));
}

#[test]
fn the_lane_keeps_what_was_written() {
    let leases = Leases::new([(id(1), vec![String::new()])]).unwrap();
    leases.acquire(id(1)).unwrap().push_str("kept");
    assert_eq!(*leases.acquire(id(1)).unwrap(), "kept");
}

#[test]
fn a_panicking_thread_gives_its_lease_back() {
    let leases = two_devices();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _lease = leases.acquire_lane(id(1), Lane(1)).unwrap();
            panic!("on purpose");
        });
        assert!(thread.join().is_err());
    });
    assert!(leases.try_acquire_lane(id(1), Lane(1)).unwrap().is_some());
}

#[test]
fn what_is_not_there_is_an_error() {
    let leases = two_devices();
    let device = id(3);
    let unknown = LeaseError::UnknownDevice { device };
    assert_eq!(leases.try_acquire(device).unwrap_err(), unknown);
    let (device, lane, lanes) = (id(2), Lane(2), 2);
    let unknown = LeaseError::UnknownLane {
        device,
        lane,
        lanes,
    };
    assert_eq!(leases.acquire_lane(device, lane).unwrap_err(), unknown);
    assert_eq!(leases.try_acquire_lane(device, lane).unwrap_err(), unknown);
}

#[test]
fn a_device_stands_there_once_and_has_lanes() {
    let device = id(1);
    let twice = Leases::new([(device, vec![0]), (device, vec![1])]);
    assert_eq!(twice.unwrap_err(), LeaseError::Duplicate { device });
    let none = Leases::<()>::new([(device, vec![])]);
    assert_eq!(none.unwrap_err(), LeaseError::NoLanes { device });
}

#[test]
fn many_threads_share_the_lanes_of_two_devices() {
    let lanes = |bus| (id(bus), vec![0_u64; 2]);
    let leases = Leases::new([lanes(1), lanes(2)]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let leases = &leases;
            scope.spawn(move || {
                for round in 0..500 {
                    *leases
                        .acquire(id(1 + ((thread + round) % 2) as u8))
                        .unwrap() += 1;
                }
            });
        }
    });
    let all = [(1, 0), (1, 1), (2, 0), (2, 1)];
    let runs = all.map(|(bus, lane)| *leases.acquire_lane(id(bus), Lane(lane)).unwrap());
    assert_eq!(runs.iter().sum::<u64>(), 4000);
}

#[test]
fn texts_that_are_no_bus_ids() {
    for text in [
        "",
        "0",
        "0000:1b:00",
        "000:1b:00.0",
        "0000:1b:00.00",
        "0000:1b:0.0",
        "0000:+b:00.0",
        "0000:1b:00.g",
        "000000000:1b:00.0",
        "0000:1b:00.0 ",
        "0000-1b-00.0",
    ] {
        let error = text.parse::<PciBusId>().unwrap_err();
        assert_eq!(error.found, text);
    }
}

proptest! {
    #[test]
    fn bus_ids_are_read_as_they_are_written(domain: u32, bus: u8, device: u8, function in 0_u8..16) {
        let id = PciBusId { domain, bus, device, function };
        prop_assert_eq!(id.to_string().parse(), Ok(id));
    }
}
