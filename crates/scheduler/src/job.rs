//! Jobs and their units, and where each of them is.

use std::collections::VecDeque;

use crate::event::{Fault, JobSpec, UnitSpec};
use crate::types::{Bytes, Circuit, DeviceId, Instant, JobId, Lane, Priority, TenantId};

/// Where a unit is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its witness has not been started.
    Waiting,
    /// Its witness is being computed.
    Witness,
    /// It waits for a lane, or for its resource on the host.
    Ready,
    /// It has a lane and waits for memory or its resource there.
    Assigned,
    /// It is on a device.
    Running,
    /// The device is done with it.
    Finishing,
    /// The caller was told to stop it.
    Draining,
    /// Nothing of it is left.
    Gone,
}

/// A lane that a unit has, and what it takes of the device's memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) device: DeviceId,
    pub(crate) lane: Lane,
    /// Reserved beside the resource; the resource is held if `seated`.
    pub(crate) bytes: Bytes,
    /// Whether memory and resource have been reserved.
    pub(crate) seated: bool,
}

/// A unit.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) circuit: Circuit,
    /// What it takes if the computation of its witness is stopped.
    pub(crate) next: Option<(Circuit, UnitSpec)>,
    pub(crate) host: Bytes,
    pub(crate) device: Bytes,
    pub(crate) stage: Stage,
    /// Reserved of the host's memory.
    pub(crate) host_held: Bytes,
    /// Whether its witness is in memory, with the resource on the host in use.
    pub(crate) holds_host: bool,
    pub(crate) seat: Option<Seat>,
    pub(crate) attempts: u32,
    /// The device of the present try; kept while the unit is being finished.
    pub(crate) last_device: Option<DeviceId>,
    /// Where the first try failed.
    pub(crate) failed: Option<(DeviceId, Fault)>,
    /// Order among the ready.
    pub(crate) sequence: u64,
    /// Units placed ahead of it.
    pub(crate) passes: u32,
    /// A device that is kept free for it.
    pub(crate) hold: Option<DeviceId>,
    pub(crate) placed_at: Instant,
    /// What its tenant paid for it, and in which class; corrected when it leaves a device.
    pub(crate) charged: Option<(Priority, u64)>,
}

/// A job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) tenant: TenantId,
    /// As submitted.
    pub(crate) priority: Priority,
    /// After promotions.
    pub(crate) class: Priority,
    /// Whether its units begin only where nothing else waits, until their circuit is replaced.
    pub(crate) early: bool,
    pub(crate) units: Vec<Unit>,
    /// Units whose witness is not started, in order.
    pub(crate) waiting: VecDeque<u32>,
    /// Order among the jobs of its tenant and class.
    pub(crate) order: (Instant, JobId),
    pub(crate) deadline: Option<Instant>,
    pub(crate) promotion: Option<Instant>,
    /// Units that have not finished.
    pub(crate) unfinished: usize,
    /// Units that are neither waiting nor gone.
    pub(crate) active: usize,
    /// The most device memory that one of its units takes with the resource.
    pub(crate) needed: Bytes,
    pub(crate) ended: bool,
}

impl Job {
    /// A job at its submission; `patience` is how long at most others of its tenant go ahead for their deadlines.
    pub(crate) fn new(spec: &JobSpec, early: bool, now: Instant, patience: u64) -> Self {
        let patient = now.after(patience);
        let key = spec.deadline.map_or(patient, |at| at.min(patient));
        Self {
            tenant: spec.tenant,
            priority: spec.priority,
            class: spec.priority,
            early,
            units: spec
                .units
                .iter()
                .map(|u| Unit::new(spec.circuit, u.host, u.device))
                .collect(),
            waiting: (0..spec.units.len() as u32).collect(),
            order: (key, spec.job),
            deadline: spec.deadline,
            promotion: spec.priority.promoted().map(|_| patient),
            unfinished: spec.units.len(),
            active: 0,
            needed: device_need(spec),
            ended: false,
        }
    }

    /// The next unit whose witness is to be started.
    pub(crate) fn next(&self) -> Option<&Unit> {
        self.units.get(*self.waiting.front()? as usize)
    }

    /// The most device memory that one of its units takes with the resource, those that are gone apart.
    pub(crate) fn device_need(&self) -> Bytes {
        let left = self.units.iter().filter(|unit| unit.stage != Stage::Gone);
        let largest = left.map(|unit| unit.device.plus(unit.circuit.device)).max();
        largest.unwrap_or_default()
    }

    pub(crate) fn is_critical(&self) -> bool {
        self.priority == Priority::Critical
    }
}

/// The most device memory that one of a job's units takes with the resource.
pub(crate) fn device_need(spec: &JobSpec) -> Bytes {
    let largest = spec.units.iter().map(|unit| unit.device).max();
    largest.unwrap_or_default().plus(spec.circuit.device)
}

/// The most host memory that one of a job's units takes with the resource.
pub(crate) fn host_need(spec: &JobSpec) -> Bytes {
    let largest = spec.units.iter().map(|unit| unit.host).max();
    largest.unwrap_or_default().plus(spec.circuit.host)
}

impl Unit {
    /// Takes another circuit, of which it has nothing yet.
    pub(crate) fn take(&mut self, circuit: Circuit, spec: UnitSpec) {
        (self.circuit, self.host, self.device) = (circuit, spec.host, spec.device);
        self.next = None;
    }

    fn new(circuit: Circuit, host: Bytes, device: Bytes) -> Self {
        Self {
            circuit,
            next: None,
            host,
            device,
            stage: Stage::Waiting,
            host_held: Bytes(0),
            holds_host: false,
            seat: None,
            attempts: 0,
            last_device: None,
            failed: None,
            sequence: 0,
            passes: 0,
            hold: None,
            placed_at: Instant(0),
            charged: None,
        }
    }
}
