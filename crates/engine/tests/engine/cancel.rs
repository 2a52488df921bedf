//! Cancelling in every state, and that every job ends exactly once whatever happens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuzk_engine::{JobEvent, JobState, Outcome, Submission};
use cuzk_proof_api::Priority;
use cuzk_testing::simulated::{Fault, SimulatedDevice, Step};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::early::slow;
use crate::support::*;

#[test]
fn in_the_queue_and_during_the_witness() {
    let devices = devices(1, Duration::ZERO);
    let mut config = config();
    config.scheduler.witness_slots = 1;
    let engine = engine(config, &devices);
    let gate = Arc::new(Gate::default());
    let mut held = ToyJob::new("toy-cubic", [1, 2]);
    held.witness_gate = Some(Arc::clone(&gate));
    let in_witness = submit(&engine, &held);
    wait_for(&engine, "a witness", |status| status.in_witness == 1);
    let queued = submit(&engine, &ToyJob::new("toy-chain", [3]));
    wait_for(&engine, "the queue", |status| status.waiting >= 1);
    for handle in [&queued, &in_witness] {
        handle.cancel();
        assert_eq!(outcome(handle), Outcome::Cancelled);
        handle.cancel();
    }
    // The witness cannot be interrupted; what it takes stays reserved until it is over.
    assert!(engine.status().host_reserved_bytes > 0);
    gate.open();
    let next = ToyJob::new("toy-cubic", [7]);
    assert_completes(&submit(&engine, &next), &next);
    assert_baseline(&engine, &devices);
    assert_eq!(engine.status().counters.cancelled, 2);
}

#[test]
fn on_a_device_and_on_one_that_hangs() {
    let devices = devices(1, Duration::from_millis(20));
    let engine = engine(config(), &devices);
    let running = submit(&engine, &ToyJob::new("toy-cubic", 0..10));
    eventually("work on the device", || devices[0].report().in_flight == 2);
    running.cancel();
    assert_eq!(outcome(&running), Outcome::Cancelled);
    assert_baseline(&engine, &devices);
    // Cancelled between two operations, not after the whole proof, nor after ten.
    assert!(devices[0].report().started <= 4);

    devices[0].inject(Step::Msm, Fault::Hang, 1);
    let hanging = submit(&engine, &ToyJob::new("toy-cubic", [1]));
    eventually("a hang", || devices[0].report().hanging == 1);
    hanging.cancel();
    assert_eq!(outcome(&hanging), Outcome::Cancelled);
    // The other lane works meanwhile.
    let beside = ToyJob::new("toy-cubic", [4]);
    assert_completes(&submit(&engine, &beside), &beside);
    devices[0].heal();
    assert_baseline(&engine, &devices);
    let next = ToyJob::new("toy-chain", [7]);
    assert_completes(&submit(&engine, &next), &next);
}

#[test]
fn while_a_witness_waits_for_a_lane() {
    let devices = devices(1, Duration::ZERO);
    let mut config = config();
    config.scheduler.lanes = 1;
    config.scheduler.ready_per_lane = 4;
    let engine = engine(config, &devices);
    devices[0].inject(Step::Msm, Fault::Hang, 1);
    let first = ToyJob::new("toy-cubic", [1]);
    let first_handle = submit(&engine, &first);
    eventually("a hang", || devices[0].report().hanging == 1);
    let ready = submit(&engine, &ToyJob::new("toy-cubic", [2, 3]));
    wait_for(&engine, "witnesses", |status| status.ready == 2);
    ready.cancel();
    assert_eq!(outcome(&ready), Outcome::Cancelled);
    wait_for(&engine, "no witnesses", |status| status.ready == 0);
    devices[0].heal();
    assert_completes(&first_handle, &first);
    assert_baseline(&engine, &devices);
}

#[test]
fn while_the_answer_is_put_together() {
    let devices = devices(1, Duration::ZERO);
    let engine = engine(config(), &devices);
    let gate = Arc::new(Gate::default());
    let mut job = ToyJob::new("toy-cubic", [1, 2]);
    job.assemble_gate = Some(Arc::clone(&gate));
    let handle = submit(&engine, &job);
    eventually("the last step", || handle.state() == JobState::Assembling);
    handle.cancel();
    assert_eq!(outcome(&handle), Outcome::Cancelled);
    gate.open();
    assert_baseline(&engine, &devices);
    assert_eq!(engine.status().counters.completed, 0);
}

