//! Jobs: from submission to outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use cuzk_backend::Backend;
use cuzk_proof_api::{Job, Priority};
use cuzk_scheduler::{Cause, CircuitId, Event, JobSpec, Rejection, TenantId, UnitId, UnitSpec};

use crate::job::{JobId, Shared};
use crate::workers::{Assemble, Decode};
use crate::{
    Completed, Failure, JobEvent, JobHandle, JobState, Outcome, Refused, Submission, Work,
};

use super::units::{Stage, UnitRecord};
use super::{Coordinator, DecoderTask};

/// A job that has not ended, or of which something is left.
pub(super) struct JobRecord {
    pub(super) shared: Arc<Shared>,
    pub(super) tenant: u64,
    pub(super) priority: Priority,
    pub(super) deadline: Option<Instant>,
    pub(super) decoded: Option<Arc<dyn Job>>,
    pub(super) circuit: Option<CircuitId>,
    pub(super) units: Vec<UnitRecord>,
    /// Whether the scheduler has been told of it.
    pub(super) scheduled: bool,
    /// Whether a decoder has it.
    pub(super) with_decoder: bool,
    /// The outcome, where the scheduler is made to cancel the job for a reason that it does not know.
    pub(super) forced: Option<Outcome>,
    pub(super) ended: bool,
}

impl JobRecord {
    fn is_over(&self) -> bool {
        let idle = |unit: &UnitRecord| matches!(unit.stage, Stage::Idle | Stage::Proved);
        self.ended && !self.with_decoder && self.units.iter().all(idle)
    }
}

impl Drop for JobRecord {
    /// Nobody waits for ever: should the coordinator itself end, so do the jobs.
    fn drop(&mut self) {
        self.shared.end(&Outcome::Unavailable {
            reason: "the engine has stopped".to_owned(),
        });
    }
}

/// `cuzk.v1`'s priorities as the scheduler's.
pub(super) fn priority(priority: Priority) -> cuzk_scheduler::Priority {
    match priority {
        Priority::Low => cuzk_scheduler::Priority::Low,
        Priority::Normal => cuzk_scheduler::Priority::Normal,
        Priority::High => cuzk_scheduler::Priority::High,
        Priority::Critical => cuzk_scheduler::Priority::Critical,
    }
}

impl<B: Backend + Clone> Coordinator<B> {
    pub(super) fn submit(&mut self, submission: Submission) -> Result<JobHandle, Refused> {
        self.check_room(&submission)?;
        self.last_job += 1;
        let id = JobId(self.last_job);
        let shared = Arc::new(Shared::new(Instant::now(), self.config.event_backlog));
        let Submission {
            work,
            tenant,
            priority,
            deadline,
        } = submission;
        let record = JobRecord {
            shared: Arc::clone(&shared),
            tenant,
            priority,
            deadline,
            decoded: None,
            circuit: None,
            units: Vec::new(),
            scheduled: false,
            with_decoder: false,
            forced: None,
            ended: false,
        };
        self.jobs.insert(id, record);
        self.deadlines.extend(deadline.map(|at| (at, id)));
        self.counters.submitted += 1;
        match work {
            Work::Job(job) => self.decoded(id, Ok(job)),
            Work::Request {
                proof_type,
                request,
            } => {
                if let Some(record) = self.jobs.get_mut(&id) {
                    record.with_decoder = true;
                }
                self.pools.decode.send(DecoderTask::Decode(Decode {
                    job: id,
                    proof_type,
                    request,
                }));
            }
        }
        Ok(JobHandle::new(id, shared, Arc::clone(&self.cancel)))
    }

    /// The scheduler's limits, held before a request is decoded.
    fn check_room(&self, submission: &Submission) -> Result<(), Refused> {
        if self.closed {
            return Err(Refused::ShuttingDown);
        }
        let limits = &self.config.scheduler;
        let critical = |priority| priority == Priority::Critical;
        let alike = self.jobs.values();
        let alike = alike.filter(|j| critical(j.priority) == critical(submission.priority));
        if alike.count() >= limits.max_jobs {
            return Err(Refused::QueueFull {
                limit: limits.max_jobs,
            });
        }
        let tenant = submission.tenant;
        let own = self.jobs.values().filter(|j| j.tenant == tenant).count();
        if own >= limits.max_tenant_jobs {
            return Err(Refused::TenantFull {
                tenant,
                limit: limits.max_tenant_jobs,
            });
        }
        Ok(())
    }

