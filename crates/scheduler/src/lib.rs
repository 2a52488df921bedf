//! Which work runs where and when, as pure decisions: events and a clock in, actions out.
//!
//! The scheduler starts no thread, reads no clock and knows no proof and no device interface. Its caller, the engine,
//! reports what happens ([`Event`]) with the time at which it happened ([`Instant`]), and carries out what comes
//! back ([`Action`]). The same events give the same actions, so a simulation is a loop over a queue of events.
//!
//! # Sequence
//!
//! ```
//! use cuzk_scheduler::*;
//!
//! let mut scheduler = Scheduler::new(Config::default()).unwrap();
//! let mut actions = Vec::new();
//! let device = DeviceId(0);
//! scheduler.handle(Event::DeviceUp { device, memory: Bytes(1 << 30) }, Instant(0), &mut actions);
//!
//! // A job of one unit arrives: its circuit's key is loaded to the host while the witness is computed.
//! let circuit = Circuit { id: CircuitId(7), host: Bytes(1 << 20), device: Bytes(1 << 20) };
//! let job = JobSpec {
//!     job: JobId(1),
//!     tenant: TenantId(1000),
//!     priority: Priority::Normal,
//!     deadline: None,
//!     circuit,
//!     units: vec![UnitSpec { host: Bytes(4 << 20), device: Bytes(64 << 20) }],
//! };
//! scheduler.handle(Event::Submitted(job), Instant(1), &mut actions);
//! let unit = UnitId { job: JobId(1), index: 0 };
//! assert_eq!(actions, [
//!     Action::Accepted { job: JobId(1) },
//!     Action::Load { circuit: CircuitId(7), place: Place::Host },
//!     Action::StartWitness { unit },
//! ]);
//!
//! // Both are there: the unit is given a lane, and the key goes to that lane's device first.
//! actions.clear();
//! scheduler.handle(Event::Loaded { circuit: CircuitId(7), place: Place::Host }, Instant(2), &mut actions);
//! scheduler.handle(Event::WitnessDone { unit }, Instant(3), &mut actions);
//! assert_eq!(actions, [Action::Load { circuit: CircuitId(7), place: Place::Device(device) }]);
//!
//! actions.clear();
//! scheduler.handle(Event::Loaded { circuit: CircuitId(7), place: Place::Device(device) }, Instant(4), &mut actions);
//! let attempt = Attempt { unit, number: 1 };
//! assert_eq!(actions, [Action::Place { attempt, device, lane: Lane(0) }]);
//!
//! // Inputs are on the device, the device's work is over, the proof is verified.
//! actions.clear();
//! scheduler.handle(Event::WitnessDropped { unit }, Instant(5), &mut actions);
//! scheduler.handle(Event::DeviceDone { attempt }, Instant(6), &mut actions);
//! scheduler.handle(Event::Finished { attempt }, Instant(7), &mut actions);
//! assert_eq!(actions, [Action::JobEnded { job: JobId(1), outcome: Outcome::Completed }]);
//! ```
//!
//! # What the caller promises
//!
//! - Each [`Action::StartWitness`] is answered by [`Event::WitnessDone`] or [`Event::WitnessFailed`], or by
//!   [`Event::WitnessStopped`] after an [`Action::Overtaken`]; each
//!   [`Action::Place`] by [`Event::Finished`] or [`Event::Failed`], before which [`Event::DeviceDone`] may say that the
//!   lane and the device's memory are free already; each [`Action::Load`] by [`Event::Loaded`] or
//!   [`Event::LoadFailed`]; each [`Action::Evict`] by [`Event::Evicted`]; each [`Action::Probe`] by [`Event::Probed`].
//! - [`Action::Abort`] is answered by one [`Event::Stopped`] once nothing of the unit is left, on the host or on a
//!   device, whatever it was doing. It replaces the unit's other answers, which are ignored from then on.
//! - What was lost with a device ([`Event::DeviceDown`]) is answered by nothing, but for the [`Event::Stopped`] of its
//!   aborted units.
//! - A witness is kept until [`Event::WitnessDropped`], `Finished` or `Stopped`. One that is kept serves the second
//!   attempt; one that was dropped is computed again.
//! - [`Event::Tick`] comes at [`Scheduler::next_wakeup`] at the latest.
//! - Time does not go back. An earlier instant than the last is taken for the last.
//!
//! Bytes are given back by events, never by actions: the budget counts a resource that is being evicted and a unit that is being
//! aborted until the caller says that they are gone. An event that fits nothing (a late answer, an unknown unit) changes
//! nothing and is counted in [`Stats::ignored`].
//!
//! # What is decided, and how
//!
//! `docs/scheduler.md` describes the policies and their bounds, with the cost of a decision.

mod config;
mod event;
mod fleet;
mod job;
mod pool;
mod ready;
mod scheduler;
mod stats;
mod types;
mod waiting;

pub use config::{Config, ConfigError};
pub use event::{Action, Cause, Event, Fault, JobSpec, Outcome, Rejection, UnitSpec};
pub use scheduler::Scheduler;
pub use stats::{DeviceStatus, JobStatus, ResourceStatus, Stats};
pub use types::{
    Attempt, Bytes, Circuit, CircuitId, DeviceId, Instant, JobId, Lane, Place, Priority, TenantId,
    UnitId,
};
