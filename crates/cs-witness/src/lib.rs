//! WitnessCS: runs a circuit for its assignment alone. Constraints are not looked at. [`SynthesisCS`] looks at them too,
//! for a circuit that is not compiled yet.
//!
//! Values are stored as they arrive: a bit for 0 and 1, a field element otherwise, so a SHA-256 circuit of 130 million
//! variables takes about 100 MB.

mod synthesis;

pub use synthesis::{Synthesis, SynthesisCS};

use bellpepper_core::{ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use cuzk_curve::Fr;
use cuzk_r1cs::{Assignment, Counts, Tally};

/// A constraint system that keeps the assignment and nothing else.
#[derive(Debug, Default)]
pub struct WitnessCS {
    assignment: Assignment,
}

impl WitnessCS {
    /// The assignment of all variables allocated so far.
    pub fn into_assignment(self) -> Assignment {
        self.assignment
    }
}

impl Tally for WitnessCS {
    fn counts(&self) -> Counts {
        Counts {
            inputs: self.assignment.inputs.len(),
            aux: self.assignment.aux_len(),
        }
    }
}

impl ConstraintSystem<Fr> for WitnessCS {
    type Root = Self;

    fn new() -> Self {
        Self::default()
    }

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = self.assignment.aux_len();
        self.assignment.push_aux(value()?);
        Ok(Variable::new_unchecked(Index::Aux(index)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = self.assignment.inputs.len();
        self.assignment.inputs.push(value()?);
        Ok(Variable::new_unchecked(Index::Input(index)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, _: LA, _: LB, _: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
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
        self.assignment.extend_child(&other.assignment);
    }
}
