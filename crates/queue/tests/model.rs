//! The queue against a model of it in memory, over random sequences of calls and restarts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use cuzk_queue::{
    Cancelled, Config, ContentHash, EmbeddedQueue, Finished, JobId, JobQueue, Outcome, QueueError,
    State, Submission, Submitted, Timings,
};
use proptest::prelude::*;

const REQUESTS: [&str; 3] = ["porep-1000-1", "wdpost-[1 2]", ""];
const MAX_JOBS: usize = 5;
const MAX_BYTES: u64 = 100;
const KEEP_MS: u64 = 12;
const MAX_FINISHED: usize = 3;
const MAX_INTERRUPTIONS: u32 = 2;

type Checked = Result<(), TestCaseError>;

#[derive(Clone, Debug)]
enum Call {
    Submit {
        request: usize,
        content: u8,
        priority: u8,
    },
    Claim {
        min_priority: u8,
    },
    /// A call about a job that is picked by its place in the model.
    Picked {
        place: usize,
        what: Picked,
    },
    Sweep {
        later_ms: u64,
    },
    Reopen,
}

#[derive(Clone, Copy, Debug)]
enum Picked {
    Release,
    Complete { old_attempt: bool },
    Fail,
    Cancel,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let what = prop_oneof![
        1 => Just(Picked::Release),
        4 => any::<bool>().prop_map(|old_attempt| Picked::Complete { old_attempt }),
        2 => Just(Picked::Fail),
        2 => Just(Picked::Cancel),
    ];
    let call = prop_oneof![
        6 => (0..REQUESTS.len(), 0..5u8, 0..4u8).prop_map(|(request, content, priority)| {
            Call::Submit { request, content, priority }
        }),
        5 => (0..4u8).prop_map(|min_priority| Call::Claim { min_priority }),
        8 => (0..20usize, what).prop_map(|(place, what)| Call::Picked { place, what }),
        1 => (0..20u64).prop_map(|later_ms| Call::Sweep { later_ms }),
        1 => Just(Call::Reopen),
    ];
    proptest::collection::vec(call, 1..25)
}

fn payload(content: u8) -> Vec<u8> {
    vec![content; usize::from(content) * 15]
}

fn identity(request: usize, content: u8) -> JobId {
    JobId::of(REQUESTS[request], &ContentHash::of(&payload(content)))
}

#[derive(Clone, Debug)]
struct ModelJob {
    content: u8,
    priority: u8,
    attempt: u32,
    interruptions: u32,
    accepted_ms: u64,
    finished_ms: u64,
    state: State,
}

#[derive(Default)]
struct Model {
    jobs: BTreeMap<JobId, ModelJob>,
}

impl Model {
    fn unfinished(&self) -> impl Iterator<Item = &ModelJob> {
        self.jobs.values().filter(|job| !job.state.is_final())
    }

    fn contents(&self) -> BTreeSet<u8> {
        self.unfinished().map(|job| job.content).collect()
    }

    /// What a submission must answer.
    fn submit(
        &mut self,
        (request, content, priority): (usize, u8, u8),
        now_ms: u64,
    ) -> Result<Submitted, &'static str> {
        let id = identity(request, content);
        let mut attempt = 1;
        if let Some(job) = self.jobs.get_mut(&id) {
            match job.state {
                State::Accepted | State::Running => {
                    job.priority = job.priority.max(priority);
                    return Ok(Submitted::Joined);
                }
                State::Completed { .. } => return Ok(Submitted::Completed),
                State::Failed { .. } | State::Cancelled => attempt = job.attempt + 1,
            }
        }
        if self.unfinished().count() >= MAX_JOBS {
            return Err("jobs");
        }
        let mut contents = self.contents();
        contents.insert(content);
        if bytes_of(&contents) > MAX_BYTES {
            return Err("bytes");
        }
        let job = ModelJob {
            content,
            priority,
            attempt,
            interruptions: 0,
            accepted_ms: now_ms,
            finished_ms: 0,
            state: State::Accepted,
        };
        self.jobs.insert(id, job);
        Ok(Submitted::New)
    }

    fn claim(&mut self, min_priority: u8) -> Option<JobId> {
        let eligible =
            |job: &ModelJob| job.state == State::Accepted && job.priority >= min_priority;
        let waiting = self.jobs.iter().filter(|(_, job)| eligible(job));
        let next = waiting.max_by_key(|(_, job)| (job.priority, Reverse(job.accepted_ms)));
        let id = *next?.0;
        self.jobs.get_mut(&id)?.state = State::Running;
        Some(id)
    }

    fn end(&mut self, id: &JobId, state: State, now_ms: u64) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.state = state;
            job.finished_ms = now_ms;
        }
    }

    /// The process ends while jobs run. Returns how many fail by it.
    fn interrupt(&mut self, now_ms: u64) -> usize {
        let running = |job: &&mut ModelJob| job.state == State::Running;
        let mut failed = 0;
        for job in self.jobs.values_mut().filter(running) {
            job.interruptions += 1;
            job.state = State::Accepted;
            if job.interruptions == MAX_INTERRUPTIONS {
                let message = "the process was killed or crashed 2 times while this job ran, perhaps because of it; \
                               submit the request again";
                job.state = State::Failed {
                    message: message.to_owned(),
                };
                job.finished_ms = now_ms;
                failed += 1;
            }
        }
        failed
    }

    fn sweep(&mut self, now_ms: u64) -> usize {
        let ended = self.jobs.iter().filter(|(_, job)| job.state.is_final());
        let mut ended: Vec<_> = ended.map(|(id, job)| (job.finished_ms, *id)).collect();
        ended.sort();
        let surplus = ended.len().saturating_sub(MAX_FINISHED);
        let before_ms = now_ms.saturating_sub(KEEP_MS);
        let gone = ended.iter().enumerate();
        let gone = gone.filter(|(place, (ms, _))| *place < surplus || *ms < before_ms);
        let gone: Vec<JobId> = gone.map(|(_, (_, id))| *id).collect();
        self.jobs.retain(|id, _| !gone.contains(id));
        gone.len()
    }

    fn pick(&self, place: usize) -> Option<(JobId, ModelJob)> {
        let (id, job) = self.jobs.iter().nth(place % self.jobs.len().max(1))?;
        Some((*id, job.clone()))
    }
}

