//! Circuits: their sizes, their public inputs, and that a blank one has the same matrices.

use cuzk_cs_recording::{Recorded, RecordingCS};
use cuzk_cs_witness::WitnessCS;
use cuzk_filecoin::CircuitVisitor;
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError, Request, by_circuit};
use cuzk_proof_porep::Spread;
use cuzk_r1cs::{Assignment, Matrix, Shape, Term};
use cuzk_synth::{Kind, Options, PoRepFeature, SectorSize, synthetic};

use crate::oracle::first_unsatisfied;
use crate::support::{decode, real, request, snap_8m};

fn record(circuit: Box<dyn AnyCircuit>) -> Recorded {
    let mut cs = RecordingCS::default();
    circuit.record(&mut cs).unwrap();
    cs.finish().unwrap()
}

fn witness(job: &dyn Job, partition: usize) -> Assignment {
    let mut cs = WitnessCS::default();
    job.circuit(partition).unwrap().witness(&mut cs).unwrap();
    cs.into_assignment()
}

/// The terms of a matrix, each with its row.
fn all_rows(recorded: &Recorded, matrix: Matrix) -> Vec<(usize, Term)> {
    let mut all = Vec::new();
    let rows = 0..recorded.shape.constraints;
    let mut number = 0;
    let each = |row: &[Term]| {
        all.extend(row.iter().map(|term| (number, *term)));
        number += 1;
        Ok(())
    };
    recorded.matrices.for_each_row(matrix, rows, each).unwrap();
    all
}

/// Inputs, aux and constraints of the blank circuit, and that a real instance agrees with it in every respect.
fn check(kind: Kind, circuit: &str, expected: [usize; 3]) {
    let (proof_type, spec) = by_circuit(circuit).unwrap();
    assert_eq!(proof_type.id(), kind.name());
    let blank = record(proof_type.blank(circuit).unwrap());
    let [inputs, aux, constraints] = expected;
    assert_eq!(
        blank.shape,
        Shape {
            inputs,
            aux,
            constraints
        }
    );

    let job = decode(kind, &real(kind)).unwrap();
    assert_eq!(
        (job.circuit_id(), job.partitions()),
        (spec.id, spec.partitions)
    );
    job.self_check().unwrap();
    let filled = record(job.circuit(0).unwrap());
    assert_eq!(filled.shape, blank.shape);
    assert_eq!(filled.coefficients, blank.coefficients);
    for matrix in Matrix::ALL {
        assert!(
            all_rows(&filled, matrix) == all_rows(&blank, matrix),
            "matrix {}",
            matrix.name()
        );
    }

    let assignment = witness(&*job, 0);
    assert_eq!(
        (assignment.inputs.len(), assignment.aux_len()),
        (inputs, aux)
    );
    assert_eq!(assignment.inputs[1..], job.public_inputs(0).unwrap());
    assert_eq!(first_unsatisfied(&blank, &assignment), None);
}

#[test]
fn porep_2k() {
    check(Kind::PoRep, "porep-2k", [40, 2_685_673, 2_687_921]);
}

#[test]
fn window_post_2k() {
    check(Kind::WindowPost, "wpost-2k", [23, 22_128, 21_866]);
}

#[test]
fn winning_post_2k() {
    check(Kind::WinningPost, "winning-2k", [133, 91_674, 90_750]);
}

#[test]
fn snap_2k() {
    check(Kind::Snap, "snap-2k", [5, 1_703_569, 1_705_039]);
}

#[test]
fn winning_post_32g() {
    let options = Options::default();
    let payload = synthetic(Kind::WinningPost, SectorSize::GIB_32, &options).unwrap();
    let job = decode(Kind::WinningPost, &request(&payload)).unwrap();
    job.self_check().unwrap();
    let blank = record(
        by_circuit("winning-32g")
            .unwrap()
            .0
            .blank("winning-32g")
            .unwrap(),
    );
    let shape = Shape {
        inputs: 133,
        aux: 375_210,
        constraints: 370_590,
    };
    assert_eq!(blank.shape, shape);
    let assignment = witness(&*job, 0);
    assert_eq!(assignment.inputs[1..], job.public_inputs(0).unwrap());
    assert_eq!(first_unsatisfied(&blank, &assignment), None);
}

/// 64 GiB trees have three parts.
#[test]
fn winning_post_64g() {
    let payload = synthetic(Kind::WinningPost, SectorSize::GIB_64, &Options::default()).unwrap();
    let job = decode(Kind::WinningPost, &request(&payload)).unwrap();
    job.self_check().unwrap();
    assert_eq!(witness(&*job, 0).inputs[1..], job.public_inputs(0).unwrap());
}

/// Ten partitions of 18 challenges decode, pass the vanilla verifier and have public inputs of their own.
#[test]
fn porep_32g_decodes() {
    let payload = synthetic(Kind::PoRep, SectorSize::GIB_32, &Options::default()).unwrap();
    let job = decode(Kind::PoRep, &request(&payload)).unwrap();
    job.self_check().unwrap();
    assert_eq!((job.circuit_id(), job.partitions()), ("porep-32g", 10));
    let inputs: Vec<_> = (0..10).map(|k| job.public_inputs(k).unwrap()).collect();
    assert!(
        inputs
            .iter()
            .all(|inputs| inputs.len() == 327 && inputs[..3] == job_head(&*job))
    );
    assert!(inputs.windows(2).all(|pair| pair[0][3..] != pair[1][3..]));
    assert!(matches!(
        job.public_inputs(10),
        Err(ProofApiError::Partition {
            found: 10,
            partitions: 10
        })
    ));
    assert!(job.circuit(10).is_err());
}

