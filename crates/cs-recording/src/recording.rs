//! The constraint system that records.

use bellpepper_core::{ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use cuzk_curve::Fr;
use cuzk_r1cs::{Column, Counts, R1csError, Rows, RowsWriter, Shape, Tally, Term};
use ff::Field;

use crate::Coefficients;

/// A constraint system that keeps the matrices and nothing else.
#[derive(Debug)]
pub struct RecordingCS {
    inputs: usize,
    aux: usize,
    coefficients: Coefficients,
    matrices: [RowsWriter; 3],
}

impl Default for RecordingCS {
    fn default() -> Self {
        Self {
            inputs: 0,
            aux: 0,
            coefficients: Coefficients::default(),
            matrices: ["A", "B", "C"].map(RowsWriter::new),
        }
    }
}

/// A circuit's matrices as recorded: `Dense` columns are inputs, `Sparse` columns aux variables.
///
/// Terms with coefficient zero are left out; a row's inputs come first, each kind in ascending order. So equal circuits
/// give equal bytes.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Inputs, aux and constraints.
    pub shape: Shape,
    /// The distinct coefficients in order of first use, after 1 and -1.
    pub coefficients: Vec<Fr>,
    /// A, B and C.
    pub matrices: [Rows; 3],
}

impl RecordingCS {
    /// What was recorded.
    ///
    /// Errors: [`R1csError::TooLarge`] where a count does not fit 32 bits.
    pub fn finish(self) -> Result<Recorded, R1csError> {
        let shape = Shape {
            inputs: self.inputs,
            aux: self.aux,
            constraints: self.matrices[0].len(),
        };
        let limit = u32::MAX as usize - 1;
        for (what, found) in [
            ("inputs and aux", shape.inputs.saturating_add(shape.aux)),
            ("constraints and inputs", shape.rows()),
        ] {
            if found > limit {
                return Err(R1csError::TooLarge { what, limit, found });
            }
        }
        Ok(Recorded {
            shape,
            coefficients: self.coefficients.values().to_vec(),
            matrices: self.matrices.map(RowsWriter::finish),
        })
    }

    fn push(&mut self, matrix: usize, lc: &LinearCombination<Fr>) {
        let coefficients = &mut self.coefficients;
        let present = |coefficient: &Fr| !bool::from(coefficient.is_zero());
        let count = lc.iter_inputs().filter(|(_, c)| present(c)).count()
            + lc.iter_aux().filter(|(_, c)| present(c)).count();
        let inputs = lc.iter_inputs().map(|(i, c)| (Column::Dense(*i as u32), c));
        let aux = lc.iter_aux().map(|(j, c)| (Column::Sparse(*j as u32), c));
        let terms = inputs
            .chain(aux)
            .filter(|(_, c)| present(c))
            .map(|(column, c)| Term {
                column,
                coefficient: coefficients.intern(c),
            });
        self.matrices[matrix].push_row(count, terms);
    }
}

impl Tally for RecordingCS {
    fn counts(&self) -> Counts {
        Counts {
            inputs: self.inputs,
            aux: self.aux,
        }
    }
}

impl ConstraintSystem<Fr> for RecordingCS {
    type Root = Self;

    fn new() -> Self {
        Self::default()
    }

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.aux += 1;
        Ok(Variable::new_unchecked(Index::Aux(self.aux - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs += 1;
        Ok(Variable::new_unchecked(Index::Input(self.inputs - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        self.push(0, &a(LinearCombination::zero()));
        self.push(1, &b(LinearCombination::zero()));
        self.push(2, &c(LinearCombination::zero()));
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self {
        self
    }

    fn is_extensible() -> bool {
        true
    }

    fn extend(&mut self, other: &Self) {
        // The child's input 0 is its own ONE and stands for ours; its other inputs follow ours.
        let (inputs, aux) = (self.inputs as u32, self.aux as u32);
        let moved = |column| match column {
            Column::Dense(0) => Column::Dense(0),
            Column::Dense(i) => Column::Dense(inputs + i - 1),
            Column::Sparse(j) => Column::Sparse(aux + j),
        };
        let coefficients: Vec<u32> = other
            .coefficients
            .values()
            .iter()
            .map(|value| self.coefficients.intern(value))
            .collect();
        for (own, child) in self.matrices.iter_mut().zip(&other.matrices) {
            own.append(child, |term| Term {
                column: moved(term.column),
                coefficient: coefficients[term.coefficient as usize],
            });
        }
        self.inputs += other.inputs.saturating_sub(1);
        self.aux += other.aux;
    }
}
