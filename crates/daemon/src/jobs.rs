//! The life of a job in the daemon: taken, handed to what proves, waited for, cancelled, ended.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cuzk_proof_api::Priority;
use cuzk_proto::v1::SubmitProofRequest;
use cuzk_proto::{identity_bytes, kind_name, to_request};
use cuzk_queue::{
    Cancelled, Claimed, ContentHash, Finished, Job, JobId, JobQueue, Outcome, QueueError, State,
    Submission, Submitted,
};
use prost::Message;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, timeout_at};
use tracing::{error, info, warn};

use crate::metrics::Metrics;
use crate::proving::{Ended, Proving, Work};
use crate::refusal::Refusal;
use crate::validate::validate;

/// How often waiting jobs are looked at when nothing says that one could start.
const TICK: Duration = Duration::from_secs(1);
/// How often whoever waits for a job looks at it when nobody says that it ended.
const LOOK: Duration = Duration::from_secs(5);
/// How often finished jobs are swept.
const SWEEP: Duration = Duration::from_secs(10);

/// Whether the daemon takes work.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It does.
    Serving,
    /// Jobs that run may end; no other is taken or started.
    Draining,
    /// Whoever waits is told to come again.
    Ending,
}

/// All jobs, between the queue and what proves.
pub struct Jobs {
    queue: Arc<dyn JobQueue>,
    proving: Arc<dyn Proving>,
    metrics: Metrics,
    /// Jobs of a priority and above that are started at a time.
    limit: usize,
    started: Mutex<HashMap<u64, Started>>,
    next_ticket: AtomicU64,
    waiters: Mutex<HashMap<JobId, Arc<Notify>>>,
    /// A job may have become ready, or a place free.
    wake: Notify,
    /// Requests that are decoded at a time.
    decoding: Arc<Semaphore>,
    phase: watch::Sender<Phase>,
}

/// A job that was handed to what proves.
#[derive(Clone)]
struct Started {
    id: JobId,
    attempt: u32,
    priority: u8,
}

