//! The queue of a single machine: a folder with a database and files.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::database::{Change, Records, Row};
use crate::index::Index;
use crate::lock::StoreLock;
use crate::payloads::{Payloads, Unreadable};
use crate::recovery::{self, Quarantine};
use crate::{
    Cancelled, Claimed, ContentHash, Finished, Job, JobId, JobQueue, Outcome, Quarantined,
    QueueError, State, Submission, Submitted, Swept, Usage,
};

/// How long after a payload could not be read it is read again.
const READ_AGAIN_MS: u64 = 1000;
/// How often a payload is read before it counts as damaged.
const MAX_READS: u32 = 5;

/// The bounds of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Unfinished jobs.
    pub max_jobs: usize,
    /// Bytes of the payloads of unfinished jobs.
    pub max_payload_bytes: u64,
    /// For how long a finished job, with its proof, is kept.
    pub keep_finished: Duration,
    /// How many finished jobs are kept at most.
    pub max_finished: usize,
    /// How often the process may end without giving a job back that runs before the job fails.
    pub max_interruptions: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_jobs: 10_000,
            max_payload_bytes: 64 << 30,
            keep_finished: Duration::from_secs(24 * 3600),
            max_finished: 10_000,
            max_interruptions: 3,
        }
    }
}

/// A [`JobQueue`] in a folder, which it holds against other processes.
///
/// Every call may write to disk and wait for it.
pub struct EmbeddedQueue {
    config: Config,
    payloads: Payloads,
    inner: Mutex<Inner>,
    _lock: StoreLock,
}

/// What calls exclude one another from.
pub(crate) struct Inner {
    pub(crate) records: Records,
    pub(crate) index: Index,
    pub(crate) quarantine: Quarantine,
    /// Jobs and bytes whose payloads are being written.
    pub(crate) reserved: (usize, u64),
}

