//! `cuzk verify`.

use std::path::Path;

use anyhow::Context;
use cuzk_groth16::{PROOF_BYTES, PreparedVerifyingKey, Proof, verify, verify_batch};
use rand_core::OsRng;
use serde::Serialize;

use crate::args::Verify;
use crate::circuits::Circuit;
use crate::console::Console;
use crate::failure::{INPUT, INVALID, USAGE, failure};
use crate::{job, keys, places};

#[derive(Serialize)]
struct Row {
    circuit: &'static str,
    partitions: usize,
    valid: bool,
    verify_s: f64,
}

/// Verifies the proof of a payload.
pub fn run(args: &Verify, console: &Console) -> anyhow::Result<()> {
    let payload = job::read_payload(&args.payload)?;
    let job = job::decode(&payload)?;
    let partitions: Vec<usize> = match args.partition {
        None => (0..job.partitions()).collect(),
        Some(k) if k < job.partitions() => vec![k],
        Some(k) => {
            let message = format!("partition {k}: the payload has {}", job.partitions());
            return Err(failure(USAGE, message));
        }
    };
    let bytes = read_proof(&args.proof, partitions.len())?;
    let decode = |(k, chunk)| Proof::from_bytes(chunk).with_context(|| format!("partition {k}"));
    let pieces = partitions.iter().zip(bytes.chunks(PROOF_BYTES));
    let proofs = pieces.map(decode).collect::<anyhow::Result<Vec<_>>>()?;
    let inputs = partitions.iter().map(|&k| job.public_inputs(k));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;

    let circuit = Circuit::named(job.circuit_id())?;
    let store = places::key_store(&args.params)?;
    let vk = store.verifying_key(&keys::key_name(&circuit)?)?;
    let key = PreparedVerifyingKey::from(&vk);
    let pairs: Vec<_> = proofs
        .iter()
        .zip(inputs.iter().map(Vec::as_slice))
        .collect();
    let timed = console.step(&format!("{}: verifying", circuit.spec.id), |_| {
        verify_batch(&key, &pairs, &mut OsRng)
    })?;
    if !timed.value {
        for (k, (proof, inputs)) in partitions.iter().zip(&pairs) {
            if !verify(&key, proof, inputs)? {
                let message = format!("{}: partition {k}: the proof is not valid", circuit.spec.id);
                return Err(failure(INVALID, message));
            }
        }
    }
    let row = Row {
        circuit: circuit.spec.id,
        partitions: partitions.len(),
        valid: true,
        verify_s: timed.seconds,
    };
    let text = format!(
        "{}: valid ({} partitions in {:.3} s)",
        row.circuit, row.partitions, row.verify_s
    );
    console.result(&row, &text)
}

/// The proofs of so many partitions. A file of another length is not read.
fn read_proof(path: &Path, partitions: usize) -> anyhow::Result<Vec<u8>> {
    let named = || path.display().to_string();
    let (wanted, found) = (
        (partitions * PROOF_BYTES) as u64,
        std::fs::metadata(path).with_context(named)?.len(),
    );
    if found != wanted {
        let message = format!(
            "{}: wanted {wanted} bytes ({partitions} partitions of {PROOF_BYTES}), found {found}",
            path.display()
        );
        return Err(failure(INPUT, message));
    }
    std::fs::read(path).with_context(named)
}
