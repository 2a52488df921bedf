//! The situations that the policies are for.

use cuzk_scheduler::*;

use crate::caller::{Model, Pending};

pub const D0: DeviceId = DeviceId(0);
pub const D1: DeviceId = DeviceId(1);

pub fn circuit(id: u64, host: u64, device: u64) -> Circuit {
    Circuit {
        id: CircuitId(id),
        host: Bytes(host),
        device: Bytes(device),
    }
}

pub fn job(id: u64, priority: Priority, circuit: Circuit, units: &[(u64, u64)]) -> JobSpec {
    let unit = |&(host, device): &(u64, u64)| UnitSpec {
        host: Bytes(host),
        device: Bytes(device),
    };
    JobSpec {
        job: JobId(id),
        tenant: TenantId(0),
        priority,
        deadline: None,
        circuit,
        units: units.iter().map(unit).collect(),
    }
}

pub fn unit(job: u64, index: u32) -> UnitId {
    let job = JobId(job);
    UnitId { job, index }
}

pub fn small() -> Config {
    Config {
        host_memory: Bytes(100),
        ready_per_lane: 4,
        ..Config::default()
    }
}

impl Model {
    pub fn submit(&mut self, spec: JobSpec) {
        self.send(Event::Submitted(spec));
    }

    /// Answers all that is pending but what runs on devices.
    pub fn settle(&mut self) {
        let settles = |p: &Pending| !matches!(p, Pending::Run(_) | Pending::Probe(_));
        while let Some(at) = self.pending.iter().position(settles) {
            self.answer(at, true, Fault::Device);
        }
    }

    pub fn end_run(&mut self, id: UnitId, well: bool, fault: Fault) {
        let runs = |p: &Pending| matches!(p, Pending::Run(attempt) if attempt.unit == id);
        let at = self.pending.iter().position(runs).expect("it runs");
        self.answer(at, well, fault);
        self.settle();
    }

    fn placements(&self) -> Vec<(UnitId, DeviceId)> {
        self.placed
            .iter()
            .map(|&(attempt, device)| (attempt.unit, device))
            .collect()
    }

    fn count_on(&self, device: DeviceId) -> usize {
        self.placed.iter().filter(|(_, on)| *on == device).count()
    }
}

#[test]
fn the_units_of_jobs_of_one_circuit_spread_over_all_devices() {
    let mut model = Model::new(Config::default());
    model.device_up(D0, 1000);
    model.device_up(D1, 1000);
    let circuit = circuit(1, 10, 100);
    for id in 0..20 {
        model.submit(job(id, Priority::Normal, circuit, &[(5, 50); 10]));
    }
    model.drain();
    assert_eq!(model.placed.len(), 200);
    for device in [D0, D1] {
        let count = model.count_on(device);
        assert!((80..=120).contains(&count), "{device}: {count}");
    }
}

#[test]
fn one_job_of_two_units_takes_both_devices_and_not_two_lanes_of_one() {
    let mut model = Model::new(Config::default());
    model.device_up(D0, 1000);
    model.device_up(D1, 1000);
    model.submit(job(1, Priority::Normal, circuit(1, 10, 100), &[(5, 50); 2]));
    model.settle();
    assert_eq!((model.count_on(D0), model.count_on(D1)), (1, 1));
}

#[test]
fn a_critical_unit_takes_the_next_free_lane_ahead_of_everything() {
    let lanes = 1;
    let mut model = Model::new(Config { lanes, ..small() });
    model.device_up(D0, 1000);
    let circuit = circuit(1, 1, 1);
    model.submit(job(1, Priority::High, circuit, &[(1, 1); 6]));
    model.settle();
    model.submit(job(2, Priority::Critical, circuit, &[(1, 1)]));
    model.settle();
    model.end_run(unit(1, 0), true, Fault::Device);
    assert_eq!(model.placements(), [(unit(1, 0), D0), (unit(2, 0), D0)]);
}

#[test]
fn a_critical_unit_takes_a_device_that_is_kept_free_for_another() {
    let max_passes = 0;
    let mut model = Model::new(Config {
        max_passes,
        ..small()
    });
    model.device_up(D0, 100);
    let (small, large) = (circuit(1, 1, 0), circuit(2, 1, 0));
    model.submit(job(1, Priority::Normal, small, &[(1, 40)]));
    model.submit(job(2, Priority::Normal, large, &[(1, 90)]));
    model.settle();
    model.submit(job(3, Priority::High, small, &[(1, 40)]));
    model.settle();
    assert_eq!(
        model.placements(),
        [(unit(1, 0), D0)],
        "kept free for the large one"
    );
    model.submit(job(4, Priority::Critical, small, &[(1, 40)]));
    model.settle();
    assert_eq!(model.placements()[1..], [(unit(4, 0), D0)]);
    model.drain();
    let order: Vec<u64> = model
        .placements()
        .iter()
        .map(|(unit, _)| unit.job.0)
        .collect();
    assert_eq!(order, [1, 4, 2, 3]);
}