fn bytes_of(contents: &BTreeSet<u8>) -> u64 {
    contents.iter().map(|c| payload(*c).len() as u64).sum()
}

/// The queue, its model, and the time.
struct Bench {
    folder: tempfile::TempDir,
    queue: Option<EmbeddedQueue>,
    model: Model,
    now_ms: u64,
}

fn open(folder: &Path, now_ms: u64) -> EmbeddedQueue {
    let config = Config {
        max_jobs: MAX_JOBS,
        max_payload_bytes: MAX_BYTES,
        keep_finished: Duration::from_millis(KEEP_MS),
        max_finished: MAX_FINISHED,
        max_interruptions: MAX_INTERRUPTIONS,
    };
    EmbeddedQueue::open(folder, config, now_ms).expect("the folder is ours")
}

impl Bench {
    fn new() -> Self {
        // Nothing here depends on the disk, so a folder in memory will do where the system has one.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("a folder");
        Self {
            queue: Some(open(folder.path(), 1000)),
            folder,
            model: Model::default(),
            now_ms: 1000,
        }
    }

    fn queue(&self) -> &EmbeddedQueue {
        self.queue.as_ref().expect("it is open between calls")
    }

    fn run(&mut self, call: &Call) -> Checked {
        self.now_ms += 1;
        match call {
            Call::Submit {
                request,
                content,
                priority,
            } => self.submit((*request, *content, *priority)),
            Call::Claim { min_priority } => self.claim(*min_priority),
            Call::Picked { place, what } => match self.model.pick(*place) {
                Some((id, job)) => self.picked(id, &job, *what),
                None => Ok(()),
            },
            Call::Sweep { later_ms } => {
                self.now_ms += later_ms;
                let swept = self.queue().sweep(self.now_ms).expect("the disk takes it");
                prop_assert_eq!(swept.removed, self.model.sweep(self.now_ms));
                Ok(())
            }
            Call::Reopen => {
                self.queue = None;
                self.queue = Some(open(self.folder.path(), self.now_ms));
                let failed = self.model.interrupt(self.now_ms);
                let told = self.queue().take_quarantined();
                prop_assert!(told.iter().all(|found| found.what == "job"));
                prop_assert_eq!(told.len(), failed);
                Ok(())
            }
        }
    }

    fn submit(&mut self, submission: (usize, u8, u8)) -> Checked {
        let (request, content, priority) = submission;
        let answer = self.queue().submit(
            Submission {
                request_id: REQUESTS[request].to_owned(),
                kind: i32::from(content),
                priority,
                payload: payload(content),
            },
            self.now_ms,
        );
        match (answer, self.model.submit(submission, self.now_ms)) {
            (Ok((job, how)), Ok(wanted)) => {
                prop_assert_eq!(how, wanted);
                prop_assert_eq!(job.id, identity(request, content));
            }
            (Err(QueueError::TooManyJobs { .. }), Err("jobs")) => {}
            (Err(QueueError::TooManyBytes { .. }), Err("bytes")) => {}
            (answer, wanted) => prop_assert!(false, "{answer:?}, wanted {wanted:?}"),
        }
        Ok(())
    }

