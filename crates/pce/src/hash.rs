//! The shape hash: BLAKE2b-256 of the recorded matrices.

use blake2b_simd::Params;
use cuzk_cs_recording::Recorded;
use cuzk_r1cs::{BLOCK_ROWS, Matrix, R1csError, RowsWriter, ShapeHash};
use rayon::prelude::*;

/// The hash of a recorded circuit: its counts, its coefficients in order of first use, and the encoded rows of each
/// matrix, blocks expanded.
///
/// A recording's rows are canonical (zero terms left out, ascending columns, coefficients by first use), so two circuits
/// have the same hash exactly when their matrices are equal, whatever their namespaces.
pub fn shape_hash(recorded: &Recorded) -> Result<ShapeHash, R1csError> {
    let mut state = Params::new()
        .hash_length(32)
        .personal(b"cuzk shape v2")
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
    let hash_rows = |matrix: &Matrix| rows_hash(recorded, *matrix);
    let rows: Vec<[u8; 32]> = Matrix::ALL
        .par_iter()
        .map(hash_rows)
        .collect::<Result<_, _>>()?;
    rows.iter().for_each(|rows| {
        state.update(rows);
    });
    let mut hash = [0; 32];
    hash.copy_from_slice(state.finalize().as_bytes());
    Ok(ShapeHash(hash))
}

/// The hash of one matrix. The encoding of a block of rows tells where each row ends, so it is the rows that are hashed.
fn rows_hash(recorded: &Recorded, matrix: Matrix) -> Result<[u8; 32], R1csError> {
    let mut state = Params::new()
        .hash_length(32)
        .personal(b"cuzk rows v2")
        .to_state();
    let mut block = RowsWriter::new(matrix.name());
    let rows = 0..recorded.shape.constraints;
    recorded.matrices.for_each_row(matrix, rows, |row| {
        block.push_row(row.len(), row.iter().copied());
        if block.len() == BLOCK_ROWS {
            state.update(block.bytes());
            block.clear();
        }
        Ok(())
    })?;
    state.update(block.bytes());
    let mut hash = [0; 32];
    hash.copy_from_slice(state.finalize().as_bytes());
    Ok(hash)
}