fn job_head(job: &dyn Job) -> Vec<cuzk_curve::Fr> {
    job.public_inputs(0).unwrap()[..3].to_vec()
}

/// A sector's challenges spread over more partitions are smaller instances with the same public inputs in a row.
#[test]
fn porep_spread() {
    let request = real(Kind::PoRep);
    let whole = decode(Kind::PoRep, &request).unwrap();
    let spread = Spread::new(2048, 2).unwrap();
    let blank = record(spread.blank().unwrap());
    let job = spread.decode(&request, "half").unwrap();
    job.self_check().unwrap();
    assert_eq!((job.circuit_id(), job.partitions()), ("half", 2));
    let whole = whole.public_inputs(0).unwrap();
    let (head, challenges) = whole.split_at(3);
    let (first, second) = challenges.split_at(challenges.len() / 2);
    for (partition, challenge) in [first, second].into_iter().enumerate() {
        assert!(blank.shape.constraints > 2_687_921 / 2 && blank.shape.constraints < 1_345_000);
        let assignment = witness(&*job, partition);
        assert_eq!(assignment.inputs[1..], [head, challenge].concat());
        assert_eq!(
            assignment.inputs[1..],
            job.public_inputs(partition).unwrap()
        );
        assert_eq!(first_unsatisfied(&blank, &assignment), None);
        let direct = job.direct_witness(partition).unwrap();
        assert!(direct.as_ref() == Some(&assignment));
    }
    for (bytes, partitions) in [(2048, 0), (2048, 3), (1 << 35, 9), (1 << 35, 256), (1, 1)] {
        assert!(
            Spread::new(bytes, partitions).is_err(),
            "{bytes} {partitions}"
        );
    }
    let other = Spread::new(1 << 35, 176).unwrap();
    assert!(other.decode(&request, "none").is_err());
}

/// Synthetic and non-interactive PoRep are instances of the interactive circuit.
#[test]
fn porep_features() {
    for (feature, partitions) in [
        (PoRepFeature::Synthetic, 1),
        (PoRepFeature::NonInteractive, 13),
    ] {
        let options = Options {
            porep_feature: feature,
            ..Options::default()
        };
        let payload = synthetic(Kind::PoRep, SectorSize::KIB_2, &options).unwrap();
        let job = decode(Kind::PoRep, &request(&payload)).unwrap();
        job.self_check().unwrap();
        assert_eq!(
            (job.circuit_id(), job.partitions()),
            ("porep-2k", partitions)
        );
        let last = witness(&*job, partitions - 1);
        assert_eq!(last.inputs[1..], job.public_inputs(partitions - 1).unwrap());
        assert_eq!(last.aux_len(), 2_685_673);
    }
}

/// Four partitions, which share their commitments and differ in the packed partition index.
#[test]
fn snap_8m_partitions() {
    let job = decode(Kind::Snap, &snap_8m()).unwrap();
    job.self_check().unwrap();
    assert_eq!((job.circuit_id(), job.partitions()), ("snap-8m", 4));
    let inputs: Vec<_> = (0..4).map(|k| job.public_inputs(k).unwrap()).collect();
    for (k, inputs) in inputs.iter().enumerate() {
        assert_eq!(inputs[0], cuzk_curve::Fr::from(k as u64 | 8 << 2));
        assert_eq!(inputs.len(), 4);
    }
    assert!(inputs.windows(2).all(|pair| pair[0][1..] == pair[1][1..]));
}

#[test]
fn proofs_are_put_together_in_order() {
    let job = decode(Kind::PoRep, &real(Kind::PoRep)).unwrap();
    assert_eq!(job.assemble(&[[7; 192]]).unwrap(), [7; 192]);
    for count in [0, 2] {
        assert!(job.assemble(&vec![[7; 192]; count]).is_err(), "{count}");
    }
}

/// A visitor that runs the circuit itself, as another prover would.
struct Witness;

impl CircuitVisitor for Witness {
    type Output = Assignment;

    fn visit<C: bellpepper_core::Circuit<cuzk_curve::Fr> + Send + 'static>(
        self,
        circuit: C,
    ) -> Assignment {
        let mut cs = WitnessCS::default();
        cuzk_r1cs::synthesize(circuit, &mut cs).unwrap();
        cs.into_assignment()
    }
}

#[test]
fn visitors_get_the_circuit_of_the_job() {
    let same = |kind: Kind, visited: Result<Assignment, ProofApiError>| {
        let job = decode(kind, &real(kind)).unwrap();
        assert_eq!(visited.unwrap(), witness(&*job, 0), "{kind}");
    };
    let of = |kind: Kind| -> Request { real(kind) };
    let (window, winning, snap) = (of(Kind::WindowPost), of(Kind::WinningPost), of(Kind::Snap));
    same(
        Kind::WindowPost,
        cuzk_proof_window_post::visit_circuit(&window, 0, Witness),
    );
    same(
        Kind::WinningPost,
        cuzk_proof_winning_post::visit_circuit(&winning, 0, Witness),
    );
    same(
        Kind::Snap,
        cuzk_proof_snap::visit_circuit(&snap, 0, Witness),
    );
    same(
        Kind::PoRep,
        cuzk_proof_porep::visit_circuit(&of(Kind::PoRep), 0, Witness),
    );
    assert!(cuzk_proof_snap::visit_circuit(&snap, 1, Witness).is_err());
    assert!(cuzk_proof_window_post::visit_circuit(&window, 1, Witness).is_err());
}
