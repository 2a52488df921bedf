//! Jobs as callers see them.

use serde::{Deserialize, Serialize};

use crate::{ContentHash, JobId};

/// A job to be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// What the caller calls it. Any text.
    pub request_id: String,
    /// The number of its kind; counts are kept by it.
    pub kind: i32,
    /// Greater goes first. A job that another submission joins keeps the greater priority of the two while it waits.
    pub priority: u8,
    /// What the job is about: the rest of its identity, handed back when it is claimed.
    pub payload: Vec<u8>,
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// A new job, or one that had failed or been cancelled and is to run again.
    New,
    /// It was there and has not ended.
    Joined,
    /// It was there and its proof is kept.
    Completed,
}

/// Milliseconds that the parts of a job took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    /// Loading keys; 0 when they were resident.
    pub key_ms: u64,
    /// Making witnesses.
    pub witness_ms: u64,
    /// Everything after the witness.
    pub device_ms: u64,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a proof.
    Completed {
        /// The answer.
        proof: Vec<u8>,
        /// How long it took.
        timings: Timings,
    },
    /// Without one. Submitting the job again runs it again.
    Failed {
        /// Why, for the caller.
        message: String,
    },
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// On disk, waiting.
    Accepted,
    /// Claimed.
    Running,
    /// Ended with a proof.
    Completed {
        /// The answer.
        proof: Vec<u8>,
        /// How long it took.
        timings: Timings,
    },
    /// Ended without one.
    Failed {
        /// Why.
        message: String,
    },
    /// Cancelled by a caller.
    Cancelled,
}

impl State {
    /// Whether the job has ended.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Accepted | Self::Running)
    }
}

/// A job as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its identity.
    pub id: JobId,
    /// What its caller calls it.
    pub request_id: String,
    /// The number of its kind.
    pub kind: i32,
    /// Greater goes first.
    pub priority: u8,
    /// The hash of its payload.
    pub content: ContentHash,
    /// Bytes of its payload.
    pub payload_bytes: u64,
    /// How often it was submitted to run, from 1. Results of earlier attempts are not taken.
    pub attempt: u32,
    /// How often the process ended without giving it back while it ran.
    pub interruptions: u32,
    /// When it was accepted, in milliseconds since 1970, like the next two.
    pub accepted_ms: u64,
    /// When it was last claimed.
    pub started_ms: Option<u64>,
    /// When it ended.
    pub finished_ms: Option<u64>,
    /// Where it stands.
    pub state: State,
}

/// A job that was claimed, with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The job, running.
    pub job: Job,
    /// The payload, equal to what was submitted.
    pub payload: Vec<u8>,
}

/// What a cancellation found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The job waited; it will not run.
    Waiting,
    /// The job ran; whoever runs it is to stop, and its result will not be taken.
    Running,
    /// The job had ended; nothing changed.
    Ended,
}

/// Jobs of one kind that have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Waiting.
    pub waiting: usize,
    /// Running.
    pub running: usize,
}

/// How full a queue is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Unfinished jobs by kind.
    pub kinds: std::collections::BTreeMap<i32, Count>,
    /// Bytes of payloads on disk.
    pub payload_bytes: u64,
    /// Their bound.
    pub payload_bytes_limit: u64,
    /// The bound of unfinished jobs.
    pub jobs_limit: usize,
    /// Finished jobs that are kept.
    pub finished: usize,
    /// Finished jobs that are in memory only, because the disk refused them; they are written when it takes them.
    pub unsaved: usize,
}

/// What became of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It is on disk.
    Saved,
    /// The disk did not take it. It is in memory, answers are given from it, and a sweep writes it.
    Unsaved {
        /// Why.
        message: String,
    },
    /// It is that of an attempt that is over: cancelled, given back, or ended before. Nothing changed.
    Stale,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Finished jobs that were removed.
    pub removed: usize,
    /// Finished jobs that were written at last.
    pub saved: usize,
}

/// Something damaged or harmful that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// What it was: a record, a payload, the database, or a job that ran each time the process was interrupted.
    pub what: &'static str,
    /// The job it belonged to, where that is known.
    pub job: Option<JobId>,
    /// Where it lies now, where there was anything to set aside.
    pub file: Option<std::path::PathBuf>,
    /// What is wrong with it.
    pub reason: String,
}