    fn claim(&mut self, min_priority: u8) -> Checked {
        let claimed = self.queue().claim(min_priority, self.now_ms);
        let claimed = claimed.expect("the disk reads");
        let wanted = self.model.claim(min_priority);
        prop_assert_eq!(claimed.as_ref().map(|claimed| claimed.job.id), wanted);
        if let Some(claimed) = claimed {
            prop_assert_eq!(ContentHash::of(&claimed.payload), claimed.job.content);
        }
        Ok(())
    }

    fn picked(&mut self, id: JobId, job: &ModelJob, what: Picked) -> Checked {
        match what {
            Picked::Release => {
                let known = self.queue().release(id, job.attempt).is_ok();
                prop_assert_eq!(known, !job.state.is_final());
                if known {
                    self.model.end(&id, State::Accepted, 0);
                }
                Ok(())
            }
            Picked::Complete { old_attempt } => {
                let timings = Timings {
                    key_ms: 1,
                    witness_ms: self.now_ms,
                    device_ms: 3,
                };
                let proof = vec![job.content; 192];
                let attempt = job.attempt - u32::from(old_attempt);
                self.finish(id, job, attempt, Outcome::Completed { proof, timings })
            }
            Picked::Fail => {
                let message = format!("no {}", self.now_ms);
                self.finish(id, job, job.attempt, Outcome::Failed { message })
            }
            Picked::Cancel => {
                let wanted = match job.state {
                    State::Accepted => Cancelled::Waiting,
                    State::Running => Cancelled::Running,
                    _ => Cancelled::Ended,
                };
                let found = self.queue().cancel(id, self.now_ms).expect("it is known");
                prop_assert_eq!((found.0.state, found.1), (job.state.clone(), wanted));
                if wanted != Cancelled::Ended {
                    self.model.end(&id, State::Cancelled, self.now_ms);
                }
                Ok(())
            }
        }
    }

    fn finish(&mut self, id: JobId, job: &ModelJob, attempt: u32, outcome: Outcome) -> Checked {
        let state = match outcome.clone() {
            Outcome::Completed { proof, timings } => State::Completed { proof, timings },
            Outcome::Failed { message } => State::Failed { message },
        };
        let answer = self.queue().finish(id, attempt, outcome, self.now_ms);
        let answer = answer.expect("the disk takes it");
        if job.state == State::Running && attempt == job.attempt {
            prop_assert_eq!(answer, Finished::Saved);
            self.model.end(&id, state, self.now_ms);
        } else {
            prop_assert_eq!(answer, Finished::Stale);
        }
        Ok(())
    }

    /// Everything that can be seen of the queue is what the model says.
    fn check(&self) -> Checked {
        for (request, content) in (0..REQUESTS.len()).flat_map(|r| (0..5).map(move |c| (r, c))) {
            let id = identity(request, content);
            match (self.queue().job(id), self.model.jobs.get(&id)) {
                (Ok(job), Some(wanted)) => {
                    prop_assert_eq!(&job.state, &wanted.state);
                    prop_assert_eq!(job.request_id.as_str(), REQUESTS[request]);
                    prop_assert_eq!(job.priority, wanted.priority);
                    prop_assert_eq!(job.attempt, wanted.attempt);
                    prop_assert_eq!(job.interruptions, wanted.interruptions);
                }
                (Err(QueueError::UnknownJob { .. }), None) => {}
                (job, wanted) => prop_assert!(false, "{job:?}, wanted {wanted:?}"),
            }
        }
        let contents = self.model.contents();
        let hash = |content: &u8| ContentHash::of(&payload(*content)).to_string();
        let wanted: BTreeSet<String> = contents.iter().map(hash).collect();
        prop_assert_eq!(self.files(), wanted);
        let usage = self.queue().usage();
        let unfinished = self.model.unfinished().count();
        let counts = usage.kinds.values();
        prop_assert_eq!(usage.payload_bytes, bytes_of(&contents));
        prop_assert_eq!(
            counts.map(|c| c.waiting + c.running).sum::<usize>(),
            unfinished
        );
        prop_assert_eq!(usage.finished, self.model.jobs.len() - unfinished);
        prop_assert_eq!(self.queue().take_quarantined(), vec![]);
        Ok(())
    }

    fn files(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.folder.path().join("payloads")).expect("it is there");
        let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries
            .map(|entry| name(entry.expect("it lists")))
            .collect()
    }
}

proptest! {
    #[test]
    fn the_queue_is_its_model(calls in calls()) {
        let mut bench = Bench::new();
        for call in &calls {
            bench.run(call)?;
            bench.check()?;
        }
    }
}
