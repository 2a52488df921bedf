//! Whole proofs and keys on device 0: the same bytes as on the CPU. Without a device nothing is checked here, and the
//! conformance tests check that the backend says so.

mod device;

use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::CudaBackend;
use cuzk_cs_witness::SynthesisCS;
use cuzk_curve::Fr;
use cuzk_groth16::keygen::{ToxicWaste, in_memory_with};
use cuzk_groth16::{Blinding, Prover};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_r1cs::synthesize;
use cuzk_testing::circuits::{Step, StepCircuit};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

/// Three bits, then a product of what came before.
fn circuit(steps: usize) -> StepCircuit {
    let steps = (0..steps).map(|i| match i % 4 {
        3 => Step::Product(vec![(i - 1, 1), (i / 2, 7)], vec![(i - 2, 1), (i / 3, -1)]),
        _ if i == 0 => Step::Aux(0x1234_5678_9abc),
        _ => Step::Bit(i % 3 == 0),
    });
    StepCircuit {
        steps: steps.collect(),
        blank: false,
    }
}

fn blinding() -> Blinding {
    Blinding {
        r: Fr::from(12_345),
        s: Fr::from(678_910),
    }
}

fn key<B: Backend>(backend: &B, pce: &Pce) -> Parameters {
    let toxic = ToxicWaste::sample(&mut ChaCha12Rng::seed_from_u64(1));
    in_memory_with(backend, pce, &toxic).unwrap()
}

fn prove<B: Backend>(prover: &Prover<B>, circuit: &StepCircuit) -> [u8; 192] {
    let witness = prover.witness(circuit.clone()).unwrap();
    prover
        .start(witness, blinding())
        .unwrap()
        .finish()
        .unwrap()
        .to_bytes()
}

#[test]
fn proofs_and_keys_are_the_cpus() {
    let Some(backend) = device::usable(CudaBackend::open(0)) else {
        return;
    };
    for steps in [5, 300, 9000] {
        let circuit = circuit(steps);
        let pce = Pce::record(circuit.to_blank()).unwrap();
        let keys = [key(&CpuBackend, &pce), key(&backend, &pce)];
        for section in [
            Parameters::h,
            Parameters::l,
            Parameters::a,
            Parameters::b_g1,
        ] {
            assert!(section(&keys[0]).bytes()[..] == section(&keys[1]).bytes()[..]);
        }
        assert!(keys[0].b_g2().bytes()[..] == keys[1].b_g2().bytes()[..]);
        let wanted = prove(&Prover::new(CpuBackend, &pce, &keys[0]).unwrap(), &circuit);
        let prover = Prover::new(backend.clone(), &pce, &keys[0]).unwrap();
        for _ in 0..50 {
            assert!(prove(&prover, &circuit) == wanted, "{steps} steps");
        }
        let mut cs = SynthesisCS::default();
        synthesize(circuit.clone(), &mut cs).unwrap();
        let synthesis = cs.finish().unwrap();
        let outline = synthesis.outline();
        let prover = Prover::without_matrices(backend.clone(), &outline, &keys[0]).unwrap();
        let witness = synthesis.pack(&outline).unwrap();
        let found = prover.start(witness, blinding()).unwrap().finish().unwrap();
        assert!(found.to_bytes() == wanted, "{steps} steps, synthesised");
    }
}
