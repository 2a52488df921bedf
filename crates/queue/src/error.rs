//! What a queue refuses, and what can go wrong with it.

use std::io;
use std::path::PathBuf;

use crate::JobId;

/// Why a queue did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// As many unfinished jobs as the queue may hold.
    #[error("the queue is full: {limit} jobs wait or run")]
    TooManyJobs {
        /// The bound.
        limit: usize,
    },
    /// The payloads of unfinished jobs take up what they may.
    #[error("the queue is full: a payload of {wanted} bytes, {used} of {limit} bytes are taken")]
    TooManyBytes {
        /// Bytes of the payload.
        wanted: u64,
        /// Bytes of the payloads that are there.
        used: u64,
        /// The bound.
        limit: u64,
    },
    /// No job of that identity, or one whose time to be kept is over.
    #[error("no job {id}")]
    UnknownJob {
        /// The job.
        id: JobId,
    },
    /// Another process works on the store.
    #[error("{} is held by process {holder}", store.display())]
    Held {
        /// The folder.
        store: PathBuf,
        /// The process, as far as it told.
        holder: String,
    },
    /// The operating system refused a call.
    #[error("{}: cannot {action}: {source}", file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What was attempted.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The database refused.
    #[error("{}: {message}", file.display())]
    Database {
        /// The file.
        file: PathBuf,
        /// What it said.
        message: String,
    },
}

impl QueueError {
    /// Wraps the system's answer.
    pub(crate) fn io(
        file: impl Into<PathBuf>,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::Io {
            file,
            action,
            source,
        }
    }
}
