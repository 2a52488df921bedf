//! The queue of jobs that wait for a turn, and the early ones, whose circuit is to be replaced.

use crate::event::{Action, UnitSpec};
use crate::job::Stage;
use crate::types::{Circuit, CircuitId, JobId, UnitId};

use super::Scheduler;

impl Scheduler {
    /// Lets a job wait for its next unit's turn.
    pub(super) fn enqueue(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        if job.early {
            self.early.insert((job.priority.rank(), job.order));
        } else {
            self.waiting.insert(job.class, job.tenant, job.order);
        }
    }

    /// Takes a job out of where it waits, if it does.
    pub(super) fn dequeue(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        if job.early {
            self.early.remove(&(job.priority.rank(), job.order));
        } else {
            self.waiting.remove(job.class, job.tenant, job.order);
        }
    }

    /// Starts the witness of an early job, where one slot is left beside it and there is memory. True if one was started.
    pub(super) fn admit_early(&mut self) -> bool {
        let Some(&(_, (_, id))) = self.early.first() else {
            return false;
        };
        let critical = self.jobs.get(&id).is_some_and(|job| job.is_critical());
        if self.free_slots(critical) < 2 || !self.make_host_room(id) {
            return false;
        }
        self.start_witness(id);
        true
    }

    pub(super) fn replaced(&mut self, circuit: CircuitId, by: Circuit, unit: UnitSpec) {
        let early = self.jobs.iter().filter(|(_, job)| {
            let of_circuit = job.units.iter().any(|unit| unit.circuit.id == circuit);
            job.early && !job.ended && of_circuit
        });
        let mut jobs: Vec<JobId> = early.map(|(id, _)| *id).collect();
        // The order of the map is not the same each time.
        jobs.sort_unstable();
        for id in jobs {
            self.replace_in(id, by, unit);
        }
    }

    fn replace_in(&mut self, id: JobId, by: Circuit, spec: UnitSpec) {
        self.dequeue(id);
        let Some(priority) = self.jobs.get(&id).map(|job| job.priority) else {
            return;
        };
        let on_host = spec.host.plus(by.host) <= self.host_budget(priority);
        let on_device = spec.device.plus(by.device);
        let fits = on_host && self.fleet.largest().is_some_and(|most| on_device <= most);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.early = false;
        let mut overtaken = Vec::new();
        for (index, unit) in (0..).zip(&mut job.units).filter(|_| fits) {
            match unit.stage {
                Stage::Waiting => unit.take(by, spec),
                Stage::Witness => {
                    unit.next = Some((by, spec));
                    overtaken.push(UnitId { job: id, index });
                }
                _ => {}
            }
        }
        let waits = !job.waiting.is_empty();
        self.note_need(id);
        if waits {
            self.enqueue(id);
        }
        for unit in overtaken {
            self.tell(Action::Overtaken { unit });
        }
    }

    /// Notes what a job's units need now.
    fn note_need(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let (before, needed) = (job.needed, job.device_need());
        job.needed = needed;
        self.by_need.remove(&(before, id));
        self.by_need.insert((needed, id));
    }

    pub(super) fn witness_stopped(&mut self, id: UnitId) -> bool {
        let unit = self.unit(id).filter(|unit| unit.stage == Stage::Witness);
        let Some((circuit, spec)) = unit.and_then(|unit| unit.next) else {
            return false;
        };
        self.leave_stage(id);
        self.give_up_host(id);
        if let Some(unit) = self.unit_mut(id) {
            unit.take(circuit, spec);
        }
        self.put_back(id);
        self.note_need(id.job);
        // The device that it fitted when the circuit was replaced may have gone since.
        self.end_unavailable();
        true
    }
}
