//! What is reported of units, and giving back what they hold.

use crate::event::{Action, Cause, Fault, Outcome};
use crate::job::{Seat, Stage};
use crate::ready::Position;
use crate::types::{Attempt, Bytes, CircuitId, DeviceId, UnitId};

use super::Scheduler;

/// Circuits of which a duration is remembered.
const MAX_DURATIONS: usize = 1024;

impl Scheduler {
    fn stage(&self, unit: UnitId) -> Option<Stage> {
        Some(self.unit(unit)?.stage)
    }

    /// The stage of a unit whose present try this is.
    fn stage_of_attempt(&self, attempt: Attempt) -> Option<Stage> {
        let unit = self.unit(attempt.unit)?;
        (unit.attempts == attempt.number).then_some(unit.stage)
    }

    pub(super) fn witness_done(&mut self, id: UnitId) -> bool {
        if self.stage(id) != Some(Stage::Witness) {
            return false;
        }
        self.count_witness_over(id);
        self.stats.witness -= 1;
        self.make_ready(id);
        true
    }

    pub(super) fn witness_failed(&mut self, id: UnitId) -> bool {
        if self.stage(id) != Some(Stage::Witness) {
            return false;
        }
        self.leave_stage(id);
        self.give_up_host(id);
        self.mark_gone(id);
        let cause = Cause::Witness;
        self.end_job(id.job, Outcome::Failed { unit: id, cause });
        self.forget_if_over(id.job);
        true
    }

    pub(super) fn host_released(&mut self, id: UnitId, bytes: Bytes) -> bool {
        match self.unit(id) {
            Some(unit) if unit.host_held > Bytes(0) => {
                self.release_host_bytes(id, bytes);
                true
            }
            _ => false,
        }
    }

    pub(super) fn witness_dropped(&mut self, id: UnitId) -> bool {
        let placed = matches!(self.stage(id), Some(Stage::Running | Stage::Finishing));
        if !placed || !self.unit(id).is_some_and(|unit| unit.holds_host) {
            return false;
        }
        self.give_up_host(id);
        true
    }

    pub(super) fn device_released(&mut self, attempt: Attempt, bytes: Bytes) -> bool {
        let id = attempt.unit;
        let on_device = matches!(
            self.stage_of_attempt(attempt),
            Some(Stage::Running | Stage::Draining)
        );
        let Some(unit) = self.unit_mut(id).filter(|_| on_device) else {
            return false;
        };
        let Some(seat) = unit.seat.as_mut() else {
            return false;
        };
        let bytes = bytes.min(seat.bytes);
        seat.bytes = seat.bytes.minus(bytes);
        let device = seat.device;
        if let Some(device) = self.fleet.get_mut(device) {
            device.pool.release(bytes);
        }
        self.device_changed(device);
        true
    }

    pub(super) fn device_done(&mut self, attempt: Attempt) -> bool {
        if self.stage_of_attempt(attempt) != Some(Stage::Running) {
            return false;
        }
        self.leave_device(attempt.unit);
        true
    }

    /// From running to finishing.
    fn leave_device(&mut self, id: UnitId) {
        self.note_duration(id);
        self.give_up_seat(id);
        self.stats.running -= 1;
        self.stats.finishing += 1;
        if let Some(unit) = self.unit_mut(id) {
            unit.stage = Stage::Finishing;
        }
    }

    /// Remembers how long a unit had a lane, and makes its tenant pay for that.
    fn note_duration(&mut self, id: UnitId) {
        let (now, Some(job)) = (self.now, self.jobs.get_mut(&id.job)) else {
            return;
        };
        let tenant = job.tenant;
        let Some(unit) = job.units.get_mut(id.index as usize) else {
            return;
        };
        let circuit = unit.circuit.id;
        let taken = now.since(unit.placed_at).max(1);
        if let Some((class, charged)) = unit.charged.take() {
            self.waiting.correct(class, tenant, charged, taken);
        }
        let known = self.durations.get(&circuit).copied();
        if known.is_some() || self.durations.len() < MAX_DURATIONS {
            let average = known.map_or(taken, |known| known - known / 8 + taken / 8);
            self.durations.insert(circuit, average.max(1));
        }
    }