    pub(super) fn decoded(&mut self, id: JobId, result: Result<Arc<dyn Job>, String>) {
        let Some(record) = self.jobs.get_mut(&id) else {
            return;
        };
        record.with_decoder = false;
        if record.ended {
            self.forget_if_over(id);
            return;
        }
        match result {
            Err(message) => self.end(id, failure(None, message)),
            Ok(job) => {
                let partitions = job.partitions();
                record.shared.lock().partitions = partitions;
                let circuit: Arc<str> = Arc::from(job.circuit_id());
                record.decoded = Some(job);
                self.want_sizes(id, circuit);
            }
        }
    }

    /// Hands a job whose sizes are known to the scheduler.
    pub(super) fn schedule(&mut self, id: JobId, circuit: CircuitId, waited: Duration) {
        let Some(known) = self.circuits.get(&circuit) else {
            return;
        };
        let Some(footprint) = known.footprint else {
            return;
        };
        let deadline = self.jobs.get(&id).and_then(|record| record.deadline);
        let deadline = deadline.map(|deadline| self.at(deadline));
        let Some(record) = self.jobs.get_mut(&id).filter(|record| !record.ended) else {
            return;
        };
        let partitions = record.decoded.as_ref().map_or(0, |job| job.partitions());
        let limit = self.config.scheduler.max_units;
        if partitions > limit {
            let reason = format!("the job has {partitions} partitions, the queue takes {limit}");
            self.end(id, Outcome::Unavailable { reason });
            return;
        }
        record.units = (0..partitions).map(|_| UnitRecord::default()).collect();
        record.circuit = Some(circuit);
        record.scheduled = true;
        record.shared.lock().timings.resources += waited;
        let unit = UnitSpec {
            host: cuzk_scheduler::Bytes(footprint.host_witness),
            device: cuzk_scheduler::Bytes(footprint.device_work),
        };
        let spec = JobSpec {
            job: cuzk_scheduler::JobId(id.0),
            tenant: TenantId(record.tenant),
            priority: priority(record.priority),
            deadline,
            circuit: known.sizes(circuit, footprint),
            units: vec![unit; partitions],
        };
        self.report(if self.is_early(Some(circuit)) {
            Event::SubmittedEarly(spec)
        } else {
            Event::Submitted(spec)
        });
    }

    pub(super) fn accepted(&mut self, id: JobId) {
        if let Some(record) = self.jobs.get(&id) {
            record.shared.set_state(JobState::Queued);
        }
    }

    pub(super) fn rejected(&mut self, id: JobId, reason: Rejection) {
        let final_ones = matches!(reason, Rejection::Expired | Rejection::Empty);
        if !final_ones && self.wait_for_compilation(id) {
            return;
        }
        let outcome = match reason {
            Rejection::Expired => Outcome::Expired,
            Rejection::Empty => failure(None, reason.to_string()),
            _ => Outcome::Unavailable {
                reason: reason.to_string(),
            },
        };
        self.end(id, outcome);
    }

    pub(super) fn cancel(&mut self, id: JobId) {
        match self.jobs.get(&id) {
            Some(record) if record.scheduled && record.decoded.is_some() && !record.ended => {
                if record.shared.lock().state == JobState::Assembling {
                    // The scheduler is done with it.
                    self.end(id, Outcome::Cancelled);
                } else {
                    let job = cuzk_scheduler::JobId(id.0);
                    self.report(Event::Cancelled { job });
                }
            }
            Some(record) if !record.ended => self.end(id, Outcome::Cancelled),
            _ => {}
        }
    }

    /// Ends a job for a reason that the scheduler does not know.
    pub(super) fn force(&mut self, id: JobId, outcome: Outcome) {
        if let Some(record) = self.jobs.get_mut(&id)
            && !record.ended
        {
            record.forced.get_or_insert(outcome);
            self.cancel(id);
        }
    }

    /// The scheduler's word that a job is over.
    pub(super) fn job_ended(&mut self, id: JobId, outcome: cuzk_scheduler::Outcome) {
        use cuzk_scheduler::Outcome as Decided;
        if matches!(outcome, Decided::Completed) {
            self.assemble(id);
            return;
        }
        let forced = self.jobs.get_mut(&id).and_then(|r| r.forced.take());
        let outcome = forced.unwrap_or_else(|| match outcome {
            Decided::Cancelled | Decided::Completed => Outcome::Cancelled,
            Decided::Expired => Outcome::Expired,
            Decided::Unavailable { needed, largest } => Outcome::Unavailable {
                reason: if largest.0 == 0 {
                    "no device is in service".to_owned()
                } else {
                    format!("needs {needed} of a device, the largest has {}", largest.0)
                },
            },
            Decided::Failed { unit, cause } => self.explain(id, unit, cause),
        });
        self.end(id, outcome);
    }

