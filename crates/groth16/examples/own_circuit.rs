//! Proves a circuit of your own: knowledge of x with x^3 + x + 5 = 35.
//!
//! `cargo run --release -p cuzk-groth16 --example own_circuit`
//!
//! Neither Filecoin's crates nor tokio nor CUDA are pulled in: `cargo tree -p cuzk-groth16 -e normal`.

use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use cuzk_backend_cpu::CpuBackend;
use cuzk_curve::Fr;
use cuzk_groth16::{Prover, keygen, verify};
use cuzk_pce::Pce;
use ff::Field;
use rand_core::OsRng;

struct Cubic {
    x: Option<Fr>,
}

impl Circuit<Fr> for Cubic {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let known = |value: Option<Fr>| value.ok_or(SynthesisError::AssignmentMissing);
        let x = cs.alloc(|| "x", || known(self.x))?;
        let square = cs.alloc(|| "x^2", || known(self.x.map(|x| x.square())))?;
        let cube = cs.alloc(|| "x^3", || known(self.x.map(|x| x.square() * x)))?;
        let output = |x: Fr| x.square() * x + x + Fr::from(5);
        let y = cs.alloc_input(|| "y", || known(self.x.map(output)))?;
        cs.enforce(|| "x * x = x^2", |lc| lc + x, |lc| lc + x, |lc| lc + square);
        cs.enforce(
            || "x^2 * x = x^3",
            |lc| lc + square,
            |lc| lc + x,
            |lc| lc + cube,
        );
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pce = Pce::record(Cubic { x: None })?;
    let key = keygen::in_memory(&CpuBackend::default(), &pce, &mut OsRng)?;
    let prover = Prover::new(CpuBackend::default(), &pce, &key)?;
    let proof = prover.prove(Cubic {
        x: Some(Fr::from(3)),
    })?;
    let valid = verify(prover.verifying_key(), &proof, &[Fr::from(35)])?;

    println!(
        "{} constraints, proof of {} bytes, valid: {valid}",
        pce.shape.constraints,
        proof.to_bytes().len()
    );
    assert!(valid);
    assert!(!verify(prover.verifying_key(), &proof, &[Fr::from(36)])?);
    Ok(())
}
