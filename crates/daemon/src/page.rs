//! The state of the daemon as JSON.

use std::collections::BTreeMap;

use cuzk_proto::kind_name;
use cuzk_queue::{Job, QueueError, State};
use serde::Serialize;

use crate::jobs::{Jobs, Phase, now_ms};
use crate::proving::{JobProgress, ProvingStatus};
use crate::service::counts;

/// Jobs that are listed.
const JOBS: usize = 200;

/// Everything that is shown.
#[derive(Debug, Serialize)]
pub struct Page {
    version: &'static str,
    phase: &'static str,
    uptime_seconds: u64,
    total_proofs_completed: u64,
    total_proofs_failed: u64,
    pinned_memory_bytes: u64,
    pinned_memory_limit_bytes: u64,
    payload_bytes: u64,
    payload_bytes_limit: u64,
    jobs_limit: usize,
    unsaved: usize,
    queues: Vec<Queue>,
    #[serde(flatten)]
    proving: Proving,
    jobs: Vec<Listed>,
}

/// What proves; its jobs are listed with the others.
#[derive(Debug, Serialize)]
struct Proving {
    gpus: Vec<crate::proving::DeviceStatus>,
    loaded_srs: Vec<crate::proving::KeyStatus>,
    faults: u64,
    invalid_proofs: u64,
}

#[derive(Debug, Serialize)]
struct Queue {
    proof_kind: String,
    pending: usize,
    in_progress: usize,
}

#[derive(Debug, Serialize)]
struct Listed {
    job_id: String,
    request_id: String,
    proof_kind: String,
    priority: u8,
    state: &'static str,
    stage: Option<String>,
    partitions: usize,
    proved: usize,
    payload_bytes: u64,
    attempt: u32,
    interruptions: u32,
    /// From acceptance to the start, or to now.
    wait_ms: u64,
    /// From the start to the end, or to now.
    run_ms: u64,
    /// Since its end.
    ended_ago_ms: Option<u64>,
    error: Option<String>,
}

impl Page {
    /// The state now.
    pub fn new(jobs: &Jobs) -> Result<Self, QueueError> {
        let proving = jobs.proving().status();
        let usage = jobs.queue().usage();
        let totals = jobs.metrics().count().clone();
        let now_ms = now_ms();
        let progress = progress(&proving);
        let listed = jobs.queue().jobs(JOBS)?;
        let listed = listed.into_iter().map(|job| list(job, &progress, now_ms));
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            phase: match jobs.phase() {
                Phase::Serving => "serving",
                Phase::Draining => "draining",
                Phase::Ending => "ending",
            },
            uptime_seconds: jobs.metrics().uptime_s(),
            total_proofs_completed: totals.total_ended("completed"),
            total_proofs_failed: totals.total_ended("failed"),
            pinned_memory_bytes: proving.host_reserved_bytes,
            pinned_memory_limit_bytes: proving.host_budget_bytes,
            payload_bytes: usage.payload_bytes,
            payload_bytes_limit: usage.payload_bytes_limit,
            jobs_limit: usage.jobs_limit,
            unsaved: usage.unsaved,
            queues: counts(&usage)
                .map(|(kind, count)| Queue {
                    proof_kind: kind_name(kind),
                    pending: count.waiting,
                    in_progress: count.running,
                })
                .collect(),
            jobs: listed.collect(),
            proving: Proving {
                gpus: proving.devices,
                loaded_srs: proving.keys,
                faults: proving.faults,
                invalid_proofs: proving.invalid_proofs,
            },
        })
    }
}

fn progress(proving: &ProvingStatus) -> BTreeMap<String, JobProgress> {
    let jobs = proving.jobs.iter();
    jobs.map(|job| (job.job.clone(), job.clone())).collect()
}

fn list(job: Job, progress: &BTreeMap<String, JobProgress>, now_ms: u64) -> Listed {
    let job_id = job.id.to_string();
    let progress = progress.get(&job_id).cloned().unwrap_or_default();
    let (state, error) = match job.state {
        State::Accepted => ("waiting", None),
        State::Running => ("running", None),
        State::Completed { .. } => ("completed", None),
        State::Failed { message } => ("failed", Some(message)),
        State::Cancelled => ("cancelled", None),
    };
    let waiting = state == "waiting";
    let end_ms = job.finished_ms.unwrap_or(now_ms);
    let started_ms = job.started_ms.filter(|_| !waiting);
    Listed {
        wait_ms: started_ms.unwrap_or(end_ms).saturating_sub(job.accepted_ms),
        run_ms: started_ms.map_or(0, |started| end_ms.saturating_sub(started)),
        ended_ago_ms: job.finished_ms.map(|ended| now_ms.saturating_sub(ended)),
        job_id,
        request_id: job.request_id,
        proof_kind: kind_name(job.kind),
        priority: job.priority,
        state,
        stage: (!progress.stage.is_empty()).then_some(progress.stage),
        partitions: progress.partitions,
        proved: progress.proved,
        payload_bytes: job.payload_bytes,
        attempt: job.attempt,
        interruptions: job.interruptions,
        error,
    }
}
