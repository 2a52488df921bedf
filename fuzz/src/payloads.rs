//! Payloads as Curio sends them, of 2 KiB sectors.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cuzk_plugins as _;
use cuzk_proof_api::{Request, by_id};
use cuzk_synth::{Kind, Options, Payload, SectorSize, synthetic};
use std::sync::OnceLock;

/// A right payload of a 2 KiB sector. All fields of a request but the vanilla proofs are taken from it.
pub fn reference(kind: Kind) -> Result<Payload, cuzk_synth::SynthError> {
    synthetic(kind, SectorSize::KIB_2, &Options::default())
}

/// A request whose vanilla proofs are `data`.
///
/// Of a PoRep, an odd first byte says that the rest is the inner document, to be wrapped. Of the others, the first byte
/// says into how many equal parts the rest is cut.
pub fn payload(kind: Kind, data: &[u8]) {
    static REQUEST: OnceLock<Request> = OnceLock::new();
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let request =
        REQUEST.get_or_init(|| request(reference(kind).expect("2 KiB payloads can be made")));
    let mut request = request.clone();
    match kind {
        Kind::PoRep if first & 1 == 1 => request.vanilla_proof = wrap(request.sector_number, rest),
        Kind::PoRep => request.vanilla_proof = rest.to_vec(),
        _ => {
            let part = rest.len().div_ceil(usize::from(first % 4 + 1)).max(1);
            request.vanilla_proofs = rest.chunks(part).map(<[u8]>::to_vec).collect();
        }
    }
    let proof_type = by_id(kind.name()).expect("all proof types are linked");
    if let Ok(job) = proof_type.decode(&request) {
        for partition in 0..job.partitions() {
            let _ = job.public_inputs(partition);
            let _ = job.circuit(partition);
            let _ = job.direct_witness(partition);
        }
    }
}

/// The two documents of a PoRep's payload, the outer and the inner one.
pub fn porep_documents(payload: &Payload) -> Option<(Vec<u8>, Vec<u8>)> {
    let outer: serde_json::Value = serde_json::from_slice(&payload.vanilla_proof).ok()?;
    let inner = STANDARD.decode(outer.get("Phase1Out")?.as_str()?).ok()?;
    Some((payload.vanilla_proof.clone(), inner))
}

fn wrap(sector_number: u64, inner: &[u8]) -> Vec<u8> {
    let inner = STANDARD.encode(inner);
    format!("{{\"SectorNum\":{sector_number},\"Phase1Out\":\"{inner}\",\"SectorSize\":2048}}")
        .into_bytes()
}

fn request(payload: Payload) -> Request {
    Request {
        vanilla_proof: Vec::new(),
        vanilla_proofs: Vec::new(),
        ..payload.into_request()
    }
}
