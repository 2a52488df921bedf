//! What can go wrong with an engine, and why it does not take a job.

use cuzk_params::ParamsError;
use cuzk_pce::PceError;
use cuzk_proof_api::ProofApiError;

/// Why an engine cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The scheduler's limits.
    #[error("scheduler: {0}")]
    Scheduler(cuzk_scheduler::ConfigError),
    /// A limit that must be positive is zero.
    #[error("{field}: wanted at least 1, found 0")]
    Zero {
        /// The field of [`crate::Config`].
        field: &'static str,
    },
    /// A device with another number of lanes than the scheduler counts on.
    #[error("device {device}: wanted {wanted} lanes, found {found}")]
    Lanes {
        /// The device's name.
        device: String,
        /// Lanes of each device.
        wanted: usize,
        /// Lanes of this one.
        found: usize,
    },
    /// Devices that cannot be leased: two of the list are one, or one has no lanes.
    #[error(transparent)]
    Lease(#[from] cuzk_lease::LeaseError),
    /// A thread could not be started.
    #[error("thread {name}: {message}")]
    Thread {
        /// The thread's name.
        name: String,
        /// What the system said.
        message: String,
    },
}

/// Why a job was not taken. Nothing of it is kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// As many jobs as there may be are there already. Some will end.
    #[error("the queue holds {limit} jobs already")]
    QueueFull {
        /// The limit, for critical jobs and others each.
        limit: usize,
    },
    /// The tenant has as many jobs as it may.
    #[error("tenant {tenant} has {limit} jobs already")]
    TenantFull {
        /// The tenant.
        tenant: u64,
        /// The limit.
        limit: usize,
    },
    /// The engine takes no more jobs.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

/// Why a circuit or its key is not to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The source knows no circuit of that name.
    #[error("no circuit {circuit}")]
    UnknownCircuit {
        /// What was asked for.
        circuit: String,
    },
    /// The proof type.
    #[error(transparent)]
    ProofApi(#[from] ProofApiError),
    /// The compiled circuit.
    #[error(transparent)]
    Pce(#[from] PceError),
    /// The key.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// Recording the circuit.
    #[error(transparent)]
    R1cs(#[from] cuzk_r1cs::R1csError),
}
