//! From recorded matrices to compiled ones.

use cuzk_cs_recording::Recorded;
use cuzk_curve::Fr;
use cuzk_r1cs::{
    BLOCK_ROWS, Bitmap, BlockReader, Column, CompactR1cs, Density, R1csError, RankedBitmap, Rows,
    RowsWriter, Shape, Term,
};
use rayon::prelude::*;

use crate::classes::Classifier;
use crate::hash::shape_hash;

pub(crate) fn compile(recorded: Recorded) -> Result<CompactR1cs, R1csError> {
    let hash = shape_hash(&recorded);
    let Recorded {
        shape,
        coefficients,
        matrices,
    } = recorded;
    let found = analyse(shape, &coefficients, &matrices)?;
    let (coefficients, renumbered) = by_frequency(&coefficients, &found.uses);
    let place = Place {
        inputs: shape.inputs,
        field_class: &found.field_class,
        coefficients: &renumbered,
    };
    // One matrix after the other, so that a recorded one is freed before the next compiled one grows.
    let mut compiled = Vec::with_capacity(3);
    for rows in matrices {
        compiled.push(place.rows(&rows)?);
    }
    let [a, b, c] = <[Rows; 3]>::try_from(compiled).unwrap_or_default();
    Ok(CompactR1cs {
        shape,
        hash,
        coefficients,
        a,
        b,
        c,
        field_class: found.field_class,
        density: found.density,
    })
}

struct Analysis {
    field_class: RankedBitmap,
    density: Density,
    /// How often each coefficient occurs.
    uses: Vec<u64>,
}

fn analyse(shape: Shape, coefficients: &[Fr], matrices: &[Rows; 3]) -> Result<Analysis, R1csError> {
    let mut classifier = Classifier::new(shape.aux, coefficients);
    let mut uses = vec![0u64; coefficients.len()];
    let mut density = Density {
        a_aux: Bitmap::zeros(shape.aux),
        b_inputs: Bitmap::zeros(shape.inputs),
        b_aux: Bitmap::zeros(shape.aux),
    };
    let mut row: [Vec<Term>; 3] = Default::default();
    for block in 0..shape.constraints.div_ceil(BLOCK_ROWS) {
        let mut readers = [0, 1, 2].map(|matrix: usize| matrices[matrix].block(block));
        while read_row(&mut readers, &mut row)? {
            row.iter()
                .flatten()
                .for_each(|t| uses[t.coefficient as usize] += 1);
            for term in &row[0] {
                if let Column::Sparse(j) = term.column {
                    density.a_aux.set(j as usize);
                }
            }
            for term in &row[1] {
                match term.column {
                    Column::Dense(i) => density.b_inputs.set(i as usize),
                    Column::Sparse(j) => density.b_aux.set(j as usize),
                }
            }
            classifier.row(&row);
        }
    }
    let boolean = classifier.finish();
    let mut field = Bitmap::ones(shape.aux);
    boolean.iter_ones().for_each(|j| field.clear(j));
    Ok(Analysis {
        field_class: RankedBitmap::new(field),
        density,
        uses,
    })
}

/// Reads the next row of A, B and C; `false` after the last.
fn read_row(
    readers: &mut [BlockReader<'_>; 3],
    row: &mut [Vec<Term>; 3],
) -> Result<bool, R1csError> {
    for (reader, terms) in readers.iter_mut().zip(row) {
        terms.clear();
        if reader.next_row()?.is_none() {
            return Ok(false);
        }
        while let Some(term) = reader.next_term()? {
            terms.push(term);
        }
    }
    Ok(true)
}

/// The coefficients with the most used first, after 1 and -1, and the new index of each old one.
fn by_frequency(coefficients: &[Fr], uses: &[u64]) -> (Vec<Fr>, Vec<u32>) {
    let pinned = CompactR1cs::MINUS_ONE as usize + 1;
    let mut order: Vec<usize> = (0..coefficients.len()).collect();
    order[pinned..].sort_by_key(|&old| (std::cmp::Reverse(uses[old]), old));
    let mut renumbered = vec![0; coefficients.len()];
    for (new, &old) in order.iter().enumerate() {
        renumbered[old] = new as u32;
    }
    (
        order.iter().map(|&old| coefficients[old]).collect(),
        renumbered,
    )
}

/// Where recorded columns and coefficients go.
struct Place<'a> {
    inputs: usize,
    field_class: &'a RankedBitmap,
    coefficients: &'a [u32],
}

/// Blocks that one task compiles: enough to keep the threads busy, few enough to bound what is in flight.
const BLOCKS_A_TASK: usize = 64;

impl Place<'_> {
    fn rows(&self, recorded: &Rows) -> Result<Rows, R1csError> {
        let tasks = recorded.block_count().div_ceil(BLOCKS_A_TASK);
        let parts: Vec<RowsWriter> = (0..tasks)
            .into_par_iter()
            .map(|task| self.blocks(recorded, task * BLOCKS_A_TASK))
            .collect::<Result<_, _>>()?;
        let mut whole = RowsWriter::new(recorded.name());
        for part in parts {
            whole.append_blocks(part);
        }
        Ok(whole.finish())
    }

    fn blocks(&self, recorded: &Rows, first: usize) -> Result<RowsWriter, R1csError> {
        let mut out = RowsWriter::new(recorded.name());
        let mut row = Vec::new();
        for block in first..(first + BLOCKS_A_TASK).min(recorded.block_count()) {
            let mut reader = recorded.block(block);
            while reader.next_row()?.is_some() {
                row.clear();
                while let Some(term) = reader.next_term()? {
                    row.push(self.term(term));
                }
                out.push_row(row.len(), row.iter().copied());
            }
        }
        Ok(out)
    }

    fn term(&self, term: Term) -> Term {
        let column = match term.column {
            Column::Sparse(j) if self.field_class.bits().get(j as usize) => {
                Column::Dense((self.inputs + self.field_class.rank(j as usize)) as u32)
            }
            other => other,
        };
        Term {
            column,
            coefficient: self.coefficients[term.coefficient as usize],
        }
    }
}
