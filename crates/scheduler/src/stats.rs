//! What can be seen from outside.

use crate::types::{Bytes, CircuitId, DeviceId, Place, Priority, UnitId};

/// Counts of what is in the system.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Jobs that are known: not ended, or with units that are being stopped.
    pub jobs: usize,
    /// Units of all those jobs, finished ones included.
    pub units: usize,
    /// Units whose witness has not been started.
    pub waiting: usize,
    /// Units whose witness is being computed.
    pub witness: usize,
    /// Units that wait for a lane or for their resource on the host.
    pub ready: usize,
    /// Units that have a lane and wait for its memory or the resource.
    pub assigned: usize,
    /// Units on devices.
    pub running: usize,
    /// Units that the devices are done with.
    pub finishing: usize,
    /// Units that the caller was told to stop.
    pub draining: usize,
    /// Reserved of the host's memory, resources included.
    pub host_used: Bytes,
    /// Events that fitted nothing.
    pub ignored: u64,
}

/// A device as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceStatus {
    /// Which.
    pub device: DeviceId,
    /// Whether it takes work.
    pub in_service: bool,
    /// Its memory.
    pub memory: Bytes,
    /// Reserved of it, resources included.
    pub used: Bytes,
    /// What has each lane.
    pub lanes: Vec<Option<UnitId>>,
    /// Faults in a row.
    pub faults: u32,
    /// Probes in vain since it went out of service.
    pub probes: u32,
}

/// A resource in a memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ResourceStatus {
    /// Whose.
    pub circuit: CircuitId,
    /// Where.
    pub place: Place,
    /// Its bytes there.
    pub bytes: Bytes,
    /// Whether it can be used: not on its way in or out.
    pub loaded: bool,
    /// Units that use it or wait for it.
    pub users: u32,
}

/// A job as the scheduler sees it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct JobStatus {
    /// Its priority after promotions.
    pub priority: Priority,
    /// Its units.
    pub units: usize,
    /// Units whose witness has not been started.
    pub waiting: usize,
    /// Units that have not finished.
    pub unfinished: usize,
    /// Whether it has ended and only units that are being stopped are left.
    pub ended: bool,
}
