//! The CUDA backend is held to the oracles of every backend, on device 0.
//!
//! On a system without a device, or built without kernels, what is checked is that the backend says so.

mod device;

use std::ops::RangeInclusive;
use std::sync::Arc;

use cuzk_backend::{
    Backend, Evaluations, FixedBase, MatVec, Msm, Ntt, Transform, Vectors, conformance,
};
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::CudaBackend;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::{EncodedPoints, Fr, G1, G2, Group};
use cuzk_pce::Pce;
use cuzk_r1cs::{Assignment, Density, PackedWitness, synthesize};
use cuzk_testing::circuits::{Step, StepCircuit};
use ff::Field;
use group::prime::PrimeCurveAffine;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The backend on device 0, where there is one.
fn device() -> Option<CudaBackend> {
    device::usable(CudaBackend::open(0))
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

/// Sizes at which the number of passes and their radices change, against the CPU; with little memory few roots are looked
/// up, and the others are products.
#[test]
fn transforms_of_every_plan_are_the_cpus() {
    let Some(backend) = device() else { return };
    transforms_are_the_cpus(&backend, 10..=22);
    let small = CudaBackend::open_within(0, Some(512 << 20)).unwrap();
    transforms_are_the_cpus(&small, 19..=21);
}

fn transforms_are_the_cpus(backend: &CudaBackend, log_sizes: RangeInclusive<u32>) {
    for log_size in log_sizes {
        let values = scalars(1 << log_size, log_size.into());
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
    for log_size in [10, 11, 12, 18, 19, 20, 22] {
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

/// Scalars of the kinds that fill buckets unevenly.
fn scalar_cases(size: usize) -> Vec<(&'static str, Vec<Fr>)> {
    let mut rng = rng(size as u64);
    let bits = (0..size).map(|_| Fr::from(u64::from(rng.next_u32() & 1)));
    let bits = bits.collect();
    let few = (0..size).map(|i| Fr::from(i as u64 % 3) - Fr::ONE);
    vec![
        ("random", scalars(size, 2)),
        ("one bucket", vec![Fr::from(77); size]),
        ("all zero", vec![Fr::ZERO; size]),
        ("all one", vec![Fr::ONE; size]),
        ("all r - 1", vec![-Fr::ONE; size]),
        ("bits", bits),
        ("few values", few.collect()),
    ]
}

fn multiplication_is_the_cpus<G: Group>(
    backend: &CudaBackend,
    encoded: &EncodedPoints<G>,
    cases: Vec<(&'static str, Vec<Fr>)>,
) {
    let most_tables = [1, u32::MAX];
    let bases = most_tables.map(|most| backend.load_bases_with_tables(encoded, most).unwrap());
    for (case, scalars) in cases {
        let wanted = CpuBackend.msm::<G>(encoded, &scalars).unwrap();
        let scalars = backend.upload(scalars).unwrap();
        for bases in &bases {
            let found = backend.msm::<G>(bases, &scalars).unwrap();
            let plan = bases.plan();
            assert!(
                found == wanted,
                "{} {}, {case}, {plan:?}",
                G::NAME,
                encoded.len()
            );
        }
    }
}

/// Many scalars and points of the kinds that matter, with and without tables, against the CPU.
fn large_multiplications_conform<G: Group>(sizes: &[usize]) {
    let Some(backend) = device() else { return };
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let base = G::Affine::generator();
    let points = CpuBackend
        .fixed_base::<G>(&base, &scalars(largest, 1))
        .unwrap();
    for &size in sizes {
        let found = backend.fixed_base::<G>(&base, &scalars(size, 1)).unwrap();
        assert!(
            found == points[..size],
            "{} {size}, multiples of a base",
            G::NAME
        );
        let encoded = EncodedPoints::<G>::encode(&points[..size]);
        multiplication_is_the_cpus(&backend, &encoded, scalar_cases(size));
        let signed = |i: usize| if i.is_multiple_of(2) { base } else { -base };
        let with_infinity = |i: usize| match i % 3 {
            0 => G::Affine::identity(),
            _ => points[i],
        };
        for (case, points) in [
            ("all bases equal", vec![base; size]),
            ("P and -P", (0..size).map(signed).collect()),
            ("infinities", (0..size).map(with_infinity).collect()),
        ] {
            let encoded = EncodedPoints::<G>::encode(&points);
            let cases = vec![(case, scalars(size, 3)), (case, vec![Fr::from(9); size])];
            multiplication_is_the_cpus(&backend, &encoded, cases);
        }
    }
}

#[test]
fn large_multiplications_in_g1_conform() {
    let sizes = [65_535, 65_536, 65_537, (1 << 20) - 1, (1 << 20) + 1];
    large_multiplications_conform::<G1>(&sizes);
}

#[test]
fn multiplications_of_four_million_points_conform() {
    large_multiplications_conform::<G1>(&[1 << 22]);
}

#[test]
fn large_multiplications_in_g2_conform() {
    let sizes = [31, 32, 237, 511, 512, 513, 65_535, 65_536, 65_537];
    large_multiplications_conform::<G2>(&sizes);
    for size in [(1 << 20) - 1, (1 << 20) + 1, 1 << 22] {
        repeated_points_conform::<G2>(size);
    }
}

/// Points that repeat, so that the CPU adds up the scalars of each: random ones, equal ones, opposite ones, infinities.
fn repeated_points_conform<G: Group>(size: usize) {
    let Some(backend) = device() else { return };
    let distinct = 1 << 10;
    let base = G::Affine::generator();
    let random = backend.fixed_base::<G>(&base, &scalars(distinct, 1));
    let random = random.unwrap();
    let point = |i: usize| match i % 8 {
        0 => base,
        1 => -base,
        2 => G::Affine::identity(),
        _ => random[i],
    };
    let points: Vec<G::Affine> = (0..distinct).map(point).collect();
    let few = EncodedPoints::<G>::encode(&points);
    let mut bytes = few.bytes().repeat(size.div_ceil(distinct));
    bytes.truncate(size * G::UNCOMPRESSED_BYTES);
    let encoded = EncodedPoints::<G>::new(bytes.into()).unwrap();
    for most_tables in [1, u32::MAX] {
        let bases = backend.load_bases_with_tables(&encoded, most_tables);
        let bases = bases.unwrap();
        for (case, scalars) in scalar_cases(size) {
            let sum = |i: usize| scalars[i..].iter().step_by(distinct).sum();
            let sums: Vec<Fr> = (0..distinct).map(sum).collect();
            let wanted = CpuBackend.msm::<G>(&few, &sums).unwrap();
            let scalars = backend.upload(scalars).unwrap();
            let found = backend.msm::<G>(&bases, &scalars).unwrap();
            let plan = bases.plan();
            assert!(found == wanted, "{} {size}, {case}, {plan:?}", G::NAME);
        }
    }
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

/// Three bits, then a product of what came before.
fn large_circuit(count: usize) -> StepCircuit {
    let steps = (0..count).map(|i| match i % 4 {
        _ if i == 0 => Step::Aux(0x1234_5678),
        3 => Step::Product(vec![(i - 1, 3), (i / 2, -1)], vec![(i / 3, 1)]),
        _ => Step::Bit(i % 3 == 0),
    });
    StepCircuit {
        steps: steps.collect(),
        blank: false,
    }
}

fn products<B: Backend>(backend: &B, pce: &Pce, witness: &Arc<PackedWitness>) -> [Vec<Fr>; 2] {
    let matrices = backend.load_matrices(Arc::clone(pce.r1cs())).unwrap();
    let witness = backend.load_witness(Arc::clone(witness)).unwrap();
    let found = backend.mat_vec(&matrices, &witness).unwrap();
    [found.a, found.b].map(|values| backend.download(values).unwrap())
}

/// With half of the budget in use no rows become resident, and the products are the same.
#[test]
fn matrices_beyond_the_budget_are_streamed() {
    if device().is_none() {
        return;
    }
    let budget = 512 << 20;
    let small = CudaBackend::open_within(0, Some(budget)).unwrap();
    let (available, _) = small.device().memory();
    let filler = small.stream().alloc::<u8>(available - budget / 2).unwrap();
    for count in [1, 700, 65_537, (1 << 20) + 1] {
        let (pce, witness) = compiled(large_circuit(count));
        let wanted = products(&CpuBackend, &pce, &witness);
        assert!(products(&small, &pce, &witness) == wanted, "{count} steps");
        let matrices = small.load_matrices(Arc::clone(pce.r1cs())).unwrap();
        // Coefficients and classes are there; of the rows, 40 bytes each and more, nothing is.
        let taken = budget / 2 - small.device().memory().0;
        assert!(taken < 4096 + count, "{taken} bytes for {count} steps");
        drop(matrices);
    }
    drop(filler);
}

/// Products of large circuits and sums over their variables, against the CPU.
#[test]
fn large_matrices_conform() {
    let Some(backend) = device() else { return };
    for count in [65_535, 65_536, 65_537, (1 << 20) - 1, (1 << 20) + 1] {
        let (pce, witness) = compiled(large_circuit(count));
        let wanted = products(&CpuBackend, &pce, &witness);
        let found = products(&backend, &pce, &witness);
        assert!(found == wanted, "{count} steps");
        queries_are_the_cpus::<G1>(&backend, &pce, &witness);
        if count == 65_537 {
            queries_are_the_cpus::<G2>(&backend, &pce, &witness);
        }
    }
}

/// Sums over a circuit's variables, of points alone and of sums of two and of four neighbours.
fn queries_are_the_cpus<G: Group>(backend: &CudaBackend, pce: &Pce, packed: &Arc<PackedWitness>) {
    let on_cpu = CpuBackend.load_witness(Arc::clone(packed)).unwrap();
    let witness = backend.load_witness(Arc::clone(packed)).unwrap();
    let density = pce.r1cs().density().unwrap();
    for set in [density.a(pce.shape), density.b(), Density::l(pce.shape)] {
        let base = PrimeCurveAffine::generator();
        let points = backend.fixed_base::<G>(&base, &scalars(set.len(), 4));
        let encoded = EncodedPoints::<G>::encode(&points.unwrap());
        let set = Arc::new(set);
        let loaded =
            CpuBackend.load_query::<G>(encoded.clone(), Arc::clone(&set), pce.r1cs().classes());
        let wanted = CpuBackend.msm_query::<G>(&loaded.unwrap(), &on_cpu);
        let wanted = wanted.unwrap();
        for largest in [1, 2, 4] {
            let loaded = backend.load_query_with_clusters::<G>(
                encoded.clone(),
                &set,
                pce.r1cs().classes(),
                largest,
            );
            let found = backend.msm_query::<G>(&loaded.unwrap(), &witness).unwrap();
            let aux = pce.shape.aux;
            assert!(found == wanted, "{} of {aux}, sums of {largest}", G::NAME);
        }
    }
}

/// Values outside the class of bits, where points are alone and where they are kept with sums.
#[test]
fn escapes_conform() {
    let Some(backend) = device() else { return };
    for (count, escapes) in [(200, 3), (2000, 30)] {
        let (pce, _) = compiled(StepCircuit {
            steps: (0..count).map(|i| Step::Bit(i % 2 == 0)).collect(),
            blank: false,
        });
        let aux = (0..count as u64).map(|i| Fr::from(if i % 67 == 3 { i } else { i % 2 }));
        let witness = pce.pack(Assignment::new(vec![Fr::ONE], aux)).unwrap();
        assert_eq!(witness.escapes().len(), escapes);
        let witness = Arc::new(witness);
        conformance::matrices(&backend, pce.r1cs(), &witness, &mut rng(7)).unwrap();
        queries_are_the_cpus::<G1>(&backend, &pce, &witness);
        queries_are_the_cpus::<G2>(&backend, &pce, &witness);
    }
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
