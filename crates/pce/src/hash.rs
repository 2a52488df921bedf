//! The shape hash: BLAKE2b-256 of the recorded matrices.

use blake2b_simd::Params;
use cuzk_cs_recording::Recorded;
use cuzk_r1cs::ShapeHash;

/// The hash of a recorded circuit: its counts, its coefficients in order of first use, and the bytes of its rows.
///
/// A recording is canonical (zero terms left out, ascending columns, coefficients by first use), so two circuits have
/// the same hash exactly when their matrices are equal.
pub fn shape_hash(recorded: &Recorded) -> ShapeHash {
    let mut state = Params::new()
        .hash_length(32)
        .personal(b"cuzk shape v1")
        .to_state();
    let shape = recorded.shape;
    for count in [
        shape.inputs,
        shape.aux,
        shape.constraints,
        recorded.coefficients.len(),
    ] {
        state.update(&(count as u64).to_le_bytes());
    }
    for coefficient in &recorded.coefficients {
        state.update(&coefficient.to_bytes_le());
    }
    for rows in &recorded.matrices {
        state.update(&(rows.bytes().len() as u64).to_le_bytes());
        state.update(rows.bytes());
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(state.finalize().as_bytes());
    ShapeHash(hash)
}
