//! The stages of a job as trace spans.

use std::collections::HashMap;
use std::time::Instant;

use cuzk_engine::{JobEvent, JobState};
use cuzk_queue::JobId;
use tracing::field::Empty;
use tracing::{Span, debug_span, info, warn};

/// The stages that a job is in, each an open span with the job and, where there are, the partition, the device and the
/// lane. A span ends with its stage, and its field `ms` says how long that took.
pub struct Stages {
    job: JobId,
    root: Span,
    state: Option<(JobState, Stage)>,
    partitions: HashMap<usize, Stage>,
}

/// A span from its start on.
struct Stage {
    span: Span,
    started: Instant,
}

impl Stage {
    fn new(span: Span) -> Self {
        let started = Instant::now();
        Self { span, started }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.span.record("ms", ms);
    }
}

impl Stages {
    /// A job that is in this state.
    pub fn new(job: JobId, state: JobState) -> Self {
        let mut stages = Self {
            job,
            root: debug_span!("job", %job),
            state: None,
            partitions: HashMap::new(),
        };
        stages.enter(state);
        stages
    }

    /// Follows the job, and logs what a person wants to know of its partitions.
    pub fn follow(&mut self, event: &JobEvent) {
        let job = self.job;
        match event {
            JobEvent::State(state) => self.enter(*state),
            JobEvent::WitnessStarted { partition } => {
                let span = debug_span!(parent: &self.root, "witness", %job, partition, ms = Empty);
                self.enter_partition(*partition, span);
            }
            JobEvent::WitnessDone { partition } => {
                let span = debug_span!(parent: &self.root, "ready", %job, partition, ms = Empty);
                self.enter_partition(*partition, span);
            }
            JobEvent::Started {
                partition,
                device,
                lane,
            } => {
                let span = debug_span!(
                    parent: &self.root, "prove", %job, partition, %device, lane, ms = Empty
                );
                self.enter_partition(*partition, span);
            }
            JobEvent::Proved {
                partition,
                device,
                synthesised,
            } => {
                self.partitions.remove(partition);
                info!(%job, partition, %device, synthesised, "proved");
            }
            JobEvent::Fault {
                partition,
                device,
                message,
            } => {
                self.partitions.remove(partition);
                warn!(%job, partition, %device, message, "fault");
            }
            _ => {}
        }
    }

    fn enter(&mut self, state: JobState) {
        // The state may have been read before the event of it comes.
        if self
            .state
            .as_ref()
            .is_some_and(|(known, _)| *known == state)
        {
            return;
        }
        // The earlier stage ends before the next one starts.
        self.state = None;
        let (job, root) = (self.job, &self.root);
        let span = match state {
            JobState::Decoding => debug_span!(parent: root, "decode", %job, ms = Empty),
            JobState::Compiling => debug_span!(parent: root, "circuit", %job, ms = Empty),
            JobState::Queued => debug_span!(parent: root, "queue", %job, ms = Empty),
            JobState::Assembling => debug_span!(parent: root, "assemble", %job, ms = Empty),
            // Its partitions have stages of their own.
            JobState::Running | JobState::Ended => return,
        };
        self.state = Some((state, Stage::new(span)));
    }

    fn enter_partition(&mut self, partition: usize, span: Span) {
        self.partitions.remove(&partition);
        self.partitions.insert(partition, Stage::new(span));
    }
}
