//! Jobs as they are submitted, and what can be seen of them.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use cuzk_proof_api::{Job, Priority, ProofType, Request};

use crate::Outcome;

/// A job's number in its engine, from 1.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What is to be proved.
pub enum Work {
    /// A request, to be decoded by its proof type.
    Request {
        /// The proof type.
        proof_type: &'static dyn ProofType,
        /// The request.
        request: Box<Request>,
    },
    /// A job.
    Job(Arc<dyn Job>),
}

/// Work, and on what terms.
pub struct Submission {
    pub(crate) work: Work,
    pub(crate) tenant: u64,
    pub(crate) priority: Priority,
    pub(crate) deadline: Option<Instant>,
}

impl Submission {
    /// A request for its miner, with its proof type's priority.
    pub fn request(proof_type: &'static dyn ProofType, request: Request) -> Self {
        Self {
            tenant: request.miner_id,
            priority: proof_type.priority(),
            deadline: None,
            work: Work::Request {
                proof_type,
                request: Box::new(request),
            },
        }
    }

    /// A job for tenant 0, with normal priority.
    pub fn job(job: impl Job + 'static) -> Self {
        Self {
            work: Work::Job(Arc::new(job)),
            tenant: 0,
            priority: Priority::Normal,
            deadline: None,
        }
    }

    /// The same for this tenant. Tenants of one priority share the devices fairly.
    pub fn tenant(self, tenant: u64) -> Self {
        Self { tenant, ..self }
    }

    /// The same with this priority.
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// The same, of no use after `deadline`.
    pub fn deadline(self, deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }
}

/// Where a job is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Its request waits to be decoded, or is being decoded.
    Decoding,
    /// Its circuit is being opened for the first time, and compiled if it never was. A job that has room to prove by full
    /// synthesis meanwhile is not in this state.
    Compiling,
    /// No partition has been started.
    Queued,
    /// Partitions are under way.
    Running,
    /// All proofs are there and are being put together.
    Assembling,
    /// There is an outcome.
    Ended,
}

/// What happens to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobEvent {
    /// It is in another state.
    State(JobState),
    /// A partition's witness is being computed.
    WitnessStarted {
        /// The partition.
        partition: usize,
    },
    /// A partition waits for a device.
    WitnessDone {
        /// The partition.
        partition: usize,
    },
    /// A partition is on a device.
    Started {
        /// The partition.
        partition: usize,
        /// The device's name.
        device: Arc<str>,
        /// The lane.
        lane: usize,
    },
    /// A partition's proof is there and verified.
    Proved {
        /// The partition.
        partition: usize,
        /// The device's name.
        device: Arc<str>,
        /// Whether by full synthesis, while the circuit was being compiled.
        synthesised: bool,
    },
    /// A try failed; another may follow.
    Fault {
        /// The partition.
        partition: usize,
        /// The device's name.
        device: Arc<str>,
        /// What went wrong.
        message: String,
    },
    /// The outcome. It is the last event.
    Ended(Outcome),
}

/// Where a job's time went. Partitions overlap, so the parts may add up to more than the total.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// From the submission to the start of the first witness.
    pub queue: Duration,
    /// What of that went into opening or compiling the circuit.
    pub resources: Duration,
    /// Computing witnesses, all partitions together.
    pub witness: Duration,
    /// On devices, all partitions and tries together.
    pub device: Duration,
    /// From the submission to the end, or to now.
    pub total: Duration,
}

/// What handles and the coordinator share of a job. The coordinator alone changes it.
#[derive(Debug)]
pub(crate) struct Shared {
    submitted: Instant,
    backlog: usize,
    watched: Mutex<Watched>,
    ended: Condvar,
}

#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) state: JobState,
    pub(crate) partitions: usize,
    pub(crate) proved: usize,
    pub(crate) timings: Timings,
    outcome: Option<Outcome>,
    subscribers: Vec<Sender<JobEvent>>,
}

impl Shared {
    pub(crate) fn new(submitted: Instant, backlog: usize) -> Self {
        Self {
            submitted,
            backlog,
            watched: Mutex::new(Watched {
                state: JobState::Decoding,
                partitions: 0,
                proved: 0,
                timings: Timings::default(),
                outcome: None,
                subscribers: Vec::new(),
            }),
            ended: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn submitted(&self) -> Instant {
        self.submitted
    }

    /// A receiver of all events from now on; of an ended job, of its end.
    pub(crate) fn subscribe(&self) -> Receiver<JobEvent> {
        let (sender, receiver) = bounded(self.backlog);
        let mut watched = self.lock();
        match &watched.outcome {
            // The channel is new and takes one event.
            Some(outcome) => drop(sender.try_send(JobEvent::Ended(outcome.clone()))),
            None => watched.subscribers.push(sender),
        }
        receiver
    }

    /// Tells the subscribers. One that is gone is forgotten; one that is behind misses the event.
    pub(crate) fn tell(&self, event: &JobEvent) {
        let mut watched = self.lock();
        watched.subscribers.retain(|subscriber| {
            !matches!(
                subscriber.try_send(event.clone()),
                Err(crossbeam_channel::TrySendError::Disconnected(_))
            )
        });
    }

    pub(crate) fn set_state(&self, state: JobState) {
        let mut watched = self.lock();
        if watched.state == state || watched.outcome.is_some() {
            return;
        }
        watched.state = state;
        drop(watched);
        self.tell(&JobEvent::State(state));
    }

    /// Ends the job; `false` where it has ended already.
    pub(crate) fn end(&self, outcome: &Outcome) -> bool {
        let mut watched = self.lock();
        if watched.outcome.is_some() {
            return false;
        }
        watched.state = JobState::Ended;
        watched.timings.total = self.submitted.elapsed();
        watched.outcome = Some(outcome.clone());
        let subscribers = std::mem::take(&mut watched.subscribers);
        drop(watched);
        self.ended.notify_all();
        for subscriber in subscribers {
            // One that is behind sees the channel close, and asks the handle.
            drop(subscriber.try_send(JobEvent::Ended(outcome.clone())));
        }
        true
    }

    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.lock().outcome.clone()
    }

    pub(crate) fn timings(&self) -> Timings {
        let watched = self.lock();
        let mut timings = watched.timings;
        if watched.outcome.is_none() {
            timings.total = self.submitted.elapsed();
        }
        timings
    }

    /// Waits for the outcome, at most so long.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> Option<Outcome> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut watched = self.lock();
        loop {
            if let Some(outcome) = &watched.outcome {
                return Some(outcome.clone());
            }
            watched = match until {
                None => self
                    .ended
                    .wait(watched)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.checked_duration_since(Instant::now())?;
                    let waited = self.ended.wait_timeout(watched, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
