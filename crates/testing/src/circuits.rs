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
    /// Allocates (x + coefficient * y) * z of the newest variables x, y and z and constrains it: the same rows wherever it
    /// stands.
    Round(i64),
    /// So many bits, as `Bit`, of which every third is one.
    Bits(usize),
    /// Allocates the products of the newest variables with those so many places before them, one by one, each minus twice
    /// its second factor: rows of one form whose columns move by one.
    Word(usize),
    /// Allocates for each of the newest variables, x and the one after it y, the product p of x and y and (2 p - x) y: rows
    /// of two forms in turn.
    Pairs(usize),
    /// Allocates the sum of the newest variables, of `(count, step)` every step-th, times powers of two and constrains it.
    Pack(usize, usize),
    /// Steps so many times over, each time in a namespace of its own.
    Repeat(usize, Vec<Step>),
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

/// Steps that repeat: gadgets of rounds and bits, some large enough to be worth a template, nested up to three deep.
fn repeated_step() -> impl Strategy<Value = Step> {
    let round = prop_oneof![
        4 => prop_oneof![Just(0), Just(1), Just(-1), Just(2), Just(1 << 40)].prop_map(Step::Round),
        2 => any::<bool>().prop_map(Step::Bit),
        1 => value().prop_map(Step::Aux),
        1 => (0..3usize, 0..3usize).prop_map(|(a, b)| Step::Product(vec![(a, 1)], vec![(b, 1)])),
    ];
    let words = prop_oneof![
        (1..70usize).prop_map(Step::Bits),
        (1..40usize).prop_map(Step::Word),
        (1..20usize).prop_map(Step::Pairs),
        (1..100usize, 1..4usize).prop_map(|(count, step)| Step::Pack(count, step)),
    ];
    let round = prop_oneof![9 => round, 2 => words];
    let gadget = (1..4usize, prop::collection::vec(round, 1..45));
    let gadget = gadget.prop_map(|(count, steps)| Step::Repeat(count, steps));
    gadget.prop_recursive(2, 12, 4, |inner| {
        let steps = prop::collection::vec(prop_oneof![3 => inner, 1 => flat_step()], 1..4);
        (1..4usize, steps).prop_map(|(count, steps)| Step::Repeat(count, steps))
    })
}

/// Circuits with repeated blocks in nested namespaces, some of them in children.
pub fn repeating_circuits() -> impl Strategy<Value = StepCircuit> {
    let steps = || prop::collection::vec(prop_oneof![2 => repeated_step(), 1 => flat_step()], 0..4);
    let step = prop_oneof![
        4 => repeated_step(),
        2 => flat_step(),
        1 => steps().prop_map(Step::Child),
    ];
    prop::collection::vec(step, 0..5).prop_map(|steps| StepCircuit {
        steps,
        blank: false,
    })
}

/// The same steps without namespaces.
fn flattened(steps: &[Step]) -> Vec<Step> {
    let mut flat = Vec::new();
    for step in steps {
        match step {
            Step::Repeat(count, steps) => (0..*count).for_each(|_| flat.extend(flattened(steps))),
            Step::Child(steps) => flat.push(Step::Child(flattened(steps))),
            other => flat.push(other.clone()),
        }
    }
    flat
}

impl StepCircuit {
    /// The same circuit without namespaces.
    pub fn without_namespaces(&self) -> Self {
        Self {
            steps: flattened(&self.steps),
            blank: self.blank,
        }
    }

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

    /// The newest variables, every `step`-th of them, oldest first. ONE stands for those that are not there.
    fn newest(&self, count: usize, step: usize) -> Vec<(Variable, Fr)> {
        let last = self.variables.len() - 1;
        let back = (0..count).rev().map(|i| i * step);
        back.map(|back| self.variables[last.saturating_sub(back)])
            .collect()
    }

    fn pairs<CS: ConstraintSystem<Fr>>(
        &mut self,
        cs: &mut CS,
        count: usize,
    ) -> Result<(), SynthesisError> {
        let newest = self.newest(count + 1, 1);
        for pair in newest.windows(2) {
            let [(x, x_value), (y, y_value)] = [pair[0], pair[1]];
            let product_value = x_value * y_value;
            let product = self.aux(cs, product_value)?;
            cs.enforce(|| "and", |lc| lc + x, |lc| lc + y, |lc| lc + product);
            let value = (product_value.double() - x_value) * y_value;
            let other = self.aux(cs, value)?;
            let left = |lc| lc + (Fr::from(2), product) - x;
            cs.enforce(|| "or", left, |lc| lc + y, |lc| lc + other);
        }
        Ok(())
    }

    fn run<CS: ConstraintSystem<Fr>>(
        &mut self,
        cs: &mut CS,
        steps: &[Step],
    ) -> Result<(), SynthesisError> {
        steps.iter().try_for_each(|step| self.step(cs, step))
    }

    /// Products of the newest variables with those before them.
    fn word<CS: ConstraintSystem<Fr>>(
        &mut self,
        cs: &mut CS,
        count: usize,
    ) -> Result<(), SynthesisError> {
        let newest = self.newest(2 * count, 1);
        let (first, second) = newest.split_at(count);
        for (&(x, x_value), &(y, y_value)) in first.iter().zip(second) {
            let product = self.aux(cs, (x_value - y_value.double()) * y_value)?;
            let left = |lc| lc + x - (Fr::from(2), y);
            cs.enforce(|| "word", left, |lc| lc + y, |lc| lc + product);
        }
        Ok(())
    }

    /// The sum of the newest variables, each `step` back from the last, by powers of two.
    fn pack<CS: ConstraintSystem<Fr>>(
        &mut self,
        cs: &mut CS,
        count: usize,
        step: usize,
    ) -> Result<(), SynthesisError> {
        let (mut lc, mut sum, mut power) = (LinearCombination::zero(), Fr::ZERO, Fr::ONE);
        for (variable, value) in self.newest(count, step) {
            lc = lc + (power, variable);
            sum += power * value;
            power = power.double();
        }
        let packed = self.aux(cs, sum)?;
        cs.enforce(|| "packed", |_| lc, |lc| lc + CS::one(), |lc| lc + packed);
        Ok(())
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
            Step::Round(coefficient) => {
                let newest =
                    |back: usize| self.variables[self.variables.len().saturating_sub(1 + back)];
                let [(x, x_value), (y, y_value), (z, z_value)] = [0, 1, 2].map(newest);
                let coefficient = signed(*coefficient);
                let value = (x_value + coefficient * y_value) * z_value;
                let product = self.aux(cs, value)?;
                let left = |lc| lc + x + (coefficient, y);
                cs.enforce(|| "round", left, |lc| lc + z, |lc| lc + product);
            }
            Step::Bits(count) => {
                for i in 0..*count {
                    self.step(cs, &Step::Bit(i.is_multiple_of(3)))?;
                }
            }
            Step::Word(count) => self.word(cs, *count)?,
            Step::Pairs(count) => self.pairs(cs, *count)?,
            Step::Pack(count, step) => self.pack(cs, *count, *step)?,
            Step::Repeat(count, steps) => {
                for _ in 0..*count {
                    self.run(&mut cs.namespace(|| "repeated"), steps)?;
                }
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
