//! The four real circuits at 2 KiB: the PCE equals full synthesis, extensible or not, bit for bit.

use std::path::PathBuf;
use std::process::Command;

use bellpepper_core::Circuit;
use bellperson::groth16;
use blstrs::Bls12;
use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::Fr;
use cuzk_filecoin::CircuitVisitor;
use cuzk_groth16::{Blinding, PROOF_BYTES, Prover, keygen};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_proof_api::{ProofApiError, Request, Standing, Witnesses, by_id};
use cuzk_r1cs::{Assignment, Matrix, R1csError, Tally, synthesize};
use cuzk_synth::{Kind, Options, SectorSize, synthetic};
use cuzk_testing::oracle::{FullSynthesis, WithoutNamespaces};
use ff::Field;
use rand_core::OsRng;

use cuzk_plugins as _;

fn visit<V: CircuitVisitor>(
    kind: Kind,
    request: &Request,
    v: V,
) -> Result<V::Output, ProofApiError> {
    match kind {
        Kind::PoRep => cuzk_proof_porep::visit_circuit(request, 0, v),
        Kind::WindowPost => cuzk_proof_window_post::visit_circuit(request, 0, v),
        Kind::WinningPost => cuzk_proof_winning_post::visit_circuit(request, 0, v),
        Kind::Snap => cuzk_proof_snap::visit_circuit(request, 0, v),
    }
}

struct Full<const EXTENSIBLE: bool>;

impl<const EXTENSIBLE: bool> CircuitVisitor for Full<EXTENSIBLE> {
    type Output = FullSynthesis<EXTENSIBLE>;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Self::Output {
        FullSynthesis::of(circuit).unwrap()
    }
}

struct Record;

impl CircuitVisitor for Record {
    type Output = Pce;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Pce {
        Pce::record(circuit).unwrap()
    }
}

/// Records constraint by constraint, no namespace known.
struct RecordPlain;

impl CircuitVisitor for RecordPlain {
    type Output = Pce;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Pce {
        let mut cs = WithoutNamespaces(RecordingCS::default());
        synthesize(circuit, &mut cs).unwrap();
        Pce::compile(cs.0.finish().unwrap()).unwrap()
    }
}

struct Witness;

impl CircuitVisitor for Witness {
    type Output = Assignment;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Assignment {
        let mut cs = WitnessCS::default();
        synthesize(circuit, &mut cs).unwrap();
        cs.into_assignment()
    }
}

fn sector(kind: Kind, seed: u64) -> Request {
    let options = Options {
        seed,
        ..Options::default()
    };
    synthetic(kind, SectorSize::KIB_2, &options)
        .unwrap()
        .into_request()
}

fn blank(kind: Kind) -> Pce {
    let proof_type = by_id(kind.name()).unwrap();
    let mut cs = RecordingCS::default();
    let circuit = proof_type.blank(proof_type.circuits()[0].id).unwrap();
    circuit.record(&mut cs).unwrap();
    Pce::compile(cs.finish().unwrap()).unwrap()
}

/// Counts of circuits.md's table: inputs with ONE, aux, constraints.
fn pce_equals_synthesis(kind: Kind, counts: (usize, usize, usize)) {
    let pce = blank(kind);
    let shape = pce.shape;
    assert_eq!((shape.inputs, shape.aux, shape.constraints), counts);
    for seed in [0, 1] {
        let request = sector(kind, seed);
        let sequential = visit(kind, &request, Full::<false>).unwrap();
        let extended = visit(kind, &request, Full::<true>).unwrap();
        assert_eq!(sequential.inputs, extended.inputs);
        assert!(sequential.aux == extended.aux && sequential.abc == extended.abc);
        assert_eq!(sequential.first_unsatisfied(), None);
        drop(extended);

        if seed == 0 {
            assert_eq!(visit(kind, &request, Record).unwrap().hash, pce.hash);
        }
        let assignment = visit(kind, &request, Witness).unwrap();
        assert_eq!(assignment.inputs, sequential.inputs);
        assert!(assignment.iter_aux().eq(sequential.aux.iter().copied()));
        let job = by_id(kind.name()).unwrap().decode(&request).unwrap();
        assert_eq!(job.public_inputs(0).unwrap(), assignment.inputs[1..]);

        let packed = pce.pack(assignment).unwrap();
        assert!(packed.escapes().is_empty());
        let found = pce.evaluate(&packed).unwrap();
        let [a, b, c] = sequential.abc;
        assert!(found.a == a && found.b == b && found.c == c);
        pce.check(&packed).unwrap();
        flipped_values_are_found(&pce, sequential.inputs, sequential.aux);
    }
}

