//! Every fault of a device, with every proof type at hand: the right outcome, the next job passes, memory comes back.

use std::time::Duration;

use cuzk_engine::{JobEvent, Outcome, Status};
use cuzk_testing::simulated::{Fault, SimulatedDevice, Step};

use crate::support::*;

/// When a device hangs: long after anything that a busy machine does to a toy's proof.
const STALL: Duration = Duration::from_secs(4);

/// What goes wrong, where.
type Case = (Step, Fault);

/// Errors and lack of memory everywhere, wrong results wherever there is one.
fn cases() -> Vec<Case> {
    let everywhere = Step::ALL.into_iter();
    let mut cases: Vec<Case> = everywhere
        .flat_map(|step| [(step, Fault::Error), (step, Fault::OutOfMemory)])
        .collect();
    for step in [Step::MatVec, Step::Quotient, Step::Msm, Step::MsmQuery] {
        cases.push((step, Fault::WrongResult));
    }
    cases
}

/// An engine whose devices stay in service whatever happens, and however long it takes.
fn patient_engine(devices: &[SimulatedDevice]) -> SimulatedEngine {
    engine_that_waits(Duration::MAX, devices)
}

/// An engine whose devices stay in service whatever happens, unless they hang for so long.
fn engine_that_waits(stall: Duration, devices: &[SimulatedDevice]) -> SimulatedEngine {
    let mut config = config();
    config.scheduler.max_faults = 1000;
    config.stall_after = stall;
    config.load_stall_after = stall;
    engine(config, devices)
}

fn assert_next_passes(
    engine: &SimulatedEngine,
    devices: &[SimulatedDevice],
    circuit: &'static str,
) {
    let next = ToyJob::new(circuit, [11, 12, 13]);
    assert_completes(&submit(engine, &next), &next);
    assert_baseline(engine, devices);
}

/// The device that an idle and empty engine uses first.
fn first_choice(engine: &SimulatedEngine, devices: &[SimulatedDevice]) -> usize {
    let job = ToyJob::new("toy-cubic", [1]);
    assert_completes(&submit(engine, &job), &job);
    assert_baseline(engine, devices);
    let proofs = engine.status().devices;
    proofs.iter().position(|device| device.proofs == 1).unwrap()
}

#[test]
fn one_fault_is_made_good_elsewhere() {
    for circuit in TOYS {
        for (step, fault) in cases() {
            let devices = devices(2, Duration::ZERO);
            let engine = patient_engine(&devices);
            let first = first_choice(&engine, &devices);
            devices[first].inject(step, fault, 1);
            let job = ToyJob::new(circuit, 1..=4);
            assert_completes(&submit(&engine, &job), &job);
            let faults: Vec<u64> = engine.status().devices.iter().map(|d| d.faults).collect();
            let wanted = [u64::from(first == 0), u64::from(first == 1)];
            assert_eq!(faults, wanted, "{circuit}, {step:?}, {fault:?}");
            assert_next_passes(&engine, &devices, circuit);
        }
    }
}

#[test]
fn faults_without_end_fail_the_job_and_say_where() {
    for circuit in TOYS {
        for (step, fault) in cases() {
            let devices = devices(2, Duration::ZERO);
            let engine = patient_engine(&devices);
            for device in &devices {
                device.inject(step, fault, usize::MAX);
            }
            let what = format!("{circuit}, {step:?}, {fault:?}");
            match outcome(&submit(&engine, &ToyJob::new(circuit, [5]))) {
                Outcome::Failed(failure) => {
                    assert_eq!(failure.partition, Some(0), "{what}");
                    let device = failure.device.as_deref();
                    let device = device.unwrap_or_else(|| panic!("{what}: no device"));
                    assert!(device.starts_with("simulated "), "{what}: {device}");
                    let said = match fault {
                        Fault::Error => "an injected error",
                        Fault::OutOfMemory => "out of memory",
                        _ => "does not verify",
                    };
                    assert!(failure.message.contains(said), "{what}: {failure}");
                }
                other => panic!("{what}: {other}"),
            }
            devices.iter().for_each(SimulatedDevice::heal);
            assert_next_passes(&engine, &devices, circuit);
        }
    }
}

