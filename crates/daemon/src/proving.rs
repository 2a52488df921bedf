//! What the daemon needs of whatever proves.

use cuzk_proof_api::{Priority, Request};
use cuzk_queue::{JobId, Timings};
use serde::Serialize;

/// What the daemon needs of whatever proves. Calls other than the last two return at once; those two may be dropped when
/// nobody wants their answer any more.
#[tonic::async_trait]
pub trait Proving: Send + Sync + 'static {
    /// Takes a job. `done` is called once with how it ended, from any thread, also where it is cancelled.
    ///
    /// Errors: [`Refused`]; `done` is then not called.
    fn start(&self, work: Work, done: Done) -> Result<(), Refused>;

    /// Stops the job that was taken under this ticket, as soon as that is possible.
    fn cancel(&self, ticket: u64);

    /// The state of everything now.
    fn status(&self) -> ProvingStatus;

    /// Loads a circuit and its key, and waits until the host and every device in service have them.
    ///
    /// Errors: why it cannot be had.
    async fn preload(&self, circuit: &str) -> Result<Preloaded, String>;

    /// Gives back the memory of a circuit and its key, where no job uses them, and waits for that.
    ///
    /// Errors: why it is not given back.
    async fn evict(&self, circuit: &str) -> Result<Evicted, String>;
}

/// Called with how a job ended.
pub type Done = Box<dyn FnOnce(Ended) + Send>;

/// A job to be proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// A number that no other work has, however often a job is started.
    pub ticket: u64,
    /// The job.
    pub job: JobId,
    /// The number of its kind.
    pub kind: i32,
    /// How urgent it is.
    pub priority: Priority,
    /// What is to be proved.
    pub request: Request,
}

/// Why a job is not taken now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    /// Why, for people.
    pub reason: String,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a verified proof.
    Completed {
        /// The answer.
        proof: Vec<u8>,
        /// How long it took.
        timings: Timings,
    },
    /// Without one.
    Failed {
        /// Why, with the partition and the device where there are.
        message: String,
    },
    /// It was cancelled.
    Cancelled,
    /// It could not be tried, which is not the job's fault.
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// What loading a key found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preloaded {
    /// Whether it was loaded already.
    pub already: bool,
    /// How long it took.
    pub ms: u64,
}

/// What giving back a key's memory found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Whether it was loaded.
    pub was_loaded: bool,
    /// Bytes of host and devices that are free now.
    pub bytes: u64,
}

/// The state of what proves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProvingStatus {
    /// The devices.
    pub devices: Vec<DeviceStatus>,
    /// The circuits and keys that are known so far.
    pub keys: Vec<KeyStatus>,
    /// The jobs that were taken and have not ended.
    pub jobs: Vec<JobProgress>,
    /// Bytes of host memory that are reserved.
    pub host_reserved_bytes: u64,
    /// The bytes that may be.
    pub host_budget_bytes: u64,
    /// Tries on devices that failed.
    pub faults: u64,
    /// Proofs that did not verify and were not given out; they are among the faults.
    pub invalid_proofs: u64,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceStatus {
    /// Its number, as `cuzk devices` prints it.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// Whether it takes work.
    pub in_service: bool,
    /// Its memory that may be used.
    pub memory_bytes: u64,
    /// What of it is reserved.
    pub reserved_bytes: u64,
    /// What each of its lanes works on.
    pub lanes: Vec<Option<LaneWork>>,
    /// Proofs of partitions that it made.
    pub proofs: u64,
    /// Tries on it that failed.
    pub faults: u64,
}

/// What a lane works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneWork {
    /// The job.
    pub job: String,
    /// Its partition.
    pub partition: usize,
    /// For how long already.
    pub ms: u64,
}

/// A circuit with its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyStatus {
    /// The circuit's name.
    pub circuit: String,
    /// The devices that it is resident on.
    pub devices: Vec<u32>,
    /// Whether it is in the host's memory.
    pub on_host: bool,
    /// Bytes on each device that holds it.
    pub device_bytes: u64,
    /// Bytes of host memory.
    pub host_bytes: u64,
    /// Partitions that use it or wait for it.
    pub users: u32,
    /// Why it could not be had the last time.
    pub error: Option<String>,
}

/// A job on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobProgress {
    /// The job.
    pub job: String,
    /// What is done with it, in a word.
    pub stage: String,
    /// Its partitions; 0 before its request is decoded.
    pub partitions: usize,
    /// Those that are proved.
    pub proved: usize,
}

impl ProvingStatus {
    /// Whether a device takes work.
    pub fn in_service(&self) -> bool {
        self.devices.iter().any(|device| device.in_service)
    }

    /// The device that works on a job, if one does.
    pub fn device_of(&self, job: &str) -> Option<&DeviceStatus> {
        self.devices.iter().find(|device| {
            let mut lanes = device.lanes.iter().flatten();
            lanes.any(|work| work.job == job)
        })
    }
}
