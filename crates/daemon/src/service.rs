//! The eight calls.

use std::sync::Arc;
use std::time::Duration;

use cuzk_proof_api::by_circuit;
use cuzk_proto::kind_name;
use cuzk_proto::v1::await_proof_response::Status as JobStatus;
use cuzk_proto::v1::proving_engine_server::ProvingEngine;
use cuzk_proto::v1::srs_status::Tier;
use cuzk_proto::v1::{
    AwaitProofRequest, AwaitProofResponse, CancelProofRequest, CancelProofResponse,
    EvictSrsRequest, EvictSrsResponse, GetMetricsRequest, GetMetricsResponse, GetStatusRequest,
    GetStatusResponse, GpuStatus, PreloadSrsRequest, PreloadSrsResponse, ProveRequest,
    ProveResponse, QueueStatus, SrsStatus, SubmitProofRequest, SubmitProofResponse,
};
use cuzk_queue::{Count, Job, JobId, State, Usage};
use tonic::{Code, Request, Response, Status};

use crate::budget::Taken;
use crate::jobs::Jobs;
use crate::proving::{DeviceStatus, KeyStatus, ProvingStatus};
use crate::refusal::Refusal;

/// The kinds of the interface; each has a queue, also an empty one.
const KINDS: [i32; 4] = [1, 2, 3, 4];

/// The queues of all kinds, known ones first, with their jobs.
pub fn counts(usage: &Usage) -> impl Iterator<Item = (i32, Count)> {
    let others = usage.kinds.keys().filter(|kind| !KINDS.contains(kind));
    let kinds = KINDS.into_iter().chain(others.copied());
    kinds.map(|kind| (kind, usage.kinds.get(&kind).copied().unwrap_or_default()))
}

/// The service.
pub struct Service {
    jobs: Arc<Jobs>,
}

impl Service {
    /// The service of these jobs.
    pub fn new(jobs: Arc<Jobs>) -> Self {
        Self { jobs }
    }

    /// Counts an answer.
    fn answer<T>(
        &self,
        call: &'static str,
        answer: Result<T, Refusal>,
    ) -> Result<Response<T>, Status> {
        let code = match &answer {
            Ok(_) => code_name(Code::Ok),
            Err(refusal) => code_name(refusal.code()),
        };
        *self
            .jobs
            .metrics()
            .count()
            .calls
            .entry((call, code))
            .or_default() += 1;
        answer.map(Response::new).map_err(Status::from)
    }

    async fn submit(
        &self,
        request: Request<SubmitProofRequest>,
    ) -> Result<SubmitProofResponse, Refusal> {
        let (taken, submit) = open(request);
        let job = self.jobs.submit(submit, taken).await?;
        let id = job.id;
        self.jobs
            .blocking(move |jobs| {
                let job_id = id.to_string();
                let status = jobs.proving().status();
                let device = status.device_of(&job_id);
                let assigned_gpu = device.map(|device| device.name.clone());
                SubmitProofResponse {
                    queue_position: u32::try_from(jobs.queue().position(id)).unwrap_or(u32::MAX),
                    assigned_gpu: assigned_gpu.unwrap_or_default(),
                    job_id,
                }
            })
            .await
    }

    async fn wait(&self, request: AwaitProofRequest) -> Result<AwaitProofResponse, Refusal> {
        let id = job_id(&request.job_id)?;
        let timeout = (request.timeout_ms > 0).then(|| Duration::from_millis(request.timeout_ms));
        Ok(match self.jobs.wait(id, timeout).await? {
            Some(job) => result(job),
            None => AwaitProofResponse {
                job_id: request.job_id,
                status: JobStatus::Timeout.into(),
                ..AwaitProofResponse::default()
            },
        })
    }

    async fn prove(&self, request: Request<ProveRequest>) -> Result<ProveResponse, Refusal> {
        let (taken, prove) = open(request);
        let submit = prove
            .submit
            .ok_or_else(|| Refusal::invalid("field submit: wanted a request, found none"))?;
        let job = self.jobs.submit(submit, taken).await?;
        // A caller that goes away leaves its job running: when it comes back with the same request, it joins it.
        let job = self.jobs.wait(job.id, None).await?;
        Ok(ProveResponse {
            result: job.map(result),
        })
    }

