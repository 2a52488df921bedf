//! The pre-compiled constraint evaluator (PCE): a circuit's R1CS recorded once, so that a proof needs only the witness.
//!
//! ```text
//! circuit --RecordingCS--> Recorded --compile--> Pce --write / open / Cache--> file
//!                                                 |
//! circuit --WitnessCS--> Assignment --pack--------+--> evaluate (a, b, c), check
//! ```
//!
//! [`Pce::record`] needs no witness: a blank circuit will do, and no alloc closure is called. Opening a file maps it,
//! verifies its checksums and copies only the small parts. Any bytes are safe to open and to evaluate: what does not
//! decode is a typed error.

mod cache;
mod classes;
mod compile;
mod error;
mod file;
mod format;
mod hash;
mod stored;

use std::ops::Deref;
use std::sync::Arc;

use bellpepper_core::Circuit;
use cuzk_cs_recording::{Recorded, RecordingCS};
use cuzk_curve::{Fr, zeros};
use cuzk_r1cs::{Assignment, CompactR1cs, Matrix, PackedWitness, R1csError};

pub use cache::Cache;
pub use error::PceError;
pub use format::VERSION;
pub use hash::shape_hash;

/// A compiled circuit.
#[derive(Clone, Debug)]
pub struct Pce {
    r1cs: Arc<CompactR1cs>,
}

/// A·w, B·w and C·w, one value a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// A·w.
    pub a: Vec<Fr>,
    /// B·w.
    pub b: Vec<Fr>,
    /// C·w.
    pub c: Vec<Fr>,
}

impl Pce {
    /// Records and compiles a circuit. No alloc closure is called.
    pub fn record<C: Circuit<Fr>>(circuit: C) -> Result<Self, PceError> {
        let mut cs = RecordingCS::default();
        cuzk_r1cs::synthesize(circuit, &mut cs)?;
        Self::compile(cs.finish()?)
    }

    /// Compiles what was recorded.
    pub fn compile(recorded: Recorded) -> Result<Self, PceError> {
        let r1cs = compile::compile(recorded)?;
        Ok(Self {
            r1cs: Arc::new(r1cs),
        })
    }

    /// The matrices, for a backend.
    pub fn r1cs(&self) -> &Arc<CompactR1cs> {
        &self.r1cs
    }

    /// Packs an assignment by this circuit's classes.
    pub fn pack(&self, assignment: Assignment) -> Result<PackedWitness, PceError> {
        Ok(assignment.pack(&self.r1cs)?)
    }

    /// A·w, B·w and C·w on the threads of the current rayon pool.
    pub fn evaluate(&self, witness: &PackedWitness) -> Result<Evaluated, PceError> {
        self.evaluated(|out| self.r1cs.evaluate(Matrix::ALL, witness, out))
    }

    /// [`Pce::evaluate`] on the calling thread alone.
    pub fn evaluate_single_threaded(&self, witness: &PackedWitness) -> Result<Evaluated, PceError> {
        self.evaluated(|out| {
            self.r1cs
                .evaluate_single_threaded(Matrix::ALL, witness, out)
        })
    }

    /// Bytes of the matrices and coefficients in memory, decoded templates among them: what a non-zero costs.
    pub fn matrix_bytes(&self) -> usize {
        self.matrices.size_bytes() + size_of_val(self.coefficients.as_slice())
    }

    fn evaluated(
        &self,
        evaluate: impl FnOnce([&mut [Fr]; 3]) -> Result<(), R1csError>,
    ) -> Result<Evaluated, PceError> {
        let [mut a, mut b, mut c] = [(); 3].map(|()| zeros(self.shape.constraints));
        evaluate([&mut a, &mut b, &mut c])?;
        Ok(Evaluated { a, b, c })
    }
}

impl Deref for Pce {
    type Target = CompactR1cs;

    fn deref(&self) -> &CompactR1cs {
        &self.r1cs
    }
}
