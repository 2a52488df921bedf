//! Submitting, waiting, watching; and what is refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuzk_engine::{Engine, EngineError, JobEvent, JobState, Outcome, Refused, Submission};
use cuzk_proof_api::{Priority, by_id};
use cuzk_testing::simulated::{Fault, Step};

use crate::support::*;

#[test]
fn a_request_is_decoded_proved_and_verified() {
    let devices = devices(1, Duration::ZERO);
    let engine = engine(config(), &devices);
    let toy = by_id("toy").unwrap();
    for (size, circuit) in [(1, "toy-cubic"), (2, "toy-chain")] {
        let request = toy_request(size, &[3, 4, 5]);
        let handle = engine.submit(Submission::request(toy, request)).unwrap();
        assert_completes(&handle, &ToyJob::new(circuit, [3, 4, 5]));
        assert_eq!(handle.progress(), (3, 3));
        assert_eq!(handle.state(), JobState::Ended);
        assert!(handle.timings().total > Duration::ZERO);
    }
    assert_baseline(&engine, &devices);
    let counters = engine.status().counters;
    assert_eq!((counters.submitted, counters.completed), (2, 2));
    assert_eq!(counters.proofs, 6);
}

#[test]
fn a_subscriber_sees_all_that_happens_in_order() {
    let engine = engine(config(), &devices(1, Duration::ZERO));
    let gate = Arc::new(Gate::default());
    let mut job = ToyJob::new("toy-cubic", [1, 2]);
    job.witness_gate = Some(Arc::clone(&gate));
    let handle = submit(&engine, &job);
    let events = handle.subscribe();
    gate.open();
    let seen: Vec<JobEvent> = events.iter().collect();
    for partition in 0..2 {
        let place = |wanted: &dyn Fn(&JobEvent) -> bool| {
            let found = seen.iter().position(wanted);
            found.unwrap_or_else(|| panic!("{seen:?}"))
        };
        let done = place(&|e| *e == JobEvent::WitnessDone { partition });
        let started =
            place(&|e| matches!(e, JobEvent::Started { partition: p, .. } if *p == partition));
        let proved =
            place(&|e| matches!(e, JobEvent::Proved { partition: p, .. } if *p == partition));
        assert!(done < started && started < proved, "{seen:?}");
    }
    let ends = seen.iter().filter(|e| matches!(e, JobEvent::Ended(_)));
    assert_eq!(ends.count(), 1);
    assert!(matches!(
        seen.last(),
        Some(JobEvent::Ended(Outcome::Completed(_)))
    ));
    // Who comes late hears the end.
    let late: Vec<JobEvent> = handle.subscribe().iter().collect();
    assert_eq!(late, seen[seen.len() - 1..]);
}

#[test]
fn waiting_ends_after_its_time_and_the_job_goes_on() {
    let engine = engine(config(), &devices(1, Duration::ZERO));
    let gate = Arc::new(Gate::default());
    let mut job = ToyJob::new("toy-cubic", [1]);
    job.witness_gate = Some(Arc::clone(&gate));
    let handle = submit(&engine, &job);
    assert_eq!(handle.wait_timeout(Duration::from_millis(20)), None);
    assert_eq!(handle.outcome(), None);
    gate.open();
    assert_completes(&handle, &job);
}

#[test]
fn bad_requests_and_bad_circuits_fail_and_say_why() {
    let devices = devices(1, Duration::ZERO);
    let engine = engine(config(), &devices);
    let toy = by_id("toy").unwrap();
    let mut request = toy_request(1, &[3]);
    request.vanilla_proofs[0].pop();
    let handle = engine.submit(Submission::request(toy, request)).unwrap();
    let failed = |outcome: Outcome| match outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("{other}"),
    };
    let failure = failed(outcome(&handle));
    assert!(failure.message.contains("8 bytes"), "{failure}");
    assert_eq!((failure.partition, failure.attempts), (None, 0));

    let mut job = ToyJob::new("toy-cubic", [1, 2, 3]);
    job.panics = Some(1);
    let failure = failed(outcome(&submit(&engine, &job)));
    assert!(failure.message.contains("panics"), "{failure}");
    assert_eq!((failure.partition, failure.device), (Some(1), None));

    let mut job = ToyJob::new("toy-chain", [1, 2, 3]);
    job.misstates = Some(2);
    let failure = failed(outcome(&submit(&engine, &job)));
    assert!(
        failure.message.contains("public input 0 of partition 2"),
        "{failure}"
    );
    assert_eq!(failure.partition, Some(2));

    assert!(matches!(
        outcome(&submit(&engine, &ToyJob::new("toy-cubic", []))),
        Outcome::Failed(_)
    ));
    assert_completes(
        &submit(&engine, &ToyJob::new("toy-chain", [9])),
        &ToyJob::new("toy-chain", [9]),
    );
    assert_baseline(&engine, &devices);
}

