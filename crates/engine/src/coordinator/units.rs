//! Units, the partitions of jobs: witness, lane, proof, or none of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cuzk_backend::{Backend, BackendError};
use cuzk_groth16::{Computed, Groth16Error, Proved};
use cuzk_r1cs::PackedWitness;
use cuzk_scheduler::{Attempt, Bytes, CircuitId, DeviceId, Event, Fault, Lane, UnitId};

use crate::job::JobId;
use crate::workers::{Finish, MadeWitness, ProofBytes, Witness};
use crate::{Failure, JobEvent, JobState, Outcome};

use super::Coordinator;

/// Where a unit is.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing of it is anywhere.
    #[default]
    Idle,
    /// It waits for its circuit to be opened.
    AwaitsCircuit,
    /// Its witness is being computed.
    Witness,
    /// It waits for a lane.
    Ready,
    /// It is on a lane of a device.
    OnLane(DeviceId, usize),
    /// The device's part is done, the proof is being verified.
    Finishing,
    /// Its proof is there.
    Proved,
}

/// A unit.
#[derive(Default)]
pub(super) struct UnitRecord {
    pub(super) stage: Stage,
    /// The circuit with which it was started last.
    pub(super) circuit: Option<CircuitId>,
    /// From the end of its computation to the proof, for a second try.
    pub(super) witness: Option<Arc<PackedWitness>>,
    /// Whether there is another way to compute it.
    direct: bool,
    /// What was wrong with the witness, where it is to be computed another way.
    refuted: Option<String>,
    pub(super) proof: Option<ProofBytes>,
    /// Whether the scheduler wants it stopped, and waits for the word that it is.
    pub(super) aborted: bool,
    /// Whether its full synthesis need not come to its end.
    stop: Arc<AtomicBool>,
    /// Tries on devices.
    pub(super) attempts: u32,
    /// What was wrong the last time.
    pub(super) error: Option<String>,
}

fn job_of(unit: UnitId) -> JobId {
    JobId(unit.job.0)
}

impl<B: Backend + Clone> Coordinator<B> {
    fn unit(&mut self, unit: UnitId) -> Option<&mut UnitRecord> {
        let record = self.jobs.get_mut(&job_of(unit))?;
        record.units.get_mut(unit.index as usize)
    }

    pub(super) fn start_witness(&mut self, unit: UnitId) {
        let id = job_of(unit);
        if let Some(record) = self.jobs.get(&id) {
            let mut watched = record.shared.lock();
            if watched.timings.queue.is_zero() {
                watched.timings.queue = record.shared.submitted().elapsed();
            }
            drop(watched);
            record.shared.set_state(JobState::Running);
        }
        let circuit = self.scheduler.circuit(unit);
        if let Some(found) = self.unit(unit) {
            found.circuit = circuit;
            found.stop = Arc::default();
        }
        self.compute_witness(unit);
    }

    /// Has a unit's witness computed, now or when its circuit is open.
    pub(super) fn compute_witness(&mut self, unit: UnitId) {
        let id = job_of(unit);
        let Some(record) = self.jobs.get_mut(&id) else {
            return;
        };
        let decoded = record.decoded.clone();
        let Some(found) = record.units.get_mut(unit.index as usize) else {
            return;
        };
        let circuit = found
            .circuit
            .and_then(|circuit| self.circuits.get_mut(&circuit));
        let (Some(circuit), Some(job), false) = (circuit, decoded, found.aborted) else {
            return;
        };
        let Some(loaded) = &circuit.host else {
            found.stage = Stage::AwaitsCircuit;
            circuit.awaiting.push(unit);
            return;
        };
        found.stage = Stage::Witness;
        self.pools.witness.send(Witness {
            unit,
            job,
            loaded: Arc::clone(loaded),
            stop: Arc::clone(&found.stop),
            refuted: found.refuted.take(),
        });
        let partition = unit.index as usize;
        self.tell(id, &JobEvent::WitnessStarted { partition });
    }

