//! Devices that go, payloads that are damaged, callers that leave in the middle of a cancellation.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::support::daemon::{client, start_in};
use crate::support::simulated::{Shared, Simulated};
use crate::support::{Client, check, prove, request, start, status, submit, wait};
use cuzk_daemon::Daemon;
use cuzk_daemon::config::Config;
use cuzk_proto::v1::await_proof_response::Status;
use cuzk_proto::v1::{CancelProofRequest, GetMetricsRequest};
use cuzk_queue::{
    Cancelled, Claimed, EmbeddedQueue, Finished, Job, JobId, JobQueue, Outcome, Quarantined,
    QueueError, Submission, Submitted, Swept, Usage,
};
use tokio::sync::watch;

async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn without_devices_no_job_is_started_until_there_is_one() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    // A refusal delays the job, and in the meantime the device goes.
    daemon.proving.refuse.store(1, Ordering::SeqCst);
    let one = request(4, "one", b"x");
    let id = submit(&mut client, one.clone()).await.expect("taken");
    until("it is refused", || {
        daemon.proving.refuse.load(Ordering::SeqCst) == 0
    })
    .await;
    daemon.proving.in_service.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let started = daemon.proving.started.load(Ordering::SeqCst);
    assert!(started <= 2, "{started} starts without a device");
    daemon.proving.in_service.store(true, Ordering::SeqCst);
    let answer = wait(&mut client, &id, 10_000).await.expect("it is known");
    check(&answer, &one);
    daemon.end().await;
}

#[tokio::test]
async fn who_waits_for_a_damaged_payload_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let daemon = start_in(folder.path(), |config| config.in_flight = Some(1)).await;
    let mut client = daemon.client().await;
    let first = submit(&mut client, request(1, "first", b"hangs"))
        .await
        .expect("taken");
    until("the first runs", || daemon.proving.running() == 1).await;
    let bad = request(1, "bad", b"is damaged");
    let before = files(folder.path());
    let id = submit(&mut client, bad.clone()).await.expect("taken");
    let new = files(folder.path());
    let file = new.iter().find(|file| !before.contains(file));
    std::fs::write(file.expect("its payload"), b"noise").expect("it is ours");

    let (mut prover, mut waiter) = (daemon.client().await, daemon.client().await);
    let start = Instant::now();
    let waiters = async {
        let (proved, waited) = tokio::join!(prove(&mut prover, bad), wait(&mut waiter, &id, 0));
        for answer in [proved, waited] {
            let answer = answer.expect("it has ended");
            assert_eq!(status(&answer), Status::Failed);
            assert!(answer.error_message.contains("damaged"), "{answer:?}");
        }
    };
    let canceller = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel(client.clone(), first).await.expect("it runs");
    };
    let both = async { tokio::join!(waiters, canceller) };
    // They are told: looking again by themselves takes longer.
    let done = tokio::time::timeout(Duration::from_secs(4), both).await;
    assert!(
        done.is_ok(),
        "nobody has told them in {:?}",
        start.elapsed()
    );
    let metrics = client.get_metrics(GetMetricsRequest {}).await;
    let text = metrics.expect("it answers").into_inner().prometheus_text;
    for line in [
        "cuzk_jobs_ended_total{kind=\"POREP_SEAL_COMMIT\",end=\"failed\"} 1",
        "cuzk_store_quarantined_total 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    daemon.end().await;
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder.join("store/payloads")).expect("it is there");
    entries
        .map(|entry| entry.expect("it lists").path())
        .collect()
}

async fn cancel(mut client: Client, job_id: String) -> Result<bool, tonic::Status> {
    let answer = client.cancel_proof(CancelProofRequest { job_id }).await?;
    Ok(answer.into_inner().was_running)
}

/// A queue whose disk takes its time to note a cancellation.
struct Slow(EmbeddedQueue);

const NOTED: Duration = Duration::from_millis(500);

