//! A·w and B·w from matrices in the device's memory.

use std::sync::Arc;

use cuzk_backend::{BackendError, Evaluations, MatVec};
use cuzk_curve::Fr;
use cuzk_gpu::{Argument, Buffer, Grid};
use cuzk_r1cs::{Column, CompactR1cs, Matrix, PackedWitness, Shape};

use crate::CudaBackend;
use crate::error::failure;
use crate::memory::{Element, Vector, elements};

/// Marks a column that is an aux variable whose value is a bit.
const BIT: u32 = 1 << 31;

/// A circuit's A and B as rows of terms.
#[derive(Debug)]
pub struct Matrices {
    shape: Shape,
    slots: usize,
    coefficients: Buffer<Element>,
    a: DeviceRows,
    b: DeviceRows,
}

/// Row i is `terms[starts[i]..starts[i + 1]]`, each a column and the index of its coefficient.
#[derive(Debug)]
struct DeviceRows {
    starts: Buffer<u32>,
    terms: Buffer<[u32; 2]>,
}

/// A packed witness in the device's memory.
#[derive(Debug)]
pub struct Witness {
    pub(crate) packed: Arc<PackedWitness>,
    pub(crate) slots: Buffer<Element>,
    pub(crate) bits: Buffer<u32>,
    escaped: Buffer<u32>,
    pub(crate) escapes: Buffer<Element>,
}

/// 64-bit words as pairs of 32-bit words, the lower first.
pub(crate) fn halves(words: &[u64]) -> Vec<u32> {
    let halves = words
        .iter()
        .flat_map(|&word| [word as u32, (word >> 32) as u32]);
    halves.collect()
}

pub(crate) fn length(what: &'static str, wanted: usize, found: usize) -> Result<(), BackendError> {
    if wanted == found {
        return Ok(());
    }
    Err(BackendError::Length {
        what,
        wanted,
        found,
    })
}

impl CudaBackend {
    /// Expands a matrix into rows of terms that name places in the packed witness.
    fn load_rows(&self, r1cs: &CompactR1cs, matrix: Matrix) -> Result<DeviceRows, BackendError> {
        for (what, found) in [
            ("slots of the witness", r1cs.slots()),
            ("aux of the witness", r1cs.shape.aux),
        ] {
            // The highest bit of a column says which of the two it is.
            length(what, found.min(BIT as usize), found)?;
        }
        let constraints = r1cs.shape.constraints;
        let mut starts = Vec::with_capacity(constraints + 1);
        let mut terms = Vec::with_capacity(r1cs.matrices.terms(matrix) as usize);
        r1cs.matrices.for_each_row(matrix, 0..constraints, |row| {
            starts.push(terms.len() as u32);
            terms.extend(row.iter().map(|term| {
                let column = match r1cs.place(term.column) {
                    Column::Dense(slot) => slot,
                    Column::Sparse(bit) => bit | BIT,
                };
                [column, term.coefficient]
            }));
            Ok(())
        })?;
        length(
            "terms that fit in 32 bits",
            terms.len() & u32::MAX as usize,
            terms.len(),
        )?;
        starts.push(terms.len() as u32);
        length("rows of a matrix", constraints, starts.len() - 1)?;
        Ok(DeviceRows {
            starts: self.stream.upload(&starts).map_err(failure)?,
            terms: self.stream.upload(&terms).map_err(failure)?,
        })
    }

    /// One product, zero past the constraints.
    fn product(
        &self,
        matrices: &Matrices,
        rows: &DeviceRows,
        witness: &Witness,
    ) -> Result<Buffer<Element>, BackendError> {
        let out = self
            .stream
            .zeros(matrices.shape.domain())
            .map_err(failure)?;
        let count = matrices.shape.constraints;
        let arguments = [
            (&rows.starts).into(),
            (&rows.terms).into(),
            (count as u32).into(),
            (&matrices.coefficients).into(),
            (&witness.slots).into(),
            (&witness.bits).into(),
            (&witness.escaped).into(),
            (&witness.escapes).into(),
            (witness.escapes.len() as u32).into(),
            Argument::from(&out),
        ];
        // SAFETY: every column and coefficient was held against these lengths when the matrices were loaded, and the
        // witness has the lengths of the shape.
        unsafe {
            self.stream
                .launch("matvec_rows", Grid::over(count, 256), &arguments)
        }
        .map_err(failure)?;
        Ok(out)
    }
}

impl MatVec for CudaBackend {
    type Matrices = Matrices;
    type Witness = Witness;

    fn load_matrices(&self, r1cs: Arc<CompactR1cs>) -> Result<Matrices, BackendError> {
        let coefficients = elements(&r1cs.coefficients);
        self.resident(|loader| {
            Ok(Matrices {
                shape: r1cs.shape,
                slots: r1cs.slots(),
                coefficients: loader.stream.upload(coefficients).map_err(failure)?,
                a: loader.load_rows(&r1cs, Matrix::A)?,
                b: loader.load_rows(&r1cs, Matrix::B)?,
            })
        })
    }

    fn load_witness(&self, witness: Arc<PackedWitness>) -> Result<Witness, BackendError> {
        let escaped: Vec<u32> = witness.escapes().iter().map(|escape| escape.aux).collect();
        let escapes: Vec<Fr> = witness
            .escapes()
            .iter()
            .map(|escape| escape.value)
            .collect();
        let bits = halves(witness.bits().words());
        Ok(Witness {
            slots: self
                .stream
                .upload(elements(witness.slots()))
                .map_err(failure)?,
            bits: self.stream.upload(&bits).map_err(failure)?,
            escaped: self.stream.upload(&escaped).map_err(failure)?,
            escapes: self.stream.upload(elements(&escapes)).map_err(failure)?,
            packed: witness,
        })
    }

    fn mat_vec(
        &self,
        matrices: &Matrices,
        witness: &Witness,
    ) -> Result<Evaluations<Vector>, BackendError> {
        let shape = matrices.shape;
        let packed = &witness.packed;
        length("inputs of the witness", shape.inputs, packed.inputs().len())?;
        length("slots of the witness", matrices.slots, packed.slots().len())?;
        length("aux of the witness", shape.aux, packed.bits().len())?;
        let a = self.product(matrices, &matrices.a, witness)?;
        let b = self.product(matrices, &matrices.b, witness)?;
        // The row of input i is input_i * 0 = 0, so B stays zero there.
        self.stream
            .copy(&witness.slots, 0, &a, shape.constraints, shape.inputs)
            .map_err(failure)?;
        Ok(Evaluations {
            a: Vector(a),
            b: Vector(b),
        })
    }
}
