//! The engine: proofs as jobs, on any number of devices, in bounded memory.
//!
//! An [`Engine`] is made from devices and a [`Source`] of compiled circuits and keys. [`Engine::submit`] takes a request
//! or a job and gives a [`JobHandle`], on which to wait, watch and cancel. What runs where and when is decided by
//! `cuzk-scheduler`; the engine carries that out with threads and channels. It needs no asynchronous run time, reads
//! no environment and knows no proof type.
//!
//! ```text
//! submit --> decode --> [sizes: compile once] --> scheduler
//!                                                     |  StartWitness   a witness thread: circuit, witness, pack
//!                                                     |  Load, Evict    the loader of the host, or of the device
//!                                                     |  Place          a lane's thread: the device's part of a proof
//!                                                     |                 a finisher: verifies it, or it is tried again elsewhere
//!                                                     v
//!                                    all partitions --> assemble --> outcome
//! ```
//!
//! One thread, the coordinator, owns all state; the others do one task at a time and report. So there is no lock whose
//! order matters, and a task that hangs stops nobody but its own lane.
//!
//! - **A lane is one thread.** What the scheduler places on a lane runs on that lane's thread, which keeps the lane's
//!   [`DeviceLease`](cuzk_lease::DeviceLease) and with it the only backend of that lane.
//! - **A new circuit is compiled once.** Meanwhile its jobs prove by full synthesis where its key, memory and an idle witness
//!   slot are there; the others wait ([`JobState::Compiling`]). See `docs/engine.md`.
//! - **No proof leaves unverified**: [`cuzk_groth16::Computed::finish`] verifies, and the witness's public inputs are held
//!   against the statement's before.
//! - **Proof types' code runs on worker threads** and may panic there: the job fails, the engine does not.

mod config;
mod coordinator;
mod device;
mod engine;
mod error;
mod footprint;
mod handle;
mod job;
mod outcome;
mod probe;
mod source;
mod status;
mod workers;

pub use cuzk_lease::PciBusId;
pub use cuzk_scheduler::{Bytes, Config as SchedulerConfig};

pub use config::Config;
pub use device::Device;
pub use engine::Engine;
pub use error::{EngineError, Refused, SourceError};
pub use footprint::{Footprint, Footprints};
pub use handle::JobHandle;
pub use job::{JobEvent, JobId, JobState, Submission, Timings, Work};
pub use outcome::{Completed, Failure, Outcome};
pub use source::{Files, InMemory, Source};
pub use status::{CircuitStatus, Counters, DeviceStatus, JobSummary, LaneStatus, Status};
