//! Faults that happen on demand.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use super::lock;

/// An operation at which something can go wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Making a circuit's matrices resident.
    LoadMatrices,
    /// Making points resident.
    LoadPoints,
    /// Bringing a witness.
    LoadWitness,
    /// The matrix-vector product.
    MatVec,
    /// The quotient.
    Quotient,
    /// The sum over the H query.
    Msm,
    /// A sum over a query of the witness: L, A, B in G1, B in G2.
    MsmQuery,
    /// Giving memory back. It has no result: it can only be slow or hang.
    Free,
}

impl Step {
    /// All steps that have a result, in the order of a proof.
    pub const ALL: [Self; 7] = [
        Self::LoadMatrices,
        Self::LoadPoints,
        Self::LoadWitness,
        Self::MatVec,
        Self::Quotient,
        Self::Msm,
        Self::MsmQuery,
    ];

    /// The name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::LoadMatrices => "load matrices",
            Self::LoadPoints => "load points",
            Self::LoadWitness => "load the witness",
            Self::MatVec => "matrix-vector product",
            Self::Quotient => "quotient",
            Self::Msm => "MSM",
            Self::MsmQuery => "MSM of a query",
            Self::Free => "free",
        }
    }
}

/// What goes wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device reports an error.
    Error,
    /// The device has no memory left.
    OutOfMemory,
    /// The operation does not end before [`super::SimulatedDevice::heal`].
    Hang,
    /// The operation ends with a wrong result. (Loading has none, and goes well.)
    WrongResult,
    /// The operation takes so much longer.
    Slow(Duration),
}

/// Faults that wait for their operation: each with how often it still happens.
#[derive(Debug, Default)]
pub(super) struct Injections {
    waiting: Mutex<HashMap<Step, VecDeque<(Fault, usize)>>>,
}

impl Injections {
    pub(super) fn push(&self, step: Step, fault: Fault, times: usize) {
        if times > 0 {
            let mut waiting = lock(&self.waiting);
            waiting.entry(step).or_default().push_back((fault, times));
        }
    }

    pub(super) fn clear(&self) {
        lock(&self.waiting).clear();
    }

    /// The fault that befalls this operation.
    pub(super) fn take(&self, step: Step) -> Option<Fault> {
        let mut waiting = lock(&self.waiting);
        let queue = waiting.get_mut(&step)?;
        let (fault, times) = queue.front_mut()?;
        let fault = *fault;
        *times -= 1;
        if *times == 0 {
            queue.pop_front();
        }
        Some(fault)
    }
}
