//! Development keys against bellperson's generator, byte for byte.

use std::path::Path;

use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use bellperson::groth16::generate_parameters;
use cuzk_backend::{BackendError, FixedBase};
use cuzk_curve::{Bls12, Fr, Group};
use cuzk_groth16::Groth16Error;
use cuzk_groth16::keygen::{ToxicWaste, in_memory, in_memory_with, write_with};
use cuzk_params::{DevelopmentMark, Parameters, PointCheck, VerifyingKey};
use cuzk_pce::Pce;
use cuzk_testing::circuits::{Step, StepCircuit, step_circuits};
use ff::Field;
use group::Curve;
use group::prime::PrimeCurveAffine;
use proptest::prelude::*;
use rand_chacha::ChaCha12Rng;
use rand_core::SeedableRng;

/// One multiplication after the other.
struct Naive;

impl FixedBase for Naive {
    fn fixed_base<G: Group>(
        &self,
        base: &G::Affine,
        scalars: &[Fr],
    ) -> Result<Vec<G::Affine>, BackendError> {
        let base = base.to_curve();
        Ok(scalars
            .iter()
            .map(|scalar| (base * *scalar).to_affine())
            .collect())
    }
}

fn toxic(seed: u64) -> ToxicWaste {
    ToxicWaste::sample(&mut ChaCha12Rng::seed_from_u64(seed))
}

/// bellperson's key file, or its refusal.
fn peer<C: Circuit<Fr>>(circuit: C, toxic: &ToxicWaste) -> Result<Vec<u8>, SynthesisError> {
    let (g1, g2) = (toxic.g1, toxic.g2);
    let (alpha, beta, gamma, delta) = (toxic.alpha, toxic.beta, toxic.gamma, toxic.delta);
    let tau = toxic.tau;
    let key = generate_parameters::<Bls12, _>(circuit, g1, g2, alpha, beta, gamma, delta, tau)?;
    let mut bytes = Vec::new();
    key.write(&mut bytes).expect("written to memory");
    Ok(bytes)
}

/// Compares the files for a circuit; whether there is a key.
fn compare(circuit: &StepCircuit, seed: u64) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("key.params");
    let toxic = toxic(seed);
    let pce = Pce::record(circuit.to_blank()).expect("recorded");
    let mut last = 0.0;
    let ours = write_with(&Naive, &pce, &file, &toxic, &mut |part| last = part);
    match (ours, peer(circuit.to_blank(), &toxic)) {
        (Ok(vk), Ok(bytes)) => {
            assert_eq!(std::fs::read(&file).expect("the key"), bytes);
            let beside = VerifyingKey::read(&file.with_extension("vk")).expect("the .vk");
            assert_eq!(beside, vk);
            let mark = DevelopmentMark::read(&file)
                .expect("the mark")
                .expect("is there");
            assert_eq!(mark.shape_hash, pce.r1cs().hash.to_string());
            let key = Parameters::open(&file).expect("opened");
            key.check_points(PointCheck::Subgroup, &mut |_, _| {})
                .expect("good points");
            let b = pce.r1cs().density().expect("decodes").b();
            assert_eq!(key.b_g1().len(), b.len());
            assert_eq!(
                last,
                if key.l().is_empty() && key.h().is_empty() {
                    last
                } else {
                    1.0
                }
            );
            true
        }
        (Err(Groth16Error::Unconstrained { .. }), Err(SynthesisError::UnconstrainedVariable)) => {
            assert!(!file.exists(), "no key");
            false
        }
        (ours, peer) => panic!(
            "ours {ours:?}, bellperson's {:?}",
            peer.map(|bytes| bytes.len())
        ),
    }
}

fn circuit(steps: Vec<Step>) -> StepCircuit {
    StepCircuit { steps, blank: true }
}

#[test]
fn small_circuits() {
    let product = || Step::Product(vec![(0, 1), (1, 5)], vec![(2, -1), (3, 7)]);
    // Domains of 1, 2, 4, 8 and their neighbours.
    assert!(compare(&circuit(vec![]), 1));
    assert!(compare(&circuit(vec![Step::Empty]), 1));
    assert!(compare(&circuit(vec![Step::Input(3), Step::Input(0)]), 1));
    for count in 1..9 {
        assert!(compare(&circuit(vec![Step::Bit(true); count]), 2));
        let products = (0..count).map(|_| product());
        let steps = [Step::Input(3), Step::Bit(true)]
            .into_iter()
            .chain(products)
            .collect();
        assert!(compare(&circuit(steps), 3), "{count}");
    }
    // A row whose terms cancel leaves its variable out of the query.
    assert!(compare(
        &circuit(vec![Step::Bit(true), Step::Cancel(1), Step::Empty]),
        4
    ));
}

