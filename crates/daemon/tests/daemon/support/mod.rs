//! A daemon over proof types and a prover that take no time, and clients of it.

pub mod daemon;
pub mod kinds;
pub mod simulated;

use cuzk_proto::v1::SubmitProofRequest;
use cuzk_proto::v1::await_proof_response::Status;
use cuzk_proto::v1::{AwaitProofRequest, AwaitProofResponse, ProveRequest};

pub use daemon::{Client, start};

/// A sound request of a kind with this name and payload.
pub fn request(kind: i32, name: &str, payload: &[u8]) -> SubmitProofRequest {
    let mut request = SubmitProofRequest {
        request_id: name.to_owned(),
        proof_kind: kind,
        sector_size: 2048,
        registered_proof: 10 + kind as u64,
        sector_number: 7,
        miner_id: 1000,
        ..SubmitProofRequest::default()
    };
    match kind {
        1 => request.vanilla_proof = payload.to_vec(),
        _ => request.vanilla_proofs = vec![payload.to_vec()],
    }
    if kind == 2 {
        request.comm_r_old = vec![1; 32];
        request.comm_r_new = vec![2; 32];
        request.comm_d_new = vec![3; 32];
    }
    if kind >= 3 {
        request.randomness = vec![9; 32];
    }
    request
}

/// Calls Prove.
pub async fn prove(
    client: &mut Client,
    request: SubmitProofRequest,
) -> Result<AwaitProofResponse, tonic::Status> {
    let submit = Some(request);
    let answer = client.prove(ProveRequest { submit }).await?;
    Ok(answer.into_inner().result.expect("an answer has a result"))
}

/// Calls AwaitProof.
pub async fn wait(
    client: &mut Client,
    job_id: &str,
    timeout_ms: u64,
) -> Result<AwaitProofResponse, tonic::Status> {
    let job_id = job_id.to_owned();
    let answer = client
        .await_proof(AwaitProofRequest { job_id, timeout_ms })
        .await?;
    Ok(answer.into_inner())
}

/// Calls SubmitProof and returns the job's id.
pub async fn submit(
    client: &mut Client,
    request: SubmitProofRequest,
) -> Result<String, tonic::Status> {
    Ok(client.submit_proof(request).await?.into_inner().job_id)
}

/// The status of an answer.
pub fn status(answer: &AwaitProofResponse) -> Status {
    answer.status()
}

/// Asserts that an answer is the proof of this request and no other.
pub fn check(answer: &AwaitProofResponse, request: &SubmitProofRequest) {
    assert_eq!(
        answer.status(),
        Status::Completed,
        "{}",
        answer.error_message
    );
    let wanted = simulated::proof(&cuzk_proto::to_request(request.clone()));
    assert_eq!(answer.proof, wanted, "the proof of another request");
}