#[test]
fn memory_kept_for_critical_jobs_is_used_by_no_other() {
    let critical_host_memory = Bytes(20);
    let config = Config {
        critical_host_memory,
        ..small()
    };
    let mut model = Model::new(config);
    model.device_up(D0, 1000);
    let circuit = circuit(1, 10, 1);
    model.submit(job(1, Priority::High, circuit, &[(30, 1); 3]));
    assert_eq!(model.started, [unit(1, 0), unit(1, 1)]);
    model.submit(job(2, Priority::Critical, circuit, &[(20, 1)]));
    assert_eq!(model.started[2..], [unit(2, 0)]);
    model.submit(job(3, Priority::Low, circuit, &[(71, 1)]));
    let (needed, budget) = (Bytes(81), Bytes(80));
    assert_eq!(model.rejected, [Rejection::HostMemory { needed, budget }]);
    model.drain();
}

#[test]
fn ten_units_pass_through_memory_for_two() {
    let mut model = Model::new(small());
    model.device_up(D0, 100);
    model.submit(job(
        1,
        Priority::Normal,
        circuit(1, 20, 20),
        &[(40, 40); 10],
    ));
    assert_eq!(model.started.len(), 2);
    model.drain();
    assert_eq!(model.jobs[&JobId(1)].outcome, Some(Outcome::Completed));
    model.check_all_returned();
}

#[test]
fn what_is_released_early_is_used_early() {
    let mut model = Model::new(small());
    model.device_up(D0, 100);
    model.submit(job(
        1,
        Priority::Normal,
        circuit(1, 0, 0),
        &[(60, 60), (60, 60), (40, 40)],
    ));
    model.settle();
    assert_eq!((model.started.len(), model.placed.len()), (1, 1));
    let attempt = model.placed[0].0;
    model.release_some(attempt, 20);
    model.settle();
    assert_eq!((model.started.len(), model.placed.len()), (2, 2));
    model.drop_witness(unit(1, 0));
    assert_eq!(model.started.len(), 3);
}

#[test]
fn units_of_the_resident_circuit_go_first_within_a_bound() {
    let (lanes, max_passes, ready_per_lane) = (1, 3, 20);
    let config = Config {
        host_memory: Bytes(1000),
        lanes,
        max_passes,
        ready_per_lane,
        ..Config::default()
    };
    let mut model = Model::new(config);
    model.device_up(D0, 100);
    let (first, second) = (circuit(1, 1, 60), circuit(2, 1, 60));
    model.submit(job(1, Priority::Normal, first, &[(1, 10)]));
    model.settle();
    model.submit(job(2, Priority::Normal, second, &[(1, 10); 2]));
    model.submit(job(3, Priority::Normal, first, &[(1, 10); 5]));
    model.settle();
    model.drain();
    let order: Vec<u64> = model
        .placements()
        .iter()
        .map(|(unit, _)| unit.job.0)
        .collect();
    assert_eq!(order, [1, 3, 3, 3, 2, 2, 3, 3]);
}

#[test]
fn a_large_unit_is_not_passed_over_for_ever() {
    let max_passes = 4;
    let mut model = Model::new(Config {
        max_passes,
        ..small()
    });
    model.device_up(D0, 100);
    let (small, large) = (circuit(1, 1, 0), circuit(2, 1, 0));
    model.submit(job(1, Priority::Normal, small, &[(1, 40)]));
    model.submit(job(2, Priority::Normal, large, &[(1, 90)]));
    model.submit(job(3, Priority::Normal, small, &[(1, 40); 12]));
    model.settle();
    model.drain();
    let mut order = model.placements().into_iter();
    assert_eq!(order.position(|(id, _)| id == unit(2, 0)), Some(1 + 4));
}