#[test]
fn an_aux_variable_that_nothing_constrains() {
    assert!(!compare(&circuit(vec![Step::Bit(true), Step::Aux(3)]), 5));
    let pce = Pce::record(circuit(vec![Step::Bit(true), Step::Aux(3)])).expect("recorded");
    let error = in_memory_with(&Naive, &pce, &toxic(5)).expect_err("refused");
    assert!(
        matches!(error, Groth16Error::Unconstrained { index: 1 }),
        "{error}"
    );
}

#[test]
fn more_rows_than_a_block() {
    let steps = (0..1500usize).map(|i| match i % 3 {
        0 => Step::Bit(true),
        1 => Step::Product(vec![(i, 3), (i / 2, -1)], vec![(i / 3, 1), (0, 9)]),
        _ => Step::Product(vec![(i / 5, 1)], vec![(i, -1)]),
    });
    assert!(compare(&circuit(steps.collect()), 6));
}

#[test]
fn secrets_that_make_no_key() {
    let pce = Pce::record(circuit(vec![Step::Bit(true); 3])).expect("recorded");
    let good = toxic(7);
    let bad = [
        ToxicWaste {
            alpha: Fr::ZERO,
            ..good
        },
        ToxicWaste {
            beta: Fr::ZERO,
            ..good
        },
        ToxicWaste {
            gamma: Fr::ZERO,
            ..good
        },
        ToxicWaste {
            delta: Fr::ZERO,
            ..good
        },
        ToxicWaste {
            delta: good.gamma,
            ..good
        },
        ToxicWaste {
            tau: Fr::ZERO,
            ..good
        },
        ToxicWaste {
            tau: Fr::ONE,
            ..good
        },
        ToxicWaste {
            tau: -Fr::ONE,
            ..good
        },
        ToxicWaste {
            g1: group::Group::identity(),
            ..good
        },
    ];
    for toxic in bad {
        let error = in_memory_with(&Naive, &pce, &toxic).expect_err("refused");
        assert!(matches!(error, Groth16Error::Toxic { .. }), "{error}");
    }
}

#[test]
fn keys_differ_from_call_to_call() {
    let pce = Pce::record(circuit(vec![Step::Bit(true)])).expect("recorded");
    let mut rng = ChaCha12Rng::seed_from_u64(8);
    let mut key = || {
        in_memory(&Naive, &pce, &mut rng)
            .expect("a key")
            .vk()
            .clone()
    };
    assert_ne!(key(), key());
}

/// Wiring that the steps of generated circuits do not have: inputs in B and C, and variables in C alone.
struct InputsEverywhere;

impl Circuit<Fr> for InputsEverywhere {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let missing = || Err(SynthesisError::AssignmentMissing);
        let x = cs.alloc_input(|| "x", missing)?;
        let y = cs.alloc(|| "y", missing)?;
        let z = cs.alloc_input(|| "z", missing)?;
        cs.enforce(
            || "in b",
            |lc| lc + y,
            |lc| lc + x + (Fr::from(3), z),
            |lc| lc + x,
        );
        let only_c = cs.alloc(|| "only in c", missing)?;
        cs.enforce(
            || "in c",
            |lc| lc,
            |lc| lc + CS::one(),
            |lc| lc + only_c - z,
        );
        Ok(())
    }
}

#[test]
fn inputs_in_all_matrices() {
    let toxic = toxic(9);
    let pce = Pce::record(InputsEverywhere).expect("recorded");
    let bytes = peer(InputsEverywhere, &toxic).expect("a key");
    let theirs = Parameters::from_bytes(Path::new("peer"), &bytes.into()).expect("opened");
    let ours = in_memory_with(&Naive, &pce, &toxic).expect("a key");
    assert_eq!(ours.vk(), theirs.vk());
    for (ours, theirs) in [
        (ours.h(), theirs.h()),
        (ours.l(), theirs.l()),
        (ours.a(), theirs.a()),
        (ours.b_g1(), theirs.b_g1()),
    ] {
        assert_eq!(**ours.bytes(), **theirs.bytes());
    }
    assert_eq!(**ours.b_g2().bytes(), **theirs.b_g2().bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn generated_circuits(circuit in step_circuits(30), seed in any::<u64>()) {
        compare(&circuit, seed);
    }

    /// Every aux variable is a bit, so that there is always a key.
    #[test]
    fn generated_circuits_without_free_variables(circuit in step_circuits(30), seed in any::<u64>()) {
        let bits = circuit.steps.into_iter().map(|step| match step {
            Step::Aux(value) => Step::Bit(value % 2 == 1),
            Step::Child(_) => Step::Bit(true),
            step => step,
        });
        let made = compare(&StepCircuit { steps: bits.collect(), blank: true }, seed);
        prop_assert!(made, "a key");
    }
}
