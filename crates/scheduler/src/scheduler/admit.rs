//! Taking jobs in, and starting witnesses while there is memory for them.

use crate::event::{Action, JobSpec, Rejection};
use crate::job::{Job, Stage, device_need, host_need};
use crate::pool::Residency;
use crate::types::{Bytes, Circuit, JobId, Place, Priority, UnitId};

use super::{Scheduler, Timer};

/// What a unit is taken to need of a lane while nothing is known of its circuit, in microseconds.
const DEFAULT_DURATION_US: u64 = 1_000_000;

/// What came of trying to start a witness.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Start {
    Started,
    /// Nothing waits, or as many as may be are under way.
    Nothing,
    /// What is first in turn does not fit the memory yet. What comes after it waits too.
    NoMemory,
}

impl Scheduler {
    pub(super) fn submitted(&mut self, spec: JobSpec, early: bool) -> bool {
        let job = spec.job;
        if let Err(reason) = self.check_submission(&spec) {
            self.tell(Action::Rejected { job, reason });
            return true;
        }
        self.tell(Action::Accepted { job });
        self.take_in(&spec, early);
        true
    }

    fn check_submission(&self, spec: &JobSpec) -> Result<(), Rejection> {
        if self.jobs.contains_key(&spec.job) {
            return Err(Rejection::Duplicate);
        }
        if spec.units.is_empty() {
            return Err(Rejection::Empty);
        }
        if spec.deadline.is_some_and(|deadline| deadline <= self.now) {
            return Err(Rejection::Expired);
        }
        self.check_limits(spec)?;
        let needed = host_need(spec);
        let budget = self.host_budget(spec.priority);
        if needed > budget {
            return Err(Rejection::HostMemory { needed, budget });
        }
        let needed = device_need(spec);
        match self.fleet.largest() {
            Some(largest) if needed <= largest => Ok(()),
            found => {
                let largest = found.unwrap_or_default();
                Err(Rejection::Unavailable { needed, largest })
            }
        }
    }

    /// What a unit of this priority may take of the host's memory at most.
    pub(super) fn host_budget(&self, priority: Priority) -> Bytes {
        match priority {
            Priority::Critical => self.config.host_memory,
            _ => (self.config.host_memory).minus(self.config.critical_host_memory),
        }
    }

    fn check_limits(&self, spec: &JobSpec) -> Result<(), Rejection> {
        let limit = self.config.max_jobs;
        let jobs = match spec.priority {
            Priority::Critical => self.counts.critical_jobs,
            _ => self.counts.jobs,
        };
        if jobs >= limit {
            return Err(Rejection::QueueFull { limit });
        }
        let limit = self.config.max_tenant_jobs;
        if self.tenants.get(&spec.tenant).copied().unwrap_or(0) >= limit {
            return Err(Rejection::TenantFull { limit });
        }
        let limit = self.config.max_units;
        if spec.units.len() > limit.saturating_sub(self.stats.units) {
            return Err(Rejection::UnitsFull { limit });
        }
        Ok(())
    }

    fn take_in(&mut self, spec: &JobSpec, early: bool) {
        let id = spec.job;
        let job = Job::new(spec, early, self.now, self.config.promote_after_us);
        self.stats.jobs += 1;
        self.stats.units += job.units.len();
        self.stats.waiting += job.units.len();
        *self.job_count(job.is_critical()) += 1;
        *self.tenants.entry(job.tenant).or_default() += 1;
        if let Some(deadline) = job.deadline {
            self.timers.insert((deadline, Timer::Deadline(id)));
        }
        if let Some(promotion) = job.promotion {
            self.timers.insert((promotion, Timer::Promotion(id)));
        }
        self.by_need.insert((job.needed, id));
        self.jobs.insert(id, job);
        self.enqueue(id);
    }

    pub(super) fn job_count(&mut self, critical: bool) -> &mut usize {
        if critical {
            &mut self.counts.critical_jobs
        } else {
            &mut self.counts.jobs
        }
    }

