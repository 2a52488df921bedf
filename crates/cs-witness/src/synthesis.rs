//! SynthesisCS: full synthesis, for a circuit that is not compiled yet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bellpepper_core::{ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use cuzk_curve::Fr;
use cuzk_r1cs::{
    Assignment, Counts, Density, Outline, PackedWitness, Products, R1csError, RankedBitmap,
    RowValues, Shape, Tally, Value,
};
use ff::Field;

/// A constraint system that keeps the assignment, evaluates A and B of each constraint, checks C, and notes which
/// variables occur where.
#[derive(Debug, Default)]
pub struct SynthesisCS {
    assignment: Assignment,
    /// For each 64 aux variables, how many values before them are neither 0 nor 1.
    ranks: Vec<u32>,
    products: Products,
    density: Density,
    /// The first constraint that does not hold.
    unsatisfied: Option<(usize, RowValues)>,
    stop: Option<Arc<AtomicBool>>,
}

/// A circuit with its witness, synthesised in full.
#[derive(Debug)]
pub struct Synthesis {
    shape: Shape,
    assignment: Assignment,
    products: Products,
    density: Density,
}

impl Synthesis {
    /// Inputs, aux and constraints.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The public inputs, ONE first.
    pub fn inputs(&self) -> &[Fr] {
        &self.assignment.inputs
    }

    /// The circuit as this synthesis shows it: its classes are those of this witness's values.
    pub fn outline(&self) -> Outline {
        Outline {
            shape: self.shape,
            density: self.density.clone(),
            field_class: RankedBitmap::new(self.assignment.wide().clone()),
        }
    }

    /// The witness with its products, packed by an outline of the same circuit.
    ///
    /// Errors: [`R1csError::Count`] where it is of another circuit.
    pub fn pack(self, outline: &Outline) -> Result<PackedWitness, R1csError> {
        let (wanted, found) = (outline.shape.constraints, self.shape.constraints);
        if wanted != found {
            return Err(R1csError::Count {
                what: "constraints",
                wanted,
                found,
            });
        }
        let packed = self.assignment.pack_by(outline.classes())?;
        Ok(packed.with_products(self.products))
    }
}

impl SynthesisCS {
    /// One that allocates nothing more from when `stop` is true on: the synthesis ends with an error. Children of an
    /// extensible synthesis come to their end.
    pub fn stoppable(stop: Arc<AtomicBool>) -> Self {
        Self {
            stop: Some(stop),
            ..Self::default()
        }
    }

    fn go_on(&self) -> Result<(), SynthesisError> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(SynthesisError::IoError(
                io::Error::new(io::ErrorKind::Interrupted, "the synthesis was stopped"),
            )),
            _ => Ok(()),
        }
    }

    /// What was synthesised.
    ///
    /// Errors: [`R1csError::Unsatisfied`] naming the first constraint that does not hold; [`R1csError::TooLarge`].
    pub fn finish(self) -> Result<Synthesis, R1csError> {
        if let Some((constraint, values)) = self.unsatisfied {
            let values = Box::new(values);
            return Err(R1csError::Unsatisfied { constraint, values });
        }
        let shape = Shape {
            inputs: self.assignment.inputs.len(),
            aux: self.assignment.aux_len(),
            constraints: self.products.a.len(),
        };
        shape.check()?;
        let mut products = self.products;
        let inputs = self.assignment.inputs.iter();
        inputs.for_each(|input| products.a.push(*input));
        Ok(Synthesis {
            shape,
            assignment: self.assignment,
            products,
            density: self.density,
        })
    }

    /// Brings the ranks up to the words of aux variables that have begun.
    fn rank(&mut self) {
        let words = self.assignment.wide().words();
        while self.ranks.len() < words.len() {
            let before = self.ranks.len().checked_sub(1);
            let rank = before.map_or(0, |word| self.ranks[word] + words[word].count_ones());
            self.ranks.push(rank);
        }
    }

    fn aux(&self, aux: usize) -> Value {
        let rank = || {
            let below = self.assignment.wide().words()[aux / 64] & ((1 << (aux % 64)) - 1);
            (self.ranks[aux / 64] + below.count_ones()) as usize
        };
        self.assignment.value(aux, rank)
    }

    fn evaluate(&self, lc: &LinearCombination<Fr>) -> Fr {
        let mut sum = Fr::ZERO;
        for (&input, coefficient) in lc.iter_inputs() {
            sum += product(self.assignment.inputs[input], coefficient);
        }
        for (&aux, coefficient) in lc.iter_aux() {
            match self.aux(aux) {
                Value::Bit(false) => {}
                Value::Bit(true) => sum += coefficient,
                Value::Field(value) => sum += product(value, coefficient),
            }
        }
        sum
    }
}

fn product(value: Fr, coefficient: &Fr) -> Fr {
    if *coefficient == Fr::ONE {
        value
    } else {
        value * coefficient
    }
}

/// The variables of a linear combination whose coefficient is not zero.
fn present<'a>(terms: impl Iterator<Item = (&'a usize, &'a Fr)>) -> impl Iterator<Item = usize> {
    terms.filter_map(|(&variable, coefficient)| (*coefficient != Fr::ZERO).then_some(variable))
}

impl Tally for SynthesisCS {
    fn counts(&self) -> Counts {
        Counts {
            inputs: self.assignment.inputs.len(),
            aux: self.assignment.aux_len(),
        }
    }
}

impl ConstraintSystem<Fr> for SynthesisCS {
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
        self.go_on()?;
        let index = self.assignment.aux_len();
        self.assignment.push_aux(value()?);
        self.density.a_aux.push(false);
        self.density.b_aux.push(false);
        self.rank();
        Ok(Variable::new_unchecked(Index::Aux(index)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.go_on()?;
        let index = self.assignment.inputs.len();
        self.assignment.inputs.push(value()?);
        self.density.b_inputs.push(false);
        Ok(Variable::new_unchecked(Index::Input(index)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let a = a(LinearCombination::zero());
        let b = b(LinearCombination::zero());
        let c = c(LinearCombination::zero());
        let values = RowValues {
            a: self.evaluate(&a),
            b: self.evaluate(&b),
            c: self.evaluate(&c),
        };
        present(a.iter_aux()).for_each(|aux| self.density.a_aux.set(aux));
        present(b.iter_aux()).for_each(|aux| self.density.b_aux.set(aux));
        present(b.iter_inputs()).for_each(|input| self.density.b_inputs.set(input));
        let constraint = self.products.a.len();
        self.products.a.push(values.a);
        self.products.b.push(values.b);
        if values.a * values.b != values.c {
            self.unsatisfied.get_or_insert((constraint, values));
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
        true
    }

    fn extend(&mut self, other: &Self) {
        let constraints = self.products.a.len();
        self.assignment.extend_child(&other.assignment);
        self.rank();
        self.products.a.append(&other.products.a);
        self.products.b.append(&other.products.b);
        let (own, child) = (&mut self.density, &other.density);
        own.a_aux.extend(&child.a_aux);
        own.b_aux.extend(&child.b_aux);
        // The child's input 0 is its own ONE and stands for ours.
        if child.b_inputs.get(0) && !own.b_inputs.is_empty() {
            own.b_inputs.set(0);
        }
        let inputs = child.b_inputs.len().saturating_sub(1);
        own.b_inputs
            .extend(&child.b_inputs.slice(child.b_inputs.len() - inputs, inputs));
        if let Some((constraint, values)) = &other.unsatisfied {
            let first = (constraints + constraint, values.clone());
            self.unsatisfied.get_or_insert(first);
        }
    }
}
