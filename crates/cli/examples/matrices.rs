//! What a circuit's matrices cost: `cargo run --release -p cuzk-cli --example matrices -- porep-2k`.
//!
//! Records the blank circuit, compiles it, writes and opens its file, and evaluates a and b on one thread on a random
//! witness of the circuit's classes: once into memory, once streamed. Prints one line of JSON. Seconds are those that this
//! thread ran, so that other programs do not count; those of an evaluation are the median of five. Compiling hashes on
//! three threads besides.

use anyhow::Context;
use cuzk_cs_recording::RecordingCS;
use cuzk_curve::Fr;
use cuzk_pce::Pce;
use cuzk_plugins as _;
use cuzk_proof_api::by_circuit;
use cuzk_r1cs::{Assignment, Matrix, PackedWitness};
use ff::Field;
use rand_core::{OsRng, RngCore};
use serde_json::json;

fn main() -> anyhow::Result<()> {
    let id = std::env::args()
        .nth(1)
        .context("usage: matrices CIRCUIT, such as porep-2k")?;
    let (proof_type, _) = by_circuit(&id)?;
    let circuit = proof_type.blank(&id)?;
    let mut cs = RecordingCS::default();
    let (recorded, record_s) = timed(|| {
        circuit.record(&mut cs)?;
        Ok(cs.finish()?)
    })?;
    let (pce, compile_s) = timed(|| Ok(Pce::compile(recorded)?))?;
    let peak_mib = peak_mib();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("circuit.pce");
    pce.write(&path)?;
    drop(pce);
    let (pce, open_s) = timed(|| Ok(Pce::open(&path)?))?;
    let file_bytes = path.metadata()?.len();
    let witness = random_witness(&pce)?;
    let (stored_s, streamed_s) = (stored(&pce, &witness)?, streamed(&pce, &witness)?);
    let non_zeros = pce.terms();
    let row = json!({
        "circuit": id,
        "constraints": pce.shape.constraints,
        "non_zeros": non_zeros,
        "templates": pce.matrices.templates().len(),
        "file_bytes": file_bytes,
        "times_smaller_than_36_bytes": non_zeros * 36 / file_bytes,
        "matrix_bytes": pce.matrix_bytes(),
        "record_s": record_s,
        "compile_s": compile_s,
        "peak_mib": peak_mib,
        "open_s": open_s,
        "evaluate_s": stored_s,
        "evaluate_streamed_s": streamed_s,
    });
    println!("{row}");
    Ok(())
}

fn timed<T>(run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let start = thread_s()?;
    let value = run()?;
    Ok((value, thread_s()? - start))
}

/// Seconds that this thread ran so far.
fn thread_s() -> anyhow::Result<f64> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = statistics
        .split_whitespace()
        .next()
        .context("no scheduler statistics")?;
    Ok(nanoseconds.parse::<u64>()? as f64 * 1e-9)
}

/// The median of five runs.
fn median(mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let mut seconds = [0.0; 5];
    for slot in &mut seconds {
        (_, *slot) = timed(&mut run)?;
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[2])
}

/// Bits, but for one in a hundred a field element where the class allows it: about as in the witnesses of PoRep and
/// SnapDeals, where most variables of the field class are bits too. Where most of the class are not (PoSt), all are.
fn random_witness(pce: &Pce) -> anyhow::Result<PackedWitness> {
    let mut inputs = vec![Fr::ONE];
    inputs.resize_with(pce.shape.inputs, || Fr::random(&mut OsRng));
    let element = Fr::random(&mut OsRng);
    let field = pce.field_class.bits().count_ones();
    let every = (100 * field).div_ceil(pce.shape.aux.max(1)).clamp(1, 99);
    let every = if every > 50 { 1 } else { every };
    let mut word = 0;
    let aux = (0..pce.shape.aux).map(|j| {
        if j % 64 == 0 {
            word = OsRng.next_u64();
        }
        word >>= 1;
        if pce.field_class.bits().get(j) && j % every == 0 {
            element + Fr::from(j as u64)
        } else {
            Fr::from(word & 1)
        }
    });
    Ok(pce.pack(Assignment::new(inputs, aux))?)
}

fn stored(pce: &Pce, witness: &PackedWitness) -> anyhow::Result<Option<f64>> {
    // Where it would take more memory than a small machine has, only the streamed evaluation is measured.
    if pce.shape.constraints > 1 << 26 {
        return Ok(None);
    }
    let mut out = [(); 2].map(|()| vec![Fr::ZERO; pce.shape.constraints]);
    median(|| {
        for (matrix, out) in [Matrix::A, Matrix::B].into_iter().zip(&mut out) {
            pce.r1cs().evaluate_single_threaded(matrix, witness, out)?;
        }
        Ok(())
    })
    .map(Some)
}

fn streamed(pce: &Pce, witness: &PackedWitness) -> anyhow::Result<f64> {
    let mut ring = vec![Fr::ZERO; 1 << 16];
    median(|| {
        for matrix in [Matrix::A, Matrix::B] {
            let mut row = 0usize;
            pce.r1cs().evaluate_streamed(matrix, witness, |value| {
                ring[row % (1 << 16)] = value;
                row += 1;
            })?;
        }
        Ok(())
    })
}

/// The largest resident set so far.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) / 1024
}