#[test]
fn a_full_queue_refuses_and_takes_again() {
    let mut config = config();
    config.scheduler.max_jobs = 2;
    config.scheduler.max_tenant_jobs = 3;
    let engine = engine(config, &devices(1, Duration::ZERO));
    let gate = Arc::new(Gate::default());
    let mut job = ToyJob::new("toy-cubic", [1]);
    job.witness_gate = Some(Arc::clone(&gate));
    let take = |priority, tenant| {
        let submission = Submission::job(job.clone()).priority(priority);
        engine.submit(submission.tenant(tenant))
    };
    let mut handles = vec![
        take(Priority::Normal, 1).unwrap(),
        take(Priority::Low, 1).unwrap(),
    ];
    assert_eq!(
        take(Priority::High, 2).unwrap_err(),
        Refused::QueueFull { limit: 2 }
    );
    handles.push(take(Priority::Critical, 1).unwrap());
    assert_eq!(
        take(Priority::Critical, 1).unwrap_err(),
        Refused::TenantFull {
            tenant: 1,
            limit: 3
        }
    );
    gate.open();
    handles
        .iter()
        .for_each(|handle| assert_completes(handle, &job));
    wait_for(&engine, "an empty queue", |status| status.jobs.is_empty());
    assert_completes(&take(Priority::Normal, 1).unwrap(), &job);
}

#[test]
fn deadlines_end_jobs_in_every_queue() {
    let devices = devices(1, Duration::ZERO);
    let engine = engine(config(), &devices);
    let gate = Arc::new(Gate::default());
    let mut job = ToyJob::new("toy-cubic", [1, 2, 3]);
    job.witness_gate = Some(Arc::clone(&gate));
    let soon = |ms| Instant::now() + Duration::from_millis(ms);
    let late = Submission::job(job.clone()).deadline(soon(30));
    let late = engine.submit(late).unwrap();
    let past = Submission::job(ToyJob::new("toy-chain", [1])).deadline(soon(0));
    let past = engine.submit(past).unwrap();
    assert_eq!(outcome(&late), Outcome::Expired);
    assert_eq!(outcome(&past), Outcome::Expired);
    gate.open();
    let enough = Submission::job(job.clone()).deadline(Instant::now() + PATIENCE);
    assert_completes(&engine.submit(enough).unwrap(), &job);
    assert_baseline(&engine, &devices);
}

#[test]
fn draining_lets_jobs_end_and_takes_no_more() {
    let engine = engine(config(), &devices(1, Duration::ZERO));
    let gate = Arc::new(Gate::default());
    let mut job = ToyJob::new("toy-cubic", [1, 2]);
    job.witness_gate = Some(Arc::clone(&gate));
    let handle = submit(&engine, &job);
    assert!(!engine.drain(Duration::from_millis(20)));
    assert_eq!(
        engine.submit(Submission::job(job.clone())).unwrap_err(),
        Refused::ShuttingDown
    );
    gate.open();
    assert!(engine.drain(PATIENCE));
    assert_completes(&handle, &job);
}

#[test]
fn a_dropped_engine_ends_its_jobs() {
    let devices = devices(1, Duration::from_millis(5));
    let engine = engine(config(), &devices);
    let handles: Vec<_> = (0..5)
        .map(|i| submit(&engine, &ToyJob::new("toy-cubic", i..i + 20)))
        .collect();
    eventually("some work", || devices[0].report().started > 0);
    drop(engine);
    let ended: Vec<Outcome> = handles.iter().map(|handle| handle.wait()).collect();
    let unavailable = |outcome: &Outcome| matches!(outcome, Outcome::Unavailable { .. });
    assert!(ended.iter().any(unavailable), "{ended:?}");
    let report = devices[0].report();
    assert_eq!((report.in_flight, report.used_bytes), (0, 0));
}

/// A thread that hangs is left behind.
#[test]
fn an_engine_can_be_dropped_while_a_device_hangs() {
    let devices = devices(1, Duration::ZERO);
    let mut config = config();
    config.shutdown_grace = Duration::from_millis(50);
    let engine = engine(config, &devices);
    devices[0].inject(Step::Quotient, Fault::Hang, 1);
    let handle = submit(&engine, &ToyJob::new("toy-cubic", [1]));
    eventually("a hang", || devices[0].report().hanging == 1);
    drop(engine);
    assert!(matches!(handle.wait(), Outcome::Unavailable { .. }));
    handle.cancel();
    devices[0].heal();
    eventually("an empty device", || devices[0].report().used_bytes == 0);
}

#[test]
fn devices_that_are_one_are_refused() {
    let one = &devices(1, Duration::ZERO);
    let twice = [with_lanes(one, 2), with_lanes(one, 2)].concat();
    let error = Engine::new(config(), twice, toys()).unwrap_err();
    assert!(matches!(error, EngineError::Lease(_)), "{error}");
    let error = Engine::new(config(), with_lanes(one, 1), toys()).unwrap_err();
    assert!(
        matches!(
            error,
            EngineError::Lanes {
                wanted: 2,
                found: 1,
                ..
            }
        ),
        "{error}"
    );
    let mut none = config();
    none.decoders = 0;
    let error = Engine::new(none, with_lanes(one, 2), toys()).unwrap_err();
    assert!(matches!(error, EngineError::Zero { field: "decoders" }));
}
