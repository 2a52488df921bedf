//! A circuit so small that simulated devices, and not the processor, take the time.

use std::sync::Arc;

use anyhow::Context;
use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use cuzk_backend_cpu::CpuBackend;
use cuzk_curve::Fr;
use cuzk_groth16::keygen;
use cuzk_pce::Pce;
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError};
use rand_core::OsRng;

use super::subject::Subject;

/// Knowledge of x with x^3 = y.
struct Cube {
    x: Option<Fr>,
}

impl Circuit<Fr> for Cube {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let known = |value: Option<Fr>| value.ok_or(SynthesisError::AssignmentMissing);
        let x = cs.alloc(|| "x", || known(self.x))?;
        let square = cs.alloc(|| "x^2", || known(self.x.map(|x| x * x)))?;
        let y = cs.alloc_input(|| "y", || known(self.x.map(|x| x * x * x)))?;
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
        cs.enforce(|| "cube", |lc| lc + square, |lc| lc + x, |lc| lc + y);
        Ok(())
    }
}

/// The cube of 3.
struct CubeJob;

impl Job for CubeJob {
    fn circuit_id(&self) -> &'static str {
        "toy"
    }

    fn partitions(&self) -> usize {
        1
    }

    fn public_inputs(&self, _: usize) -> Result<Vec<Fr>, ProofApiError> {
        Ok(vec![Fr::from(27)])
    }

    fn circuit(&self, _: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        Ok(Box::new(Cube {
            x: Some(Fr::from(3)),
        }))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        Ok(())
    }
}

/// The toy circuit with a key that is made now.
pub fn subject(partitions: usize) -> anyhow::Result<Subject> {
    let pce = Pce::record(Cube { x: None })?;
    let key = keygen::in_memory(&CpuBackend, &pce, &mut OsRng).context("the toy circuit's key")?;
    Subject::new(Arc::new(CubeJob), partitions, pce, key)
}
