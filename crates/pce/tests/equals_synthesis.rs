//! The PCE equals full synthesis, bit for bit, whatever the circuit.

use bellpepper_core::ConstraintSystem;
use cuzk_cs_recording::RecordingCS;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::{Bytes, Fr};
use cuzk_pce::{Pce, PceError};
use cuzk_r1cs::{Assignment, R1csError, Tally, synthesize};
use cuzk_testing::circuits::{Cubic, Step, StepCircuit, step_circuits};
use cuzk_testing::oracle::FullSynthesis;
use ff::Field;
use proptest::prelude::*;

fn witness(circuit: StepCircuit) -> Assignment {
    let mut cs = WitnessCS::default();
    synthesize(circuit, &mut cs).unwrap();
    cs.into_assignment()
}

fn file(pce: &Pce) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("circuit.pce");
    pce.write(&path).unwrap();
    std::fs::read(path).unwrap()
}

proptest! {
    #[test]
    fn pce_equals_synthesis(circuit in step_circuits(60)) {
        let sequential = FullSynthesis::<false>::of(circuit.clone()).unwrap();
        let extended = FullSynthesis::<true>::of(circuit.clone()).unwrap();
        prop_assert_eq!(&sequential.abc, &extended.abc);

        let pce = Pce::record(circuit.to_blank()).unwrap();
        prop_assert_eq!(pce.hash, Pce::record(circuit.clone()).unwrap().hash);
        prop_assert_eq!(pce.shape.inputs, sequential.inputs.len());
        prop_assert_eq!(pce.shape.aux, sequential.aux.len());
        prop_assert_eq!(pce.shape.constraints, sequential.abc[0].len());

        let assignment = witness(circuit);
        prop_assert_eq!(&assignment.inputs, &sequential.inputs);
        prop_assert_eq!(assignment.iter_aux().collect::<Vec<_>>(), sequential.aux);

        let packed = pce.pack(assignment).unwrap();
        prop_assert!(packed.escapes().is_empty());
        let found = pce.evaluate(&packed).unwrap();
        prop_assert_eq!(&pce.evaluate_single_threaded(&packed).unwrap(), &found);
        prop_assert_eq!([found.a, found.b, found.c], sequential.abc);
        pce.check(&packed).unwrap();
    }

    #[test]
    fn a_changed_value_is_found_where_synthesis_finds_it(
        circuit in step_circuits(40),
        which in any::<usize>(),
        delta in prop_oneof![Just(1u64), any::<u64>()],
    ) {
        let mut oracle = FullSynthesis::<false>::of(circuit.clone()).unwrap();
        prop_assume!(!oracle.aux.is_empty());
        let which = which % oracle.aux.len();
        oracle.aux[which] += Fr::from(delta);

        let changed = Assignment::new(oracle.inputs.clone(), oracle.aux.iter().copied());
        let pce = Pce::record(circuit.to_blank()).unwrap();
        let packed = pce.pack(changed).unwrap();
        let found = pce.evaluate(&packed).unwrap();
        let first = (0..found.a.len()).find(|&i| found.a[i] * found.b[i] != found.c[i]);
        match (pce.check(&packed), first) {
            (Ok(()), None) => {}
            (Err(R1csError::Unsatisfied { constraint, .. }), Some(first)) => {
                prop_assert_eq!(constraint, first);
            }
            (checked, first) => prop_assert!(false, "{checked:?}, first {first:?}"),
        }
    }

    #[test]
    fn files_round_trip(circuit in step_circuits(40)) {
        let pce = Pce::record(circuit.to_blank()).unwrap();
        let bytes = file(&pce);
        let read = Pce::from_bytes(Bytes::new(bytes.clone())).unwrap();
        prop_assert_eq!(read.hash, pce.hash);
        prop_assert_eq!(&read.coefficients, &pce.coefficients);
        prop_assert_eq!(read.density().unwrap(), pce.density().unwrap());
        prop_assert_eq!(file(&read), bytes);
        let packed = read.pack(witness(circuit)).unwrap();
        prop_assert_eq!(read.evaluate(&packed).unwrap(), pce.evaluate(&packed).unwrap());
    }

    #[test]
    fn damaged_files_are_refused(circuit in step_circuits(20), at in any::<usize>(), flip in 1u8..) {
        let mut bytes = file(&Pce::record(circuit.to_blank()).unwrap());
        let at = at % bytes.len();
        let cut = bytes[..at].to_vec();
        prop_assert!(Pce::from_bytes(Bytes::new(cut)).is_err());
        bytes[at] ^= flip;
        // Padding between sections belongs to no section, so a flip there changes nothing that is read.
        if let Ok(read) = Pce::from_bytes(Bytes::new(bytes)) {
            prop_assert_eq!(read.hash, Pce::record(circuit.to_blank()).unwrap().hash);
        }
    }
}

