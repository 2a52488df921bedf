//! The fault that began this project: jobs of one circuit a partition, from several workers, on two devices. In the
//! system before this one all of them ran on the first device, two at once under two different locks, and no proof was
//! valid.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cuzk_engine::{Engine, Outcome, Submission};
use cuzk_testing::simulated::{Settings, SimulatedDevice};

use crate::support::*;

const WORKERS: u64 = 4;
const JOBS: u64 = 20;
const PARTITIONS: u64 = 10;
const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// Runs the jobs from all workers and gives those that did not complete; every proof that was returned is valid.
fn run(engine: &SimulatedEngine) -> Vec<Outcome> {
    std::thread::scope(|scope| {
        let worker = |w: u64| {
            let mut others = Vec::new();
            for j in (0..JOBS).filter(|j| j % WORKERS == w) {
                let job = ToyJob::new("toy-cubic", (0..PARTITIONS).map(|p| 100 * j + p));
                let submission = Submission::job(job.clone()).tenant(w);
                match outcome(&engine.submit(submission).unwrap()) {
                    Outcome::Completed(completed) => assert!(job.verifies(&completed.proof)),
                    other => others.push(other),
                }
            }
            others
        };
        let workers: Vec<_> = (0..WORKERS)
            .map(|w| scope.spawn(move || worker(w)))
            .collect();
        let others = workers.into_iter().map(|worker| worker.join().unwrap());
        others.flatten().collect()
    })
}

/// What must hold of a run on these devices; what does not, in words.
fn judge(
    engine: &SimulatedEngine,
    devices: &[SimulatedDevice],
    others: &[Outcome],
) -> Result<(), String> {
    for device in devices {
        let report = device.report();
        if report.violations > 0 {
            let count = report.violations;
            return Err(format!(
                "{}: two works in one lane, {count} times",
                device.name()
            ));
        }
    }
    if let Some(other) = others.first() {
        return Err(format!("{} jobs did not complete: {other}", others.len()));
    }
    let status = engine.status();
    let (all, proofs) = (JOBS * PARTITIONS, status.counters.proofs);
    if (proofs, status.counters.faults) != (all, 0) {
        return Err(format!("{proofs} of {all} proofs: {:?}", status.counters));
    }
    for (device, simulated) in status.devices.iter().zip(devices) {
        let share = 100 * device.proofs / all;
        println!("{}: {share} % of {all} partitions", device.name);
        if !(40..=60).contains(&share) {
            return Err(format!("{}: {share} % of the partitions", device.name));
        }
        // What the engine calls this device is what did the work.
        if (&*device.name, device.proofs) != (simulated.name(), simulated.report().started) {
            return Err(format!("{} did the work of another", device.name));
        }
    }
    Ok(())
}

fn run_and_judge() -> Result<(), String> {
    let devices = devices(2, Duration::from_millis(3));
    let engine = engine(config(), &devices);
    let others = run(&engine);
    judge(&engine, &devices, &others)?;
    assert_baseline(&engine, &devices);
    Ok(())
}

#[test]
fn partitions_spread_over_all_devices_and_all_are_valid() {
    run_and_judge().unwrap();
}

/// One thread changes the variable that chose the device, while the jobs run.
#[test]
fn no_environment_variable_changes_anything() {
    for value in [Some("0"), Some("1"), Some("")] {
        temp_env::with_var(VARIABLE, value, || {
            let devices = devices(2, Duration::from_millis(1));
            let engine = engine(config(), &devices);
            let job = ToyJob::new("toy-cubic", 0..20);
            assert_completes(&submit(&engine, &job), &job);
            let proofs: Vec<u64> = engine.status().devices.iter().map(|d| d.proofs).collect();
            assert!(
                proofs.iter().all(|&proofs| proofs > 0),
                "{value:?}: {proofs:?}"
            );
        });
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for value in [Some("0"), Some("1"), Some("1,0"), None] {
                    temp_env::with_var(VARIABLE, value, || {
                        std::thread::sleep(Duration::from_millis(1));
                    });
                }
            }
        });
        let verdict = run_and_judge();
        done.store(true, Ordering::Relaxed);
        changing.join().unwrap();
        verdict.unwrap();
    });
}

/// The fault itself, as a double: both of the engine's devices are the first one, each with lanes of its own to lock. The
/// test that guards against it must fail, and no wrong proof may come out even so.
#[test]
fn wrong_locking_is_caught() {
    let first = SimulatedDevice::new(
        "simulated 0",
        Settings {
            latency: Duration::from_millis(1),
            ..Settings::default()
        },
    );
    let mut config = config();
    config.scheduler.max_faults = u32::MAX;
    let claimed = |ordinal: u32| {
        let lanes = (0..2).map(|lane| first.lane(lane)).collect();
        device(&format!("simulated {ordinal}"), ordinal, &first, lanes)
    };
    let engine = Engine::new(config, vec![claimed(0), claimed(1)], toys()).unwrap();
    let others = run(&engine);
    let verdict = judge(&engine, &[first.clone(), first.clone()], &others);
    println!("{verdict:?}, {:?}", first.report());
    assert!(verdict.unwrap_err().contains("two works in one lane"));
    assert!(engine.status().counters.invalid > 0);
}

/// How long a device or two take for a job, with as many partitions in it.
fn time(count: usize, partitions: u64) -> Duration {
    let devices = devices(count, Duration::from_millis(25));
    let engine = engine(config(), &devices);
    let first = ToyJob::new("toy-cubic", [1, 2]);
    assert_completes(&submit(&engine, &first), &first);
    let job = ToyJob::new("toy-cubic", 0..partitions);
    let start = Instant::now();
    assert_completes(&submit(&engine, &job), &job);
    start.elapsed()
}

/// Devices' time, which is simulated, outweighs the processor's by far; a busy machine gets five tries.
#[test]
fn two_devices_do_twice_as_much() {
    let ratio = || time(1, 24).as_secs_f64() / time(2, 24).as_secs_f64();
    let ratios: Vec<f64> = std::iter::repeat_with(ratio)
        .take(5)
        .scan(false, |enough, ratio| {
            let before = std::mem::replace(enough, *enough || ratio >= 1.85);
            (!before).then_some(ratio)
        })
        .collect();
    println!("two devices did {ratios:.2?} times what one did");
    assert!(ratios.iter().any(|&ratio| ratio >= 1.85), "{ratios:?}");
}
