//! What a submission must be before it is taken.

use cuzk_proof_api::{Priority, ProofApiError, ProofType, by_wire_kind};
use cuzk_proto::v1::SubmitProofRequest;
use cuzk_proto::{MAX_MESSAGE_BYTES, to_request};

/// Bytes that a request's name may have.
pub const MAX_REQUEST_ID_BYTES: usize = 1024;

/// A submission that holds what its proof type wants.
pub struct Valid {
    /// The submission.
    pub submit: SubmitProofRequest,
    /// Its priority, or its proof type's.
    pub priority: Priority,
}

/// Holds a submission against its proof type, which decodes all of it.
///
/// Errors: [`ProofApiError::Field`] and the others of decoding.
pub fn validate(submit: SubmitProofRequest) -> Result<Valid, ProofApiError> {
    let proof_type = proof_type(submit.proof_kind)?;
    let priority = priority(submit.priority, proof_type)?;
    at_most("request_id", submit.request_id.len(), MAX_REQUEST_ID_BYTES)?;
    let payload_bytes = payload_bytes(&submit);
    let field = match submit.vanilla_proof.is_empty() {
        true => "vanilla_proofs",
        false => "vanilla_proof",
    };
    at_most(field, payload_bytes, MAX_MESSAGE_BYTES)?;
    // Decoding takes a request by reference, so the wire's message gives up its bytes and gets them back.
    let name = submit.request_id.clone();
    let (kind, wire_priority) = (submit.proof_kind, submit.priority);
    let request = to_request(submit);
    proof_type.decode(&request)?;
    // The proof type knows which field it misses; this is for one that does not look.
    if payload_bytes == 0 {
        let field = match request.vanilla_proofs.is_empty() {
            true => "vanilla_proof",
            false => "vanilla_proofs",
        };
        return Err(ProofApiError::field(field, "a vanilla proof", "0 bytes"));
    }
    let submit = SubmitProofRequest {
        request_id: name,
        priority: wire_priority,
        ..cuzk_proto::from_request(request, kind)
    };
    Ok(Valid { submit, priority })
}

fn proof_type(kind: i32) -> Result<&'static dyn ProofType, ProofApiError> {
    by_wire_kind(kind).map_err(|error| match error {
        ProofApiError::UnknownProofType { .. } => {
            ProofApiError::field("proof_kind", "a kind of proof", cuzk_proto::kind_name(kind))
        }
        other => other,
    })
}

/// The priority with this number; that of the proof type for 0.
fn priority(number: i32, proof_type: &dyn ProofType) -> Result<Priority, ProofApiError> {
    match number {
        0 => Ok(proof_type.priority()),
        1 => Ok(Priority::Low),
        2 => Ok(Priority::Normal),
        3 => Ok(Priority::High),
        4 => Ok(Priority::Critical),
        found => {
            let wanted = "a priority from 0 to 4";
            Err(ProofApiError::field("priority", wanted, found.to_string()))
        }
    }
}

fn payload_bytes(submit: &SubmitProofRequest) -> usize {
    let many = submit.vanilla_proofs.iter().map(Vec::len);
    submit.vanilla_proof.len() + many.sum::<usize>()
}

fn at_most(field: &str, found: usize, limit: usize) -> Result<(), ProofApiError> {
    if found <= limit {
        return Ok(());
    }
    let wanted = format!("at most {limit} bytes");
    Err(ProofApiError::field(
        field,
        wanted,
        format!("{found} bytes"),
    ))
}
