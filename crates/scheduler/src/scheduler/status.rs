//! What can be seen from outside.

use crate::fleet::Device;
use crate::pool::{Pool, Residency};
use crate::stats::{DeviceStatus, JobStatus, ResourceStatus, Stats};
use crate::types::{CircuitId, DeviceId, JobId, Place, UnitId};

use super::Scheduler;

impl Scheduler {
    /// Counts of what is in the system.
    pub fn stats(&self) -> Stats {
        Stats {
            host_used: self.host.used(),
            ..self.stats
        }
    }

    /// A job, while it is known.
    pub fn job(&self, job: JobId) -> Option<JobStatus> {
        let job = self.jobs.get(&job)?;
        Some(JobStatus {
            priority: job.class,
            units: job.units.len(),
            waiting: job.waiting.len(),
            unfinished: job.unfinished,
            ended: job.ended,
        })
    }

    /// The circuit of a unit, while its job is known.
    pub fn circuit(&self, unit: UnitId) -> Option<CircuitId> {
        self.circuit_of(unit)
    }

    /// A device.
    pub fn device(&self, device: DeviceId) -> Option<DeviceStatus> {
        let found = self.fleet.get(device)?;
        Some(device_status(device, found))
    }

    /// All devices, in the order of their names.
    pub fn devices(&self) -> Vec<DeviceStatus> {
        let devices = self.fleet.iter();
        devices
            .map(|(id, device)| device_status(id, device))
            .collect()
    }

    /// The resources in all memories, the host's first.
    pub fn resources(&self) -> Vec<ResourceStatus> {
        let mut resources: Vec<_> = resources(&self.host, Place::Host).collect();
        for (id, device) in self.fleet.iter() {
            resources.extend(self::resources(&device.pool, Place::Device(id)));
        }
        resources
    }
}

fn device_status(id: DeviceId, device: &Device) -> DeviceStatus {
    DeviceStatus {
        device: id,
        in_service: device.in_service(),
        memory: device.pool.budget(),
        used: device.pool.used(),
        lanes: device.lanes.clone(),
        faults: device.faults,
        probes: device.probes,
    }
}

fn resources(pool: &Pool, place: Place) -> impl Iterator<Item = ResourceStatus> + '_ {
    let residents = pool.residents();
    residents.map(move |(circuit, bytes, residency, users)| ResourceStatus {
        circuit,
        place,
        bytes,
        loaded: residency == Residency::Loaded,
        users,
    })
}