#[test]
fn a_failed_unit_is_tried_once_elsewhere_and_then_fails_its_job() {
    for fault in [Fault::Device, Fault::OutOfMemory, Fault::Verification] {
        let mut model = Model::new(small());
        model.device_up(D0, 1000);
        model.device_up(D1, 1000);
        model.submit(job(1, Priority::Normal, circuit(1, 1, 1), &[(1, 1)]));
        model.settle();
        let first = model.placed[0].1;
        model.end_run(unit(1, 0), false, fault);
        let second = model.placed[1].1;
        assert_ne!(first, second);
        model.end_run(unit(1, 0), false, fault);
        let (unit, device) = (unit(1, 0), second);
        let cause = Cause::Device { device, fault };
        let failed = Some(Outcome::Failed { unit, cause });
        assert_eq!(model.jobs[&JobId(1)].outcome, failed);
        model.check_all_returned();
    }
}

#[test]
fn with_one_device_the_second_try_is_on_the_same() {
    let mut model = Model::new(small());
    model.device_up(D0, 1000);
    model.submit(job(1, Priority::Normal, circuit(1, 1, 1), &[(1, 1)]));
    model.settle();
    model.end_run(unit(1, 0), false, Fault::Device);
    model.end_run(unit(1, 0), true, Fault::Device);
    assert_eq!(model.jobs[&JobId(1)].outcome, Some(Outcome::Completed));
}

/// The forecast is at fault as long as no other device has the memory.
#[test]
fn shortages_of_memory_take_no_device_out_that_others_do_not_outdo() {
    let mut model = Model::new(small());
    model.device_up(D0, 1000);
    for id in 1..=5 {
        model.submit(job(id, Priority::Normal, circuit(1, 1, 1), &[(1, 1)]));
        model.settle();
        for _ in 0..2 {
            model.end_run(unit(id, 0), false, Fault::OutOfMemory);
        }
        let device = D0;
        let fault = Fault::OutOfMemory;
        let cause = Cause::Device { device, fault };
        let unit = unit(id, 0);
        let failed = Some(Outcome::Failed { unit, cause });
        assert_eq!(model.jobs[&JobId(id)].outcome, failed);
    }
    assert!(model.devices[&D0].in_service);
    assert_eq!(
        model.scheduler.device(D0).map(|device| device.faults),
        Some(0)
    );
    model.device_up(D1, 1000);
    model.submit(job(6, Priority::Normal, circuit(1, 1, 1), &[(1, 1)]));
    model.settle();
    let first = model.placed[model.placed.len() - 1].1;
    model.end_run(unit(6, 0), false, Fault::OutOfMemory);
    model.end_run(unit(6, 0), true, Fault::OutOfMemory);
    assert_eq!(
        model.scheduler.device(first).map(|device| device.faults),
        Some(1)
    );
}

#[test]
fn a_dropped_witness_is_computed_again_for_the_second_try() {
    let mut model = Model::new(small());
    model.device_up(D0, 1000);
    model.submit(job(1, Priority::Normal, circuit(1, 1, 1), &[(1, 1)]));
    model.settle();
    model.drop_witness(unit(1, 0));
    model.end_run(unit(1, 0), false, Fault::Device);
    assert_eq!(model.started, [unit(1, 0), unit(1, 0)]);
    model.end_run(unit(1, 0), true, Fault::Device);
    model.check_all_returned();
}

#[test]
fn a_device_that_keeps_failing_is_taken_out_and_comes_back_on_trial() {
    let mut model = Model::new(small());
    model.device_up(D0, 1000);
    model.device_up(D1, 1000);
    let circuit = circuit(1, 1, 1);
    for id in 1..=3 {
        model.submit(job(id, Priority::Normal, circuit, &[(1, 1); 2]));
        model.settle();
        let bad = model.placed.iter().rev().find(|(_, device)| *device == D1);
        let bad = bad.expect("one of two units is on it").0.unit;
        model.end_run(bad, false, Fault::Device);
        for unit in [unit(id, 0), unit(id, 1)] {
            model.end_run(unit, true, Fault::Device);
        }
        assert_eq!(model.jobs[&JobId(id)].outcome, Some(Outcome::Completed));
    }
    assert!(!model.devices[&D1].in_service);
    model.now = model.scheduler.next_wakeup().expect("a probe");
    model.send(Event::Tick);
    assert_eq!(model.pending, [Pending::Probe(D1)]);
    model.answer(0, false, Fault::Device);
    let again = model.scheduler.next_wakeup().expect("another probe");
    assert_eq!(again, model.now.after(2 * model.config.probe_after_us));
    model.now = again;
    model.send(Event::Tick);
    model.answer(0, true, Fault::Device);
    assert!(model.devices[&D1].in_service);
    assert_eq!(
        model.scheduler.device(D1).map(|device| device.faults),
        Some(2)
    );
}

