//! Keys and proofs are bellperson's: read by it, verified by it, and equal to its own for the same randomness.

use bellperson::groth16 as peer;
use blstrs::Bls12;
use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_witness::{Synthesis, SynthesisCS, WitnessCS};
use cuzk_curve::encoding::EncodingError;
use cuzk_curve::{Bytes, Fr, G1Affine, G2Affine};
use cuzk_groth16::{
    Blinding, Groth16Error, PreparedVerifyingKey, Proof, ProofError, Prover, keygen, verify,
    verify_batch,
};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_r1cs::{PackedWitness, R1csError, synthesize};
use cuzk_testing::circuits::{Cubic, Step, StepCircuit, step_circuits};
use cuzk_testing::oracle::FullSynthesis;
use ff::Field;
use proptest::prelude::*;
use proptest::test_runner::Config;
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use std::path::Path;

fn rng() -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(7)
}

/// A key made by bellperson, in both forms.
fn peer_key(
    circuit: impl bellperson::Circuit<Fr>,
) -> Option<(peer::Parameters<Bls12>, Parameters)> {
    let key = match peer::generate_random_parameters::<Bls12, _, _>(circuit, &mut rng()) {
        Ok(key) => key,
        // bellperson refuses a circuit with a variable that no constraint holds.
        Err(bellperson::SynthesisError::UnconstrainedVariable) => return None,
        Err(error) => panic!("{error}"),
    };
    let mut bytes = Vec::new();
    key.write(&mut bytes).unwrap();
    let ours = Parameters::from_bytes(Path::new("peer.params"), &Bytes::new(bytes)).unwrap();
    Some((key, ours))
}

fn synthesis(circuit: impl bellperson::Circuit<Fr>) -> Result<Synthesis, R1csError> {
    let mut cs = SynthesisCS::default();
    synthesize(circuit, &mut cs)?;
    cs.finish()
}

/// A proof without a compiled circuit.
fn prove_by_synthesis(
    circuit: impl bellperson::Circuit<Fr>,
    key: &Parameters,
    blinding: &Blinding,
) -> [u8; 192] {
    let synthesis = synthesis(circuit).unwrap();
    let outline = synthesis.outline();
    let prover = Prover::without_matrices(CpuBackend, &outline, key).unwrap();
    let witness = synthesis.pack(&outline).unwrap();
    let pending = prover.start(witness, blinding.clone()).unwrap();
    pending.finish().unwrap().to_bytes()
}

fn prove_both<C: bellperson::Circuit<Fr> + Send + Clone>(
    blank: C,
    circuit: C,
    blinding: &Blinding,
) -> Option<([u8; 192], [u8; 192])> {
    let pce = Pce::record(blank.clone()).unwrap();
    let (theirs, ours) = peer_key(blank)?;
    let prover = Prover::new(CpuBackend, &pce, &ours).unwrap();
    let witness = prover.witness(circuit.clone()).unwrap();
    let proved = prover
        .start(witness, blinding.clone())
        .unwrap()
        .finish()
        .unwrap();
    let synthesised = prove_by_synthesis(circuit.clone(), &ours, blinding);
    assert_eq!(synthesised, proved.to_bytes());
    let proof = peer::create_proof(circuit, &theirs, blinding.r, blinding.s).unwrap();
    let mut bytes = [0; 192];
    proof.write(&mut bytes[..]).unwrap();
    Some((proved.to_bytes(), bytes))
}

