//! Durable jobs.
//!
//! A job is accepted once it is on disk: its payload in a file named by its hash, its record in a database. Whatever
//! happens to the process then, the job is there when the store is opened again, and runs again if it had not ended.
//! Its identity is its request id with the hash of its payload, so the same request is one job however often it is
//! submitted, and another payload under the same name is another job.
//!
//! ```
//! use cuzk_queue::{Config, EmbeddedQueue, JobQueue, Outcome, State, Submission, Timings};
//!
//! let folder = tempfile::tempdir()?;
//! let queue = EmbeddedQueue::open(folder.path(), Config::default(), 0)?;
//! let (job, _) = queue.submit(
//!     Submission {
//!         request_id: "winpost-1000-0a".to_owned(),
//!         kind: 4,
//!         priority: 4,
//!         payload: b"vanilla proof".to_vec(),
//!     },
//!     1,
//! )?;
//! let claimed = queue.claim(0, 2)?.ok_or("a job waits")?;
//! let proof = vec![0; 192];
//! let timings = Timings::default();
//! queue.finish(claimed.job.id, claimed.job.attempt, Outcome::Completed { proof, timings }, 3)?;
//! assert!(matches!(queue.job(job.id)?.state, State::Completed { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`JobQueue`] is what a daemon needs of a queue. [`EmbeddedQueue`] is the one for a single machine; a queue that
//! many daemons share implements the same trait, with the claim as its hand-out and the attempt as its fence.

mod database;
mod embedded;
mod error;
mod id;
mod index;
mod job;
mod lock;
mod payloads;
mod record;
mod recovery;

pub use embedded::{Config, EmbeddedQueue};
pub use error::QueueError;
pub use id::{ContentHash, JobId, NotAnId};
pub use job::{
    Cancelled, Claimed, Count, Finished, Job, Outcome, Quarantined, State, Submission, Submitted,
    Swept, Timings, Usage,
};

/// What a daemon needs of a queue. Times are milliseconds since 1970, given by the caller.
pub trait JobQueue: Send + Sync {
    /// Accepts a job, or joins the one with its identity. When this returns, the job is durable.
    ///
    /// Errors: [`QueueError::TooManyJobs`], [`QueueError::TooManyBytes`], and those of the disk; the job is then not
    /// accepted.
    fn submit(&self, submission: Submission, now_ms: u64) -> Result<(Job, Submitted), QueueError>;

    /// Takes the waiting job with the greatest priority, the oldest among equals, if its priority is at least this.
    ///
    /// A job whose payload is damaged fails, and the next one is taken. One whose payload cannot be read is passed over,
    /// tried again a second later, and fails as damaged the fifth time.
    ///
    /// Errors: a payload could not be read and there was no other job, or the system has no file handles or no memory.
    fn claim(&self, min_priority: u8, now_ms: u64) -> Result<Option<Claimed>, QueueError>;

    /// Gives a claimed job back; it waits again. When this returns it is on disk that the job does not run: a job that
    /// runs when the process ends counts as interrupted. It waits again also where the disk does not take that.
    fn release(&self, id: JobId, attempt: u32) -> Result<(), QueueError>;

    /// Ends a claimed job.
    fn finish(
        &self,
        id: JobId,
        attempt: u32,
        outcome: Outcome,
        now_ms: u64,
    ) -> Result<Finished, QueueError>;

    /// Cancels a job. Returns it as it was found.
    ///
    /// Errors: [`QueueError::UnknownJob`].
    fn cancel(&self, id: JobId, now_ms: u64) -> Result<(Job, Cancelled), QueueError>;

    /// A job as it stands.
    ///
    /// Errors: [`QueueError::UnknownJob`].
    fn job(&self, id: JobId) -> Result<Job, QueueError>;

    /// Jobs that go before a waiting one; 0 for any other.
    fn position(&self, id: JobId) -> usize;

    /// At most `limit` jobs: those that run, those that wait, then the finished ones, the last one first, for which half
    /// of the places are kept. Proofs are left out.
    fn jobs(&self, limit: usize) -> Result<Vec<Job>, QueueError>;

    /// Removes finished jobs whose time is over, and writes what the disk did not take earlier.
    fn sweep(&self, now_ms: u64) -> Result<Swept, QueueError>;

    /// How full the queue is.
    fn usage(&self) -> Usage;

    /// What was found damaged and set aside since the last call.
    fn take_quarantined(&self) -> Vec<Quarantined>;
}
