//! Names of things and quantities: plain integers with a type each.

use std::fmt;

/// A job, named by the caller. A name is free again once the job has ended and all its units are gone.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// One partition of a job.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId {
    /// The job.
    pub job: JobId,
    /// The unit's place in the job's list.
    pub index: u32,
}

/// One try at computing a unit on a device. Answers to an earlier try are told apart by the number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt {
    /// The unit.
    pub unit: UnitId,
    /// Counts from 1.
    pub number: u32,
}

/// A physical device.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub u32);

/// One of a device's lanes, counted from 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub u32);

/// A circuit, and with it the resource its units need: key and matrices.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CircuitId(pub u64);

/// On whose behalf a job runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(pub u64);

/// An amount of memory in bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A point in time: microseconds since any fixed moment. Also used for spans.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// How urgent a job is. Greater is more urgent.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// When nothing else is to be done, or after having waited long.
    Low,
    /// The usual.
    Normal,
    /// Before the usual.
    High,
    /// Takes the next free lane of any device, ahead of everything.
    Critical,
}

/// A circuit and the memory that its resource takes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Its name.
    pub id: CircuitId,
    /// Bytes of host memory while it is resident there; zero for a mapped file that the budget does not count.
    pub host: Bytes,
    /// Bytes of device memory while it is resident on a device.
    pub device: Bytes,
}

/// Where a resource can be resident.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// In the host's memory.
    Host,
    /// In a device's memory.
    Device(DeviceId),
}

impl Bytes {
    /// The sum, or the greatest amount where it is too large.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero.
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Instant {
    /// So many microseconds later.
    pub fn after(self, micros: u64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// Microseconds since `earlier`, or zero.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Priority {
    /// All priorities, the most urgent first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Normal, Self::Low];

    /// The place in [`Self::ALL`].
    pub(crate) fn rank(self) -> usize {
        Self::Critical as usize - self as usize
    }

    /// What a job of this priority becomes when it has waited long.
    pub(crate) fn promoted(self) -> Option<Self> {
        match self {
            Self::Low => Some(Self::Normal),
            Self::Normal => Some(Self::High),
            Self::High | Self::Critical => None,
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes", self.0)
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "unit {} of job {}", self.index, self.job.0)
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "device {}", self.0)
    }
}
