//! Proves a circuit of your own through the engine, in a plain program: no asynchronous run time, no proof type.
//!
//! `cargo run --release -p cuzk-engine --example embed`
//!
//! The statement: I know numbers x whose x^3 + x + 5 are these, one a partition. Two devices share the partitions; here
//! both are the processor, since the engine takes any backend.

use std::time::Duration;

use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use cuzk_backend_cpu::CpuBackend;
use cuzk_curve::Fr;
use cuzk_engine::{Config, Device, Engine, InMemory, JobEvent, Outcome, PciBusId, Submission};
use cuzk_groth16::keygen;
use cuzk_pce::Pce;
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError};
use ff::Field;
use rand_core::OsRng;

struct Cubic {
    x: Option<Fr>,
}

fn output(x: Fr) -> Fr {
    x.square() * x + x + Fr::from(5)
}

impl Circuit<Fr> for Cubic {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let known = |value: Option<Fr>| value.ok_or(SynthesisError::AssignmentMissing);
        let x = cs.alloc(|| "x", || known(self.x))?;
        let square = cs.alloc(|| "x^2", || known(self.x.map(|x| x.square())))?;
        let cube = cs.alloc(|| "x^3", || known(self.x.map(|x| x.square() * x)))?;
        let y = cs.alloc_input(|| "y", || known(self.x.map(output)))?;
        let five = (Fr::from(5), CS::one());
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
        cs.enforce(|| "cube", |lc| lc + square, |lc| lc + x, |lc| lc + cube);
        let sum = |lc| lc + cube + x + five;
        cs.enforce(|| "sum", sum, |lc| lc + CS::one(), |lc| lc + y);
        Ok(())
    }
}

/// The secrets, one a partition.
struct Roots(Vec<u64>);

impl Job for Roots {
    fn circuit_id(&self) -> &'static str {
        "cubic"
    }

    fn partitions(&self) -> usize {
        self.0.len()
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        Ok(vec![output(Fr::from(self.0[partition]))])
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        let x = Some(Fr::from(self.0[partition]));
        Ok(Box::new(Cubic { x }))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pce = Pce::record(Cubic { x: None })?;
    let key = keygen::in_memory(&CpuBackend, &pce, &mut OsRng)?;
    let source = InMemory::default().with("cubic", pce, key);

    let device = |function| {
        let pci = PciBusId {
            domain: 0xffff,
            bus: 0,
            device: 0,
            function,
        };
        let name = format!("processor {function}");
        Device::new(name, pci, 1 << 30, CpuBackend, vec![CpuBackend; 2])
    };
    let engine = Engine::new(Config::default(), vec![device(0), device(1)], source)?;

    let handle = engine.submit(Submission::job(Roots((1..=8).collect())))?;
    for event in handle.subscribe() {
        if let JobEvent::Proved {
            partition, device, ..
        } = event
        {
            println!("partition {partition}: proved on {device}");
        }
    }
    match handle.wait_timeout(Duration::from_secs(60)) {
        Some(Outcome::Completed(completed)) => println!("{} bytes", completed.proof.len()),
        Some(other) => return Err(other.to_string().into()),
        None => return Err("no outcome within a minute".into()),
    }
    for device in engine.status().devices {
        println!(
            "{}: {} proofs, {} faults",
            device.name, device.proofs, device.faults
        );
    }
    Ok(())
}
