//! The CPU backend is held to the oracles of every backend.

use std::sync::Arc;

use cuzk_backend::conformance;
use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::Fr;
use cuzk_pce::Pce;
use cuzk_r1cs::{Assignment, PackedWitness, synthesize};
use cuzk_testing::circuits::{Step, StepCircuit, step_circuits};
use ff::Field;
use proptest::prelude::*;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

fn rng() -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(5)
}

fn compiled(circuit: StepCircuit) -> (Pce, Arc<PackedWitness>) {
    let pce = Pce::record(circuit.to_blank()).unwrap();
    let mut cs = WitnessCS::default();
    synthesize(circuit, &mut cs).unwrap();
    let witness = pce.pack(cs.into_assignment()).unwrap();
    (pce, Arc::new(witness))
}

#[test]
fn operations_conform() {
    conformance::operations(&CpuBackend, &mut rng()).unwrap();
}

proptest! {
    #[test]
    fn matrices_conform(circuit in step_circuits(40)) {
        let (pce, witness) = compiled(circuit);
        conformance::matrices(&CpuBackend, pce.r1cs(), &witness, &mut rng()).unwrap();
    }
}

#[test]
fn matrices_of_many_variables_conform() {
    let steps = (0..700).map(|i| match i % 7 {
        0 => Step::Aux(i as u64 * 0x1234_5678),
        1 => Step::Product(vec![(i, 3), (i / 2, -1)], vec![(i / 3, 1)]),
        2 => Step::Input(i as u64),
        _ => Step::Bit(i % 3 == 0),
    });
    let circuit = StepCircuit {
        steps: steps.collect(),
        blank: false,
    };
    let (pce, witness) = compiled(circuit);
    conformance::matrices(&CpuBackend, pce.r1cs(), &witness, &mut rng()).unwrap();
}

#[test]
fn escapes_conform() {
    let circuit = StepCircuit {
        steps: (0..200).map(|i| Step::Bit(i % 2 == 0)).collect(),
        blank: false,
    };
    let (pce, _) = compiled(circuit);
    let aux = (0..200u64).map(|i| Fr::from(if i % 67 == 3 { i } else { i % 2 }));
    let witness = pce.pack(Assignment::new(vec![Fr::ONE], aux)).unwrap();
    assert_eq!(witness.escapes().len(), 3);
    conformance::matrices(&CpuBackend, pce.r1cs(), &Arc::new(witness), &mut rng()).unwrap();
}