impl Jobs {
    /// Jobs of a queue, proved by `proving`, at most `limit` of a priority and above at a time.
    pub fn new(queue: Arc<dyn JobQueue>, proving: Arc<dyn Proving>, limit: usize) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self {
            queue,
            proving,
            metrics: Metrics::new(),
            limit,
            started: Mutex::default(),
            next_ticket: AtomicU64::new(1),
            waiters: Mutex::default(),
            wake: Notify::new(),
            decoding: Arc::new(Semaphore::new(2 * cores)),
            phase: watch::Sender::new(Phase::Serving),
        })
    }

    /// The queue.
    pub fn queue(&self) -> &Arc<dyn JobQueue> {
        &self.queue
    }

    /// What proves.
    pub fn proving(&self) -> &Arc<dyn Proving> {
        &self.proving
    }

    /// The counters.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether work is taken.
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Takes a job: when this returns it is on disk, or there was one already. `held` is what the request's bytes take of
    /// memory, given back with them.
    pub async fn submit(
        self: &Arc<Self>,
        submit: SubmitProofRequest,
        held: impl Send + 'static,
    ) -> Result<Job, Refusal> {
        if self.phase() != Phase::Serving {
            return Err(Refusal::unavailable("the daemon is ending"));
        }
        let permit = Arc::clone(&self.decoding).acquire_owned().await;
        let permit = permit.map_err(|error| Refusal::internal(error.to_string()))?;
        // A caller that goes away drops what would come after this call, but not what is done in it.
        self.blocking(move |jobs| {
            let taken = jobs.take(submit);
            drop((permit, held));
            taken
        })
        .await?
    }

    fn take(&self, submit: SubmitProofRequest) -> Result<Job, Refusal> {
        let (job, how) = self.accept(submit)?;
        let result = match how {
            Submitted::New => "new",
            Submitted::Joined => "joined",
            Submitted::Completed => "completed",
        };
        *self
            .metrics
            .count()
            .submitted
            .entry((job.kind, result))
            .or_default() += 1;
        info!(job = %job.id, request = job.request_id, kind = kind_name(job.kind), result, "accepted");
        self.wake.notify_one();
        Ok(job)
    }

    fn accept(&self, submit: SubmitProofRequest) -> Result<(Job, Submitted), Refusal> {
        let valid = validate(submit)?;
        let submission = Submission {
            request_id: valid.submit.request_id.clone(),
            kind: valid.submit.proof_kind,
            priority: valid.priority as u8,
            payload: identity_bytes(valid.submit),
        };
        if !self.proving.status().in_service() {
            let content = ContentHash::of(&submission.payload);
            return match self.queue.job(JobId::of(&submission.request_id, &content)) {
                Ok(job) if matches!(job.state, State::Completed { .. }) => {
                    Ok((job, Submitted::Completed))
                }
                _ => Err(Refusal::unavailable("no device is in service")),
            };
        }
        Ok(self.queue.submit(submission, now_ms())?)
    }

    /// Waits for a job to end; none where it has not by then.
    pub async fn wait(
        self: &Arc<Self>,
        id: JobId,
        timeout: Option<Duration>,
    ) -> Result<Option<Job>, Refusal> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut phase = self.phase.subscribe();
        loop {
            let notify = self.waiter(id);
            let notified = notify.notified();
            tokio::pin!(notified);
            // From here on an end is not missed, so the state is read after it.
            notified.as_mut().enable();
            let job = match self.job(id).await {
                Ok(job) if !job.state.is_final() => job,
                found => {
                    // Others may have come under the same entry, which goes now.
                    self.tell(id);
                    return found.map(Some);
                }
            };
            let woken = async {
                tokio::select! {
                    () = notified => true,
                    () = tokio::time::sleep(LOOK) => true,
                    _ = phase.wait_for(|phase| *phase == Phase::Ending) => false,
                }
            };
            let woken = match until {
                Some(until) => timeout_at(until, woken).await,
                None => Ok(woken.await),
            };
            match woken {
                Ok(true) => {}
                Ok(false) => {
                    let message = format!("the daemon is ending; job {} is kept", job.id);
                    return Err(Refusal::unavailable(message));
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// A job as it stands.
    pub async fn job(self: &Arc<Self>, id: JobId) -> Result<Job, Refusal> {
        Ok(self.blocking(move |jobs| jobs.queue.job(id)).await??)
    }

    /// Cancels a job. Says whether it ran.
    pub async fn cancel(self: &Arc<Self>, id: JobId) -> Result<bool, Refusal> {
        // All of it in one call, which goes on where the caller does not.
        Ok(self.blocking(move |jobs| jobs.cancel_now(id)).await??)
    }

    fn cancel_now(&self, id: JobId) -> Result<bool, QueueError> {
        let (job, found) = self.queue.cancel(id, now_ms())?;
        if found == Cancelled::Ended {
            return Ok(false);
        }
        // The same job, submitted again since, is another attempt.
        let is_it = |started: &Started| (started.id, started.attempt) == (id, job.attempt);
        let tickets: Vec<u64> = {
            let started = self.lock_started();
            let of_job = started.iter().filter(|(_, started)| is_it(started));
            of_job.map(|(ticket, _)| *ticket).collect()
        };
        for ticket in tickets {
            self.proving.cancel(ticket);
        }
        info!(job = %id, "cancelled");
        self.metrics.count().add_ended(job.kind, "cancelled", 0, 0);
        self.tell(id);
        Ok(found == Cancelled::Running)
    }

    /// Hands jobs to what proves until the daemon drains.
    pub async fn dispatch(self: Arc<Self>) {
        let mut phase = self.phase.subscribe();
        while self.phase() == Phase::Serving {
            match self.blocking(|jobs| jobs.start_next()).await {
                Ok(Ok(true)) => continue,
                Ok(Ok(false)) => {}
                Ok(Err(error)) => error!(%error, "no job can be started"),
                Err(refusal) => error!(?refusal, "no job can be started"),
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep(TICK) => {}
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => {}
            }
        }
    }

    /// Sweeps finished jobs for as long as the daemon lives.
    pub async fn sweep(self: Arc<Self>) {
        loop {
            let swept = self.blocking(|jobs| {
                jobs.report_quarantined();
                jobs.queue.sweep(now_ms())
            });
            match swept.await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => error!(%error, "the store cannot be swept"),
                Err(refusal) => error!(?refusal, "the store cannot be swept"),
            }
            tokio::time::sleep(SWEEP).await;
        }
    }

    /// Takes no more work, waits for what was started, at most so long, then lets everyone who waits go.
    pub async fn drain(self: &Arc<Self>, limit: Duration) {
        self.phase.send_replace(Phase::Draining);
        let until = Instant::now() + limit;
        while !self.lock_started().is_empty() && Instant::now() < until {
            let tick = (Instant::now() + TICK).min(until);
            let _ = timeout_at(tick, self.wake.notified()).await;
        }
        self.phase.send_replace(Phase::Ending);
        if let Err(refusal) = self.blocking(|jobs| jobs.keep_started()).await {
            error!(?refusal, "jobs cannot be given back");
        }
    }

    /// Stops what was started and lets it wait for the next start.
    fn keep_started(&self) {
        let left: Vec<(u64, Started)> = self.lock_started().drain().collect();
        for (ticket, started) in left {
            info!(job = %started.id, "is kept for the next start");
            // First of all on disk: what runs when the process ends counts as what may have ended it.
            self.release(started.id, started.attempt);
            self.proving.cancel(ticket);
        }
    }

    /// Says what the queue set aside, to the log and to whoever waits for its job.
    fn report_quarantined(&self) {
        for found in self.queue.take_quarantined() {
            self.metrics.count().quarantined += 1;
            if let Some(id) = found.job {
                if let Ok(job) = self.queue.job(id)
                    && matches!(job.state, State::Failed { .. })
                {
                    self.metrics.count().add_ended(job.kind, "failed", 0, 0);
                }
                self.tell(id);
            }
            let job = found.job.map(|job| job.to_string());
            let file = found.file.map(|file| file.display().to_string());
            warn!(
                what = found.what,
                job, file, found.reason, "set aside from the store"
            );
        }
    }

    /// The least priority of which one more job may be started.
    fn admissible(&self) -> Option<u8> {
        let started = self.lock_started();
        let room = |priority: &u8| {
            let above = started
                .values()
                .filter(|started| started.priority >= *priority);
            above.count() < self.limit
        };
        (Priority::Low as u8..=Priority::Critical as u8).find(room)
    }

    /// Starts the job that is next. Says whether there was one and there may be another.
    fn start_next(self: &Arc<Self>) -> Result<bool, QueueError> {
        let Some(min_priority) = self.admissible() else {
            return Ok(false);
        };
        if !self.proving.status().in_service() {
            // Whatever was started now would be given back at once.
            return Ok(false);
        }
        let claimed = self.queue.claim(min_priority, now_ms());
        // A claim ends jobs whose payloads are damaged.
        self.report_quarantined();
        match claimed? {
            Some(claimed) => Ok(self.start(claimed)),
            None => Ok(false),
        }
    }

    fn start(self: &Arc<Self>, claimed: Claimed) -> bool {
        let job = claimed.job;
        let submit = match SubmitProofRequest::decode(claimed.payload.as_slice()) {
            Ok(submit) => submit,
            Err(error) => {
                let message = format!("the kept request does not read: {error}");
                self.finish(&job, Outcome::Failed { message });
                return true;
            }
        };
        let ticket = self.next_ticket.fetch_add(1, Ordering::Relaxed);
        let work = Work {
            ticket,
            job: job.id,
            kind: job.kind,
            priority: priority(job.priority),
            request: to_request(submit),
        };
        let started = Started {
            id: job.id,
            attempt: job.attempt,
            priority: job.priority,
        };
        self.lock_started().insert(ticket, started);
        let jobs = Arc::clone(self);
        let runtime = tokio::runtime::Handle::current();
        let ended = job.clone();
        let done = Box::new(move |how: Ended| {
            // Whatever thread this is: ending a job waits for the disk.
            runtime.spawn_blocking(move || jobs.ended(ticket, &ended, how));
        });
        info!(job = %job.id, request = job.request_id, attempt = job.attempt, "started");
        match self.proving.start(work, done) {
            Ok(()) => {
                // A cancellation between the claim and now has not seen the ticket.
                let is_wanted =
                    |found: Job| (found.attempt, found.state) == (job.attempt, State::Running);
                if !self.queue.job(job.id).is_ok_and(is_wanted) {
                    self.proving.cancel(ticket);
                }
                if self.phase() == Phase::Ending {
                    // Claimed while the daemon still served, and not seen by who gave the others back.
                    self.keep_started();
                }
                true
            }
            Err(refused) => {
                warn!(job = %job.id, %refused, "waits on");
                self.lock_started().remove(&ticket);
                self.release(job.id, job.attempt);
                false
            }
        }
    }

    fn ended(&self, ticket: u64, job: &Job, how: Ended) {
        if !self.lock_started().contains_key(&ticket) {
            // The daemon stopped waiting for it; the store still has it as unfinished.
            return;
        }
        match how {
            Ended::Completed { proof, timings } => {
                self.finish(job, Outcome::Completed { proof, timings });
            }
            Ended::Failed { message } => self.finish(job, Outcome::Failed { message }),
            // Whoever cancelled it has ended this attempt; should nobody have, it runs again.
            Ended::Cancelled => self.release(job.id, job.attempt),
            Ended::Unavailable { reason } => {
                let idle = !self.proving.status().in_service();
                if idle || self.phase() != Phase::Serving {
                    warn!(job = %job.id, reason, "waits on");
                    self.release(job.id, job.attempt);
                } else {
                    let message = format!("unavailable: {reason}");
                    self.finish(job, Outcome::Failed { message });
                }
            }
        }
        self.lock_started().remove(&ticket);
        self.wake.notify_one();
    }

    fn release(&self, id: JobId, attempt: u32) {
        match self.queue.release(id, attempt) {
            // It was cancelled in the meantime.
            Ok(()) | Err(QueueError::UnknownJob { .. }) => {}
            Err(error) => error!(job = %id, %error, "waits again, which the store does not take"),
        }
    }

    fn finish(&self, job: &Job, outcome: Outcome) {
        let now_ms = now_ms();
        let end = match &outcome {
            Outcome::Completed { .. } => "completed",
            Outcome::Failed { .. } => "failed",
        };
        let wait_ms = job
            .started_ms
            .unwrap_or(now_ms)
            .saturating_sub(job.accepted_ms);
        let total_ms = now_ms.saturating_sub(job.accepted_ms);
        match &outcome {
            Outcome::Completed { .. } => info!(job = %job.id, wait_ms, total_ms, "completed"),
            Outcome::Failed { message } => warn!(job = %job.id, total_ms, message, "failed"),
        }
        match self.queue.finish(job.id, job.attempt, outcome, now_ms) {
            Ok(Finished::Saved) => {}
            Ok(Finished::Unsaved { message }) => {
                error!(job = %job.id, message, "the store does not take the result; it is kept in memory");
            }
            Ok(Finished::Stale) => {
                // Another has ended it, and may have told nobody.
                self.tell(job.id);
                return;
            }
            Err(error) => error!(job = %job.id, %error, "the store does not take the result"),
        }
        self.metrics
            .count()
            .add_ended(job.kind, end, wait_ms, total_ms);
        self.tell(job.id);
    }

    /// Wakes whoever waits for a job.
    fn tell(&self, id: JobId) {
        if let Some(notify) = self.lock_waiters().remove(&id) {
            notify.notify_waiters();
        }
    }

    fn waiter(&self, id: JobId) -> Arc<Notify> {
        Arc::clone(self.lock_waiters().entry(id).or_default())
    }

    fn lock_waiters(&self) -> MutexGuard<'_, HashMap<JobId, Arc<Notify>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_started(&self) -> MutexGuard<'_, HashMap<u64, Started>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something no longer than until the daemon ends.
    pub async fn unless_ending<T>(&self, work: impl Future<Output = T>) -> Result<T, Refusal> {
        let mut phase = self.phase.subscribe();
        tokio::select! {
            done = work => Ok(done),
            _ = phase.wait_for(|phase| *phase == Phase::Ending) => {
                Err(Refusal::unavailable("the daemon is ending"))
            }
        }
    }

    /// Runs what may wait for a disk or compute where that holds nobody up.
    pub async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let jobs = Arc::clone(self);
        let span = tracing::Span::current();
        let task = tokio::task::spawn_blocking(move || span.in_scope(|| work(&jobs)));
        task.await
            .map_err(|error| Refusal::internal(format!("a task ended early: {error}")))
    }
}

/// The priority with this number, which the daemon put into the queue itself.
fn priority(number: u8) -> Priority {
    let all = [
        Priority::Low,
        Priority::Normal,
        Priority::High,
        Priority::Critical,
    ];
    let found = all.into_iter().find(|priority| *priority as u8 == number);
    found.unwrap_or(Priority::Normal)
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
