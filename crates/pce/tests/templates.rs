//! Templates are the same matrices as plain rows, in less room.

use cuzk_cs_recording::{Recorded, RecordingCS};
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::{Bytes, Fr};
use cuzk_pce::{Pce, shape_hash};
use cuzk_r1cs::{Assignment, Matrix, R1csError, Term, synthesize};
use cuzk_testing::circuits::{Step, StepCircuit, repeating_circuits};
use cuzk_testing::oracle::FullSynthesis;
use ff::Field;
use proptest::prelude::*;

fn record(circuit: &StepCircuit) -> Recorded {
    let mut cs = RecordingCS::default();
    synthesize(circuit.to_blank(), &mut cs).unwrap();
    cs.finish().unwrap()
}

fn witness(circuit: &StepCircuit) -> Assignment {
    let mut cs = WitnessCS::default();
    synthesize(circuit.clone(), &mut cs).unwrap();
    cs.into_assignment()
}

fn circuit(steps: Vec<Step>) -> StepCircuit {
    StepCircuit {
        steps,
        blank: false,
    }
}

/// A gadget of `rounds` constraints that ends in a bit.
fn gadget(rounds: usize) -> Vec<Step> {
    let mut steps = vec![Step::Bit(true), Step::Bit(false)];
    steps.extend((0..rounds).map(|i| Step::Round([0, 1, 2, -1][i % 4])));
    steps.push(Step::Bit(true));
    steps
}

fn file(pce: &Pce) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("circuit.pce");
    pce.write(&path).unwrap();
    std::fs::read(path).unwrap()
}

fn rows(pce: &Pce, matrix: Matrix, range: std::ops::Range<usize>) -> Vec<Vec<Term>> {
    let mut rows = Vec::new();
    let keep = |row: &[Term]| {
        rows.push(row.to_vec());
        Ok::<_, R1csError>(())
    };
    pce.matrices.for_each_row(matrix, range, keep).unwrap();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn templates_equal_plain_rows(circuit in repeating_circuits(), from in any::<usize>(), len in 0..200usize) {
        let plain = circuit.without_namespaces();
        prop_assert_eq!(shape_hash(&record(&circuit)).unwrap(), shape_hash(&record(&plain)).unwrap());
        let templates = Pce::compile(record(&circuit)).unwrap();
        let plain = Pce::compile(record(&plain)).unwrap();
        prop_assert_eq!(templates.hash, plain.hash);
        prop_assert_eq!(&templates.coefficients, &plain.coefficients);
        // A template has no row before its first, so its rows can say less of a variable than plain rows do, never more.
        let (with, without) = (templates.field_class.bits(), plain.field_class.bits());
        prop_assert!(without.iter_ones().all(|j| with.get(j)), "boolean by templates, not by rows");
        prop_assert_eq!(templates.density().unwrap(), plain.density().unwrap());
        let constraints = plain.shape.constraints;
        let from = from % (constraints + 1);
        for matrix in Matrix::ALL {
            prop_assert_eq!(templates.matrices.terms(matrix), plain.matrices.terms(matrix));
            let whole = rows(&plain, matrix, 0..constraints);
            prop_assert_eq!(&rows(&templates, matrix, 0..constraints), &whole);
            let to = constraints.min(from + len);
            prop_assert_eq!(&rows(&templates, matrix, from..to)[..], &whole[from..to]);
        }
    }

    #[test]
    fn templates_equal_synthesis(circuit in repeating_circuits(), which in any::<usize>(), wild in any::<u64>()) {
        let oracle = FullSynthesis::<false>::of(circuit.clone()).unwrap();
        let pce = Pce::compile(record(&circuit)).unwrap();
        let packed = pce.pack(witness(&circuit)).unwrap();
        let found = pce.evaluate(&packed).unwrap();
        prop_assert_eq!(&pce.evaluate_single_threaded(&packed).unwrap(), &found);
        prop_assert_eq!([found.a, found.b, found.c], oracle.abc);
        pce.check(&packed).unwrap();

        // With values outside their class the plain rows say what is right.
        let mut aux = oracle.aux;
        if !aux.is_empty() {
            let which = which % aux.len();
            aux[which] += Fr::from(wild);
        }
        let plain = Pce::compile(record(&circuit.without_namespaces())).unwrap();
        let changed = Assignment::new(oracle.inputs, aux);
        let found = pce.evaluate(&pce.pack(changed.clone()).unwrap()).unwrap();
        prop_assert_eq!(&found, &plain.evaluate(&plain.pack(changed.clone()).unwrap()).unwrap());
        let mut streamed = Vec::new();
        pce.evaluate_streamed([Matrix::A], &pce.pack(changed).unwrap(), |[value]| streamed.push(*value)).unwrap();
        prop_assert_eq!(streamed, found.a);
    }

    #[test]
    fn files_of_templates_round_trip(circuit in repeating_circuits()) {
        let pce = Pce::compile(record(&circuit)).unwrap();
        let bytes = file(&pce);
        let read = Pce::from_bytes(Bytes::new(bytes.clone())).unwrap();
        prop_assert_eq!(read.hash, pce.hash);
        prop_assert_eq!(read.density().unwrap(), pce.density().unwrap());
        prop_assert_eq!(read.field_class.bits(), pce.field_class.bits());
        prop_assert_eq!(file(&read), bytes);
        let constraints = pce.shape.constraints;
        for matrix in Matrix::ALL {
            prop_assert_eq!(rows(&read, matrix, 0..constraints), rows(&pce, matrix, 0..constraints));
        }
    }
}

