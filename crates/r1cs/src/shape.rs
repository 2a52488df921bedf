//! The counts that describe a constraint system, and the hash that identifies it.

use std::fmt;

use crate::R1csError;

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
    /// Variables, and constraints with inputs, that a circuit has at most: 2^28, twice what the largest of Filecoin's
    /// circuits need. A file of a few hundred bytes may stand for so many, with a bit map of 32 MiB for each bit of a
    /// variable.
    pub const LARGEST: usize = 1 << 28;

    /// Checks the counts before anything of their size is allocated.
    ///
    /// Errors: [`R1csError::TooLarge`] above [`Shape::LARGEST`], [`R1csError::Count`] without an input.
    pub fn check(&self) -> Result<(), R1csError> {
        if self.inputs == 0 {
            return Err(R1csError::Count {
                what: "inputs with ONE",
                wanted: 1,
                found: 0,
            });
        }
        for (what, found) in [
            ("inputs and aux", self.inputs.saturating_add(self.aux)),
            (
                "constraints and inputs",
                self.constraints.saturating_add(self.inputs),
            ),
        ] {
            if found > Self::LARGEST {
                let limit = Self::LARGEST;
                return Err(R1csError::TooLarge { what, limit, found });
            }
        }
        Ok(())
    }

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
