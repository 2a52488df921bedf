//! Holds a proof against filecoin-proofs' own verifying function: `verify_filecoin PAYLOAD PROOF`.
//!
//! The `.vk` file is read from `FIL_PROOFS_PARAMETER_CACHE`. Ends with 1 where the proof does not hold.

use std::process::ExitCode;

use cuzk_synth::{Payload, verify_proof};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [payload, proof] = arguments.as_slice() else {
        return Err("usage: verify_filecoin PAYLOAD PROOF".into());
    };
    let payload = Payload::from_json(&std::fs::read(payload)?)?;
    let holds = verify_proof(&payload, &std::fs::read(proof)?)?;
    println!(
        "{}: {}",
        payload.kind,
        if holds { "holds" } else { "does not hold" }
    );
    Ok(if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