/// Where there is no other device, the try after a shortage says nothing of this one.
#[test]
fn a_shortage_of_memory_takes_no_only_device_out() {
    let circuit = TOYS[0];
    let devices = devices(1, Duration::ZERO);
    let mut config = config();
    config.scheduler.max_faults = 1;
    let engine = engine(config, &devices);
    devices[0].inject(Step::LoadWitness, Fault::OutOfMemory, 2);
    let short = submit(&engine, &ToyJob::new(circuit, [1]));
    assert!(matches!(outcome(&short), Outcome::Failed(_)));
    assert!(engine.status().devices[0].in_service);
    devices[0].inject(Step::LoadWitness, Fault::Error, 2);
    submit(&engine, &ToyJob::new(circuit, [2]));
    eventually("a device out of service", || {
        !engine.status().devices[0].in_service
    });
}

#[test]
fn a_slow_device_is_no_fault() {
    for circuit in TOYS {
        let devices = devices(2, Duration::ZERO);
        let engine = patient_engine(&devices);
        for step in Step::ALL {
            devices[0].inject(step, Fault::Slow(Duration::from_millis(30)), 2);
        }
        let job = ToyJob::new(circuit, 1..=6);
        assert_completes(&submit(&engine, &job), &job);
        assert_eq!(engine.status().counters.faults, 0);
        assert_next_passes(&engine, &devices, circuit);
    }
}

fn in_service(status: &Status) -> Vec<bool> {
    status.devices.iter().map(|d| d.in_service).collect()
}

/// A device that hangs is given up, its partitions are proved elsewhere, and it is back when it answers.
fn hangs_and_comes_back(circuit: &'static str, step: Step) {
    let devices = devices(2, Duration::from_millis(1));
    let engine = engine_that_waits(STALL, &devices);
    let first = first_choice(&engine, &devices);
    let other_only: Vec<bool> = (0..2).map(|device| device != first).collect();
    devices[first].inject(step, Fault::Hang, 1);
    let job = ToyJob::new(circuit, 1..=8);
    assert_completes(&submit(&engine, &job), &job);
    assert_eq!(devices[first].report().hanging, 1, "{step:?}");
    let lost = wait_for(&engine, "a lost device", |s| in_service(s) == other_only);
    assert!(lost.devices[first].lost);
    assert_eq!(lost.devices[first].reserved_bytes, 0);
    // It goes on without it.
    let job = ToyJob::new(circuit, [21, 22]);
    assert_completes(&submit(&engine, &job), &job);
    devices[first].heal();
    wait_for(&engine, "the device's return", |s| {
        in_service(s) == [true, true]
    });
    assert_next_passes(&engine, &devices, circuit);
}

#[test]
fn a_device_that_hangs_is_lost_and_comes_back() {
    std::thread::scope(|scope| {
        for step in [Step::LoadPoints, Step::LoadWitness, Step::MatVec, Step::Msm] {
            scope.spawn(move || hangs_and_comes_back(TOYS[step as usize % 2], step));
        }
    });
}

fn hangs_everywhere(circuit: &'static str) {
    let devices = devices(2, Duration::ZERO);
    let engine = engine_that_waits(STALL, &devices);
    for device in &devices {
        device.inject(Step::Quotient, Fault::Hang, usize::MAX);
    }
    match outcome(&submit(&engine, &ToyJob::new(circuit, [5]))) {
        Outcome::Failed(failure) => {
            assert_eq!((failure.partition, failure.attempts), (Some(0), 2));
            assert!(failure.message.contains("hangs"), "{failure}");
        }
        other => panic!("{circuit}: {other}"),
    }
    devices.iter().for_each(SimulatedDevice::heal);
    assert_next_passes(&engine, &devices, circuit);
}

