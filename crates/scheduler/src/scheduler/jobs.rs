//! How jobs end, and how they are promoted.

use crate::event::{Action, Outcome};
use crate::job::Stage;
use crate::types::{JobId, UnitId};

use super::{Scheduler, Timer};

impl Scheduler {
    pub(super) fn cancelled(&mut self, id: JobId) -> bool {
        let live = self.jobs.get(&id).is_some_and(|job| !job.ended);
        if live {
            self.end_job(id, Outcome::Cancelled);
            self.forget_if_over(id);
        }
        live
    }

    pub(super) fn expire(&mut self, id: JobId) {
        self.end_job(id, Outcome::Expired);
        self.forget_if_over(id);
    }

    /// Ends a job, once: stops what is under way of it and forgets what is not.
    pub(super) fn end_job(&mut self, id: JobId, outcome: Outcome) {
        let live = self.jobs.get(&id).is_some_and(|job| !job.ended);
        if live {
            self.dequeue(id);
        }
        let Some(job) = self.jobs.get_mut(&id).filter(|_| live) else {
            return;
        };
        job.ended = true;
        let units = job.units.len() as u32;
        let waiting = std::mem::take(&mut job.waiting);
        for index in &waiting {
            job.units[*index as usize].stage = Stage::Gone;
        }
        self.stats.waiting -= waiting.len();
        if let Some(deadline) = job.deadline {
            self.timers.remove(&(deadline, Timer::Deadline(id)));
        }
        if let Some(promotion) = job.promotion {
            self.timers.remove(&(promotion, Timer::Promotion(id)));
        }
        self.by_need.remove(&(job.needed, id));
        self.tell(Action::JobEnded { job: id, outcome });
        for index in 0..units {
            self.abort(UnitId { job: id, index });
        }
    }

    /// Forgets a job that has ended and of which nothing is left.
    pub(super) fn forget_if_over(&mut self, id: JobId) {
        let over = self.jobs.get(&id).is_some_and(|j| j.ended && j.active == 0);
        let Some(job) = over.then(|| self.jobs.remove(&id)).flatten() else {
            return;
        };
        self.stats.jobs -= 1;
        self.stats.units -= job.units.len();
        *self.job_count(job.is_critical()) -= 1;
        if let Some(count) = self.tenants.get_mut(&job.tenant) {
            *count -= 1;
            if *count == 0 {
                self.tenants.remove(&job.tenant);
            }
        }
    }

    /// Lets a job that has waited long count as one of the next priority.
    pub(super) fn promote(&mut self, id: JobId) {
        let patience = self.config.promote_after_us;
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let Some(class) = job.class.promoted() else {
            return;
        };
        let units = 0..job.units.len() as u32;
        let ready: Vec<UnitId> = units
            .map(|index| UnitId { job: id, index })
            .filter(|unit| self.is_in_ready_order(*unit))
            .collect();
        for &unit in &ready {
            if let Some((position, circuit)) = self.position(unit) {
                self.ready.remove(position, circuit);
            }
        }
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let before = std::mem::replace(&mut job.class, class);
        if !job.waiting.is_empty() && !job.early {
            self.waiting.remove(before, job.tenant, job.order);
            self.waiting.insert(class, job.tenant, job.order);
        }
        let next = job.promotion.map(|at| at.after(patience));
        job.promotion = next.filter(|_| class.promoted().is_some());
        if let Some(at) = job.promotion {
            self.timers.insert((at, Timer::Promotion(id)));
        }
        for unit in ready {
            if let Some((position, circuit)) = self.position(unit) {
                self.ready.insert(position, circuit);
            }
        }
    }

    fn is_in_ready_order(&self, id: UnitId) -> bool {
        let ready = self.unit(id).is_some_and(|u| u.stage == Stage::Ready);
        let circuit = self.circuit_of(id).filter(|_| ready);
        circuit.is_some_and(|circuit| !self.awaits(id, circuit))
    }

    /// Ends the jobs that no device, in service or expected back, could ever run.
    pub(super) fn end_unavailable(&mut self) {
        let found = self.fleet.largest();
        let largest = found.unwrap_or_default();
        while let Some(&(needed, id)) = self.by_need.last() {
            if found.is_some() && needed <= largest {
                break;
            }
            self.end_job(id, Outcome::Unavailable { needed, largest });
            self.forget_if_over(id);
        }
    }
}
