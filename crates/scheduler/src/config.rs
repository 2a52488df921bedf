//! Limits and times, checked once.

use std::fmt;

use crate::types::Bytes;

/// Limits and times. [`Scheduler::new`](crate::Scheduler::new) checks them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The budget of host memory for witnesses and resources.
    pub host_memory: Bytes,
    /// The part of it that only critical jobs may use. None by default: how much one takes is the caller's knowledge.
    pub critical_host_memory: Bytes,
    /// Lanes of each device.
    pub lanes: u32,
    /// Witnesses that are computed at once; critical ones are counted apart, up to as many again.
    pub witness_slots: usize,
    /// Units for each lane in service that may be between the start of their witness and a lane, beside those in
    /// `witness_slots`. Critical ones are not counted.
    pub ready_per_lane: usize,
    /// Jobs in the system that are not critical, and as many again that are.
    pub max_jobs: usize,
    /// Jobs of one tenant in the system.
    pub max_tenant_jobs: usize,
    /// Units of all jobs in the system.
    pub max_units: usize,
    /// How long a job waits until it counts as one of the next priority, up to HIGH, in microseconds.
    pub promote_after_us: u64,
    /// How many units may be placed ahead of a waiting one, for their resource is resident or because they fit where it does
    /// not, before a device is kept free for it.
    pub max_passes: u32,
    /// How many critical units in a row go ahead of others before one of the others has its turn.
    pub critical_run: u32,
    /// Faults in a row that take a device out of service.
    pub max_faults: u32,
    /// When a device is probed after it went out of service, in microseconds; doubled after each probe in vain up to 64
    /// times as long.
    pub probe_after_us: u64,
    /// Probes in vain after which a device does not count as expected back. It is still probed.
    pub max_probes: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host_memory: Bytes(16 << 30),
            critical_host_memory: Bytes(0),
            lanes: 2,
            witness_slots: 4,
            ready_per_lane: 1,
            max_jobs: 10_000,
            max_tenant_jobs: 10_000,
            max_units: 200_000,
            promote_after_us: 600_000_000,
            max_passes: 8,
            critical_run: 16,
            max_faults: 3,
            probe_after_us: 10_000_000,
            max_probes: 3,
        }
    }
}

/// A limit that allows nothing to be done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A limit that must be positive is zero.
    Zero {
        /// The field.
        field: &'static str,
    },
    /// More host memory is kept for critical jobs than there is.
    CriticalHostMemory {
        /// What is kept.
        kept: Bytes,
        /// The budget.
        budget: Bytes,
    },
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let positive = [
            ("lanes", u64::from(self.lanes)),
            ("witness_slots", self.witness_slots as u64),
            ("max_jobs", self.max_jobs as u64),
            ("max_tenant_jobs", self.max_tenant_jobs as u64),
            ("max_units", self.max_units as u64),
            ("promote_after_us", self.promote_after_us),
            ("critical_run", u64::from(self.critical_run)),
            ("max_faults", u64::from(self.max_faults)),
            ("probe_after_us", self.probe_after_us),
            ("max_probes", u64::from(self.max_probes)),
        ];
        if let Some(&(field, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError::Zero { field });
        }
        if self.critical_host_memory >= self.host_memory {
            return Err(ConfigError::CriticalHostMemory {
                kept: self.critical_host_memory,
                budget: self.host_memory,
            });
        }
        Ok(())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { field } => write!(formatter, "{field}: wanted at least 1, found 0"),
            Self::CriticalHostMemory { kept, budget } => write!(
                formatter,
                "critical_host_memory: wanted less than host_memory ({budget}), found {kept}"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}
