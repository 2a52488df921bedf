//! What a circuit's matrices cost: `cargo run --release -p cuzk-cli --example matrices -- porep-2k`.
//!
//! Records the blank circuit, compiles it, writes and opens its file, and evaluates a and b on one thread, streamed and in
//! one walk, on a random witness of the circuit's classes. Prints one line of JSON. Seconds are those that the program
//! ran on all its threads together, so that other programs do not count; those of opening and of an evaluation are the
//! median of five.

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
    let open_s = median(|| {
        drop(Pce::open(&path)?);
        Ok(())
    })?;
    let pce = Pce::open(&path)?;
    let file_bytes = path.metadata()?.len();
    let density_s = median(|| {
        drop(pce.density()?);
        Ok(())
    })?;
    let evaluate_s = streamed(&pce, &random_witness(&pce)?)?;
    let non_zeros = pce.terms();
    let row = json!({
        "circuit": id,
        "shape_hash": pce.hash.to_string(),
        "constraints": pce.shape.constraints,
        "non_zeros": non_zeros,
        "templates": pce.matrices.templates().len(),
        "file_bytes": file_bytes,
        "times_smaller_than_36_bytes": non_zeros * 36 / file_bytes,
        "matrix_bytes": pce.matrix_bytes(),
        "memory_bytes": pce.size_bytes(),
        "record_s": record_s,
        "compile_s": compile_s,
        "peak_mib": peak_mib,
        "open_s": open_s,
        "density_s": density_s,
        "evaluate_s": evaluate_s,
    });
    println!("{row}");
    Ok(())
}

fn timed<T>(run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let start = running_s()?;
    let value = run()?;
    Ok((value, running_s()? - start))
}

/// Seconds that the threads of this program ran so far.
fn running_s() -> anyhow::Result<f64> {
    let mut seconds = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let statistics = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let nanoseconds = statistics.split_whitespace().next();
        let nanoseconds: u64 = nanoseconds.context("no scheduler statistics")?.parse()?;
        seconds += nanoseconds as f64 * 1e-9;
    }
    Ok(seconds)
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
    let field = pce.field_class.count_ones();
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

/// Values that are kept of what is handed out, as by who sends them on.
const RING: usize = 1 << 12;

fn streamed(pce: &Pce, witness: &PackedWitness) -> anyhow::Result<f64> {
    let mut ring = [(); 2].map(|()| vec![Fr::ZERO; RING]);
    median(|| {
        let mut row = 0usize;
        let matrices = [Matrix::A, Matrix::B];
        pce.r1cs().evaluate_streamed(matrices, witness, |values| {
            for (ring, value) in ring.iter_mut().zip(values) {
                ring[row % RING] = *value;
            }
            row += 1;
        })?;
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