    pub(super) fn finished(&mut self, attempt: Attempt) -> bool {
        let id = attempt.unit;
        match self.stage_of_attempt(attempt) {
            Some(Stage::Running) => self.leave_device(id),
            Some(Stage::Finishing) => {}
            _ => return false,
        }
        let (last, failed) = match self.unit(id) {
            Some(unit) => (unit.last_device, unit.failed),
            None => return false,
        };
        self.leave_stage(id);
        self.give_up_host(id);
        self.mark_gone(id);
        if let Some(device) = last {
            self.device_succeeded(device);
        }
        if let Some((device, Fault::Verification | Fault::OutOfMemory)) = failed
            && failed.map(|(device, _)| device) != last
        {
            self.device_faulted(device);
        }
        let left = self.jobs.get_mut(&id.job).map(|job| {
            job.unfinished -= 1;
            job.unfinished
        });
        if left == Some(0) {
            self.end_job(id.job, Outcome::Completed);
        }
        self.forget_if_over(id.job);
        true
    }

    pub(super) fn failed(&mut self, attempt: Attempt, fault: Fault) -> bool {
        let id = attempt.unit;
        match self.stage_of_attempt(attempt) {
            Some(Stage::Running) => self.leave_device(id),
            Some(Stage::Finishing) => {}
            _ => return false,
        }
        let device = self.unit(id).and_then(|unit| unit.last_device);
        if let Some(device) = device
            && !matches!(
                fault,
                Fault::Verification | Fault::Witness | Fault::OutOfMemory
            )
        {
            self.device_faulted(device);
        }
        self.retry_or_fail(id, fault);
        true
    }

    /// After a try has failed and its seat is given up: a second one, or the end of the job.
    pub(super) fn retry_or_fail(&mut self, id: UnitId, fault: Fault) {
        self.leave_stage(id);
        let Some(unit) = self.unit_mut(id) else {
            return;
        };
        let Some(device) = unit.last_device.take() else {
            return;
        };
        if unit.failed.is_some() {
            unit.stage = Stage::Ready;
            self.stats.ready += 1;
            self.count_ahead(id, true);
            let cause = Cause::Device { device, fault };
            self.end_job(id.job, Outcome::Failed { unit: id, cause });
            return;
        }
        unit.failed = Some((device, fault));
        if unit.holds_host {
            self.count_ahead(id, true);
            self.make_ready(id);
        } else {
            self.put_back(id);
        }
    }

    /// Puts a unit without a witness back to be started again, first of its job.
    pub(super) fn put_back(&mut self, id: UnitId) {
        let Some(job) = self.jobs.get_mut(&id.job) else {
            return;
        };
        job.active -= 1;
        job.units[id.index as usize].stage = Stage::Waiting;
        let first = job.waiting.is_empty();
        job.waiting.push_front(id.index);
        if first {
            self.enqueue(id.job);
        }
        self.stats.waiting += 1;
    }

    pub(super) fn stopped(&mut self, id: UnitId) -> bool {
        if self.stage(id) != Some(Stage::Draining) {
            return false;
        }
        self.give_up_seat(id);
        self.give_up_host(id);
        self.stats.draining -= 1;
        self.mark_gone(id);
        self.forget_if_over(id.job);
        true
    }

    /// Lets a unit with a witness wait for a lane, once its resource is on the host.
    pub(super) fn make_ready(&mut self, id: UnitId) {
        if let Some(unit) = self.unit_mut(id) {
            unit.stage = Stage::Ready;
            self.stats.ready += 1;
        }
        if let Some((position, circuit)) = self.position(id)
            && !self.awaits(id, circuit)
        {
            self.ready.insert(position, circuit);
        }
    }

    pub(super) fn position(&self, id: UnitId) -> Option<(Position, CircuitId)> {
        let job = self.jobs.get(&id.job)?;
        let unit = job.units.get(id.index as usize)?;
        let position = Position {
            class: job.class,
            sequence: unit.sequence,
            unit: id,
        };
        Some((position, unit.circuit.id))
    }