#[test]
fn a_job_that_hangs_on_every_device_fails() {
    std::thread::scope(|scope| {
        for circuit in TOYS {
            scope.spawn(move || hangs_everywhere(circuit));
        }
    });
}

/// A device that went out of service with a fault hangs when it is probed, with or without a partition on its other lane.
/// It loses what is on it like any other that hangs, and nobody waits for that for ever.
fn hangs_while_it_is_probed(partitions: u64, load_hangs: bool) {
    let devices = devices(1, Duration::ZERO);
    let mut config = config();
    config.scheduler.max_faults = 1;
    config.stall_after = STALL;
    let engine = engine(config, &devices);
    // The circuit is resident.
    let job = ToyJob::new("toy-cubic", [1]);
    assert_completes(&submit(&engine, &job), &job);
    let device = &devices[0];
    let other = ToyJob::new("toy-chain", [7]);
    let other = load_hangs.then(|| {
        device.inject(Step::LoadPoints, Fault::Hang, 1);
        let handle = submit(&engine, &other);
        eventually("a load that hangs", || device.report().hanging == 1);
        (handle, other)
    });
    device.inject(Step::Msm, Fault::Error, 1);
    device.inject(Step::Msm, Fault::Hang, usize::MAX);
    let job = ToyJob::new("toy-cubic", 1..=partitions);
    let handle = submit(&engine, &job);
    // All partitions but the one that failed, and the probe.
    let hanging = partitions as usize + usize::from(load_hangs);
    eventually("a probe that hangs", || device.report().hanging == hanging);
    let lost = wait_for(&engine, "a lost device", |s| s.devices[0].lost);
    assert!(!lost.devices[0].in_service);
    assert_eq!(lost.devices[0].reserved_bytes, 0);
    device.heal();
    assert_completes(&handle, &job);
    if let Some((handle, job)) = other {
        assert_completes(&handle, &job);
    }
    wait_for(&engine, "the device's return", |s| s.devices[0].in_service);
    assert_next_passes(&engine, &devices, "toy-cubic");
}

#[test]
fn a_device_that_hangs_while_it_is_probed_is_lost_and_comes_back() {
    std::thread::scope(|scope| {
        for (partitions, load_hangs) in [(1, false), (2, false), (1, true)] {
            scope.spawn(move || hangs_while_it_is_probed(partitions, load_hangs));
        }
    });
}

/// A device that hangs while it frees a key stops nobody else.
#[test]
fn freeing_memory_on_a_device_that_hangs_holds_up_nobody() {
    let devices = devices(2, Duration::ZERO);
    let engine = engine_that_waits(STALL, &devices);
    engine.preload("toy-cubic");
    wait_for(&engine, "the key on both devices", |status| {
        status.circuits[0].devices == [0, 1]
    });
    devices[0].inject(Step::Free, Fault::Hang, usize::MAX);
    engine.evict("toy-cubic");
    eventually("a hanging device", || devices[0].report().hanging == 1);
    let status = engine.status();
    assert!(status.devices[0].reserved_bytes > 0);
    let job = ToyJob::new("toy-chain", 1..=4);
    assert_completes(&submit(&engine, &job), &job);
    wait_for(&engine, "a lost device", |s| in_service(s) == [false, true]);
    assert_completes(&submit(&engine, &job), &job);
    devices[0].heal();
    wait_for(&engine, "the device's return", |s| {
        in_service(s) == [true, true]
    });
    assert_next_passes(&engine, &devices, "toy-chain");
}

/// A load that waits for its turn does not hang.
#[test]
fn loads_that_wait_for_others_are_no_fault() {
    let devices = devices(1, Duration::ZERO);
    let engine = engine_that_waits(STALL, &devices);
    let slow = Fault::Slow(STALL * 2 / 5);
    devices[0].inject(Step::LoadMatrices, slow, 3);
    let circuits = [CUBIC.id, CHAIN.id, LONG.id];
    circuits.iter().for_each(|circuit| engine.preload(circuit));
    let status = wait_for(&engine, "all keys on the device", |status| {
        status.devices[0].resident.len() == 3
    });
    assert_eq!((status.counters.faults, status.devices[0].lost), (0, false));
    assert_baseline(&engine, &devices);
}

