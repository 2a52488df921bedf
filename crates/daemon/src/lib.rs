//! The daemon: Curio's `cuzk.v1` over gRPC, with durable jobs, for people to operate.
//!
//! A [`Daemon`] answers calls over a [`cuzk_queue::JobQueue`], where every accepted job is on disk, and a [`Proving`],
//! which computes. It decodes requests before it takes them, starts as many jobs as may run, keeps proofs for those
//! who ask later, and shows its state: as messages, as JSON, as metrics and as a page.
//!
//! What ends a daemon is counted by a channel, see [`on_signals`]: once means draining, twice means at once.

mod address;
mod auth;
mod budget;
mod client;
pub mod config;
mod engine;
mod error;
mod http;
mod jobs;
mod listener;
mod loading;
mod logging;
mod metrics;
mod page;
mod proving;
mod refusal;
mod serve;
mod service;
mod stages;
mod stop;
mod validate;

pub use address::{Address, NotAnAddress};
pub use client::{Client, ClientTls, ShowToken, connect};
pub use engine::EngineProving;
pub use error::DaemonError;
pub use logging::start as start_logging;
pub use proving::{
    DeviceStatus, Done, Ended, Evicted, JobProgress, KeyStatus, LaneWork, Preloaded, Proving,
    ProvingStatus, Refused, Work,
};
pub use serve::Daemon;
pub use stop::on_signals;
