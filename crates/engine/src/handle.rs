//! A job as its submitter holds it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::job::Shared;
use crate::{JobEvent, JobId, JobState, Outcome, Timings};

/// A job as its submitter holds it. Clones are of the same job. Dropping a handle cancels nothing.
#[derive(Clone)]
pub struct JobHandle {
    id: JobId,
    shared: Arc<Shared>,
    cancel: Arc<dyn Fn(JobId) + Send + Sync>,
}

impl JobHandle {
    pub(crate) fn new(
        id: JobId,
        shared: Arc<Shared>,
        cancel: Arc<dyn Fn(JobId) + Send + Sync>,
    ) -> Self {
        Self { id, shared, cancel }
    }

    /// The job's number.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Waits for the outcome. It always comes: with the engine, its jobs end.
    pub fn wait(&self) -> Outcome {
        let outcome = self.shared.wait(None);
        outcome.unwrap_or(Outcome::Cancelled)
    }

    /// Waits for the outcome at most so long; `None` where there is none then. The job goes on.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Outcome> {
        self.shared.wait(Some(timeout))
    }

    /// The outcome, if there is one yet.
    pub fn outcome(&self) -> Option<Outcome> {
        self.shared.outcome()
    }

    /// Cancels the job, whatever its state, unless it has ended. Its outcome is there at once or soon; what is under way
    /// of it stops at the next stage, and its memory is free then.
    pub fn cancel(&self) {
        (self.cancel)(self.id);
    }

    /// Where the job is.
    pub fn state(&self) -> JobState {
        self.shared.lock().state
    }

    /// Partitions that are proved, and partitions in all; 0 of 0 before the request is decoded.
    pub fn progress(&self) -> (usize, usize) {
        let watched = self.shared.lock();
        (watched.proved, watched.partitions)
    }

    /// Where the time went so far.
    pub fn timings(&self) -> Timings {
        self.shared.timings()
    }

    /// The events from now on. The channel holds [`crate::Config::event_backlog`] of them: a subscriber that is further
    /// behind misses some. It closes when the job has ended.
    pub fn subscribe(&self) -> Receiver<JobEvent> {
        self.shared.subscribe()
    }
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobHandle({}, {:?})", self.id, self.state())
    }
}
