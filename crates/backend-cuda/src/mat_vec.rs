//! A·w and B·w from matrices in the device's memory, or from parts of them that pass through it.

mod blocks;
mod parts;

use std::ops::Range;
use std::sync::Arc;

use cuzk_backend::{BackendError, Evaluations, MatVec};
use cuzk_curve::Fr;
use cuzk_gpu::{Argument, Buffer, Grid};
use cuzk_r1cs::{CompactR1cs, PackedWitness, R1csError, Shape};

use crate::CudaBackend;
use crate::error::failure;
use crate::memory::{Element, Vector, elements};
use crate::residency::{each_in_turn, part_bytes};
use blocks::{BlockRows, Blocks, Instance};
use parts::{Part, parts};

/// A circuit's A and B as blocks of rows and their places.
#[derive(Debug)]
pub struct Matrices {
    shape: Shape,
    slots: usize,
    coefficients: Buffer<Element>,
    /// The variables behind the instances' slots.
    variables: Buffer<u32>,
    /// For each 32 aux variables which are of the field class, and the slot of the first that is.
    classes: Buffer<[u32; 2]>,
    held: Held,
}

#[derive(Debug)]
enum Held {
    Resident(DeviceBlocks),
    Streamed(Vec<Part>),
}

/// Rows in the device's memory, and where they stand.
#[derive(Debug)]
struct DeviceBlocks {
    a: DeviceRows,
    b: DeviceRows,
    /// A row, the first of a block's rows, an aux variable, and the first slot of an instance.
    instances: Buffer<[u32; 4]>,
    /// The instance of each tile's first row.
    tiles: Buffer<u32>,
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

/// For each 32 aux variables which are of the field class, and the slot of the first that is.
fn classes(r1cs: &CompactR1cs) -> Vec<[u32; 2]> {
    let mut slot = r1cs.shape.inputs as u32;
    let class = |word| {
        let class = [word, slot];
        slot += word.count_ones();
        class
    };
    let words = halves(r1cs.field_class.bits().words());
    words.into_iter().map(class).collect()
}

/// Bytes that a circuit's matrices take on a device where they are resident, and those of them that stay where rows are
/// streamed.
pub(crate) fn matrices_bytes(r1cs: &CompactR1cs) -> Result<(usize, usize), R1csError> {
    let blocks = Blocks::new(r1cs)?;
    let classes = 2 * r1cs.field_class.bits().words().len() * size_of::<[u32; 2]>();
    let kept = size_of_val(elements(&r1cs.coefficients)) + size_of_val(&*blocks.slots) + classes;
    Ok((kept + blocks.size_bytes(), kept))
}

impl CudaBackend {
    fn load_rows(&self, rows: &BlockRows) -> Result<DeviceRows, BackendError> {
        Ok(DeviceRows {
            starts: self.stream.upload(&rows.starts).map_err(failure)?,
            terms: self.stream.upload(&rows.terms).map_err(failure)?,
        })
    }

    fn load_blocks(&self, blocks: &Blocks) -> Result<DeviceBlocks, BackendError> {
        let instances: Vec<[u32; 4]> = blocks.instances.iter().map(Instance::words).collect();
        Ok(DeviceBlocks {
            a: self.load_rows(&blocks.a)?,
            b: self.load_rows(&blocks.b)?,
            instances: self.stream.upload(&instances).map_err(failure)?,
            tiles: self.stream.upload(&blocks.tiles).map_err(failure)?,
        })
    }

    /// Writes the products of some rows, which `blocks` are, to their places.
    fn multiply_rows(
        &self,
        matrices: &Matrices,
        blocks: &DeviceBlocks,
        rows: Range<usize>,
        witness: &Witness,
        [a, b]: [&Buffer<Element>; 2],
    ) -> Result<(), BackendError> {
        for (matrix, out) in [(&blocks.a, a), (&blocks.b, b)] {
            let arguments = [
                (&blocks.tiles).into(),
                (&blocks.instances).into(),
                (&matrices.variables).into(),
                (&matrix.starts).into(),
                (&matrix.terms).into(),
                (rows.len() as u32).into(),
                (&matrices.coefficients).into(),
                (&matrices.classes).into(),
                (&witness.slots).into(),
                (&witness.bits).into(),
                (&witness.escaped).into(),
                (&witness.escapes).into(),
                (witness.escapes.len() as u32).into(),
                Argument::at(out, rows.start),
            ];
            let grid = Grid::over(rows.len(), blocks::TILE as u32);
            // SAFETY: every column and coefficient was held against these lengths when the blocks were made, and the
            // witness has the lengths of the shape; the rows are the shape's, and `out` has as many and more.
            unsafe { self.stream.launch("matvec_rows", grid, &arguments) }.map_err(failure)?;
        }
        Ok(())
    }
}

impl MatVec for CudaBackend {
    type Matrices = Matrices;
    type Witness = Witness;

    fn load_matrices(&self, r1cs: Arc<CompactR1cs>) -> Result<Matrices, BackendError> {
        let blocks = Blocks::new(&r1cs)?;
        let constraints = r1cs.shape.constraints;
        let streamed = part_bytes(self.device().memory(), blocks.size_bytes());
        let coefficients = elements(&r1cs.coefficients);
        self.resident(|loader| {
            let stream = &loader.stream;
            Ok(Matrices {
                shape: r1cs.shape,
                slots: r1cs.slots(),
                coefficients: stream.upload(coefficients).map_err(failure)?,
                variables: stream.upload(&blocks.slots).map_err(failure)?,
                classes: stream.upload(&classes(&r1cs)).map_err(failure)?,
                held: match streamed {
                    None => Held::Resident(loader.load_blocks(&blocks)?),
                    Some(most) => Held::Streamed(parts(&blocks, constraints, most)),
                },
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
        // Zero past the constraints.
        let [a, b] = [(); 2].map(|()| self.stream.zeros(shape.domain()));
        let (a, b) = (a.map_err(failure)?, b.map_err(failure)?);
        match &matrices.held {
            Held::Resident(blocks) => {
                self.multiply_rows(matrices, blocks, 0..shape.constraints, witness, [&a, &b])?;
            }
            Held::Streamed(parts) => {
                let load = |loader: &Self, index: usize| loader.load_blocks(&parts[index].blocks);
                each_in_turn(self, parts.len(), load, |index, blocks: &DeviceBlocks| {
                    let rows = parts[index].rows.clone();
                    self.multiply_rows(matrices, blocks, rows, witness, [&a, &b])
                })?;
            }
        }
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