proptest! {
    #![proptest_config(Config { cases: 40, ..Config::default() })]

    #[test]
    fn proof_bytes_equal_bellpersons(circuit in step_circuits(40), seed in any::<u64>()) {
        let blinding = Blinding::random(&mut ChaCha12Rng::seed_from_u64(seed));
        if let Some((ours, theirs)) = prove_both(circuit.to_blank(), circuit, &blinding) {
            prop_assert_eq!(ours.to_vec(), theirs.to_vec());
        }
    }

    #[test]
    fn keys_and_proofs_round_trip(circuit in step_circuits(40)) {
        let pce = Pce::record(circuit.to_blank()).unwrap();
        let key = match keygen::in_memory(&CpuBackend, &pce, &mut rng()) {
            Ok(key) => key,
            Err(Groth16Error::Unconstrained { index }) => {
                prop_assert!(index < pce.shape.aux);
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        let public = FullSynthesis::<false>::of(circuit.clone()).unwrap().inputs.split_off(1);
        let prover = Prover::new(CpuBackend, &pce, &key).unwrap();
        let proof = prover.prove(circuit).unwrap();
        prop_assert_eq!(&Proof::from_bytes(&proof.to_bytes()).unwrap(), &proof);
        prop_assert!(verify(prover.verifying_key(), &proof, &public).unwrap());

        let mut vk = Vec::new();
        vk.extend_from_slice(&key.vk().to_bytes());
        let theirs = peer::VerifyingKey::<Bls12>::read(&vk[..]).unwrap();
        let theirs = peer::prepare_verifying_key(&theirs);
        let read = peer::Proof::<Bls12>::read(&proof.to_bytes()[..]).unwrap();
        prop_assert!(peer::verify_proof(&theirs, &read, &public).unwrap());
    }
}

#[test]
fn circuits_at_the_edges_prove() {
    let circuit = |steps: Vec<Step>| StepCircuit {
        steps,
        blank: false,
    };
    let bits = |n: usize| circuit((0..n).map(|i| Step::Bit(i.is_multiple_of(2))).collect());
    for (name, circuit) in [
        ("no constraints, no aux", circuit(vec![])),
        (
            "inputs alone",
            circuit(vec![Step::Input(2), Step::Input(0), Step::Input(1)]),
        ),
        ("B all zero", circuit(vec![Step::Empty, Step::Cancel(0)])),
        ("domain exactly full", bits(127)),
        ("domain just over", bits(128)),
    ] {
        let blinding = Blinding::random(&mut rng());
        let (ours, theirs) = prove_both(circuit.to_blank(), circuit, &blinding).unwrap();
        assert_eq!(ours, theirs, "{name}");
    }
}

/// One outline serves other values than those that it was taken from, which escape where they are no bits.
#[test]
fn an_outline_serves_every_witness() {
    let steps = |values: [u64; 2]| StepCircuit {
        steps: vec![
            Step::Aux(values[0]),
            Step::Aux(values[1]),
            Step::Product(vec![(0, 1), (1, 1)], vec![(1, 1), (2, 1)]),
        ],
        blank: false,
    };
    let pce = Pce::record(steps([0, 0]).to_blank()).unwrap();
    let key = keygen::in_memory(&CpuBackend, &pce, &mut rng()).unwrap();
    let outline = synthesis(steps([1, 7])).unwrap().outline();
    let prover = Prover::without_matrices(CpuBackend, &outline, &key).unwrap();
    let compiled = Prover::new(CpuBackend, &pce, &key).unwrap();
    for values in [[1, 7], [0, 0], [5, 1], [8, 9]] {
        let blinding = Blinding::random(&mut rng());
        let prove = |prover: &Prover<_>, witness: PackedWitness| {
            let pending = prover.start(witness, blinding.clone()).unwrap();
            pending.finish().unwrap().to_bytes()
        };
        let witness = synthesis(steps(values)).unwrap().pack(&outline).unwrap();
        let escapes = usize::from(values[0] > 1);
        assert!(witness.escapes().len() >= escapes, "{values:?}");
        let wanted = compiled.witness(steps(values)).unwrap();
        assert!(witness.size_bytes() > wanted.size_bytes());
        assert_eq!(prove(&prover, witness), prove(&compiled, wanted));
    }
}

#[test]
fn what_a_synthesis_is_refused_for() {
    let (prover, pce) = cubic();
    let cubic = |x: u64| Cubic {
        x: Some(Fr::from(x)),
    };
    let outline = synthesis(cubic(3)).unwrap().outline();
    let key = keygen::in_memory(&CpuBackend, &pce, &mut rng()).unwrap();
    let without = Prover::without_matrices(CpuBackend, &outline, &key).unwrap();
    assert!(prover.r1cs().is_some() && without.r1cs().is_none());
    let refused = without.witness(cubic(3)).unwrap_err();
    assert!(matches!(refused, Groth16Error::NoMatrices), "{refused}");
    let mut cs = WitnessCS::default();
    synthesize(cubic(3), &mut cs).unwrap();
    let bare = cs.into_assignment().pack_by(outline.classes()).unwrap();
    let pending = without.start(bare, Blinding::random(&mut rng())).unwrap();
    let refused = pending.finish().unwrap_err();
    assert!(matches!(refused, Groth16Error::NoMatrices), "{refused}");
    let other = StepCircuit {
        steps: vec![Step::Bit(true); 3],
        blank: false,
    };
    let refused = synthesis(other).unwrap().pack(&outline).unwrap_err();
    assert!(matches!(refused, R1csError::Count { .. }), "{refused}");
    let refused = synthesis(WrongSum).unwrap_err();
    assert!(
        matches!(refused, R1csError::Unsatisfied { constraint: 1, .. }),
        "{refused}"
    );
}

/// Two constraints, the second of which does not hold.
struct WrongSum;

impl bellperson::Circuit<Fr> for WrongSum {
    fn synthesize<CS: bellperson::ConstraintSystem<Fr>>(
        self,
        cs: &mut CS,
    ) -> Result<(), bellperson::SynthesisError> {
        let x = cs.alloc(|| "x", || Ok(Fr::from(3)))?;
        let one = |lc| lc + CS::one();
        let three = |lc| lc + (Fr::from(3), CS::one());
        cs.enforce(|| "right", |lc| lc + x, one, three);
        cs.enforce(|| "wrong", |lc| lc + x, |lc| lc + x, three);
        cs.enforce(|| "wrong too", |lc| lc + x, |lc| lc, three);
        Ok(())
    }
}

#[test]
fn an_unused_variable_is_refused_a_key() {
    let circuit = StepCircuit {
        steps: vec![Step::Bit(true), Step::Aux(3)],
        blank: true,
    };
    let pce = Pce::record(circuit).unwrap();
    let refused = keygen::in_memory(&CpuBackend, &pce, &mut rng());
    assert!(matches!(
        refused,
        Err(Groth16Error::Unconstrained { index: 1 })
    ));
}

fn cubic() -> (Prover<CpuBackend>, Pce) {
    let pce = Pce::record(Cubic { x: None }).unwrap();
    let key = keygen::in_memory(&CpuBackend, &pce, &mut rng()).unwrap();
    (Prover::new(CpuBackend, &pce, &key).unwrap(), pce)
}

#[test]
fn a_wrong_witness_names_its_constraint_and_gives_no_proof() {
    let (prover, pce) = cubic();
    let oracle = FullSynthesis::<false>::of(Cubic {
        x: Some(Fr::from(3)),
    })
    .unwrap();
    let flip = |(j, value): (usize, &Fr)| if j == 2 { value + Fr::ONE } else { *value };
    let changed = oracle.aux.iter().enumerate().map(flip);
    let witness = pce
        .pack(cuzk_r1cs::Assignment::new(oracle.inputs.clone(), changed))
        .unwrap();
    let pending = prover.start(witness, Blinding::random(&mut rng())).unwrap();
    let error = pending.finish().unwrap_err();
    assert!(
        matches!(
            error,
            Groth16Error::R1cs(R1csError::Unsatisfied { constraint: 1, .. })
        ),
        "{error}"
    );
}

#[test]
fn a_key_of_the_same_shape_for_another_circuit_gives_no_proof() {
    // x^3 + x + 5 against a key for the same shape with other values: the coefficient 5 is 6 there.
    #[derive(Clone)]
    struct Other;
    impl bellperson::Circuit<Fr> for Other {
        fn synthesize<CS: bellperson::ConstraintSystem<Fr>>(
            self,
            cs: &mut CS,
        ) -> Result<(), bellperson::SynthesisError> {
            let none = || Err(bellperson::SynthesisError::AssignmentMissing);
            let x = cs.alloc(|| "x", none)?;
            let square = cs.alloc(|| "x^2", none)?;
            let cube = cs.alloc(|| "x^3", none)?;
            let y = cs.alloc_input(|| "y", none)?;
            cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
            cs.enforce(|| "cube", |lc| lc + square, |lc| lc + x, |lc| lc + cube);
            let six = (Fr::from(6), CS::one());
            cs.enforce(
                || "sum",
                |lc| lc + cube + x + six,
                |lc| lc + CS::one(),
                |lc| lc + y,
            );
            Ok(())
        }
    }
    let pce = Pce::record(Cubic { x: None }).unwrap();
    let other = Pce::record(Other).unwrap();
    assert_ne!(pce.hash, other.hash);
    let key = keygen::in_memory(&CpuBackend, &other, &mut rng()).unwrap();
    let prover = Prover::new(CpuBackend, &pce, &key).unwrap();
    let error = prover
        .prove(Cubic {
            x: Some(Fr::from(3)),
        })
        .unwrap_err();
    assert!(
        matches!(error, Groth16Error::Invalid { backend: "cpu" }),
        "{error}"
    );
}

#[test]
fn batches_are_valid_exactly_when_all_proofs_are() {
    let (prover, _) = cubic();
    let key: &PreparedVerifyingKey = prover.verifying_key();
    let prove = |x: u64| {
        prover
            .prove(Cubic {
                x: Some(Fr::from(x)),
            })
            .unwrap()
    };
    let output = |x: u64| vec![Cubic::output(Fr::from(x))];
    let proofs: Vec<(Proof, Vec<Fr>)> = (1..=4).map(|x| (prove(x), output(x))).collect();
    let batch = |items: &[(Proof, Vec<Fr>)]| {
        let pairs: Vec<_> = items.iter().map(|(p, i)| (p, i.as_slice())).collect();
        verify_batch(key, &pairs, &mut rng()).unwrap()
    };
    assert!(batch(&[]));
    for n in 1..=4 {
        assert!(batch(&proofs[..n]), "{n}");
    }
    for wrong in 0..4 {
        let mut changed = proofs.clone();
        changed[wrong].1[0] += Fr::ONE;
        assert!(!batch(&changed), "input of {wrong}");
        let mut swapped = proofs.clone();
        swapped[wrong].0 = proofs[(wrong + 1) % 4].0.clone();
        assert!(!batch(&swapped), "proof of {wrong}");
    }
    let error = verify(key, &proofs[0].0, &[]).unwrap_err();
    assert!(matches!(
        error,
        Groth16Error::PublicInputs {
            wanted: 1,
            found: 0
        }
    ));
}

fn proof_bytes() -> [u8; 192] {
    let circuit = Cubic {
        x: Some(Fr::from(3)),
    };
    cubic().0.prove(circuit).unwrap().to_bytes()
}

/// The points of a proof: name, first byte, bytes.
const POINTS: [(&str, usize, usize); 3] = [("A", 0, 48), ("B", 48, 96), ("C", 144, 48)];

/// What is wrong with the bytes of a proof's point, which must be the point of this name.
fn fault(name: &str, bytes: &[u8]) -> EncodingError {
    match Proof::from_bytes(bytes).unwrap_err() {
        ProofError::Point { point, source } if point == name => source,
        other => panic!("{name}: {other}"),
    }
}

#[test]
fn bytes_that_are_no_proof_are_refused() {
    let good = proof_bytes();
    for length in [0, 191, 193] {
        let mut bytes = good.to_vec();
        bytes.resize(length, 0);
        let error = Proof::from_bytes(&bytes).unwrap_err();
        assert_eq!(
            error,
            ProofError::Length {
                wanted: 192,
                found: length
            }
        );
    }
    for (name, at, size) in POINTS {
        let mut uncompressed = good;
        uncompressed[at] &= 0x7f;
        let found = uncompressed[at] & 0x60;
        let flags = EncodingError::Flags { found };
        assert_eq!(fault(name, &uncompressed), flags, "{name}");
        let mut infinity = good;
        infinity[at..at + size].fill(0);
        infinity[at] = 0xc0;
        assert_eq!(fault(name, &infinity), EncodingError::Infinity, "{name}");
        infinity[at + size - 1] = 1;
        let bits = EncodingError::InfinityBits;
        assert_eq!(fault(name, &infinity), bits, "{name}");
        for index in 0..size / 48 {
            let mut large = good;
            large[at + 48 * index..at + 48 * (index + 1)].fill(0xff);
            if index == 0 {
                large[at] = 0x9f;
            }
            let coordinate = EncodingError::Coordinate { index };
            assert_eq!(fault(name, &large), coordinate, "{name}");
        }
    }
}

/// Half of all x have no point, and the points of small x are outside the subgroup.
#[test]
fn points_of_small_x_are_no_proof() {
    let good = proof_bytes();
    for (name, at, size) in POINTS {
        let mut outside = 0;
        for low in 0..40u8 {
            let mut other = good;
            other[at..at + size].fill(0);
            other[at] = 0x80;
            other[at + size - 1] = low;
            let point = &other[at..at + size];
            let on_curve = match <&[u8; 48]>::try_from(point) {
                // blst has no point for x = 0, but (0, 2) is one.
                Ok(point) => {
                    low == 0 || G1Affine::from_compressed_unchecked(point).is_some().into()
                }
                Err(_) => G2Affine::from_compressed_unchecked(point.try_into().unwrap())
                    .is_some()
                    .into(),
            };
            let expected = if on_curve {
                outside += 1;
                EncodingError::OutsideSubgroup
            } else {
                EncodingError::OffCurve
            };
            assert_eq!(fault(name, &other), expected, "{name}: x = {low}");
        }
        assert!(
            (10..=30).contains(&outside),
            "{name}: {outside} of 40 x have a point"
        );
    }
}

#[test]
fn a_key_without_a_point_for_one_is_refused() {
    let (prover, pce) = cubic();
    let proof = prover
        .prove(Cubic {
            x: Some(Fr::from(3)),
        })
        .unwrap();
    let key = keygen::in_memory(&CpuBackend, &pce, &mut rng()).unwrap();
    let mut vk = key.vk().clone();
    vk.ic.clear();
    let prepared = PreparedVerifyingKey::from(&vk);
    for public in [&[][..], &[Fr::ONE]] {
        let error = verify(&prepared, &proof, public).unwrap_err();
        assert!(matches!(error, Groth16Error::EmptyKey), "{error}");
        let error = verify_batch(&prepared, &[(&proof, public)], &mut rng()).unwrap_err();
        assert!(matches!(error, Groth16Error::EmptyKey), "{error}");
    }
}

#[test]
fn dropping_a_pending_proof_leaves_the_prover_usable() {
    let (prover, _) = cubic();
    let circuit = || Cubic {
        x: Some(Fr::from(3)),
    };
    for _ in 0..8 {
        let witness = prover.witness(circuit()).unwrap();
        drop(prover.start(witness, Blinding::random(&mut rng())).unwrap());
    }
    prover.prove(circuit()).unwrap();
}