fn flipped_values_are_found(pce: &Pce, inputs: Vec<Fr>, mut aux: Vec<Fr>) {
    for which in [0, aux.len() / 2, aux.len() - 1] {
        aux[which] = Fr::ONE - aux[which];
        let changed = pce
            .pack(Assignment::new(inputs.clone(), aux.iter().copied()))
            .unwrap();
        let values = pce.evaluate(&changed).unwrap();
        let wrong = |&row: &usize| values.a[row] * values.b[row] != values.c[row];
        let first = (0..pce.shape.constraints).find(wrong).unwrap();
        let Err(R1csError::Unsatisfied { constraint, values }) = pce.check(&changed) else {
            panic!("aux {which}");
        };
        assert_eq!(constraint, first, "aux {which}");
        assert_ne!(values.a * values.b, values.c, "aux {which}");
        aux[which] = Fr::ONE - aux[which];
    }
}

#[test]
fn porep_pce_equals_synthesis() {
    pce_equals_synthesis(Kind::PoRep, (40, 2_685_673, 2_687_921));
}

#[test]
fn snap_pce_equals_synthesis() {
    pce_equals_synthesis(Kind::Snap, (5, 1_703_569, 1_705_039));
}

#[test]
fn winning_post_pce_equals_synthesis() {
    pce_equals_synthesis(Kind::WinningPost, (133, 91_674, 90_750));
}

#[test]
fn window_post_pce_equals_synthesis() {
    pce_equals_synthesis(Kind::WindowPost, (23, 22_128, 21_866));
}

/// Set in a child process of a test.
const CHILD: &str = "CUZK_TEST_CHILD";

/// Recording and witness generation agree on where ONE comes from: PoSt circuits, alone in being synthesized by
/// extension, would otherwise have a different number of inputs in each.
#[test]
fn post_circuits_agree_on_where_one_comes_from() {
    if std::env::var_os(CHILD).is_none() {
        // The number of parts is a setting, which a process reads once; by default it is the machine's cores.
        for parts in ["1", "2", "7"] {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["post_circuits_agree_on_where_one_comes_from", "--exact"])
                .env("FIL_PROOFS_WINDOW_POST_SYNTHESIS_NUM_CPUS", parts)
                .env(CHILD, parts)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&child.stdout);
            assert!(child.status.success(), "{parts} parts: {said}");
        }
        return;
    }
    for (kind, inputs) in [(Kind::WinningPost, 133), (Kind::WindowPost, 23)] {
        let request = sector(kind, 2);
        let recorded = visit(kind, &request, Record).unwrap();
        let witness = visit(kind, &request, Witness).unwrap();
        assert_eq!(recorded.shape.inputs, inputs, "{kind}: recorded");
        assert_eq!(witness.inputs.len(), inputs, "{kind}: witness");
        assert_eq!(witness.inputs[0], Fr::ONE, "{kind}: input 0");
        assert_eq!(witness.aux_len(), recorded.shape.aux, "{kind}: aux");
        assert_eq!(
            RecordingCS::default().counts(),
            WitnessCS::default().counts()
        );
    }
}