    async fn cancel(&self, request: CancelProofRequest) -> Result<CancelProofResponse, Refusal> {
        let was_running = self.jobs.cancel(job_id(&request.job_id)?).await?;
        Ok(CancelProofResponse { was_running })
    }

    async fn preload(&self, circuit: String) -> Result<PreloadSrsResponse, Refusal> {
        known_circuit(&circuit)?;
        let loaded = self.jobs.proving().preload(&circuit);
        let loaded = self
            .jobs
            .unless_ending(loaded)
            .await?
            .map_err(Refusal::precondition)?;
        Ok(PreloadSrsResponse {
            already_loaded: loaded.already,
            load_time_ms: loaded.ms,
        })
    }

    async fn evict(&self, circuit: String) -> Result<EvictSrsResponse, Refusal> {
        known_circuit(&circuit)?;
        let evicted = self.jobs.proving().evict(&circuit);
        let evicted = self
            .jobs
            .unless_ending(evicted)
            .await?
            .map_err(Refusal::precondition)?;
        Ok(EvictSrsResponse {
            was_loaded: evicted.was_loaded,
            freed_bytes: evicted.bytes,
        })
    }
}

#[tonic::async_trait]
impl ProvingEngine for Service {
    async fn submit_proof(
        &self,
        request: Request<SubmitProofRequest>,
    ) -> Result<Response<SubmitProofResponse>, Status> {
        let answer = self.submit(request).await;
        self.answer("SubmitProof", answer)
    }

    async fn await_proof(
        &self,
        request: Request<AwaitProofRequest>,
    ) -> Result<Response<AwaitProofResponse>, Status> {
        let answer = self.wait(request.into_inner()).await;
        self.answer("AwaitProof", answer)
    }

    async fn prove(
        &self,
        request: Request<ProveRequest>,
    ) -> Result<Response<ProveResponse>, Status> {
        let answer = self.prove(request).await;
        self.answer("Prove", answer)
    }

    async fn cancel_proof(
        &self,
        request: Request<CancelProofRequest>,
    ) -> Result<Response<CancelProofResponse>, Status> {
        let answer = self.cancel(request.into_inner()).await;
        self.answer("CancelProof", answer)
    }

    async fn get_status(
        &self,
        _: Request<GetStatusRequest>,
    ) -> Result<Response<GetStatusResponse>, Status> {
        let answer = self.jobs.blocking(|jobs| status(jobs)).await;
        self.answer("GetStatus", answer)
    }

    async fn get_metrics(
        &self,
        _: Request<GetMetricsRequest>,
    ) -> Result<Response<GetMetricsResponse>, Status> {
        let answer = self.jobs.blocking(|jobs| GetMetricsResponse {
            prometheus_text: jobs
                .metrics()
                .text(&jobs.proving().status(), &jobs.queue().usage()),
        });
        self.answer("GetMetrics", answer.await)
    }

    async fn preload_srs(
        &self,
        request: Request<PreloadSrsRequest>,
    ) -> Result<Response<PreloadSrsResponse>, Status> {
        let answer = self.preload(request.into_inner().circuit_id).await;
        self.answer("PreloadSRS", answer)
    }

    async fn evict_srs(
        &self,
        request: Request<EvictSrsRequest>,
    ) -> Result<Response<EvictSrsResponse>, Status> {
        let answer = self.evict(request.into_inner().circuit_id).await;
        self.answer("EvictSRS", answer)
    }
}

/// The message of a request, and what its bytes take of the budget, for as long as the message is held.
fn open<T>(request: Request<T>) -> (Option<Arc<Taken>>, T) {
    let taken = request.extensions().get::<Arc<Taken>>().cloned();
    (taken, request.into_inner())
}

