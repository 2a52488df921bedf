//! The state of an engine at one moment.

use std::sync::Arc;
use std::time::Duration;

use cuzk_lease::PciBusId;
use cuzk_proof_api::Priority;

use crate::{JobId, JobState};

/// The state of an engine at one moment: all of it from between two events, so that it fits together.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// How long the engine runs.
    pub uptime: Duration,
    /// The host's memory that jobs and circuits may take, in bytes.
    pub host_budget_bytes: u64,
    /// What of it is reserved.
    pub host_reserved_bytes: u64,
    /// The devices, in the order in which they were given.
    pub devices: Vec<DeviceStatus>,
    /// The jobs that have not ended, by number.
    pub jobs: Vec<JobSummary>,
    /// Partitions whose witness is not started.
    pub waiting: usize,
    /// Partitions whose witness is being computed.
    pub in_witness: usize,
    /// Partitions that wait for a device.
    pub ready: usize,
    /// Partitions on devices.
    pub on_device: usize,
    /// The circuits that were asked for so far, by name.
    pub circuits: Vec<CircuitStatus>,
    /// What has happened since the start.
    pub counters: Counters,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceStatus {
    /// Its place in the engine's list.
    pub ordinal: usize,
    /// Its name.
    pub name: Arc<str>,
    /// What the physical device is known by.
    pub pci: PciBusId,
    /// Whether it takes work.
    pub in_service: bool,
    /// Whether it hangs, and has not answered a probe since.
    pub lost: bool,
    /// Its memory that may be used, in bytes.
    pub memory_bytes: u64,
    /// What of it is reserved, keys included.
    pub reserved_bytes: u64,
    /// Its lanes.
    pub lanes: Vec<LaneStatus>,
    /// The circuits that are resident on it.
    pub resident: Vec<Arc<str>>,
    /// Proofs that it has made.
    pub proofs: u64,
    /// Errors, invalid proofs and hangs.
    pub faults: u64,
    /// How long there was work on one of its lanes at least; the rest of the time it was idle.
    pub worked: Duration,
    /// Bytes of the witnesses that went to it.
    pub witness_bytes: u64,
}

/// A lane of a device.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneStatus {
    /// The job and its partition, if the lane works on one.
    pub work: Option<(JobId, usize)>,
    /// How long it has worked on that.
    pub since: Duration,
    /// Whether that was given up and the lane waits for it to come back.
    pub hangs: bool,
}

/// A job that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSummary {
    /// Its number.
    pub id: JobId,
    /// Its circuit, once its request is decoded.
    pub circuit: Option<Arc<str>>,
    /// The tenant.
    pub tenant: u64,
    /// The priority that it was submitted with.
    pub priority: Priority,
    /// Where it is.
    pub state: JobState,
    /// Its partitions.
    pub partitions: usize,
    /// Those that are proved.
    pub proved: usize,
}

/// A circuit with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitStatus {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it is in the host's memory.
    pub on_host: bool,
    /// Whether it is being opened or compiled for the first time.
    pub preparing: bool,
    /// Bytes of the compiled circuit in the host's memory; 0 before they are known.
    pub host_bytes: u64,
    /// Bytes on a device that holds it; 0 before they are known.
    pub device_bytes: u64,
    /// The devices on which it is resident, by ordinal.
    pub devices: Vec<usize>,
    /// Partitions that use it on the host or wait for it there.
    pub users: u32,
    /// Why it could not be had the last time.
    pub error: Option<String>,
}

/// What has happened since the engine's start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Jobs that were taken.
    pub submitted: u64,
    /// Jobs that ended with an answer.
    pub completed: u64,
    /// Jobs that failed.
    pub failed: u64,
    /// Jobs that were cancelled.
    pub cancelled: u64,
    /// Jobs whose deadline passed.
    pub expired: u64,
    /// Jobs that could not be tried.
    pub unavailable: u64,
    /// Proofs of partitions.
    pub proofs: u64,
    /// Those of them that were made by full synthesis, while their circuit was being compiled.
    pub synthesised: u64,
    /// Tries that failed on devices, failed loads and hangs.
    pub faults: u64,
    /// Proofs that did not verify; they are among the faults.
    pub invalid: u64,
    /// Circuits that left a memory.
    pub evictions: u64,
    /// Time that went into finding and compiling circuits.
    pub compile_time: Duration,
}

impl Counters {
    pub(crate) fn count(&mut self, outcome: &crate::Outcome) {
        use crate::Outcome;
        let counter = match outcome {
            Outcome::Completed(_) => &mut self.completed,
            Outcome::Failed(_) => &mut self.failed,
            Outcome::Cancelled => &mut self.cancelled,
            Outcome::Expired => &mut self.expired,
            Outcome::Unavailable { .. } => &mut self.unavailable,
        };
        *counter += 1;
    }

    /// Jobs that have ended.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.cancelled + self.expired + self.unavailable
    }
}