/// The case that crashed an earlier prover: an extensible synthesis whose children bring a ONE of their own, counted
/// once too often where recording and witness generation differ in where ONE comes from.
#[test]
fn children_do_not_bring_a_second_one() {
    let child = || Step::Child(vec![Step::Input(7), Step::Bit(true), Step::Aux(9)]);
    let steps = vec![Step::Input(3), child(), Step::Aux(4), child(), child()];
    let circuit = StepCircuit {
        steps,
        blank: false,
    };
    let pce = Pce::record(circuit.to_blank()).unwrap();
    let assignment = witness(circuit.clone());
    assert_eq!(assignment.inputs, [1, 3, 7, 7, 7].map(Fr::from));
    assert_eq!((pce.shape.inputs, pce.shape.aux), (5, 7));
    assert_eq!(assignment.aux_len(), 7);
    pce.check(&pce.pack(assignment).unwrap()).unwrap();
}

#[test]
fn a_constraint_system_that_is_not_empty_is_refused() {
    let mut cs = RecordingCS::default();
    assert_eq!(cs.counts().inputs, 0);
    cs.alloc_input(|| "one too many", || Ok(Fr::ONE)).unwrap();
    let refused = synthesize(Cubic { x: None }, &mut cs);
    assert!(matches!(
        refused,
        Err(R1csError::Count {
            wanted: 0,
            found: 1,
            ..
        })
    ));
}

#[test]
fn a_flipped_bit_is_named_with_its_values() {
    let pce = Pce::record(Cubic { x: None }).unwrap();
    let x = Fr::from(3);
    let oracle = FullSynthesis::<false>::of(Cubic { x: Some(x) }).unwrap();
    let flip = |(j, value): (usize, &Fr)| if j == 1 { value + Fr::ONE } else { *value };
    let changed = Assignment::new(oracle.inputs, oracle.aux.iter().enumerate().map(flip));
    let error = pce.check(&pce.pack(changed).unwrap()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("constraint 0 is not satisfied: a = 0x"),
        "{text}"
    );
    assert!(text.ends_with('a'), "c = 10 ends the message: {text}");
}

#[test]
fn circuits_at_the_edges_compile() {
    let step = |steps: Vec<Step>| StepCircuit {
        steps,
        blank: false,
    };
    let bits = |n: usize| step((0..n).map(|i| Step::Bit(i.is_multiple_of(2))).collect());
    for (name, circuit, aux) in [
        ("no constraints, no aux", step(vec![]), 0),
        (
            "inputs alone",
            step(vec![Step::Input(2), Step::Input(0)]),
            0,
        ),
        (
            "an unused variable",
            step(vec![Step::Aux(5), Step::Bit(true)]),
            2,
        ),
        ("B all zero", step(vec![Step::Empty, Step::Cancel(0)]), 0),
        ("one block less a row", bits(1023), 1023),
        ("one block", bits(1024), 1024),
        ("one block and a row", bits(1025), 1025),
    ] {
        let pce = Pce::record(circuit.to_blank()).unwrap();
        assert_eq!(pce.shape.aux, aux, "{name}");
        let packed = pce.pack(witness(circuit)).unwrap();
        pce.check(&packed).unwrap();
        let read = Pce::from_bytes(Bytes::new(file(&pce))).unwrap();
        assert_eq!(
            read.evaluate(&packed).unwrap(),
            pce.evaluate(&packed).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn bits_are_packed_and_others_escape() {
    let steps = vec![
        Step::Bit(true),
        Step::Aux(1),
        Step::Bit(false),
        Step::Aux(77),
    ];
    let circuit = StepCircuit {
        steps,
        blank: false,
    };
    let pce = Pce::record(circuit.to_blank()).unwrap();
    let packed = pce.pack(witness(circuit)).unwrap();
    assert_eq!(packed.bits().iter_ones().collect::<Vec<_>>(), [0]);
    assert_eq!(packed.fields(), [1, 77].map(Fr::from));

    let wild = Assignment::new(vec![Fr::ONE], [5, 1, 1, 77].map(Fr::from));
    let packed = pce.pack(wild).unwrap();
    assert_eq!(packed.escapes().len(), 1);
    assert_eq!(
        (packed.escapes()[0].aux, packed.escapes()[0].value),
        (0, Fr::from(5))
    );
    let error = pce.check(&packed).unwrap_err();
    assert!(matches!(
        error,
        R1csError::Unsatisfied { constraint: 0, .. }
    ));
}

#[test]
fn a_witness_of_another_circuit_is_refused() {
    let pce = Pce::record(Cubic { x: None }).unwrap();
    let other = witness(StepCircuit {
        steps: vec![Step::Aux(1)],
        blank: false,
    });
    let error = pce.pack(other).unwrap_err();
    assert!(
        matches!(error, PceError::R1cs(R1csError::Count { .. })),
        "{error}"
    );
}
