//! Payloads and requests.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cuzk_plugins as _;
use cuzk_proof_api::{Job, ProofApiError, ProofType, Request, by_id};
use cuzk_synth::{Kind, Options, Payload, SectorSize, synthetic};
use serde_json::Value;

/// The request that Curio would send for a payload.
pub fn request(payload: &Payload) -> Request {
    payload.clone().into_request()
}

/// The request for a really sealed 2 KiB sector; made once.
pub fn real(kind: Kind) -> Request {
    static REAL: OnceLock<Vec<Request>> = OnceLock::new();
    let requests = REAL.get_or_init(|| {
        let scratch = tempfile::tempdir().unwrap();
        let payloads = cuzk_synth::real(SectorSize::KIB_2, &Kind::ALL, scratch.path(), &mut |_| ());
        payloads.unwrap().iter().map(request).collect()
    });
    requests[Kind::ALL.iter().position(|k| *k == kind).unwrap()].clone()
}

/// The request for an update of a synthetic 8 MiB sector, the smallest with several partitions; made once.
pub fn snap_8m() -> Request {
    static MADE: OnceLock<Request> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let options = Options::default();
        request(&synthetic(Kind::Snap, SectorSize::MIB_8, &options).unwrap())
    });
    made.clone()
}

/// The proof type of a kind.
pub fn proof_type(kind: Kind) -> &'static dyn ProofType {
    by_id(kind.name()).unwrap()
}

/// Decodes a request.
pub fn decode(kind: Kind, request: &Request) -> Result<Box<dyn Job>, ProofApiError> {
    proof_type(kind).decode(request)
}

/// Takes a PoRep payload apart: the envelope, and the document in it.
pub fn open_porep(request: &Request) -> (Value, Value) {
    let envelope: Value = serde_json::from_slice(&request.vanilla_proof).unwrap();
    let inner = STANDARD
        .decode(envelope["Phase1Out"].as_str().unwrap())
        .unwrap();
    (envelope, serde_json::from_slice(&inner).unwrap())
}

/// Puts a document back into its envelope.
pub fn close_porep(request: &mut Request, mut envelope: Value, inner: &[u8]) {
    envelope["Phase1Out"] = STANDARD.encode(inner).into();
    request.vanilla_proof = serde_json::to_vec(&envelope).unwrap();
}