#[test]
fn repeated_blocks_are_stored_once() {
    // After the first two, a gadget's far variables are the last of the gadget before it.
    let few = Pce::compile(record(&circuit(vec![Step::Repeat(3, gadget(200))]))).unwrap();
    let many = Pce::compile(record(&circuit(vec![Step::Repeat(300, gadget(200))]))).unwrap();
    assert_eq!(many.shape.constraints, 100 * few.shape.constraints);
    assert_eq!(
        many.matrices.templates().len(),
        few.matrices.templates().len()
    );
    let plain = circuit(vec![Step::Repeat(300, gadget(200))]).without_namespaces();
    let plain = Pce::compile(record(&plain)).unwrap();
    assert_eq!(
        plain.matrices.templates().len(),
        1,
        "rows in no namespace stay rows of the root"
    );
    assert_eq!(many.hash, plain.hash);
    let (templates, rows) = (file(&many).len(), file(&plain).len());
    assert!(
        40 * templates < rows,
        "{templates} bytes, {rows} as plain rows"
    );
}

/// Blocks too large to be decoded with their calls expanded, and some that are called from them.
#[test]
fn large_blocks_equal_plain_rows() {
    let small = || Step::Repeat(20, gadget(100));
    let steps = vec![
        Step::Repeat(3, gadget(1500)),
        Step::Input(5),
        Step::Repeat(
            2,
            [vec![small()], gadget(900), vec![small(), Step::Aux(7)]].concat(),
        ),
        small(),
    ];
    let circuit = circuit(steps);
    let plain = Pce::compile(record(&circuit.without_namespaces())).unwrap();
    let pce = Pce::compile(record(&circuit)).unwrap();
    assert!(pce.matrices.templates().len() > 3);
    assert_eq!(pce.hash, plain.hash);
    assert_eq!(pce.density().unwrap(), plain.density().unwrap());
    assert_eq!(pce.field_class.bits(), plain.field_class.bits());
    let oracle = FullSynthesis::<false>::of(circuit.clone()).unwrap();
    let packed = pce.pack(witness(&circuit)).unwrap();
    let found = pce.evaluate(&packed).unwrap();
    assert!([found.a, found.b, found.c] == oracle.abc);
    let read = Pce::from_bytes(Bytes::new(file(&pce))).unwrap();
    assert_eq!(read.density().unwrap(), pce.density().unwrap());
    for matrix in Matrix::ALL {
        for range in [0..9000, 1400..1600, 4500..4501] {
            assert!(rows(&read, matrix, range.clone()) == rows(&plain, matrix, range));
        }
    }
}

