//! The CUDA backend is held to the oracles of every backend, on device 0.
//!
//! On a system without a device, or built without kernels, what is checked is that the backend says so.

use std::sync::Arc;

use cuzk_backend::{Backend, Evaluations, FixedBase, Msm, Ntt, Transform, Vectors, conformance};
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::{CudaBackend, OpenError};
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::{EncodedPoints, Fr, G1, G2, Group};
use cuzk_gpu::GpuError;
use cuzk_pce::Pce;
use cuzk_r1cs::{Assignment, PackedWitness, synthesize};
use cuzk_testing::circuits::{Step, StepCircuit};
use ff::Field;
use group::prime::PrimeCurveAffine;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The backend on device 0, where there is one.
fn device() -> Option<CudaBackend> {
    match CudaBackend::open(0) {
        Ok(backend) => Some(backend),
        Err(
            OpenError::NoKernels(_)
            | OpenError::Gpu(
                GpuError::NoDriver
                | GpuError::NoDevice {
                    wanted: 0,
                    found: 0,
                },
            ),
        ) => None,
        Err(error) => panic!("{error}"),
    }
}

fn rng(seed: u64) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(seed)
}

fn scalars(count: usize, seed: u64) -> Vec<Fr> {
    let mut rng = rng(seed);
    (0..count).map(|_| Fr::random(&mut rng)).collect()
}

#[test]
fn operations_conform() {
    let Some(backend) = device() else { return };
    assert_eq!(backend.name(), "cuda");
    conformance::operations(&backend, &mut rng(5)).unwrap();
}

/// Sizes at which the number of passes and their radices change, against the CPU.
#[test]
fn transforms_of_every_plan_are_the_cpus() {
    let Some(backend) = device() else { return };
    for log_size in 10..=20 {
        let values = scalars(1 << log_size, log_size);
        for transform in [
            Transform::Forward,
            Transform::Inverse,
            Transform::CosetForward,
            Transform::CosetInverse,
        ] {
            let mut wanted = values.clone();
            CpuBackend.ntt(&mut wanted, transform).unwrap();
            let mut vector = backend.upload(values.clone()).unwrap();
            backend.ntt(&mut vector, transform).unwrap();
            assert!(
                backend.download(vector).unwrap() == wanted,
                "2^{log_size} {transform:?}"
            );
        }
    }
}

#[test]
fn quotients_of_every_plan_are_the_cpus() {
    let Some(backend) = device() else { return };
    for log_size in [11, 12, 18, 19, 20] {
        let [a, b] = [1, 2].map(|seed| scalars(1 << log_size, seed));
        let wanted = CpuBackend.quotient(Evaluations {
            a: a.clone(),
            b: b.clone(),
        });
        let evaluations = Evaluations {
            a: backend.upload(a).unwrap(),
            b: backend.upload(b).unwrap(),
        };
        let found = backend.download(backend.quotient(evaluations).unwrap());
        assert!(found.unwrap() == wanted.unwrap(), "2^{log_size}");
    }
}

/// Many scalars of the kinds that fill buckets unevenly, against the CPU.
fn large_multiplications_conform<G: Group>(sizes: &[usize]) {
    let Some(backend) = device() else { return };
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let base = G::Affine::generator();
    let points = CpuBackend
        .fixed_base::<G>(&base, &scalars(largest, 1))
        .unwrap();
    assert!(
        backend
            .fixed_base::<G>(&base, &scalars(largest, 1))
            .unwrap()
            == points
    );
    for &size in sizes {
        let encoded = EncodedPoints::<G>::encode(&points[..size]);
        let bases = backend.load_bases(encoded.clone()).unwrap();
        let mut rng = rng(size as u64);
        let cases = [
            ("random", scalars(size, 2)),
            ("one bucket", vec![Fr::from(77); size]),
            ("all r - 1", vec![-Fr::ONE; size]),
            (
                "bits",
                (0..size)
                    .map(|_| Fr::from(u64::from(rng.next_u32() & 1)))
                    .collect(),
            ),
            (
                "few values",
                (0..size)
                    .map(|i| Fr::from(i as u64 % 3) - Fr::ONE)
                    .collect(),
            ),
        ];
        for (case, scalars) in cases {
            let wanted = CpuBackend.msm::<G>(&encoded, &scalars).unwrap();
            let found = backend
                .msm::<G>(&bases, &backend.upload(scalars).unwrap())
                .unwrap();
            assert!(found == wanted, "{} {size}, {case}", G::NAME);
        }
    }
}

#[test]
fn large_multiplications_in_g1_conform() {
    large_multiplications_conform::<G1>(&[65_535, 65_536, 65_537, (1 << 18) + 1]);
}

#[test]
fn large_multiplications_in_g2_conform() {
    large_multiplications_conform::<G2>(&[4095, 4097, 32_769]);
}

fn compiled(circuit: StepCircuit) -> (Pce, Arc<PackedWitness>) {
    let pce = Pce::record(circuit.to_blank()).unwrap();
    let mut cs = WitnessCS::default();
    synthesize(circuit, &mut cs).unwrap();
    let witness = pce.pack(cs.into_assignment()).unwrap();
    (pce, Arc::new(witness))
}

#[test]
fn matrices_conform() {
    let Some(backend) = device() else { return };
    for count in [0, 1, 7, 33, 64, 700, 3000] {
        let steps = (0..count).map(|i| match i % 7 {
            0 => Step::Aux(i as u64 * 0x1234_5678),
            1 => Step::Product(vec![(i, 3), (i / 2, -1)], vec![(i / 3, 1)]),
            2 => Step::Input(i as u64),
            _ => Step::Bit(i % 3 == 0),
        });
        let (pce, witness) = compiled(StepCircuit {
            steps: steps.collect(),
            blank: false,
        });
        conformance::matrices(&backend, pce.r1cs(), &witness, &mut rng(6)).unwrap();
    }
}

#[test]
fn escapes_conform() {
    let Some(backend) = device() else { return };
    let (pce, _) = compiled(StepCircuit {
        steps: (0..200).map(|i| Step::Bit(i % 2 == 0)).collect(),
        blank: false,
    });
    let aux = (0..200u64).map(|i| Fr::from(if i % 67 == 3 { i } else { i % 2 }));
    let witness = pce.pack(Assignment::new(vec![Fr::ONE], aux)).unwrap();
    assert_eq!(witness.escapes().len(), 3);
    conformance::matrices(&backend, pce.r1cs(), &Arc::new(witness), &mut rng(7)).unwrap();
}

/// Device memory after a round of every operation is what it was after the first.
#[test]
fn memory_stays_flat() {
    let Some(backend) = device() else { return };
    let mut free = Vec::new();
    for _ in 0..3 {
        let mut vector = backend.upload(scalars(1 << 12, 3)).unwrap();
        backend.ntt(&mut vector, Transform::CosetForward).unwrap();
        let points = vec![PrimeCurveAffine::generator(); 1 << 12];
        let bases = backend
            .load_bases(EncodedPoints::<G1>::encode(&points))
            .unwrap();
        backend.msm::<G1>(&bases, &vector).unwrap();
        drop((vector, bases));
        backend.stream().synchronize().unwrap();
        let device = backend.device();
        free.push(device.memory().0);
    }
    assert_eq!(free[1], free[2]);
}