/// A device that keeps failing is taken out of service, shown, and back once a probe finds it well.
#[test]
fn a_failing_device_goes_out_of_service_and_comes_back() {
    let devices = devices(2, Duration::from_millis(1));
    let mut config = config();
    config.scheduler.max_faults = 2;
    let engine = engine(config, &devices);
    devices[1].inject(Step::Msm, Fault::Error, usize::MAX);
    let job = ToyJob::new("toy-chain", 0..12);
    assert_completes(&submit(&engine, &job), &job);
    let status = wait_for(&engine, "one device out of service", |s| {
        in_service(s) == [true, false]
    });
    assert!(status.devices[1].faults >= 2 && !status.devices[1].lost);
    // Probes use the same operation and fail as long as it does.
    let job = ToyJob::new("toy-chain", 0..4);
    assert_completes(&submit(&engine, &job), &job);
    assert_eq!(in_service(&engine.status()), [true, false]);
    devices[1].heal();
    wait_for(&engine, "the device's return", |s| {
        in_service(s) == [true, true]
    });
    assert_next_passes(&engine, &devices, "toy-chain");
}

/// Unavailable is not failed: without a device, and with ones that are too small.
#[test]
fn without_a_device_a_job_is_unavailable() {
    let job = ToyJob::new("toy-cubic", [1]);
    let unavailable = |engine: &SimulatedEngine| match outcome(&submit(engine, &job)) {
        Outcome::Unavailable { reason } => reason,
        other => panic!("{other}"),
    };
    let none = engine(config(), &[]);
    assert!(unavailable(&none).contains("device"));
    let settings = cuzk_testing::simulated::Settings {
        memory_bytes: 1000,
        latency: Duration::ZERO,
    };
    let small = [SimulatedDevice::new("simulated 0", settings)];
    let engine_of_small = engine(config(), &small);
    assert!(unavailable(&engine_of_small).contains("1000 bytes"));
    let mut poor = config();
    poor.scheduler.host_memory = cuzk_engine::Bytes(1000);
    let poor = engine(poor, &devices(1, Duration::ZERO));
    assert!(unavailable(&poor).contains("of the host"));
}

/// A fault is made good on another device, where there is one: every second try is elsewhere.
#[test]
fn the_second_try_is_on_another_device() {
    for count in [2, 3] {
        let devices = devices(count, Duration::ZERO);
        let mut config = config();
        config.scheduler.max_faults = u32::MAX;
        let engine = engine(config, &devices);
        let broken = &devices[0];
        broken.inject(Step::Quotient, Fault::Error, usize::MAX);
        let job = ToyJob::new("toy-cubic", 0..12);
        let handle = submit(&engine, &job);
        let events = handle.subscribe();
        assert_completes(&handle, &job);
        let proved = events.iter().filter_map(|event| match event {
            JobEvent::Proved { device, .. } => Some(device),
            _ => None,
        });
        assert!(proved.into_iter().all(|device| &*device != broken.name()));
        let status = engine.status();
        // One fault a unit that went there first, and none twice.
        assert!((1..=12).contains(&status.devices[0].faults));
        assert_eq!(status.counters.proofs, 12);
        assert_baseline(&engine, &devices);
    }
}

/// With one device only, a try that failed is repeated there.
#[test]
fn a_single_device_gets_a_second_try() {
    let devices = devices(1, Duration::ZERO);
    let engine = patient_engine(&devices);
    devices[0].inject(Step::Msm, Fault::WrongResult, 1);
    let job = ToyJob::new("toy-cubic", [1, 2]);
    assert_completes(&submit(&engine, &job), &job);
    assert_eq!(engine.status().counters.invalid, 1);
    assert_next_passes(&engine, &devices, "toy-cubic");
}