/// Words, words in turn and packed words, long enough for every way of evaluating them, with bits and with others.
#[test]
fn words_equal_synthesis() {
    let words = |count| {
        vec![
            Step::Bits(2 * count),
            Step::Word(count),
            Step::Pairs(count),
            Step::Pack(count, 2),
            Step::Bits(count),
            Step::Pack(2 * count, 1),
        ]
    };
    for count in [1, 7, 8, 9, 32, 65, 200] {
        let with_others = [
            words(count),
            vec![Step::Aux(77)],
            words(count),
            vec![Step::Aux(5)],
        ];
        let steps = vec![
            Step::Repeat(3, words(count)),
            Step::Repeat(2, with_others.concat()),
            Step::Repeat(
                2,
                [vec![Step::Repeat(2, words(count))], words(count)].concat(),
            ),
        ];
        let circuit = circuit(steps);
        let oracle = FullSynthesis::<false>::of(circuit.clone()).unwrap();
        let pce = Pce::compile(record(&circuit)).unwrap();
        let plain = Pce::compile(record(&circuit.without_namespaces())).unwrap();
        let packed = pce.pack(witness(&circuit)).unwrap();
        let found = pce.evaluate(&packed).unwrap();
        assert!([found.a, found.b, found.c] == oracle.abc, "{count}");
        for matrix in Matrix::ALL {
            let all = 0..pce.shape.constraints;
            assert!(
                rows(&pce, matrix, all.clone()) == rows(&plain, matrix, all),
                "{count}"
            );
        }
        // One value outside its class after the other.
        for changed in (0..oracle.aux.len()).step_by(oracle.aux.len() / 20 + 1) {
            let mut aux = oracle.aux.clone();
            aux[changed] += Fr::from(3);
            let changed = Assignment::new(oracle.inputs.clone(), aux);
            let wanted = plain
                .evaluate(&plain.pack(changed.clone()).unwrap())
                .unwrap();
            let found = pce.pack(changed).unwrap();
            assert!(pce.evaluate(&found).unwrap() == wanted, "{count}");
        }
    }
}

#[test]
fn names_do_not_matter_and_content_does() {
    let two = |first: Vec<Step>, second: Vec<Step>| {
        let before = (0..3).map(Step::Aux);
        let steps = before
            .chain([Step::Repeat(1, first), Step::Repeat(1, second)])
            .collect();
        record(&circuit(steps)).matrices.templates().len()
    };
    assert_eq!(two(gadget(40), gadget(40)), 2, "one template and the root");
    assert_eq!(two(gadget(40), gadget(41)), 3);
    let mut other = gadget(40);
    other[7] = Step::Round(5);
    assert_eq!(two(gadget(40), other), 3, "another coefficient");
    assert_eq!(
        two(gadget(3), gadget(3)),
        1,
        "too few rows to be worth a call"
    );
}

/// The class of a repeated block's variables depends on what its call knows of its slots.
#[test]
fn classes_follow_the_arguments() {
    let block = || {
        Step::Repeat(
            1,
            gadget(0)
                .into_iter()
                .chain((0..60).map(|_| Step::Round(0)))
                .collect(),
        )
    };
    let bits = vec![Step::Bit(true), Step::Bit(true), Step::Bit(true), block()];
    let fields = vec![Step::Aux(9), Step::Aux(8), Step::Aux(7), block()];
    for (steps, name) in [
        (bits.clone(), "bits"),
        (fields.clone(), "fields"),
        ([bits, fields].concat(), "both"),
    ] {
        let circuit = circuit(steps);
        let templates = Pce::compile(record(&circuit)).unwrap();
        let plain = Pce::compile(record(&circuit.without_namespaces())).unwrap();
        assert_eq!(
            templates.field_class.bits(),
            plain.field_class.bits(),
            "{name}"
        );
    }
}

#[test]
fn deep_namespaces_compile() {
    let mut steps = gadget(40);
    for _ in 0..200 {
        steps = vec![Step::Repeat(1, [steps, gadget(40)].concat())];
    }
    let circuit = circuit(steps);
    let pce = Pce::compile(record(&circuit)).unwrap();
    let plain = Pce::compile(record(&circuit.without_namespaces())).unwrap();
    assert_eq!(pce.hash, plain.hash);
    pce.check(&pce.pack(witness(&circuit)).unwrap()).unwrap();
    let zero = Assignment::new(vec![Fr::ONE], vec![Fr::ONE.double(); pce.shape.aux]);
    assert!(pce.check(&pce.pack(zero).unwrap()).is_err());
}
