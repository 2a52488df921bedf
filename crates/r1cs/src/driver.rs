//! The one place where ONE is allocated.

use bellpepper_core::{Circuit, ConstraintSystem};
use cuzk_curve::Fr;
use ff::Field;

use crate::R1csError;

/// How many inputs and aux variables a constraint system holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Inputs, ONE among them once the driver ran.
    pub inputs: usize,
    /// Aux variables.
    pub aux: usize,
}

/// A constraint system that can say how much it holds.
pub trait Tally {
    /// The counts so far.
    fn counts(&self) -> Counts;
}

/// Runs a circuit into an empty constraint system: allocates ONE as input 0, then synthesizes.
///
/// Errors: [`R1csError::Count`] where `cs` is not empty, [`R1csError::Synthesis`] where the circuit fails.
pub fn synthesize<C, CS>(circuit: C, cs: &mut CS) -> Result<(), R1csError>
where
    C: Circuit<Fr>,
    CS: ConstraintSystem<Fr> + Tally,
{
    let counts = cs.counts();
    for (what, found) in [
        ("inputs before ONE", counts.inputs),
        ("aux before ONE", counts.aux),
    ] {
        if found != 0 {
            return Err(R1csError::Count {
                what,
                wanted: 0,
                found,
            });
        }
    }
    cs.alloc_input(|| "one", || Ok(Fr::ONE))?;
    circuit.synthesize(cs)?;
    Ok(())
}
