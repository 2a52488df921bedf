//! Circuits whose type is not named.

use bellpepper_core::Circuit;
use cuzk_cs_recording::RecordingCS;
use cuzk_cs_witness::{SynthesisCS, WitnessCS};
use cuzk_curve::Fr;
use cuzk_r1cs::{R1csError, synthesize};

/// A circuit that can be recorded or run for its witness. Every [`Circuit`] over Fr is one.
pub trait AnyCircuit: Send {
    /// Records the circuit's constraints. No alloc closure is called, so a blank circuit will do.
    fn record(self: Box<Self>, cs: &mut RecordingCS) -> Result<(), R1csError>;

    /// Computes the circuit's assignment.
    fn witness(self: Box<Self>, cs: &mut WitnessCS) -> Result<(), R1csError>;

    /// Synthesises the circuit with its witness in full.
    fn synthesis(self: Box<Self>, cs: &mut SynthesisCS) -> Result<(), R1csError>;
}

impl<C: Circuit<Fr> + Send> AnyCircuit for C {
    fn record(self: Box<Self>, cs: &mut RecordingCS) -> Result<(), R1csError> {
        synthesize(*self, cs)
    }

    fn witness(self: Box<Self>, cs: &mut WitnessCS) -> Result<(), R1csError> {
        synthesize(*self, cs)
    }

    fn synthesis(self: Box<Self>, cs: &mut SynthesisCS) -> Result<(), R1csError> {
        synthesize(*self, cs)
    }
}
