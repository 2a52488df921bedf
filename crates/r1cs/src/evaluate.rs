//! The product of compiled matrices and a packed witness.
//!
//! Several matrices are evaluated in one walk over the circuit: what an instance of a template needs of the witness is
//! looked up once.

mod groups;
mod kernel;
mod operands;
mod rows;

use std::fmt;

use cuzk_curve::Fr;
use rayon::prelude::*;

use crate::{CompactR1cs, Matrix, PackedWitness, R1csError};
use kernel::Kernel;
pub use kernel::small_integer;
use rows::Evaluator;

/// Rows that one task evaluates.
const PIECE_ROWS: usize = 1 << 14;

impl CompactR1cs {
    /// Writes each matrix times w to the front of its part of `out`, on the threads of the current rayon pool.
    ///
    /// Errors: [`R1csError::Count`] where a part of `out` is shorter than the matrices or the witness has other counts
    /// than the circuit, [`R1csError::Rows`] where a matrix does not decode.
    pub fn evaluate<const N: usize>(
        &self,
        matrices: [Matrix; N],
        witness: &PackedWitness,
        out: [&mut [Fr]; N],
    ) -> Result<(), R1csError> {
        let kernel = self.kernel(witness)?;
        let mut chunks = self.room(out)?.map(|out| out.chunks_mut(PIECE_ROWS));
        let pieces: Vec<[&mut [Fr]; N]> = (0..self.shape.constraints.div_ceil(PIECE_ROWS))
            .map(|_| {
                chunks
                    .each_mut()
                    .map(|chunks| chunks.next().unwrap_or_default())
            })
            .collect();
        pieces
            .into_par_iter()
            .enumerate()
            .try_for_each(|(piece, mut out)| {
                let first = piece * PIECE_ROWS;
                let end = self.shape.constraints.min(first + PIECE_ROWS);
                Evaluator::new(&kernel, matrices, |row, values| {
                    put(&mut out, row - first, values);
                })
                .rows(first..end)
            })
    }

    /// [`CompactR1cs::evaluate`] on the calling thread alone.
    pub fn evaluate_single_threaded<const N: usize>(
        &self,
        matrices: [Matrix; N],
        witness: &PackedWitness,
        out: [&mut [Fr]; N],
    ) -> Result<(), R1csError> {
        let kernel = self.kernel(witness)?;
        let mut out = self.room(out)?;
        Evaluator::new(&kernel, matrices, |row, values| put(&mut out, row, values))
            .rows(0..self.shape.constraints)
    }

    /// Hands each matrix times w to `take`, a value of each matrix for each row, in the order of the rows and on the
    /// calling thread alone. Nothing of the size of the circuit is allocated.
    pub fn evaluate_streamed<const N: usize>(
        &self,
        matrices: [Matrix; N],
        witness: &PackedWitness,
        mut take: impl FnMut([&Fr; N]),
    ) -> Result<(), R1csError> {
        let kernel = self.kernel(witness)?;
        Evaluator::new(&kernel, matrices, |_, values| take(values)).rows(0..self.shape.constraints)
    }

    /// Checks that the witness satisfies every constraint, on the threads of the current rayon pool.
    ///
    /// Errors: [`R1csError::Unsatisfied`] naming the first constraint that is not satisfied, with its values.
    pub fn check(&self, witness: &PackedWitness) -> Result<(), R1csError> {
        let kernel = self.kernel(witness)?;
        let failure = (0..self.shape.constraints.div_ceil(PIECE_ROWS))
            .into_par_iter()
            .find_map_first(|piece| {
                let first = piece * PIECE_ROWS;
                let end = self.shape.constraints.min(first + PIECE_ROWS);
                check_rows(&kernel, first..end).err()
            });
        failure.map_or(Ok(()), Err)
    }

    fn room<'o, const N: usize>(
        &self,
        out: [&'o mut [Fr]; N],
    ) -> Result<[&'o mut [Fr]; N], R1csError> {
        let wanted = self.shape.constraints;
        match out.iter().map(|out| out.len()).find(|&len| len < wanted) {
            None => Ok(out.map(|out| &mut out[..wanted])),
            Some(found) => Err(R1csError::Count {
                what: "room for a value a row",
                wanted,
                found,
            }),
        }
    }

    /// What evaluates with a witness, which must have the circuit's counts.
    fn kernel<'a>(&'a self, witness: &'a PackedWitness) -> Result<Kernel<'a>, R1csError> {
        for (what, wanted, found) in [
            (
                "inputs of the witness",
                self.shape.inputs,
                witness.inputs().len(),
            ),
            ("aux of the witness", self.shape.aux, witness.bits().len()),
            ("slots of the witness", self.slots(), witness.slots().len()),
        ] {
            if wanted != found {
                return Err(R1csError::Count {
                    what,
                    wanted,
                    found,
                });
            }
        }
        Ok(Kernel::new(self, witness))
    }
}

#[inline]
fn put<const N: usize>(out: &mut [&mut [Fr]; N], row: usize, values: [&Fr; N]) {
    for (out, value) in out.iter_mut().zip(values) {
        out[row] = *value;
    }
}

fn check_rows(kernel: &Kernel<'_>, rows: std::ops::Range<usize>) -> Result<(), R1csError> {
    let mut failure = None;
    Evaluator::new(kernel, Matrix::ALL, |row, [a, b, c]: [&Fr; 3]| {
        if failure.is_none() && *a * *b != *c {
            let (a, b, c) = (*a, *b, *c);
            failure = Some((row, RowValues { a, b, c }));
        }
    })
    .rows(rows)?;
    match failure {
        None => Ok(()),
        Some((constraint, values)) => Err(R1csError::Unsatisfied {
            constraint,
            values: Box::new(values),
        }),
    }
}

/// What a constraint's three linear combinations come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowValues {
    /// A·w in this row.
    pub a: Fr,
    /// B·w in this row.
    pub b: Fr,
    /// C·w in this row.
    pub c: Fr,
}

/// `a = …, b = …, a*b = …, c = …` in big-endian hexadecimal.
impl fmt::Display for RowValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let product = self.a * self.b;
        let values = [
            ("a", &self.a),
            (", b", &self.b),
            (", a*b", &product),
            (", c", &self.c),
        ];
        for (name, value) in values {
            write!(f, "{name} = 0x")?;
            let bytes = value.to_bytes_be();
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        Ok(())
    }
}