/// When a device hangs in a storm of hangs. On a busy machine one that does not may be taken to, which is as good.
const STALL: Duration = Duration::from_millis(150);

/// A job of random size and the same with a random priority, tenant and perhaps a deadline.
fn random_job(rng: &mut ChaCha8Rng) -> (ToyJob, Submission) {
    let partitions = rng.gen_range(0..7);
    let job = ToyJob::new(
        TOYS[rng.gen_range(0..2)],
        (0..partitions).map(|_| rng.r#gen()),
    );
    let priority = [
        Priority::Low,
        Priority::Normal,
        Priority::High,
        Priority::Critical,
    ];
    let mut submission = Submission::job(job.clone())
        .priority(priority[rng.gen_range(0..4)])
        .tenant(rng.gen_range(0..3));
    if rng.gen_ratio(1, 5) {
        let soon = Duration::from_millis(rng.gen_range(0..60));
        submission = submission.deadline(Instant::now() + soon);
    }
    (job, submission)
}

/// Something goes wrong on one of the devices, perhaps.
fn random_fault(rng: &mut ChaCha8Rng, devices: &[SimulatedDevice], hangs: bool) {
    let faults = [Fault::Error, Fault::OutOfMemory, Fault::WrongResult];
    if rng.gen_ratio(1, 3) {
        let device = &devices[rng.gen_range(0..devices.len())];
        let step = Step::ALL[rng.gen_range(0..Step::ALL.len())];
        device.inject(step, faults[rng.gen_range(0..3)], 1);
    }
    if hangs && rng.gen_ratio(1, 8) {
        let steps = [Step::LoadPoints, Step::Msm, Step::MsmQuery, Step::Free];
        let device = &devices[rng.gen_range(0..devices.len())];
        device.inject(steps[rng.gen_range(0..4)], Fault::Hang, 1);
    }
}

/// Jobs of random sizes, priorities and deadlines, cancelled at random, on devices that fail at random, and in some storms
/// hang.
fn storm(seed: u64) {
    let hangs = seed % 4 < 2;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let devices = devices(3, Duration::from_micros(300));
    let mut config = config();
    config.scheduler.max_faults = rng.gen_range(1..5);
    config.scheduler.witness_slots = rng.gen_range(1..4);
    config.scheduler.host_memory = cuzk_engine::Bytes(rng.gen_range(3..12) << 20);
    config.stall_after = if hangs { STALL } else { Duration::MAX };
    config.load_stall_after = config.stall_after;
    let compiles = Duration::from_millis(rng.gen_range(0..80));
    let engine = match seed % 2 {
        0 => engine(config, &devices),
        _ => slow(compiles, config, &devices),
    };
    let mut jobs = Vec::new();
    for _ in 0..40 {
        let (job, submission) = random_job(&mut rng);
        let handle = engine.submit(submission).unwrap();
        jobs.push((handle.subscribe(), handle, job));
        random_fault(&mut rng, &devices, hangs);
        if rng.gen_ratio(1, 3) {
            let (_, handle, _) = &jobs[rng.gen_range(0..jobs.len())];
            handle.cancel();
        }
        if rng.gen_ratio(1, 2) {
            std::thread::sleep(Duration::from_micros(rng.gen_range(0..8000)));
        }
    }
    if hangs {
        // Some are lost, with all that is on them, and come back.
        std::thread::sleep(3 * STALL);
        devices.iter().for_each(|device| device.heal());
    }
    for (events, handle, job) in &jobs {
        let ended = outcome(handle);
        if let Outcome::Completed(completed) = &ended {
            assert!(job.verifies(&completed.proof), "seed {seed}");
        }
        let ends: Vec<JobEvent> = events
            .iter()
            .filter(|event| matches!(event, JobEvent::Ended(_)))
            .collect();
        assert_eq!(ends, [JobEvent::Ended(ended)], "seed {seed}, {handle:?}");
    }
    devices.iter().for_each(|device| device.heal());
    assert_baseline(&engine, &devices);
    let counters = engine.status().counters;
    assert_eq!(counters.ended(), 40, "seed {seed}: {counters:?}");
    let next = ToyJob::new("toy-cubic", [1, 2, 3]);
    eventually("a job that passes", || {
        let ended = outcome(&submit(&engine, &next));
        assert!(hangs || matches!(ended, Outcome::Completed(_)), "{ended}");
        matches!(ended, Outcome::Completed(completed) if next.verifies(&completed.proof))
    });
}

#[test]
fn every_job_ends_exactly_once() {
    (0..8).for_each(storm);
}