    pub(super) fn witness_done(
        &mut self,
        unit: UnitId,
        result: Result<MadeWitness, String>,
        took: Duration,
    ) {
        let id = job_of(unit);
        if let Some(record) = self.jobs.get(&id) {
            record.shared.lock().timings.witness += took;
        }
        let reserved = self.reserved_for_witness(unit);
        let Some(found) = self.unit(unit) else {
            return;
        };
        let circuit = found.circuit;
        if found.aborted {
            drop(result);
            self.stopped(unit);
            return;
        }
        match result {
            Ok(MadeWitness { packed, direct }) => {
                let left = packed.size_bytes() as u64;
                found.stage = Stage::Ready;
                found.witness = Some(packed);
                found.direct = direct;
                let partition = unit.index as usize;
                self.tell(id, &JobEvent::WitnessDone { partition });
                let bytes = Bytes(reserved.saturating_sub(left));
                self.report(Event::HostReleased { unit, bytes });
                self.report(Event::WitnessDone { unit });
            }
            Err(_) if found.stop.load(Ordering::Relaxed) => {
                found.stage = Stage::Idle;
                self.report(Event::WitnessStopped { unit });
                self.leave_early(circuit);
            }
            Err(message) => {
                found.stage = Stage::Idle;
                found.error = Some(message);
                self.report(Event::WitnessFailed { unit });
                self.leave_early(circuit);
                self.forget_if_over(id);
            }
        }
    }

    /// The circuit of a unit that is being synthesised is compiled.
    pub(super) fn overtaken(&mut self, unit: UnitId) {
        if let Some(found) = self.unit(unit) {
            found.stop.store(true, Ordering::Relaxed);
        }
    }

    fn reserved_for_witness(&mut self, unit: UnitId) -> u64 {
        let circuit = self.unit(unit).and_then(|found| found.circuit);
        let circuit = circuit.and_then(|circuit| self.circuits.get(&circuit));
        let footprint = circuit.and_then(|circuit| circuit.footprint);
        footprint.map_or(0, |footprint| footprint.host_witness)
    }

    pub(super) fn place(&mut self, attempt: Attempt, device: DeviceId, lane: Lane) {
        let Attempt { unit, number } = attempt;
        let (id, lane) = (job_of(unit), lane.0 as usize);
        let Some(found) = self.unit(unit) else {
            return;
        };
        found.attempts = number;
        let circuit = found.circuit;
        let witness = found.witness.clone();
        let target = self.devices.get_mut(device.0 as usize);
        let placed = match (target, circuit, witness) {
            (Some(target), Some(circuit), Some(witness)) => {
                target.prove(lane, attempt, circuit, witness)
            }
            _ => false,
        };
        if !placed {
            if let Some(found) = self.unit(unit) {
                found.error = Some("the device does not hold the circuit".to_owned());
            }
            let fault = Fault::Load;
            self.report(Event::Failed { attempt, fault });
            return;
        }
        if let Some(found) = self.unit(unit) {
            found.stage = Stage::OnLane(device, lane);
        }
        if let Some(name) = self.device_name(device) {
            let started = JobEvent::Started {
                partition: unit.index as usize,
                device: name,
                lane,
            };
            self.tell(id, &started);
        }
    }

    /// Stops a unit: at once where nothing runs, else when what runs has ended.
    pub(super) fn abort(&mut self, unit: UnitId) {
        let Some(found) = self.unit(unit) else {
            self.report(Event::Stopped { unit });
            return;
        };
        found.aborted = true;
        found.stop.store(true, Ordering::Relaxed);
        match found.stage {
            Stage::Idle | Stage::AwaitsCircuit | Stage::Ready | Stage::Proved => self.stopped(unit),
            Stage::Witness | Stage::Finishing => {}
            Stage::OnLane(device, lane) => {
                if let Some(device) = self.devices.get(device.0 as usize) {
                    device.cancel(lane);
                }
            }
        }
    }

    /// Nothing of an aborted unit is left.
    pub(super) fn stopped(&mut self, unit: UnitId) {
        let mut circuit = None;
        if let Some(found) = self.unit(unit) {
            found.stage = Stage::Idle;
            found.witness = None;
            circuit = found.circuit;
        }
        self.report(Event::Stopped { unit });
        self.leave_early(circuit);
        self.forget_if_over(job_of(unit));
    }

    /// A device is lost, and with it what it was computing of a unit. An aborted one is stopped when its lane is free.
    pub(super) fn lost(&mut self, unit: UnitId, message: &str) {
        if let Some(found) = self.unit(unit)
            && !found.aborted
        {
            found.stage = Stage::Ready;
            found.error = Some(message.to_owned());
        }
    }