fn job_id(text: &str) -> Result<JobId, Refusal> {
    text.parse()
        .map_err(|error| Refusal::invalid(format!("field job_id: {error}")))
}

fn known_circuit(circuit: &str) -> Result<(), Refusal> {
    by_circuit(circuit)
        .map(drop)
        .map_err(|error| Refusal::invalid(format!("field circuit_id: {error}")))
}

/// A job that has ended, as an answer.
fn result(job: Job) -> AwaitProofResponse {
    let ended_ms = job.finished_ms.unwrap_or(job.accepted_ms);
    let started_ms = job.started_ms.unwrap_or(ended_ms);
    let mut answer = AwaitProofResponse {
        job_id: job.id.to_string(),
        queue_wait_ms: started_ms.saturating_sub(job.accepted_ms),
        total_ms: ended_ms.saturating_sub(job.accepted_ms),
        ..AwaitProofResponse::default()
    };
    match job.state {
        State::Completed { proof, timings } => {
            answer.status = JobStatus::Completed.into();
            answer.proof = proof;
            answer.srs_load_ms = timings.key_ms;
            answer.synthesis_ms = timings.witness_ms;
            answer.gpu_compute_ms = timings.device_ms;
        }
        State::Failed { message } => {
            answer.status = JobStatus::Failed.into();
            answer.error_message = message;
        }
        State::Cancelled => {
            answer.status = JobStatus::Cancelled.into();
            answer.error_message = "the job was cancelled".to_owned();
        }
        State::Accepted | State::Running => {}
    }
    answer
}

fn status(jobs: &Jobs) -> GetStatusResponse {
    let proving = jobs.proving().status();
    let counts = jobs.metrics().count().clone();
    GetStatusResponse {
        gpus: proving
            .devices
            .iter()
            .map(|device| gpu(device, jobs))
            .collect(),
        loaded_srs: loaded(&proving),
        queues: queues(&jobs.queue().usage()),
        total_proofs_completed: counts.total_ended("completed"),
        total_proofs_failed: counts.total_ended("failed"),
        uptime_seconds: jobs.metrics().uptime_s(),
        pinned_memory_bytes: proving.host_reserved_bytes,
        pinned_memory_limit_bytes: proving.host_budget_bytes,
    }
}

fn gpu(device: &DeviceStatus, jobs: &Jobs) -> GpuStatus {
    let current = device
        .lanes
        .iter()
        .flatten()
        .next()
        .map(|work| work.job.clone());
    let id: Option<JobId> = current.as_deref().and_then(|job| job.parse().ok());
    let job = id.and_then(|id| jobs.queue().job(id).ok());
    GpuStatus {
        ordinal: device.ordinal,
        name: device.name.clone(),
        vram_total_bytes: device.memory_bytes,
        vram_free_bytes: device.memory_bytes.saturating_sub(device.reserved_bytes),
        current_job_id: current.unwrap_or_default(),
        current_proof_kind: job.map(|job| kind_name(job.kind)).unwrap_or_default(),
    }
}

fn loaded(proving: &ProvingStatus) -> Vec<SrsStatus> {
    let loaded = |key: &&KeyStatus| key.on_host || !key.devices.is_empty();
    let status = |key: &KeyStatus| SrsStatus {
        circuit_id: key.circuit.clone(),
        tier: match key.devices.is_empty() {
            true => Tier::Warm.into(),
            false => Tier::Hot.into(),
        },
        size_bytes: key.host_bytes + key.device_bytes * key.devices.len() as u64,
        ref_count: key.users,
    };
    proving.keys.iter().filter(loaded).map(status).collect()
}

fn queues(usage: &Usage) -> Vec<QueueStatus> {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let queue = |(kind, counts): (i32, Count)| QueueStatus {
        proof_kind: kind_name(kind),
        pending: count(counts.waiting),
        in_progress: count(counts.running),
    };
    counts(usage).map(queue).collect()
}

fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::NotFound => "NOT_FOUND",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Unavailable => "UNAVAILABLE",
        Code::Internal => "INTERNAL",
        _ => "OTHER",
    }
}
