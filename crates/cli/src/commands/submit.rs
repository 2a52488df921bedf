//! `cuzk submit`, `cuzk await` and `cuzk cancel`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use cuzk_daemon::{Client, DaemonError, connect};
use cuzk_proof_api::by_id;
use cuzk_proto::from_request;
use cuzk_proto::v1::await_proof_response::Status;
use cuzk_proto::v1::{
    AwaitProofRequest, AwaitProofResponse, CancelProofRequest, SubmitProofRequest,
};
use cuzk_synth::Payload;
use serde::Serialize;

use crate::console::Console;
use crate::daemon_args::{Await, Cancel, Submit, Target};
use crate::failure::{INVALID, NO_DAEMON, failure};
use crate::job::read_payload;

#[derive(Serialize)]
struct Accepted {
    job_id: String,
    queue_position: u32,
}

#[derive(Serialize)]
struct Ended {
    job_id: String,
    status: &'static str,
    proof_bytes: usize,
    proof: Option<PathBuf>,
    queue_wait_ms: u64,
    key_ms: u64,
    witness_ms: u64,
    device_ms: u64,
    total_ms: u64,
}

/// Runs calls to a daemon.
pub fn call<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

/// Connects to the daemon.
pub async fn daemon(target: &Target) -> anyhow::Result<Client> {
    let tls = target.tls();
    let token = target.token_file.as_deref();
    let connected = connect(&target.daemon.address, token, tls.as_ref()).await;
    connected.map_err(|error| match error {
        DaemonError::Server(_) => {
            anyhow::Error::new(error).context(format!("no daemon at {}", target.daemon))
        }
        of_a_file => of_a_file.into(),
    })
}

/// Hands over a payload, and waits for the proof where that is wanted.
pub fn run(args: &Submit, console: &Console) -> anyhow::Result<()> {
    let payload = read_payload(&args.payload)?;
    let name = args
        .request_id
        .clone()
        .unwrap_or_else(|| request_id(&payload));
    let mut request = message(payload, name)?;
    request.priority = args.priority.map_or(0, |priority| priority as i32);
    call(async {
        let mut client = daemon(&args.target).await?;
        let accepted = client.submit_proof(request).await?.into_inner();
        match &args.out {
            None => {
                let row = Accepted {
                    job_id: accepted.job_id,
                    queue_position: accepted.queue_position,
                };
                console.result(&row, &row.job_id)
            }
            Some(out) => {
                console.note(&format!("job {}", accepted.job_id));
                end(&mut client, accepted.job_id, 0, Some(out), console).await
            }
        }
    })
}

/// Waits for a job.
pub fn wait(args: &Await, console: &Console) -> anyhow::Result<()> {
    call(async {
        let mut client = daemon(&args.target).await?;
        let timeout_ms = args.timeout.saturating_mul(1000);
        end(
            &mut client,
            args.job.clone(),
            timeout_ms,
            args.out.as_deref(),
            console,
        )
        .await
    })
}

/// Cancels a job.
pub fn cancel(args: &Cancel, console: &Console) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Row {
        was_running: bool,
    }
    call(async {
        let mut client = daemon(&args.target).await?;
        let job_id = args.job.clone();
        let answer = client.cancel_proof(CancelProofRequest { job_id }).await?;
        let was_running = answer.into_inner().was_running;
        let text = if was_running {
            "cancelled; it ran"
        } else {
            "it did not run: it waited and is cancelled now, or it had ended before"
        };
        console.result(&Row { was_running }, text)
    })
}

/// A payload as the message that submits it under a name.
pub fn message(payload: Payload, name: String) -> anyhow::Result<SubmitProofRequest> {
    let kind = by_id(payload.kind.name())?.wire_kind();
    Ok(SubmitProofRequest {
        request_id: name,
        ..from_request(payload.into_request(), kind)
    })
}

/// A name for a payload, as Curio makes them.
fn request_id(payload: &Payload) -> String {
    format!(
        "{}-{}-{}",
        payload.kind.name(),
        payload.miner_id,
        payload.sector_number
    )
}

async fn end(
    client: &mut Client,
    job_id: String,
    timeout_ms: u64,
    out: Option<&Path>,
    console: &Console,
) -> anyhow::Result<()> {
    let request = AwaitProofRequest { job_id, timeout_ms };
    let answer = client.await_proof(request).await?.into_inner();
    match answer.status() {
        Status::Completed => completed(answer, out, console),
        Status::Timeout => {
            let message = format!("job {} has not ended yet", answer.job_id);
            Err(failure(NO_DAEMON, message))
        }
        _ => {
            let message = format!("job {}: {}", answer.job_id, answer.error_message);
            Err(failure(INVALID, message))
        }
    }
}

fn completed(
    answer: AwaitProofResponse,
    out: Option<&Path>,
    console: &Console,
) -> anyhow::Result<()> {
    if let Some(out) = out {
        std::fs::write(out, &answer.proof).with_context(|| out.display().to_string())?;
    }
    let row = Ended {
        status: "completed",
        proof_bytes: answer.proof.len(),
        proof: out.map(Path::to_owned),
        queue_wait_ms: answer.queue_wait_ms,
        key_ms: answer.srs_load_ms,
        witness_ms: answer.synthesis_ms,
        device_ms: answer.gpu_compute_ms,
        total_ms: answer.total_ms,
        job_id: answer.job_id,
    };
    let text = format!(
        "{}: completed in {} ms, {} bytes (waited {} ms; witness {} ms, device {} ms)",
        row.job_id, row.total_ms, row.proof_bytes, row.queue_wait_ms, row.witness_ms, row.device_ms
    );
    console.result(&row, &text)
}