/// A wrong witness is dropped and computed again, and no device is blamed.
#[test]
fn a_wrong_witness_is_computed_again_and_held_against_no_device() {
    let mut model = Model::new(small());
    model.device_up(D0, 1000);
    model.submit(job(1, Priority::Normal, circuit(1, 1, 1), &[(5, 1)]));
    model.settle();
    model.drop_witness(unit(1, 0));
    model.end_run(unit(1, 0), false, Fault::Witness);
    assert_eq!(model.started, [unit(1, 0), unit(1, 0)]);
    model.end_run(unit(1, 0), true, Fault::Device);
    assert_eq!(model.jobs[&JobId(1)].outcome, Some(Outcome::Completed));
    let device = model.scheduler.device(D0);
    assert_eq!(device.map(|device| device.faults), Some(0));
}

#[test]
fn a_proof_that_never_verifies_is_not_held_against_the_devices() {
    let mut model = Model::new(small());
    model.device_up(D0, 1000);
    model.device_up(D1, 1000);
    let circuit = circuit(1, 1, 1);
    for id in 0..10 {
        model.submit(job(id, Priority::Normal, circuit, &[(1, 1)]));
        model.settle();
        model.end_run(unit(id, 0), false, Fault::Verification);
        model.end_run(unit(id, 0), false, Fault::Verification);
    }
    assert!(
        model
            .scheduler
            .devices()
            .iter()
            .all(|device| device.faults == 0)
    );
    model.submit(job(20, Priority::Normal, circuit, &[(1, 1)]));
    model.settle();
    let wrong = model.placed.last().expect("placed").1;
    model.end_run(unit(20, 0), false, Fault::Verification);
    model.end_run(unit(20, 0), true, Fault::Verification);
    assert_eq!(
        model.scheduler.device(wrong).map(|device| device.faults),
        Some(1)
    );
}

#[test]
fn unavailable_is_not_failed() {
    let mut model = Model::new(small());
    let needs = |bytes| job(bytes, Priority::Normal, circuit(1, 1, 0), &[(1, bytes)]);
    model.submit(needs(60));
    let (needed, largest) = (Bytes(60), Bytes(0));
    assert_eq!(
        model.rejected.pop(),
        Some(Rejection::Unavailable { needed, largest })
    );
    model.device_up(D0, 100);
    model.device_up(D1, 50);
    model.submit(needs(60));
    model.submit(needs(40));
    model.device_down(D0, false);
    assert_eq!(model.jobs[&JobId(60)].outcome, None, "it is expected back");
    while model.jobs[&JobId(60)].outcome.is_none() {
        model.now = model
            .scheduler
            .next_wakeup()
            .expect("a probe")
            .max(model.now);
        model.send(Event::Tick);
        if let Some(at) = model.pending.iter().position(|p| *p == Pending::Probe(D0)) {
            model.answer(at, false, Fault::Device);
        }
    }
    let (needed, largest) = (Bytes(60), Bytes(50));
    let unavailable = Some(Outcome::Unavailable { needed, largest });
    assert_eq!(model.jobs[&JobId(60)].outcome, unavailable);
    assert_eq!(model.jobs[&JobId(40)].outcome, None);
    model.drain();
    assert_eq!(model.jobs[&JobId(40)].outcome, Some(Outcome::Completed));
}

#[test]
fn back_pressure_says_which_limit() {
    let config = Config {
        max_jobs: 3,
        max_tenant_jobs: 2,
        max_units: 6,
        ..small()
    };
    let mut model = Model::new(config);
    model.device_up(D0, 1000);
    let submit = |model: &mut Model, id, tenant, priority, units| {
        let units = vec![(1, 1); units];
        let tenant = TenantId(tenant);
        let spec = job(id, priority, circuit(1, 1, 1), &units);
        model.submit(JobSpec { tenant, ..spec });
        model.rejected.pop()
    };
    assert_eq!(submit(&mut model, 1, 1, Priority::Low, 1), None);
    assert_eq!(submit(&mut model, 2, 1, Priority::Low, 1), None);
    let full = submit(&mut model, 3, 1, Priority::Low, 1);
    assert_eq!(full, Some(Rejection::TenantFull { limit: 2 }));
    assert_eq!(submit(&mut model, 4, 2, Priority::Low, 1), None);
    let full = submit(&mut model, 5, 3, Priority::High, 1);
    assert_eq!(full, Some(Rejection::QueueFull { limit: 3 }));
    assert!(full.is_some_and(|reason| reason.is_back_pressure()));
    let full = submit(&mut model, 6, 3, Priority::Critical, 4);
    assert_eq!(full, Some(Rejection::UnitsFull { limit: 6 }));
    assert_eq!(submit(&mut model, 7, 3, Priority::Critical, 3), None);
    model.drain();
    assert_eq!(submit(&mut model, 8, 1, Priority::Low, 6), None);
}

