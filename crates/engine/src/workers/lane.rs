//! A lane's thread: one proof at a time on one lane of one device.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, unbounded};
use cuzk_backend::Backend;
use cuzk_groth16::{Blinding, Canceller, Computed, Groth16Error, Prover};
use cuzk_lease::DeviceLease;
use cuzk_r1cs::PackedWitness;
use cuzk_scheduler::{Attempt, DeviceId};
use rand_core::OsRng;

use super::pool::{guarded, spawn};
use super::{LaneDone, Message, Thread};
use crate::{EngineError, probe};

/// What a lane is told to do.
pub(crate) enum LaneOrder<B: Backend> {
    /// Prove, with what is resident on the device.
    Prove {
        attempt: Attempt,
        prover: Prover<B>,
        witness: Arc<PackedWitness>,
        cancel: Arc<CancelSlot>,
    },
    /// Find out whether the device works.
    Probe,
}

/// Cancels a proof whether or not it has been started.
#[derive(Debug, Default)]
pub(crate) struct CancelSlot {
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    cancelled: bool,
    running: Option<Canceller>,
}

impl CancelSlot {
    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cancelled = true;
        if let Some(running) = &state.running {
            running.cancel();
        }
    }

    fn is_cancelled(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cancelled
    }

    fn attach(&self, running: Canceller) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.cancelled {
            running.cancel();
        }
        state.running = Some(running);
    }
}

/// Starts a lane's thread. The lease is its right to the lane, and the only way to the lane's backend.
pub(crate) fn spawn_lane<B: Backend + Clone>(
    device: DeviceId,
    lease: DeviceLease<B>,
    report: Sender<Message<B>>,
    threads: &mut Vec<Thread>,
) -> Result<Sender<LaneOrder<B>>, EngineError> {
    let (orders, waiting): (_, Receiver<LaneOrder<B>>) = unbounded();
    let lane = lease.lane().0 as usize;
    let name = format!("cuzk-lane-{}-{lane}", device.0);
    threads.push(spawn(name, move || {
        for order in waiting {
            let start = Instant::now();
            let done = run(order, &lease);
            drop(report.send(Message::Lane {
                device,
                lane,
                done,
                took: start.elapsed(),
            }));
        }
    })?);
    Ok(orders)
}

fn run<B: Backend + Clone>(order: LaneOrder<B>, lease: &DeviceLease<B>) -> LaneDone {
    match order {
        LaneOrder::Probe => LaneDone::Probe {
            works: guarded(|| probe::works(&**lease).map_err(|e| e.to_string())) == Ok(true),
        },
        LaneOrder::Prove {
            attempt,
            prover,
            witness,
            cancel,
        } => {
            let prover = prover.on(B::clone(lease));
            let proved = guarded(|| Ok(prove(&prover, witness, &cancel)));
            let result = proved.unwrap_or_else(|message| Err(Groth16Error::Thread(message)));
            LaneDone::Sums {
                attempt,
                result: Box::new(result),
            }
        }
    }
}

fn prove<B: Backend>(
    prover: &Prover<B>,
    witness: Arc<PackedWitness>,
    cancel: &CancelSlot,
) -> Result<Computed, Groth16Error> {
    if cancel.is_cancelled() {
        return Err(Groth16Error::Cancelled);
    }
    let pending = prover.start(witness, Blinding::random(&mut OsRng))?;
    cancel.attach(pending.canceller());
    pending.wait()
}
