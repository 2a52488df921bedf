//! The counts that describe a constraint system, and the hash that identifies it.

use std::fmt;

/// How many inputs, aux and constraints a circuit has.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Public inputs, ONE among them.
    pub inputs: usize,
    /// Private variables.
    pub aux: usize,
    /// Constraints, without the row that the prover adds for each input.
    pub constraints: usize,
}

impl Shape {
    /// Constraints and input rows together.
    pub fn rows(&self) -> usize {
        self.constraints + self.inputs
    }

    /// Size of the evaluation domain: the next power of two of constraints + inputs.
    pub fn domain(&self) -> usize {
        self.rows().max(1).next_power_of_two()
    }
}

/// A hash of a circuit's whole R1CS: equal for two circuits exactly when their matrices are.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeHash(pub [u8; 32]);

impl fmt::Display for ShapeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ShapeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShapeHash({self})")
    }
}
