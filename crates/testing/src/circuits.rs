//! Circuits for tests: generated ones, and small ones that are easy to reason about.

use bellpepper_core::{Circuit, ConstraintSystem, LinearCombination, SynthesisError, Variable};
use cuzk_curve::Fr;
use ff::Field;
use proptest::prelude::*;

/// One step of a generated circuit.
#[derive(Clone, Debug)]
pub enum Step {
    /// Allocates an aux variable with this value.
    Aux(u64),
    /// Allocates an aux variable and constrains it to 0 or 1.
    Bit(bool),
    /// Allocates an input with this value.
    Input(u64),
    /// Allocates the product of two linear combinations and constrains it. Terms are (variable, coefficient); the
    /// variable is taken modulo the number of variables so far, ONE among them.
    Product(Vec<(usize, i64)>, Vec<(usize, i64)>),
    /// A row without terms in any matrix.
    Empty,
    /// A row 1 * (x - x) = 0 with terms that cancel, for the variable named as in `Product`.
    Cancel(usize),
    /// Steps run in a child of their own where the constraint system is extensible, in place where not.
    Child(Vec<Step>),
}

/// A generated circuit. Any sequence of steps is a satisfiable circuit.
#[derive(Clone, Debug)]
pub struct StepCircuit {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Whether values are known. A blank circuit panics when one is asked for.
    pub blank: bool,
}

/// Coefficients that matter: zero, ±1, powers of two, and others.
fn coefficient() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(-1),
        Just(2),
        Just(1 << 40),
        any::<i64>()
    ]
}

fn terms() -> impl Strategy<Value = Vec<(usize, i64)>> {
    prop::collection::vec((any::<usize>(), coefficient()), 0..5)
}

fn value() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), any::<u64>()]
}

fn flat_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => value().prop_map(Step::Aux),
        3 => any::<bool>().prop_map(Step::Bit),
        1 => value().prop_map(Step::Input),
        4 => (terms(), terms()).prop_map(|(a, b)| Step::Product(a, b)),
        1 => Just(Step::Empty),
        1 => any::<usize>().prop_map(Step::Cancel),
    ]
}

/// Circuits of up to `max_steps` steps, some of them in children.
pub fn step_circuits(max_steps: usize) -> impl Strategy<Value = StepCircuit> {
    let child = prop::collection::vec(flat_step(), 0..8).prop_map(Step::Child);
    let step = prop_oneof![6 => flat_step(), 1 => child];
    prop::collection::vec(step, 0..max_steps).prop_map(|steps| StepCircuit {
        steps,
        blank: false,
    })
}

impl StepCircuit {
    /// The same circuit without values.
    pub fn to_blank(&self) -> Self {
        Self {
            blank: true,
            ..self.clone()
        }
    }
}

/// Variables so far with their values.
struct Scope {
    variables: Vec<(Variable, Fr)>,
    blank: bool,
}

impl Scope {
    fn new<CS: ConstraintSystem<Fr>>(blank: bool) -> Self {
        Self {
            variables: vec![(CS::one(), Fr::ONE)],
            blank,
        }
    }

    fn known(&self, value: Fr) -> Result<Fr, SynthesisError> {
        assert!(
            !self.blank,
            "an alloc closure of a blank circuit was called"
        );
        Ok(value)
    }

    fn aux<CS: ConstraintSystem<Fr>>(
        &mut self,
        cs: &mut CS,
        value: Fr,
    ) -> Result<Variable, SynthesisError> {
        let variable = cs.alloc(|| "aux", || self.known(value))?;
        self.variables.push((variable, value));
        Ok(variable)
    }

    fn combination(&self, terms: &[(usize, i64)]) -> (LinearCombination<Fr>, Fr) {
        let mut lc = LinearCombination::zero();
        let mut sum = Fr::ZERO;
        for &(index, coefficient) in terms {
            let (variable, value) = self.variables[index % self.variables.len()];
            let coefficient = signed(coefficient);
            lc = lc + (coefficient, variable);
            sum += coefficient * value;
        }
        (lc, sum)
    }

    fn run<CS: ConstraintSystem<Fr>>(
        &mut self,
        cs: &mut CS,
        steps: &[Step],
    ) -> Result<(), SynthesisError> {
        steps.iter().try_for_each(|step| self.step(cs, step))
    }

    fn step<CS: ConstraintSystem<Fr>>(
        &mut self,
        cs: &mut CS,
        step: &Step,
    ) -> Result<(), SynthesisError> {
        match step {
            Step::Aux(value) => {
                self.aux(cs, Fr::from(*value))?;
            }
            Step::Bit(bit) => {
                let x = self.aux(cs, Fr::from(u64::from(*bit)))?;
                cs.enforce(|| "bit", |lc| lc + CS::one() - x, |lc| lc + x, |lc| lc);
            }
            Step::Input(value) => {
                let value = Fr::from(*value);
                let variable = cs.alloc_input(|| "input", || self.known(value))?;
                self.variables.push((variable, value));
            }
            Step::Product(a, b) => {
                let (a, a_value) = self.combination(a);
                let (b, b_value) = self.combination(b);
                let x = self.aux(cs, a_value * b_value)?;
                cs.enforce(|| "product", |lc| lc + &a, |lc| lc + &b, |lc| lc + x);
            }
            Step::Empty => cs.enforce(|| "empty", |lc| lc, |lc| lc, |lc| lc),
            Step::Cancel(index) => {
                let (x, _) = self.variables[index % self.variables.len()];
                cs.enforce(|| "cancel", |lc| lc + CS::one(), |lc| lc + x - x, |lc| lc);
            }
            Step::Child(steps) => {
                // A child sees no variable of its parent, as in an extensible synthesis.
                let mut scope = Self::new::<CS>(self.blank);
                if CS::is_extensible() {
                    let mut child = CS::new();
                    child.alloc_input(|| "temp ONE", || Ok(Fr::ONE))?;
                    scope.run(&mut child, steps)?;
                    cs.extend(&child);
                } else {
                    scope.run(cs, steps)?;
                }
            }
        }
        Ok(())
    }
}

fn signed(value: i64) -> Fr {
    let magnitude = Fr::from(value.unsigned_abs());
    if value < 0 { -magnitude } else { magnitude }
}

impl Circuit<Fr> for StepCircuit {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        // Children are reached through the root, which alone can be extended.
        Scope::new::<CS>(self.blank).run(cs, &self.steps)
    }
}

/// Knowledge of x with x^3 + x + 5 = y for a public y.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// The secret.
    pub x: Option<Fr>,
}

impl Cubic {
    /// The public y.
    pub fn output(x: Fr) -> Fr {
        x.square() * x + x + Fr::from(5)
    }
}

impl Circuit<Fr> for Cubic {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let known = |value: Option<Fr>| value.ok_or(SynthesisError::AssignmentMissing);
        let x = cs.alloc(|| "x", || known(self.x))?;
        let square = cs.alloc(|| "x^2", || known(self.x.map(|x| x.square())))?;
        let cube = cs.alloc(|| "x^3", || known(self.x.map(|x| x.square() * x)))?;
        let y = cs.alloc_input(|| "y", || known(self.x.map(Self::output)))?;
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
        cs.enforce(|| "cube", |lc| lc + square, |lc| lc + x, |lc| lc + cube);
        let five = (Fr::from(5), CS::one());
        cs.enforce(
            || "sum",
            |lc| lc + cube + x + five,
            |lc| lc + CS::one(),
            |lc| lc + y,
        );
        Ok(())
    }
}
