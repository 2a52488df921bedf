//! The state of everything, for whoever asks.

use std::sync::Arc;

use cuzk_backend::Backend;
use cuzk_scheduler::{CircuitId, DeviceId, Place, ResourceStatus};

use crate::{CircuitStatus, DeviceStatus, JobId, JobSummary, LaneStatus, Status};

use super::Coordinator;
use super::circuits::CircuitRecord;
use super::devices::{DeviceRecord, LaneRecord};

impl<B: Backend + Clone> Coordinator<B> {
    pub(super) fn snapshot(&self) -> Status {
        let stats = self.scheduler.stats();
        let resources = self.scheduler.resources();
        let devices = self.devices.iter().enumerate();
        let mut circuits: Vec<CircuitStatus> = self
            .circuits
            .iter()
            .filter(|(id, circuit)| circuit.early.is_none() || self.is_in_memory(**id))
            .map(|(&id, circuit)| self.circuit_status(id, circuit, &resources))
            .collect();
        circuits.sort_by(|a, b| a.name.cmp(&b.name));
        Status {
            uptime: self.start.elapsed(),
            host_budget_bytes: self.config.scheduler.host_memory.0,
            host_reserved_bytes: stats.host_used.0,
            devices: devices.map(|(i, d)| self.device_status(i, d)).collect(),
            jobs: self.job_summaries(),
            waiting: stats.waiting,
            in_witness: stats.witness,
            ready: stats.ready,
            on_device: stats.assigned + stats.running + stats.finishing,
            circuits,
            counters: self.counters,
        }
    }

    fn job_summaries(&self) -> Vec<JobSummary> {
        let live = self.jobs.iter().filter(|(_, record)| !record.ended);
        let mut jobs: Vec<JobSummary> = live
            .map(|(&id, record)| {
                let watched = record.shared.lock();
                JobSummary {
                    id,
                    circuit: record
                        .circuit
                        .and_then(|circuit| self.circuit_name(circuit)),
                    tenant: record.tenant,
                    priority: record.priority,
                    state: watched.state,
                    partitions: watched.partitions,
                    proved: watched.proved,
                }
            })
            .collect();
        jobs.sort_by_key(|job| job.id);
        jobs
    }

    fn circuit_name(&self, id: CircuitId) -> Option<Arc<str>> {
        let circuit = self.circuits.get(&id);
        circuit.map(|circuit| Arc::clone(&circuit.name))
    }

    fn device_status(&self, ordinal: usize, device: &DeviceRecord<B>) -> DeviceStatus {
        let known = self.scheduler.device(DeviceId(ordinal as u32));
        let resident = device.provers.keys();
        let mut resident: Vec<Arc<str>> =
            resident.filter_map(|&id| self.circuit_name(id)).collect();
        resident.sort();
        DeviceStatus {
            ordinal,
            name: Arc::clone(&device.name),
            pci: device.pci,
            in_service: device.in_service,
            lost: device.lost,
            memory_bytes: device.memory_bytes,
            reserved_bytes: known.map_or(0, |known| known.used.0),
            lanes: device.lanes.iter().map(lane_status).collect(),
            resident,
            proofs: device.proofs,
            faults: device.faults,
            worked: device.worked(),
            witness_bytes: device.witness_bytes,
        }
    }

    fn circuit_status(
        &self,
        id: CircuitId,
        circuit: &CircuitRecord,
        resources: &[ResourceStatus],
    ) -> CircuitStatus {
        let own = resources.iter().filter(|resource| resource.circuit == id);
        let on_host = own.clone().find(|resource| resource.place == Place::Host);
        let devices = own.filter_map(|resource| match resource.place {
            Place::Device(device) if resource.loaded => Some(device.0 as usize),
            _ => None,
        });
        let footprint = circuit.footprint.unwrap_or_default();
        CircuitStatus {
            name: Arc::clone(&circuit.name),
            on_host: circuit.host.is_some(),
            preparing: circuit.is_preparing(),
            host_bytes: footprint.host_resident,
            device_bytes: footprint.device_resident,
            devices: devices.collect(),
            users: on_host.map_or(0, |resource| resource.users),
            error: circuit.error.clone(),
        }
    }
}

fn lane_status<B: Backend>(lane: &LaneRecord<B>) -> LaneStatus {
    let Some(busy) = &lane.busy else {
        return LaneStatus::default();
    };
    let work = busy.attempt.map(|attempt| {
        let unit = attempt.unit;
        (JobId(unit.job.0), unit.index as usize)
    });
    LaneStatus {
        work,
        since: busy.since.elapsed(),
        hangs: busy.lost,
    }
}
