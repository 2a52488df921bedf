//! The engine's limits.

use std::time::Duration;

use crate::Footprints;

/// The engine's limits. Those of memory, queues, lanes, retries and probes are the scheduler's.
#[derive(Clone, Debug)]
pub struct Config {
    /// Memory, queues, lanes, retries, probes.
    pub scheduler: cuzk_scheduler::Config,
    /// Threads that decode requests and put answers together.
    pub decoders: usize,
    /// Threads that compile circuits and open compiled circuits and keys.
    pub openers: usize,
    /// Threads that assemble and verify proofs, for each device: of small circuits one proves a hundred a second.
    pub finishers: usize,
    /// A proof that takes longer than this on a device hangs: the device is taken for lost, the proof tried elsewhere. The
    /// default is for GPUs; [`Duration::MAX`] is for devices that cannot be lost, like the processor, whose proofs take
    /// however long they take.
    pub stall_after: Duration,
    /// The same for bringing a key to a device, or freeing it there, from when the device's loader begins.
    pub load_stall_after: Duration,
    /// Events that a subscriber may be behind before it misses some.
    pub event_backlog: usize,
    /// How long a dropped engine waits for threads that are in the middle of something.
    pub shutdown_grace: Duration,
    /// What a circuit takes of memory.
    pub footprint: Footprints,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheduler: cuzk_scheduler::Config::default(),
            decoders: 2,
            openers: 2,
            finishers: 2,
            stall_after: Duration::from_secs(300),
            load_stall_after: Duration::from_secs(600),
            event_backlog: 1024,
            shutdown_grace: Duration::from_secs(10),
            footprint: Footprints::default(),
        }
    }
}

impl Config {
    /// Threads that compute witnesses: as many as the scheduler starts at once, critical ones apart.
    pub(crate) fn witness_threads(&self) -> usize {
        2 * self.scheduler.witness_slots
    }
}
