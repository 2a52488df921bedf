//! Full synthesis as bellperson does it: the oracle that a PCE is held against.

use bellpepper_core::{
    Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable,
};
use cuzk_curve::Fr;
use cuzk_r1cs::{Counts, R1csError, Tally, synthesize};
use ff::Field;

/// Inputs, aux and the three evaluated linear combinations of each constraint. `EXTENSIBLE` is what it says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FullSynthesis<const EXTENSIBLE: bool> {
    /// The public inputs, ONE first.
    pub inputs: Vec<Fr>,
    /// The private variables.
    pub aux: Vec<Fr>,
    /// A·w, B·w and C·w, one value a constraint.
    pub abc: [Vec<Fr>; 3],
}

impl<const EXTENSIBLE: bool> FullSynthesis<EXTENSIBLE> {
    /// Synthesizes a circuit with its witness.
    pub fn of<C: Circuit<Fr>>(circuit: C) -> Result<Self, R1csError> {
        let mut cs = Self::default();
        synthesize(circuit, &mut cs)?;
        Ok(cs)
    }

    /// The first constraint that is not satisfied.
    pub fn first_unsatisfied(&self) -> Option<usize> {
        let [a, b, c] = &self.abc;
        (0..a.len()).find(|&i| a[i] * b[i] != c[i])
    }
}

impl<const EXTENSIBLE: bool> Tally for FullSynthesis<EXTENSIBLE> {
    fn counts(&self) -> Counts {
        Counts {
            inputs: self.inputs.len(),
            aux: self.aux.len(),
        }
    }
}

impl<const EXTENSIBLE: bool> ConstraintSystem<Fr> for FullSynthesis<EXTENSIBLE> {
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
        self.aux.push(value()?);
        Ok(Variable::new_unchecked(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs.push(value()?);
        Ok(Variable::new_unchecked(Index::Input(self.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let combinations = [
            a(LinearCombination::zero()),
            b(LinearCombination::zero()),
            c(LinearCombination::zero()),
        ];
        for (out, lc) in self.abc.iter_mut().zip(&combinations) {
            out.push(lc.eval(&self.inputs, &self.aux));
        }
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
        EXTENSIBLE
    }

    fn extend(&mut self, other: &Self) {
        self.inputs.extend(other.inputs.iter().skip(1));
        self.aux.extend_from_slice(&other.aux);
        for (own, child) in self.abc.iter_mut().zip(&other.abc) {
            own.extend_from_slice(child);
        }
    }
}

/// A constraint system to which namespaces are not passed on, and which is not extensible: every constraint reaches it
/// one by one.
#[derive(Debug, Default)]
pub struct WithoutNamespaces<CS>(pub CS);

impl<CS: Tally> Tally for WithoutNamespaces<CS> {
    fn counts(&self) -> Counts {
        self.0.counts()
    }
}

impl<CS: ConstraintSystem<Fr>> ConstraintSystem<Fr> for WithoutNamespaces<CS> {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, name: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.0.alloc(name, value)
    }

    fn alloc_input<F, A, AR>(&mut self, name: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.0.alloc_input(name, value)
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, name: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        self.0.enforce(name, a, b, c);
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
}

/// The sum of the field elements, to keep a benchmark's work from being optimised away.
pub fn checksum(values: &[Fr]) -> Fr {
    values.iter().fold(Fr::ZERO, |sum, value| sum + value)
}