    /// The device's part of a unit is done, or has failed. The lane is free.
    pub(super) fn computed(
        &mut self,
        attempt: Attempt,
        device: DeviceId,
        result: Result<Computed, Groth16Error>,
        took: Duration,
    ) {
        if let Some(record) = self.jobs.get(&job_of(attempt.unit)) {
            record.shared.lock().timings.device += took;
        }
        let computed = match result {
            Ok(computed) => computed,
            Err(error) => return self.proved(attempt, device, Err(error)),
        };
        let Some(found) = self.unit(attempt.unit) else {
            return;
        };
        if found.aborted {
            drop(computed);
            self.stopped(attempt.unit);
            return;
        }
        found.stage = Stage::Finishing;
        self.pools.finish.send(Finish {
            attempt,
            device,
            computed,
        });
        self.report(Event::DeviceDone { attempt });
    }

    /// What became of a unit's try.
    pub(super) fn proved(
        &mut self,
        attempt: Attempt,
        device: DeviceId,
        result: Result<Proved, Groth16Error>,
    ) {
        let unit = attempt.unit;
        let id = job_of(unit);
        self.count_try(device, &result);
        let Some(found) = self.unit(unit) else {
            return;
        };
        if found.aborted {
            self.stopped(unit);
            return;
        }
        match result {
            Ok(proved) => {
                found.stage = Stage::Proved;
                found.witness = None;
                found.proof = Some(proved.to_bytes());
                let circuit = found.circuit;
                let synthesised = self.is_early(circuit);
                self.counters.proofs += 1;
                self.counters.synthesised += u64::from(synthesised);
                if let Some(record) = self.jobs.get(&id) {
                    record.shared.lock().proved += 1;
                }
                if let Some(device) = self.device_name(device) {
                    let partition = unit.index as usize;
                    let proved = JobEvent::Proved {
                        partition,
                        device,
                        synthesised,
                    };
                    self.tell(id, &proved);
                }
                self.report(Event::Finished { attempt });
                self.leave_early(circuit);
                self.forget_if_over(id);
            }
            Err(error) => self.attempt_failed(attempt, device, &error),
        }
    }

    fn count_try(&mut self, device: DeviceId, result: &Result<Proved, Groth16Error>) {
        if let Some(device) = self.device(device) {
            match result {
                Ok(_) => device.proofs += 1,
                Err(Groth16Error::Cancelled | Groth16Error::R1cs(_)) => {}
                Err(_) => device.faults += 1,
            }
        }
    }

    fn attempt_failed(&mut self, attempt: Attempt, device: DeviceId, error: &Groth16Error) {
        let unit = attempt.unit;
        let id = job_of(unit);
        let (partition, message) = (unit.index as usize, error.to_string());
        let name = self.device_name(device);
        if let Some(found) = self.unit(unit) {
            found.stage = Stage::Ready;
            found.error = Some(message.clone());
        }
        // The witness is at fault, so no device is, and another try with it would end the same way.
        if let Groth16Error::R1cs(_) | Groth16Error::PublicInputs { .. } = error {
            if self.refute(attempt, &message) {
                return;
            }
            let failure = Failure {
                partition: Some(partition),
                device: None,
                attempts: attempt.number,
                message,
            };
            self.force(id, Outcome::Failed(failure));
            return;
        }
        let invalid = matches!(error, Groth16Error::Invalid { .. });
        self.counters.faults += 1;
        self.counters.invalid += u64::from(invalid);
        if let Some(device) = name {
            let fault = JobEvent::Fault {
                partition,
                device,
                message,
            };
            self.tell(id, &fault);
        }
        let fault = match error {
            Groth16Error::Invalid { .. } => Fault::Verification,
            Groth16Error::Backend(BackendError::OutOfMemory { .. }) => Fault::OutOfMemory,
            _ => Fault::Device,
        };
        self.report(Event::Failed { attempt, fault });
    }

    /// Has a wrong witness computed another way, for the second try; `false` where there is no other way, or this was the
    /// second try.
    fn refute(&mut self, attempt: Attempt, message: &str) -> bool {
        let unit = attempt.unit;
        let Some(found) = self
            .unit(unit)
            .filter(|found| found.direct && attempt.number == 1)
        else {
            return false;
        };
        found.stage = Stage::Idle;
        found.witness = None;
        found.direct = false;
        found.refuted = Some(message.to_owned());
        self.report(Event::WitnessDropped { unit });
        let fault = Fault::Witness;
        self.report(Event::Failed { attempt, fault });
        true
    }
}
