//! What the caller reports and what it is told to do.

use std::fmt;

use crate::types::{
    Attempt, Bytes, Circuit, CircuitId, DeviceId, Instant, JobId, Lane, Place, Priority, TenantId,
    UnitId,
};

/// A job as it is submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// The caller's name for it.
    pub job: JobId,
    /// On whose behalf.
    pub tenant: TenantId,
    /// How urgent.
    pub priority: Priority,
    /// When it is of no use any more.
    pub deadline: Option<Instant>,
    /// The circuit of all its units.
    pub circuit: Circuit,
    /// Its partitions.
    pub units: Vec<UnitSpec>,
}

/// The memory that a unit takes beside its circuit's resource.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct UnitSpec {
    /// Bytes of host memory from the start of its witness on.
    pub host: Bytes,
    /// Bytes of device memory while it is on a device.
    pub device: Bytes,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A job was submitted. Answered by [`Action::Accepted`] or [`Action::Rejected`].
    Submitted(JobSpec),
    /// The same of a job whose circuit will be replaced by one that takes less, soon ([`Event::Replaced`]). Until then its
    /// units begin only where nothing else waits for memory or a slot, and leave one slot free; its tenant pays nothing
    /// for them.
    SubmittedEarly(JobSpec),
    /// The circuit of early jobs is replaced: units whose witness is not started take the other one where that fits the
    /// budgets, those whose witness is being computed may ([`Action::Overtaken`]), and the jobs are like all others from now on. It may be replaced by itself.
    Replaced {
        /// The circuit.
        circuit: CircuitId,
        /// What comes in its place.
        by: Circuit,
        /// What a unit takes with that.
        unit: UnitSpec,
    },
    /// A job is not wanted any more, whatever its state.
    Cancelled {
        /// The job.
        job: JobId,
    },
    /// A witness has been computed.
    WitnessDone {
        /// The unit.
        unit: UnitId,
    },
    /// A witness cannot be computed, and nothing of it is left. Fails the job.
    WitnessFailed {
        /// The unit.
        unit: UnitId,
    },
    /// A witness was not computed to its end, and nothing of it is left: an answer to [`Action::Overtaken`]. It is computed
    /// anew, with the circuit that replaced its own.
    WitnessStopped {
        /// The unit.
        unit: UnitId,
    },
    /// Some of a unit's host memory is free already.
    HostReleased {
        /// The unit.
        unit: UnitId,
        /// How much; at most what the unit still holds is given back.
        bytes: Bytes,
    },
    /// A witness that was placed is gone from the host's memory: its bytes and its hold on the resource in host memory
    /// are given back. A second attempt computes it again.
    WitnessDropped {
        /// The unit.
        unit: UnitId,
    },
    /// Some of the device memory of a unit is free already.
    DeviceReleased {
        /// The try.
        attempt: Attempt,
        /// How much; at most what the unit still holds is given back.
        bytes: Bytes,
    },
    /// The device's part is over: its lane and its memory are free. The proof is being finished and verified.
    DeviceDone {
        /// The try.
        attempt: Attempt,
    },
    /// A unit's proof is there and verified, and nothing of the unit is left in memory.
    Finished {
        /// The try.
        attempt: Attempt,
    },
    /// A try has failed and its lane and device memory are free. The witness, unless it was dropped, is still there.
    Failed {
        /// The try.
        attempt: Attempt,
        /// How.
        fault: Fault,
    },
    /// Nothing of an aborted unit is left: the answer to [`Action::Abort`].
    Stopped {
        /// The unit.
        unit: UnitId,
    },
    /// A device is there, or is there again with nothing in its memory.
    DeviceUp {
        /// The device.
        device: DeviceId,
        /// Its memory, as far as it may be used.
        memory: Bytes,
    },
    /// A device was lost, or hangs, with all that was in its memory. Its units are tried elsewhere; it is probed.
    DeviceDown {
        /// The device.
        device: DeviceId,
    },
    /// A device is gone for good, with all that was in its memory.
    DeviceRemoved {
        /// The device.
        device: DeviceId,
    },
    /// The answer to [`Action::Probe`].
    Probed {
        /// The device.
        device: DeviceId,
        /// Whether it works.
        works: bool,
    },
    /// A resource is resident.
    Loaded {
        /// Whose.
        circuit: CircuitId,
        /// Where.
        place: Place,
    },
    /// A resource cannot be loaded. On the host it fails the jobs that wait for it, on a device it is a fault of the device.
    LoadFailed {
        /// Whose.
        circuit: CircuitId,
        /// Where not.
        place: Place,
    },
    /// A resource has left the memory: the answer to [`Action::Evict`].
    Evicted {
        /// Whose.
        circuit: CircuitId,
        /// From where.
        place: Place,
    },
    /// Somebody wants a resource resident in advance, on the host and then on devices. Answered by [`Action::Load`] for each
    /// memory where it is not yet, by [`Action::NoRoom`] where the host has no room for it, and by nothing for a device
    /// that has none, that is out of service or on which a unit waits for memory. Nothing is evicted for it, but what is
    /// leaving a device counts as gone.
    Preload {
        /// Whose.
        circuit: Circuit,
        /// On which devices.
        devices: Vec<DeviceId>,
    },
    /// Somebody wants a resource out of all memories. It is evicted where it is not in use.
    Unload {
        /// Whose.
        circuit: CircuitId,
    },
    /// Time has passed.
    Tick,
}