    /// Takes a unit out of the counts and queues of its stage, which its caller then changes. Seat and host memory stay.
    pub(super) fn leave_stage(&mut self, id: UnitId) {
        match self.stage(id) {
            Some(Stage::Witness) => {
                self.stats.witness -= 1;
                self.count_witness_over(id);
                self.count_ahead(id, false);
            }
            Some(Stage::Ready) => {
                self.stats.ready -= 1;
                self.count_ahead(id, false);
                self.drop_hold(id);
                if let Some((position, circuit)) = self.position(id) {
                    self.ready.remove(position, circuit);
                }
            }
            Some(Stage::Assigned) => self.stats.assigned -= 1,
            Some(Stage::Running) => self.stats.running -= 1,
            Some(Stage::Finishing) => self.stats.finishing -= 1,
            Some(Stage::Draining) => self.stats.draining -= 1,
            Some(Stage::Waiting | Stage::Gone) | None => {}
        }
    }

    fn is_critical(&self, id: UnitId) -> bool {
        self.jobs.get(&id.job).is_some_and(|job| job.is_critical())
    }

    fn count_witness_over(&mut self, id: UnitId) {
        if self.is_critical(id) {
            self.counts.critical_witnesses -= 1;
        } else {
            self.counts.witnesses -= 1;
        }
    }

    /// Counts a unit as between the start of its witness and a lane, or not any more.
    pub(super) fn count_ahead(&mut self, id: UnitId, ahead: bool) {
        if self.is_critical(id) {
            return;
        }
        if ahead {
            self.counts.ahead += 1;
        } else {
            self.counts.ahead -= 1;
        }
    }

    /// A unit of which nothing is left; it has left its stage.
    fn mark_gone(&mut self, id: UnitId) {
        if let Some(job) = self.jobs.get_mut(&id.job) {
            job.active -= 1;
            job.units[id.index as usize].stage = Stage::Gone;
        }
    }

    fn release_host_bytes(&mut self, id: UnitId, bytes: Bytes) {
        let critical = self.is_critical(id);
        let Some(unit) = self.unit_mut(id) else {
            return;
        };
        let bytes = bytes.min(unit.host_held);
        unit.host_held = unit.host_held.minus(bytes);
        self.host.release(bytes);
        if critical {
            self.counts.critical_host = self.counts.critical_host.minus(bytes);
        }
    }

    /// Gives back all of a unit's host memory and its use of the resource there.
    pub(super) fn give_up_host(&mut self, id: UnitId) {
        let now = self.now;
        let Some(unit) = self.unit_mut(id) else {
            return;
        };
        let (held, holds) = (unit.host_held, unit.holds_host);
        unit.holds_host = false;
        self.release_host_bytes(id, held);
        if holds && let Some(circuit) = self.circuit_of(id) {
            if let Some(units) = self.awaiting.get_mut(&circuit) {
                units.remove(&id);
            }
            self.host.let_go(circuit, now);
        }
    }

    pub(super) fn circuit_of(&self, id: UnitId) -> Option<CircuitId> {
        Some(self.unit(id)?.circuit.id)
    }

    /// Gives back a unit's lane, its memory there and its use of the resource, if it has a lane.
    pub(super) fn give_up_seat(&mut self, id: UnitId) {
        if let Some(device) = self.release_seat(id) {
            self.device_changed(device);
        }
    }

    /// [`Self::give_up_seat`] without going on with who waits on that device, which is returned.
    pub(super) fn release_seat(&mut self, id: UnitId) -> Option<DeviceId> {
        let now = self.now;
        let seat = self.unit_mut(id)?.seat.take()?;
        let circuit = self.circuit_of(id)?;
        let Seat {
            device: device_id,
            lane,
            bytes,
            seated,
        } = seat;
        let device = self.fleet.get_mut(device_id)?;
        device.lanes[lane.0 as usize] = None;
        if device.waiting == Some(id) {
            device.waiting = None;
        }
        if seated {
            device.pool.release(bytes);
            device.pool.let_go(circuit, now);
        }
        Some(device_id)
    }

    /// Tells the caller to stop a unit, unless it has nothing of it.
    pub(super) fn abort(&mut self, id: UnitId) {
        match self.stage(id) {
            Some(Stage::Draining | Stage::Gone | Stage::Waiting) | None => return,
            Some(Stage::Assigned) => self.give_up_seat(id),
            Some(Stage::Witness | Stage::Ready | Stage::Running | Stage::Finishing) => {}
        }
        self.leave_stage(id);
        if let Some(unit) = self.unit_mut(id) {
            unit.stage = Stage::Draining;
            self.stats.draining += 1;
            self.tell(Action::Abort { unit: id });
        }
    }
}
