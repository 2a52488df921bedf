//! The threads that do the work, and what they report.

mod lane;
mod loader;
mod pool;
mod tasks;

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use cuzk_backend::Backend;
use cuzk_groth16::{Computed, Groth16Error, Proved, Prover};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_proof_api::{Job, PROOF_BYTES, Standing};
use cuzk_r1cs::{Outline, Shape};
use cuzk_scheduler::{Attempt, CircuitId, DeviceId, UnitId};

use crossbeam_channel::Sender;

use crate::job::JobId;
use crate::{Footprint, Refused, Source, Status, Submission};

pub(crate) use lane::{CancelSlot, LaneOrder, spawn_lane};
pub(crate) use loader::{LoadOrder, LoadTask, Loader, spawn_loader};
pub(crate) use pool::{Pool, Thread, join_all, spawn};
pub(crate) use tasks::{Assemble, Decode, Finish, MadeWitness, Open, Prepare, Witness};

/// A circuit and its key in the host's memory.
pub(crate) enum Loaded {
    Compiled(Compiled),
    Uncompiled(Uncompiled),
}

/// The key of a circuit that is still being compiled.
pub(crate) struct Uncompiled {
    pub(crate) key: Parameters,
    /// By which its witnesses are packed: that of the first.
    pub(crate) outline: OnceLock<Outline>,
}

impl Uncompiled {
    /// Holds a circuit against the key, by which its memory was counted.
    pub(crate) fn check(&self, shape: Shape) -> Result<(), String> {
        let key = &self.key;
        let of_key = (key.vk().ic.len(), key.l().len(), key.h().len() + 1);
        let found = (shape.inputs, shape.aux, shape.domain());
        if of_key == found {
            return Ok(());
        }
        Err(format!(
            "inputs, aux and domain: the key wanted {of_key:?}, found {found:?}"
        ))
    }
}

/// A compiled circuit and its key.
pub(crate) struct Compiled {
    pub(crate) pce: Pce,
    pub(crate) key: Parameters,
    /// What is known of its direct witnesses.
    pub(crate) standing: Mutex<Standing>,
    /// Where that is kept.
    pub(crate) source: Arc<dyn Source>,
}

/// What the coordinator is told.
pub(crate) enum Message<B: Backend> {
    /// A job is submitted.
    Submit {
        submission: Submission,
        reply: Sender<Result<crate::JobHandle, Refused>>,
    },
    /// A job is not wanted any more.
    Cancel(JobId),
    /// Somebody wants to see the state of everything.
    Snapshot(Sender<Status>),
    /// Somebody wants a circuit resident on all devices.
    Preload { circuit: String },
    /// Somebody wants a circuit out of all memories.
    Unload { circuit: String },
    /// No more jobs are to be taken; `idle` is dropped once there are none.
    Drain { idle: Sender<()> },
    /// The engine is dropped.
    Stop,
    /// A request was decoded.
    Decoded {
        job: JobId,
        result: Result<Arc<dyn Job>, String>,
    },
    /// A circuit is not compiled, which is begun now, and its key is there.
    Compiling {
        circuit: CircuitId,
        key: Box<Parameters>,
        footprint: Footprint,
    },
    /// A circuit's sizes are known, and its compiled form is where it can be opened.
    Prepared {
        circuit: CircuitId,
        result: Result<Footprint, String>,
        took: Duration,
    },
    /// A circuit and its key are open.
    Opened {
        circuit: CircuitId,
        result: Result<Arc<Loaded>, String>,
    },
    /// A circuit and its key are on a device.
    DeviceLoaded {
        device: DeviceId,
        epoch: u64,
        circuit: CircuitId,
        result: Result<Prover<B>, Groth16Error>,
    },
    /// A circuit and its key have left a device.
    DeviceFreed {
        device: DeviceId,
        epoch: u64,
        circuit: CircuitId,
    },
    /// A witness is computed.
    Witness {
        unit: UnitId,
        result: Result<MadeWitness, String>,
        took: Duration,
    },
    /// A proof is verified, or is not to be had.
    Finished {
        attempt: Attempt,
        device: DeviceId,
        result: Box<Result<Proved, Groth16Error>>,
    },
    /// A lane is free again.
    Lane {
        device: DeviceId,
        lane: usize,
        done: LaneDone,
        took: Duration,
    },
    /// A job's answer is put together.
    Assembled {
        job: JobId,
        result: Result<Vec<u8>, String>,
    },
}

/// What a lane has done.
pub(crate) enum LaneDone {
    /// The device's part of a proof.
    Sums {
        attempt: Attempt,
        result: Box<Result<Computed, Groth16Error>>,
    },
    /// A probe, and whether the device works.
    Probe { works: bool },
}

/// The bytes of a proof.
pub(crate) type ProofBytes = [u8; PROOF_BYTES];