/// How a try on a device failed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The device reported an error.
    Device,
    /// The device had less memory than the try took. It is held against the device only if another one succeeds.
    OutOfMemory,
    /// The resource could not be loaded to the device.
    Load,
    /// The device was lost.
    Lost,
    /// The proof does not verify. It is held against the device only if another try succeeds.
    Verification,
    /// The witness was wrong, and another way of computing it is worth a try. It is held against no device.
    Witness,
}

/// What the caller has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The job is in the queue.
    Accepted {
        /// The job.
        job: JobId,
    },
    /// The job is not taken; nothing of it is kept.
    Rejected {
        /// The job.
        job: JobId,
        /// Why not.
        reason: Rejection,
    },
    /// Compute a unit's witness. Its host memory is reserved.
    StartWitness {
        /// The unit.
        unit: UnitId,
    },
    /// The circuit of a unit was replaced while its witness is computed, which need not come to its end. Answered by
    /// [`Event::WitnessStopped`], or by [`Event::WitnessDone`] if it does all the same.
    Overtaken {
        /// The unit.
        unit: UnitId,
    },
    /// Compute a unit on a lane. The resource is resident there and the memory reserved.
    Place {
        /// The try.
        attempt: Attempt,
        /// The device.
        device: DeviceId,
        /// The lane, which nothing else uses until the answer.
        lane: Lane,
    },
    /// Stop a unit, whatever it is doing, and free all its memory. Answered by [`Event::Stopped`].
    Abort {
        /// The unit.
        unit: UnitId,
    },
    /// Bring a resource into a memory, where its bytes are reserved. A device gets it from the host's memory.
    Load {
        /// Whose.
        circuit: CircuitId,
        /// Where.
        place: Place,
    },
    /// Remove a resource that nothing uses from a memory.
    Evict {
        /// Whose.
        circuit: CircuitId,
        /// From where.
        place: Place,
    },
    /// The host has no room for a resource that somebody wants in advance ([`Event::Preload`]).
    NoRoom {
        /// Whose.
        circuit: CircuitId,
    },
    /// A device takes no more work until it has been probed.
    OutOfService {
        /// The device.
        device: DeviceId,
    },
    /// A device takes work again.
    BackInService {
        /// The device.
        device: DeviceId,
    },
    /// Find out whether a device works.
    Probe {
        /// The device.
        device: DeviceId,
    },
    /// A job has ended. It is told once for each accepted job.
    JobEnded {
        /// The job.
        job: JobId,
        /// How.
        outcome: Outcome,
    },
}

/// How a job ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All its units have finished.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// Its deadline has passed.
    Expired,
    /// A unit has failed.
    Failed {
        /// The unit.
        unit: UnitId,
        /// Why.
        cause: Cause,
    },
    /// No device, in service or expected back, could ever run a unit.
    Unavailable {
        /// Device memory that the unit and its circuit's resource take.
        needed: Bytes,
        /// The largest device's memory; zero where there is no device.
        largest: Bytes,
    },
}

/// Why a unit failed for good.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its witness could not be computed.
    Witness,
    /// Its circuit's resource could not be loaded to the host.
    Resource,
    /// Its last try on a device failed.
    Device {
        /// The device.
        device: DeviceId,
        /// How.
        fault: Fault,
    },
}

/// Why a job is not taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// A job with this name has not ended yet, or units of it are not gone yet.
    Duplicate,
    /// It has no units.
    Empty,
    /// Back-pressure: as many jobs of its kind (critical or not) are in the system as may be.
    QueueFull {
        /// The limit.
        limit: usize,
    },
    /// Back-pressure: its tenant has as many jobs in the system as it may.
    TenantFull {
        /// The limit.
        limit: usize,
    },
    /// Back-pressure: its units are too many beside those in the system.
    UnitsFull {
        /// The limit.
        limit: usize,
    },
    /// A unit and its circuit's resource would never fit the host's budget.
    HostMemory {
        /// What they take.
        needed: Bytes,
        /// The budget.
        budget: Bytes,
    },
    /// No device, in service or expected back, could ever run a unit.
    Unavailable {
        /// Device memory that the unit and its circuit's resource take.
        needed: Bytes,
        /// The largest device's memory; zero where there is no device.
        largest: Bytes,
    },
    /// Its deadline has passed.
    Expired,
}

impl Rejection {
    /// Whether the same job may be taken later, when others have ended.
    pub fn is_back_pressure(&self) -> bool {
        matches!(
            self,
            Self::QueueFull { .. } | Self::TenantFull { .. } | Self::UnitsFull { .. }
        )
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate => write!(formatter, "the job is known already"),
            Self::Empty => write!(formatter, "the job has no units"),
            Self::QueueFull { limit } => write!(formatter, "the queue holds {limit} jobs already"),
            Self::TenantFull { limit } => {
                write!(formatter, "the tenant has {limit} jobs already")
            }
            Self::UnitsFull { limit } => {
                write!(formatter, "the queue holds at most {limit} units")
            }
            Self::HostMemory { needed, budget } => {
                write!(formatter, "needs {needed} of the host, found {budget}")
            }
            Self::Unavailable { needed, largest } => {
                write!(formatter, "needs {needed} of a device, found {largest}")
            }
            Self::Expired => write!(formatter, "the deadline has passed"),
        }
    }
}

impl std::error::Error for Rejection {}
