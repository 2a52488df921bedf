//! The constraint system that records.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bellpepper_core::{ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use cuzk_curve::Fr;
use cuzk_r1cs::{Column, Counts, Matrices, R1csError, Shape, Tally, Template, Term};
use ff::Field;

use crate::Coefficients;
use crate::blocks::Blocks;

/// A constraint system that keeps the matrices and nothing else.
#[derive(Debug, Default)]
pub struct RecordingCS {
    inputs: usize,
    aux: usize,
    coefficients: Coefficients,
    blocks: Blocks,
    /// Constraints so far, and where they are told to who watches.
    constraints: usize,
    watched: Option<Arc<AtomicUsize>>,
    /// What a child's templates could not be read for: reported at the end, for `extend` returns nothing.
    failed: Option<R1csError>,
}

/// A circuit's matrices as recorded: `Dense` columns are inputs, `Sparse` columns aux variables.
///
/// Terms with coefficient zero are left out; a row's inputs come first, each kind in ascending order. So equal circuits
/// have equal rows, though the namespaces of one may make other templates of them.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Inputs, aux and constraints.
    pub shape: Shape,
    /// The distinct coefficients in order of first use, after 1 and -1.
    pub coefficients: Vec<Fr>,
    /// A, B and C.
    pub matrices: Matrices,
}

/// Constraints after which a watcher is told how many there are.
const TELL_EVERY: usize = 1 << 12;

impl RecordingCS {
    /// A constraint system that now and then stores in `constraints` how many it has. What the children of an extensible
    /// synthesis record is counted when they are done: nobody can watch them.
    pub fn watched(constraints: Arc<AtomicUsize>) -> Self {
        Self {
            watched: Some(constraints),
            ..Self::default()
        }
    }

    fn tell(&self) {
        if let Some(watched) = &self.watched {
            watched.store(self.constraints, Ordering::Relaxed);
        }
    }

    /// What was recorded.
    ///
    /// Errors: [`R1csError::TooLarge`] above [`Shape::LARGEST`], and whatever [`Matrices::new`] returns.
    pub fn finish(self) -> Result<Recorded, R1csError> {
        let shape = Shape {
            inputs: self.inputs,
            aux: self.aux,
            constraints: self.blocks.rows(),
        };
        shape.check()?;
        if let Some(error) = self.failed {
            return Err(error);
        }
        let templates = self.blocks.finish(shape.inputs as u32, shape.aux as u32);
        let coefficients = self.coefficients.values().to_vec();
        Ok(Recorded {
            shape,
            matrices: Matrices::new(templates, shape, &coefficients)?,
            coefficients,
        })
    }

    /// Takes one linear combination of a row and returns its number of terms.
    fn push(&mut self, lc: &LinearCombination<Fr>) -> u32 {
        let mut count = 0;
        let inputs = lc.iter_inputs().map(|(i, c)| (Column::Dense(*i as u32), c));
        let aux = lc.iter_aux().map(|(j, c)| (Column::Sparse(*j as u32), c));
        for (column, coefficient) in inputs.chain(aux) {
            if *coefficient != Fr::ZERO {
                let coefficient = self.coefficients.intern(coefficient);
                self.blocks.push_term(Term {
                    column,
                    coefficient,
                });
                count += 1;
            }
        }
        count
    }

    /// Appends what a child recorded, as a block of its own.
    fn append(&mut self, child: Vec<Template>, other: &Self) {
        // The child's input 0 is its own ONE and stands for ours; its other inputs follow ours.
        let (inputs, aux) = (self.inputs as u32, self.aux as u32);
        let moved = |column| match column {
            Column::Dense(0) => Column::Dense(0),
            Column::Dense(i) => Column::Dense(inputs + i - 1),
            Column::Sparse(j) => Column::Sparse(aux + j),
        };
        let values = other.coefficients.values();
        let coefficients: Vec<u32> = values
            .iter()
            .map(|value| self.coefficients.intern(value))
            .collect();
        self.blocks.open(self.aux);
        if let Err(error) = self.blocks.append(child, &coefficients, aux, moved) {
            self.failed.get_or_insert(error);
        }
        self.inputs += other.inputs.saturating_sub(1);
        self.aux += other.aux;
        self.blocks.close(self.aux);
        self.constraints += other.constraints;
        self.tell();
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
        let counts = [
            self.push(&a(LinearCombination::zero())),
            self.push(&b(LinearCombination::zero())),
            self.push(&c(LinearCombination::zero())),
        ];
        self.blocks.close_row(counts);
        self.constraints += 1;
        if self.constraints.is_multiple_of(TELL_EVERY) {
            self.tell();
        }
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
        self.blocks.open(self.aux);
    }

    fn pop_namespace(&mut self) {
        self.blocks.close(self.aux);
    }

    fn get_root(&mut self) -> &mut Self {
        self
    }

    fn is_extensible() -> bool {
        true
    }

    fn extend(&mut self, other: &Self) {
        let child = other
            .blocks
            .clone()
            .finish(other.inputs as u32, other.aux as u32);
        self.append(child, other);
    }
}