    /// Starts witnesses in their turn: critical ones first, but for one of the others after a run of them; early ones when
    /// none of these can be.
    pub(super) fn admit_all(&mut self) {
        loop {
            let others_turn = self.counts.critical_started >= self.config.critical_run;
            let started = match self.admit(!others_turn) {
                Start::Nothing => self.admit(others_turn),
                Start::NoMemory if others_turn && self.critical_fits_reserve() => self.admit(true),
                start => start,
            };
            let goes_on = match started {
                Start::Started => true,
                Start::Nothing => self.admit_early(),
                Start::NoMemory => false,
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Starts the witness that is first in turn among the critical, or among the others.
    fn admit(&mut self, critical: bool) -> Start {
        let full = self.free_slots(critical) == 0;
        let Some(id) = self.waiting.head(critical).filter(|_| !full) else {
            return Start::Nothing;
        };
        if !self.make_host_room(id) {
            return Start::NoMemory;
        }
        self.start_witness(id);
        let others_wait = self.waiting.head(false).is_some();
        self.counts.critical_started = match critical && others_wait {
            true => self.counts.critical_started.saturating_add(1),
            false => 0,
        };
        Start::Started
    }

    /// How many more witnesses of critical jobs, or of others, may be started.
    pub(super) fn free_slots(&self, critical: bool) -> usize {
        let slots = self.config.witness_slots;
        if critical {
            return slots.saturating_sub(self.counts.critical_witnesses);
        }
        let lanes = self.fleet.lanes_in_service();
        let ahead = lanes.saturating_mul(self.config.ready_per_lane);
        let ahead = slots
            .saturating_add(ahead)
            .saturating_sub(self.counts.ahead);
        slots.saturating_sub(self.counts.witnesses).min(ahead)
    }

    /// The host memory that a job's next unit takes, its resource included where it is not there.
    fn next_host_need(&self, job: &Job) -> Bytes {
        job.next().map_or(Bytes(0), |unit| {
            let Circuit { id, host, .. } = unit.circuit;
            unit.host.plus(self.host.missing(id, host))
        })
    }

    /// Whether the critical job whose turn it is stays within what is kept for critical jobs.
    fn critical_fits_reserve(&self) -> bool {
        let head = self.waiting.head(true).and_then(|id| self.jobs.get(&id));
        head.is_some_and(|job| {
            let used = self.counts.critical_host.plus(self.next_host_need(job));
            used <= self.config.critical_host_memory
        })
    }

    /// Whether there is room for the next unit of a job; where there is not, begins to evict what would make it.
    pub(super) fn make_host_room(&mut self, id: JobId) -> bool {
        let Some(job) = self.jobs.get(&id) else {
            return false;
        };
        let Some(circuit) = job.next().map(|unit| unit.circuit.id) else {
            return false;
        };
        let kept = match job.is_critical() {
            true => Bytes(0),
            false => (self.config.critical_host_memory).minus(self.counts.critical_host),
        };
        let needed = self.next_host_need(job).plus(kept);
        let leaving = self.host.residency(circuit) == Some(Residency::Evicting);
        if needed <= self.host.free() && !leaving {
            return true;
        }
        for circuit in self.host.make_room(needed, circuit) {
            let place = Place::Host;
            self.tell(Action::Evict { circuit, place });
        }
        false
    }

    pub(super) fn start_witness(&mut self, id: JobId) {
        let sequence = self.counts.sequence;
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let Some(index) = job.waiting.pop_front() else {
            return;
        };
        let (class, tenant, early) = (job.class, job.tenant, job.early);
        let (critical, last) = (job.is_critical(), job.waiting.is_empty());
        job.active += 1;
        let unit = &mut job.units[index as usize];
        let circuit = unit.circuit;
        unit.stage = Stage::Witness;
        unit.host_held = unit.host;
        unit.holds_host = true;
        unit.sequence = sequence;
        unit.passes = 0;
        let known = self.durations.get(&circuit.id).copied();
        let cost = known.unwrap_or(DEFAULT_DURATION_US);
        unit.charged = (!early).then_some((class, cost));
        let bytes = unit.host;
        self.counts.sequence += 1;
        self.stats.waiting -= 1;
        self.stats.witness += 1;
        self.count_start(critical, bytes);
        if !early {
            self.waiting.charge(class, tenant, cost);
        }
        if last {
            self.dequeue(id);
        }
        let unit = UnitId { job: id, index };
        self.hold_on_host(unit, circuit);
        self.host.reserve(bytes);
        self.tell(Action::StartWitness { unit });
    }

    fn count_start(&mut self, critical: bool, bytes: Bytes) {
        if critical {
            self.counts.critical_witnesses += 1;
            self.counts.critical_host = self.counts.critical_host.plus(bytes);
        } else {
            self.counts.witnesses += 1;
            self.counts.ahead += 1;
        }
    }
}