    fn explain(&self, id: JobId, unit: UnitId, cause: Cause) -> Outcome {
        let record = self.jobs.get(&id);
        let partition = unit.index as usize;
        let found = record.and_then(|record| record.units.get(partition));
        let said = found.and_then(|unit| unit.error.clone());
        match cause {
            Cause::Resource => {
                let circuit = found.and_then(|unit| unit.circuit);
                let circuit = circuit.and_then(|circuit| self.circuits.get(&circuit));
                let reason = circuit.and_then(|circuit| circuit.error.clone());
                Outcome::Unavailable {
                    reason: reason.unwrap_or_else(|| "the circuit's key".to_owned()),
                }
            }
            Cause::Witness => failure(
                Some(partition),
                said.unwrap_or_else(|| "the witness".to_owned()),
            ),
            Cause::Device { device, fault } => Outcome::Failed(Failure {
                partition: Some(partition),
                device: self.device_name(device).map(|name| name.to_string()),
                attempts: found.map_or(0, |unit| unit.attempts),
                message: said.unwrap_or_else(|| format!("{fault:?}")),
            }),
        }
    }

    fn assemble(&mut self, id: JobId) {
        let Some(record) = self.jobs.get_mut(&id) else {
            return;
        };
        let proofs: Option<Vec<_>> = record.units.iter().map(|unit| unit.proof).collect();
        let (Some(proofs), Some(decoded)) = (proofs, record.decoded.clone()) else {
            self.end(id, failure(None, "a partition has no proof".to_owned()));
            return;
        };
        record.with_decoder = true;
        record.shared.set_state(JobState::Assembling);
        self.pools.decode.send(DecoderTask::Assemble(Assemble {
            job: id,
            decoded,
            proofs,
        }));
    }

    pub(super) fn assembled(&mut self, id: JobId, result: Result<Vec<u8>, String>) {
        if let Some(record) = self.jobs.get_mut(&id) {
            record.with_decoder = false;
        }
        let outcome = match result {
            Ok(proof) => Outcome::Completed(Completed { proof }),
            Err(message) => failure(None, message),
        };
        self.end(id, outcome);
    }

    /// Ends a job, once.
    pub(super) fn end(&mut self, id: JobId, outcome: Outcome) {
        let Some(record) = self.jobs.get_mut(&id) else {
            return;
        };
        if !record.ended {
            record.ended = true;
            // What it was decoded to is not needed any more, whatever is still being stopped.
            record.decoded = None;
            self.counters.count(&outcome);
            record.shared.end(&outcome);
        }
        self.forget_if_over(id);
    }

    pub(super) fn forget_if_over(&mut self, id: JobId) {
        if self.jobs.get(&id).is_some_and(JobRecord::is_over)
            && let Some(record) = self.jobs.remove(&id)
            && let Some(deadline) = record.deadline
        {
            self.deadlines.remove(&(deadline, id));
        }
    }

    /// Ends the jobs whose deadline passed before the scheduler knew of them.
    pub(super) fn expire_unscheduled(&mut self) {
        let now = Instant::now();
        while let Some(&(at, id)) = self.deadlines.first() {
            if at > now {
                break;
            }
            self.deadlines.pop_first();
            if self.jobs.get(&id).is_some_and(|record| !record.scheduled) {
                self.end(id, Outcome::Expired);
            }
        }
    }

    pub(super) fn drain(&mut self, idle: Sender<()>) {
        self.closed = true;
        self.draining.push(idle);
    }

    /// The engine is dropped: what has not ended is unavailable, what runs is cancelled.
    pub(super) fn end_all(&mut self) {
        for device in &mut self.devices {
            device.cancel_all();
            device.free_circuits();
        }
        let jobs: Vec<JobId> = self.jobs.keys().copied().collect();
        for id in jobs {
            let reason = "the engine is shutting down".to_owned();
            self.end(id, Outcome::Unavailable { reason });
        }
    }

    pub(super) fn tell(&self, id: JobId, event: &JobEvent) {
        if let Some(record) = self.jobs.get(&id) {
            record.shared.tell(event);
        }
    }
}

/// A failure that came to no device.
pub(super) fn failure(partition: Option<usize>, message: String) -> Outcome {
    Outcome::Failed(Failure {
        partition,
        device: None,
        attempts: 0,
        message,
    })
}