impl JobQueue for Slow {
    fn submit(&self, submission: Submission, now_ms: u64) -> Result<(Job, Submitted), QueueError> {
        self.0.submit(submission, now_ms)
    }
    fn claim(&self, min_priority: u8, now_ms: u64) -> Result<Option<Claimed>, QueueError> {
        self.0.claim(min_priority, now_ms)
    }
    fn release(&self, id: JobId, attempt: u32) -> Result<(), QueueError> {
        self.0.release(id, attempt)
    }
    fn finish(
        &self,
        id: JobId,
        attempt: u32,
        outcome: Outcome,
        now_ms: u64,
    ) -> Result<Finished, QueueError> {
        self.0.finish(id, attempt, outcome, now_ms)
    }
    fn cancel(&self, id: JobId, now_ms: u64) -> Result<(Job, Cancelled), QueueError> {
        let cancelled = self.0.cancel(id, now_ms);
        std::thread::sleep(NOTED);
        cancelled
    }
    fn job(&self, id: JobId) -> Result<Job, QueueError> {
        self.0.job(id)
    }
    fn position(&self, id: JobId) -> usize {
        self.0.position(id)
    }
    fn jobs(&self, limit: usize) -> Result<Vec<Job>, QueueError> {
        self.0.jobs(limit)
    }
    fn sweep(&self, now_ms: u64) -> Result<Swept, QueueError> {
        self.0.sweep(now_ms)
    }
    fn usage(&self) -> Usage {
        self.0.usage()
    }
    fn take_quarantined(&self) -> Vec<Quarantined> {
        self.0.take_quarantined()
    }
}

#[tokio::test]
async fn a_cancellation_is_done_whole_and_of_its_attempt_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        ..Config::default()
    };
    let queue = EmbeddedQueue::open(folder.path(), config.queue.clone(), 1).expect("it opens");
    let proving = Simulated::new();
    let shared = Arc::new(Shared(Arc::clone(&proving)));
    let daemon = Daemon::bind(config, false, Arc::new(Slow(queue)), shared);
    let daemon = daemon.await.expect("it binds");
    let address = daemon.address().expect("it has one");
    let (stop, stopped) = watch::channel(0);
    let served = tokio::spawn(daemon.serve(stopped));
    let mut caller = client(&address).await;

    // Whoever cancels goes away before the disk has noted it.
    let hangs = request(1, "hangs", b"hangs");
    let id = submit(&mut caller, hangs.clone()).await.expect("taken");
    until("it runs", || proving.running() == 1).await;
    let mut other = client(&address).await;
    let waiting = id.clone();
    let waiter = tokio::spawn(async move { wait(&mut other, &waiting, 0).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let leaving = cancel(client(&address).await, id.clone());
    let left = tokio::time::timeout(NOTED / 5, leaving).await;
    assert!(left.is_err(), "it takes longer");
    let told = tokio::time::timeout(Duration::from_secs(3), waiter).await;
    let told = told.expect("who waits is told").expect("no panic");
    assert_eq!(status(&told.expect("it ended")), Status::Cancelled);
    until("what proves is told", || proving.running() == 0).await;

    // Whoever submits it again while the disk notes the cancellation gets another attempt, which goes on.
    submit(&mut caller, hangs.clone()).await.expect("taken");
    until("it runs", || proving.running() == 1).await;
    let canceller = tokio::spawn(cancel(client(&address).await, id.clone()));
    tokio::time::sleep(NOTED / 5).await;
    submit(&mut caller, hangs).await.expect("taken");
    until("it runs again", || proving.running() == 2).await;
    assert!(canceller.await.expect("no panic").expect("it ran"));
    assert_eq!(proving.running(), 1, "the new attempt goes on");
    let answer = wait(&mut caller, &id, 100).await.expect("it is known");
    assert_eq!(status(&answer), Status::Timeout);
    stop.send_replace(2);
    served.await.expect("no panic").expect("it ends well");
}