impl EmbeddedQueue {
    /// Opens the store in `folder`, which is made where absent. Jobs that had not ended wait again.
    ///
    /// Damaged records and payloads are set aside, see [`JobQueue::take_quarantined`].
    ///
    /// Errors: [`QueueError::Held`], and those of the disk.
    pub fn open(folder: &Path, config: Config, now_ms: u64) -> Result<Self, QueueError> {
        crate::payloads::make_folder(folder)?;
        let lock = StoreLock::take(folder)?;
        let payloads = Payloads::open(folder.join("payloads"))?;
        let inner = recovery::recover(folder, &payloads, config.max_interruptions, now_ms)?;
        Ok(Self {
            config,
            payloads,
            inner: Mutex::new(inner),
            _lock: lock,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves room for a new job.
    fn reserve(
        &self,
        inner: &mut Inner,
        content: &ContentHash,
        bytes: u64,
    ) -> Result<u64, QueueError> {
        let limit = self.config.max_jobs;
        if inner.index.held() + inner.reserved.0 >= limit {
            return Err(QueueError::TooManyJobs { limit });
        }
        let added = if inner.index.has_payload(content) {
            0
        } else {
            bytes
        };
        let used = inner.index.payload_bytes() + inner.reserved.1;
        let limit = self.config.max_payload_bytes;
        if used.saturating_add(added) > limit {
            return Err(QueueError::TooManyBytes {
                wanted: bytes,
                used,
                limit,
            });
        }
        inner.reserved.0 += 1;
        inner.reserved.1 += added;
        Ok(added)
    }

    /// Puts a job whose payload is staged on disk for good.
    fn accept(
        &self,
        inner: &mut Inner,
        job: Job,
        staged: crate::payloads::Staged,
    ) -> Result<Job, QueueError> {
        let shared = inner.index.has_payload(&job.content);
        if !shared {
            self.payloads.keep(staged, &job.content)?;
        }
        if let Err(error) = inner.records.apply(&[Change::Put(&job)]) {
            if !shared {
                self.payloads.remove(&job.content);
            }
            return Err(error);
        }
        inner.index.add(job.clone());
        inner.index.set_payload(&job.content, true);
        Ok(job)
    }

    /// Ends an unfinished job.
    fn end(&self, inner: &mut Inner, id: JobId, state: State, now_ms: u64) -> Finished {
        let Some(live) = inner.index.live(&id) else {
            return Finished::Stale;
        };
        let mut job = live.clone();
        job.state = state;
        job.finished_ms = Some(now_ms);
        let saved = inner.records.apply(&[Change::Put(&job)]);
        let content = job.content;
        let unneeded = inner.index.remove(&id);
        match saved {
            Ok(()) => {
                inner.index.add_finished(&job);
                if unneeded {
                    self.payloads.remove(&content);
                }
                Finished::Saved
            }
            Err(error) => {
                // The payload stays: until the end is on disk, a crash makes the job run again.
                inner.index.unsaved.insert(id, job);
                Finished::Unsaved {
                    message: error.to_string(),
                }
            }
        }
    }

    /// Marks the job that is to run next as running.
    fn take_next(&self, min_priority: u8, now_ms: u64) -> Option<Job> {
        let mut inner = self.lock();
        let id = inner.index.next(min_priority, now_ms)?;
        inner.index.update(&id, |job| {
            job.state = State::Running;
            job.started_ms = Some(now_ms);
        });
        let job = inner.index.live(&id)?.clone();
        // On disk, so that a job that kills the process is known by it. A full disk keeps no job from running.
        let _ = inner.records.apply(&[Change::Put(&job)]);
        Some(job)
    }

    /// Gives a job back whose payload the system did not let be read. Says whether it is to fail instead.
    fn postpone(&self, job: &Job, now_ms: u64) -> bool {
        let mut inner = self.lock();
        if inner.index.live(&job.id).map(|job| job.attempt) != Some(job.attempt) {
            return false;
        }
        if inner.index.postpone(&job.id, now_ms + READ_AGAIN_MS) >= MAX_READS {
            return true;
        }
        let _ = inner.release(job.id);
        false
    }

    /// Fails a job that was about to run, because its payload is not what was submitted.
    fn fail_damaged(&self, job: &Job, reason: &str, now_ms: u64) {
        let mut inner = self.lock();
        // It may have been cancelled while its payload was read.
        if inner.index.live(&job.id).map(|job| job.attempt) != Some(job.attempt) {
            return;
        }
        let path = self.payloads.path(&job.content);
        let file = inner.quarantine.take_file(&path);
        // Another job may need the same content: it is there again once somebody submits it.
        inner.index.set_payload(&job.content, false);
        inner
            .quarantine
            .report("payload", Some(job.id), file, reason);
        let message = format!("{reason}; submit the request again");
        self.end(&mut inner, job.id, State::Failed { message }, now_ms);
    }

    /// Writes the ends of jobs that the disk did not take earlier.
    fn save_unsaved(&self, inner: &mut Inner) -> Result<usize, QueueError> {
        let jobs: Vec<Job> = inner.index.unsaved.values().cloned().collect();
        if jobs.is_empty() {
            return Ok(0);
        }
        let changes: Vec<_> = jobs.iter().map(Change::Put).collect();
        inner.records.apply(&changes)?;
        inner.index.unsaved.clear();
        for job in &jobs {
            inner.index.add_finished(job);
            if !inner.index.needs_payload(&job.content) {
                self.payloads.remove(&job.content);
            }
        }
        Ok(jobs.len())
    }
}

impl Inner {
    /// Lets a job wait again, also on disk.
    fn release(&mut self, id: JobId) -> Result<(), QueueError> {
        self.index.update(&id, |job| job.state = State::Accepted);
        match self.index.live(&id).cloned() {
            Some(job) => self.records.apply(&[Change::Put(&job)]),
            None => Ok(()),
        }
    }

    /// A finished job, with its proof.
    fn finished(&mut self, id: JobId) -> Result<Option<Job>, QueueError> {
        if let Some(job) = self.index.unsaved.get(&id) {
            return Ok(Some(job.clone()));
        }
        match self.records.get(id)? {
            Some(Row::Job(job)) => Ok(Some(job)),
            Some(Row::Damaged { id, bytes, reason }) => {
                let file = self.quarantine.take_bytes(id, &bytes);
                self.quarantine.report("record", Some(id), file, &reason);
                self.records.apply(&[Change::Remove(id)])?;
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// The job with this identity, if submitting it again does not make it run.
    fn join(&mut self, id: JobId, priority: u8) -> Result<Joined, QueueError> {
        if let Some(live) = self.index.live(&id) {
            let mut job = live.clone();
            if job.priority < priority {
                job.priority = priority;
                self.records.apply(&[Change::Put(&job)])?;
                self.index.update(&id, |live| live.priority = priority);
            }
            return Ok(Joined::Job(job, Submitted::Joined));
        }
        Ok(match self.finished(id)? {
            Some(job) if matches!(job.state, State::Completed { .. }) => {
                Joined::Job(job, Submitted::Completed)
            }
            previous => Joined::Fresh(previous),
        })
    }
}

/// What a submission meets.
enum Joined {
    /// A job that it joins.
    Job(Job, Submitted),
    /// None, or one that failed or was cancelled.
    Fresh(Option<Job>),
}

impl JobQueue for EmbeddedQueue {
    fn submit(&self, submission: Submission, now_ms: u64) -> Result<(Job, Submitted), QueueError> {
        let content = ContentHash::of(&submission.payload);
        let id = JobId::of(&submission.request_id, &content);
        let bytes = submission.payload.len() as u64;
        let mut inner = self.lock();
        if let Joined::Job(job, how) = inner.join(id, submission.priority)? {
            return Ok((job, how));
        }
        let added = self.reserve(&mut inner, &content, bytes)?;
        drop(inner);
        let staged = self.payloads.stage(&submission.payload);
        let mut inner = self.lock();
        inner.reserved.0 -= 1;
        inner.reserved.1 -= added;
        let staged = staged?;
        // Another thread may have accepted the same job in the meantime.
        let previous = match inner.join(id, submission.priority)? {
            Joined::Job(job, how) => return Ok((job, how)),
            Joined::Fresh(previous) => previous,
        };
        let job = Job {
            id,
            request_id: submission.request_id,
            kind: submission.kind,
            priority: submission.priority,
            content,
            payload_bytes: bytes,
            attempt: previous.as_ref().map_or(0, |job| job.attempt) + 1,
            interruptions: 0,
            accepted_ms: now_ms,
            started_ms: None,
            finished_ms: None,
            state: State::Accepted,
        };
        let job = self.accept(&mut inner, job, staged)?;
        if let Some(previous) = previous {
            inner.index.unsaved.remove(&id);
            inner.index.remove_finished(&previous);
        }
        Ok((job, Submitted::New))
    }

    fn claim(&self, min_priority: u8, now_ms: u64) -> Result<Option<Claimed>, QueueError> {
        let mut refused = None;
        while let Some(job) = self.take_next(min_priority, now_ms) {
            let reason = match self.payloads.read(&job.content) {
                Ok(payload) => return Ok(Some(Claimed { job, payload })),
                Err(Unreadable::Exhausted(error)) => {
                    self.release(job.id, job.attempt)?;
                    return Err(error);
                }
                Err(Unreadable::Refused(error)) => {
                    if !self.postpone(&job, now_ms) {
                        refused.get_or_insert(error);
                        continue;
                    }
                    format!("the payload cannot be read: {error}")
                }
                Err(Unreadable::Missing) => "the payload is gone from the disk".to_owned(),
                Err(Unreadable::Damaged) => "the payload is damaged on disk".to_owned(),
            };
            self.fail_damaged(&job, &reason, now_ms);
        }
        refused.map_or(Ok(None), Err)
    }

    fn release(&self, id: JobId, attempt: u32) -> Result<(), QueueError> {
        let mut inner = self.lock();
        let found = inner.index.live(&id).map(|job| job.attempt);
        if found != Some(attempt) {
            return Err(QueueError::UnknownJob { id });
        }
        inner.release(id)
    }

    fn finish(
        &self,
        id: JobId,
        attempt: u32,
        outcome: Outcome,
        now_ms: u64,
    ) -> Result<Finished, QueueError> {
        let mut inner = self.lock();
        match inner.index.live(&id) {
            Some(job) if job.attempt == attempt && job.state == State::Running => {}
            _ => return Ok(Finished::Stale),
        }
        let state = match outcome {
            Outcome::Completed { proof, timings } => State::Completed { proof, timings },
            Outcome::Failed { message } => State::Failed { message },
        };
        Ok(self.end(&mut inner, id, state, now_ms))
    }

    fn cancel(&self, id: JobId, now_ms: u64) -> Result<(Job, Cancelled), QueueError> {
        let mut inner = self.lock();
        let Some(job) = inner.index.live(&id).cloned() else {
            let ended = inner.finished(id)?;
            return ended
                .map(|job| (job, Cancelled::Ended))
                .ok_or(QueueError::UnknownJob { id });
        };
        let found = match job.state {
            State::Running => Cancelled::Running,
            _ => Cancelled::Waiting,
        };
        self.end(&mut inner, id, State::Cancelled, now_ms);
        Ok((job, found))
    }

    fn job(&self, id: JobId) -> Result<Job, QueueError> {
        let mut inner = self.lock();
        if let Some(job) = inner.index.live(&id) {
            return Ok(job.clone());
        }
        inner.finished(id)?.ok_or(QueueError::UnknownJob { id })
    }

    fn position(&self, id: JobId) -> usize {
        self.lock().index.position(&id)
    }

    fn jobs(&self, limit: usize) -> Result<Vec<Job>, QueueError> {
        let mut inner = self.lock();
        let usage = inner.index.usage();
        let ended = (usage.finished + usage.unsaved).min(limit / 2);
        let unfinished = inner.index.unfinished().take(limit - ended);
        let mut jobs: Vec<Job> = unfinished.cloned().collect();
        let mut ended: Vec<JobId> = inner.index.unsaved.keys().copied().collect();
        ended.extend(inner.index.last_finished().take(limit));
        ended.truncate(limit - jobs.len());
        for id in ended {
            if let Some(mut job) = inner.finished(id)? {
                if let State::Completed { proof, .. } = &mut job.state {
                    proof.clear();
                }
                jobs.push(job);
            }
        }
        Ok(jobs)
    }

    fn sweep(&self, now_ms: u64) -> Result<Swept, QueueError> {
        let mut inner = self.lock();
        let saved = self.save_unsaved(&mut inner)?;
        let kept_ms = u64::try_from(self.config.keep_finished.as_millis()).unwrap_or(u64::MAX);
        let before_ms = now_ms.saturating_sub(kept_ms);
        let outdated = inner.index.outdated(before_ms, self.config.max_finished);
        if !outdated.is_empty() {
            let changes: Vec<_> = outdated.iter().map(|(_, id)| Change::Remove(*id)).collect();
            inner.records.apply(&changes)?;
            inner.index.forget(&outdated);
        }
        Ok(Swept {
            removed: outdated.len(),
            saved,
        })
    }

    fn usage(&self) -> Usage {
        Usage {
            payload_bytes_limit: self.config.max_payload_bytes,
            jobs_limit: self.config.max_jobs,
            ..self.lock().index.usage()
        }
    }

    fn take_quarantined(&self) -> Vec<Quarantined> {
        self.lock().quarantine.take_reports()
    }
}

impl EmbeddedQueue {
    /// Where damaged things of a store in `folder` are put.
    pub fn quarantine_folder(folder: &Path) -> PathBuf {
        folder.join("quarantine")
    }
}