#[test]
fn a_deadline_puts_a_job_ahead_and_then_ends_it() {
    let (lanes, witness_slots, ready_per_lane) = (1, 1, 0);
    let config = Config {
        lanes,
        witness_slots,
        ready_per_lane,
        ..small()
    };
    let mut model = Model::new(config);
    model.device_up(D0, 1000);
    let circuit = circuit(1, 1, 1);
    let with = |id, deadline| JobSpec {
        deadline,
        ..job(id, Priority::Normal, circuit, &[(1, 1)])
    };
    model.submit(with(1, None));
    model.submit(with(2, None));
    model.submit(with(3, Some(Instant(500))));
    model.submit(with(4, Some(Instant(400))));
    model.settle();
    assert_eq!(model.started, [unit(1, 0), unit(4, 0)]);
    model.now = Instant(500);
    model.send(Event::Tick);
    for id in [3, 4] {
        assert_eq!(model.jobs[&JobId(id)].outcome, Some(Outcome::Expired));
    }
    model.submit(with(5, Some(Instant(500))));
    assert_eq!(model.rejected, [Rejection::Expired]);
    model.drain();
}

#[test]
fn a_job_is_cancelled_in_every_state() {
    let steps: [fn(&mut Model); 5] = [
        |_| {},
        |model| model.answer(1, true, Fault::Device),
        |model| {
            model.answer(0, true, Fault::Device);
            model.answer(0, true, Fault::Device);
        },
        |model| model.settle(),
        |model| {
            model.settle();
            model.device_done(model.placed[0].0);
        },
    ];
    for (state, step) in steps.into_iter().enumerate() {
        let mut model = Model::new(small());
        model.device_up(D0, 1000);
        model.submit(job(1, Priority::Normal, circuit(1, 1, 1), &[(60, 1); 2]));
        step(&mut model);
        model.send(Event::Cancelled { job: JobId(1) });
        assert_eq!(model.jobs[&JobId(1)].outcome, Some(Outcome::Cancelled));
        model.settle();
        model.check_all_returned();
        model.submit(job(2, Priority::Normal, circuit(1, 1, 1), &[(60, 1)]));
        model.drain();
        assert_eq!(
            model.jobs[&JobId(2)].outcome,
            Some(Outcome::Completed),
            "{state}"
        );
    }
}

#[test]
fn limits_that_allow_nothing_are_errors() {
    let lanes = 0;
    let error = Scheduler::new(Config { lanes, ..small() }).map(drop);
    assert_eq!(error, Err(ConfigError::Zero { field: "lanes" }));
    let critical_host_memory = Bytes(100);
    let config = Config {
        critical_host_memory,
        ..small()
    };
    let (kept, budget) = (Bytes(100), Bytes(100));
    let error = Scheduler::new(config).map(drop);
    assert_eq!(error, Err(ConfigError::CriticalHostMemory { kept, budget }));
}

/// Units that shared a failed load leave before the next in line begins another.
#[test]
fn a_load_that_failed_for_two_is_begun_again_for_the_third() {
    let mut model = Model::new(Config {
        lanes: 3,
        ..small()
    });
    model.device_up(D0, 73);
    model.submit(job(1, Priority::Normal, circuit(1, 0, 10), &[(0, 0)]));
    model.settle();
    model.end_run(unit(1, 0), true, Fault::Device);
    model.submit(job(2, Priority::Normal, circuit(2, 0, 30), &[(0, 12); 3]));
    let loads = |p: &Pending| *p == Pending::Load(CircuitId(2), Place::Device(D0));
    while !model.pending.iter().any(loads)
        || model
            .pending
            .iter()
            .any(|p| matches!(p, Pending::Witness(_)))
    {
        let at = model.pending.iter().position(|p| !loads(p)).unwrap();
        model.answer(at, true, Fault::Device);
    }
    let at = model.pending.iter().position(loads).unwrap();
    model.answer(at, false, Fault::Device);
    model.drain();
    model.check_all_returned();
    assert_eq!(model.jobs[&JobId(2)].outcome, Some(Outcome::Completed));
}
