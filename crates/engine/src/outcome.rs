//! How a job ended.

use std::fmt;

/// How a job ended. Every job that was taken ends once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The proofs are there, each verified.
    Completed(Completed),
    /// The job itself, or its last try on a device, went wrong. Trying again with the same input helps only where a
    /// device is named.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
    /// Its deadline passed.
    Expired,
    /// It could not be tried: no device, no key, too large for the memory, shutting down. It is not the job's fault.
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// A finished job's answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Completed {
    /// The answer: by default the partitions' proofs of 192 bytes, one after the other.
    pub proof: Vec<u8>,
}

impl fmt::Debug for Completed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Completed({} bytes)", self.proof.len())
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The partition, where it was one's.
    pub partition: Option<usize>,
    /// The name of the device of the last try, where it came to one.
    pub device: Option<String>,
    /// Tries on devices.
    pub attempts: u32,
    /// What the code that failed said.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(partition) = self.partition {
            write!(f, "partition {partition}: ")?;
        }
        if let Some(device) = &self.device {
            write!(f, "{device}, attempt {}: ", self.attempts)?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed(completed) => write!(f, "completed: {} bytes", completed.proof.len()),
            Self::Failed(failure) => write!(f, "failed: {failure}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Expired => f.write_str("the deadline passed"),
            Self::Unavailable { reason } => write!(f, "unavailable: {reason}"),
        }
    }
}