/// The blocks that a circuit's namespaces make are the circuit, constraint by constraint.
#[test]
fn templates_equal_plain_rows() {
    for kind in Kind::ALL {
        let plain = visit(kind, &sector(kind, 0), RecordPlain).unwrap();
        let templates = blank(kind);
        assert_eq!(plain.matrices.templates().len(), 1, "{kind}");
        assert!(templates.matrices.templates().len() > 1, "{kind}");
        assert_eq!(templates.hash, plain.hash, "{kind}");
        assert_eq!(templates.coefficients, plain.coefficients, "{kind}");
        assert!(
            templates.field_class.bits() == plain.field_class.bits(),
            "{kind}: classes"
        );
        assert!(
            templates.density().unwrap() == plain.density().unwrap(),
            "{kind}: density"
        );
        for matrix in Matrix::ALL {
            assert_eq!(
                templates.matrices.terms(matrix),
                plain.matrices.terms(matrix),
                "{kind}"
            );
        }
    }
}

/// The largest circuits are small beside their matrices at 36 bytes a non-zero, as files and in memory.
#[test]
fn sizes_of_files() {
    for (kind, times) in [
        (Kind::PoRep, 500),
        (Kind::Snap, 500),
        (Kind::WinningPost, 200),
        (Kind::WindowPost, 20),
    ] {
        let pce = blank(kind);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("circuit.pce");
        pce.write(&path).unwrap();
        let bytes = path.metadata().unwrap().len();
        assert!(36 * pce.terms() >= times * bytes, "{kind}: {bytes} bytes");
        let read = Pce::open(&path).unwrap();
        // A PoSt's circuit of 2 KiB has too few non-zeros for its one repeated gadget.
        if matches!(kind, Kind::PoRep | Kind::Snap) {
            for (pce, name) in [(&pce, "compiled"), (&read, "opened")] {
                let (memory, terms) = (pce.size_bytes() as u64, pce.terms());
                assert!(
                    memory <= 6 * terms,
                    "{kind}: {memory} bytes {name}, {terms} non-zeros"
                );
            }
        }
        assert!(
            read.density().unwrap() == pce.density().unwrap()
                && read.field_class.bits() == pce.field_class.bits()
        );
    }
}

/// bellperson's proof of a circuit under a key, with given randomness.
struct PeerProof {
    params: PathBuf,
    blinding: Blinding,
}

impl CircuitVisitor for PeerProof {
    type Output = [u8; PROOF_BYTES];

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Self::Output {
        let file = std::fs::File::open(self.params).unwrap();
        let key = groth16::Parameters::<Bls12>::read(std::io::BufReader::new(file), false).unwrap();
        let Blinding { r, s } = self.blinding;
        let proof = groth16::create_proof(circuit, &key, r, s).unwrap();
        let mut bytes = [0; PROOF_BYTES];
        proof.write(&mut bytes[..]).unwrap();
        bytes
    }
}

/// bellperson synthesizes these by extension, with its own proving assignment: the same inputs, aux, a, b, c and density
/// are what makes the same bytes.
#[test]
fn proofs_of_posts_equal_bellpersons() {
    for kind in [Kind::WindowPost, Kind::WinningPost] {
        let folder = tempfile::tempdir().unwrap();
        let params = folder.path().join("key.params");
        let pce = blank(kind);
        keygen::write(&CpuBackend, &pce, &params, &mut OsRng, &mut |_| ()).unwrap();
        let key = Parameters::open(&params).unwrap();
        let prover = Prover::new(CpuBackend, &pce, &key).unwrap();
        let request = sector(kind, 3);
        let job = by_id(kind.name()).unwrap().decode(&request).unwrap();
        let witness = Witnesses::new(pce.r1cs(), Standing::Unknown).make(&*job, 0);
        let blinding = Blinding::random(&mut OsRng);
        let pending = prover.start(witness.unwrap(), blinding.clone()).unwrap();
        let ours = pending.finish().unwrap().to_bytes();
        let theirs = visit(kind, &request, PeerProof { params, blinding }).unwrap();
        assert_eq!(ours, theirs, "{kind}");
    }
}
