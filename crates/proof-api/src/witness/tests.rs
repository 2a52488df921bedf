//! A toy circuit whose direct way can be made wrong.

use bellpepper_core::num::AllocatedNum;
use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use cuzk_curve::Fr;
use cuzk_pce::Pce;

use super::*;
use crate::AnyCircuit;

/// x·x = y, with y public and claimed.
#[derive(Clone, Copy)]
struct Square {
    root: u64,
    claim: u64,
}

impl Circuit<Fr> for Square {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let root = AllocatedNum::alloc(&mut *cs, || Ok(Fr::from(self.root)))?;
        let square = AllocatedNum::alloc(&mut *cs, || Ok(Fr::from(self.claim)))?;
        let (x, y) = (root.get_variable(), square.get_variable());
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + y);
        square.inputize(cs)
    }
}

/// What the direct way yields.
#[derive(Clone, Copy)]
enum Direct {
    Absent,
    Right,
    WrongAux,
    WrongInput,
    TooShort,
}

struct SquareJob(Square, Direct);

impl Job for SquareJob {
    fn circuit_id(&self) -> &'static str {
        "square"
    }

    fn partitions(&self) -> usize {
        1
    }

    fn public_inputs(&self, _: usize) -> Result<Vec<Fr>, ProofApiError> {
        Ok(vec![Fr::from(self.0.claim)])
    }

    fn circuit(&self, _: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        Ok(Box::new(self.0))
    }

    fn direct_witness(&self, _: usize) -> Result<Option<Assignment>, ProofApiError> {
        let Square { root, claim } = self.0;
        let with = |claim: u64, aux: &[u64]| {
            let inputs = [1, claim].map(Fr::from).to_vec();
            Some(Assignment::new(inputs, aux.iter().copied().map(Fr::from)))
        };
        Ok(match self.1 {
            Direct::Absent => None,
            Direct::Right => with(claim, &[root, claim]),
            Direct::WrongAux => with(claim, &[root + 1, claim]),
            Direct::WrongInput => with(4, &[2, 4]),
            Direct::TooShort => with(claim, &[root]),
        })
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        Ok(())
    }
}

const NINE: Square = Square { root: 3, claim: 9 };
const FALSE: Square = Square { root: 3, claim: 10 };

fn counts(direct: usize, closures: usize, fallbacks: usize) -> WitnessCounts {
    WitnessCounts {
        direct,
        closures,
        fallbacks,
    }
}

#[test]
fn each_way_is_taken_and_counted() {
    let pce = Pce::record(NINE).unwrap();
    let cases = [
        (Direct::Absent, Standing::Unknown, counts(0, 2, 0)),
        (Direct::Right, Standing::Validated, counts(2, 0, 0)),
        (Direct::WrongAux, Standing::Refused, counts(0, 1, 1)),
        (Direct::WrongInput, Standing::Refused, counts(0, 1, 1)),
        (Direct::TooShort, Standing::Refused, counts(0, 1, 1)),
    ];
    for (direct, standing, counts) in cases {
        let job = SquareJob(NINE, direct);
        let mut witnesses = Witnesses::new(pce.r1cs(), Standing::Unknown);
        for _ in 0..2 {
            let witness = witnesses.make(&job, 0).unwrap();
            pce.check(&witness).unwrap();
        }
        assert_eq!(witnesses.standing(), standing);
        assert_eq!(witnesses.counts(), counts);

        let mut witnesses = Witnesses::new(pce.r1cs(), Standing::Unknown);
        witnesses.validate(&job, 0).unwrap();
        assert_eq!(witnesses.standing(), standing);
        assert_eq!(Standing::named(standing.name()), standing);
    }
}

/// An error that a validation did not show comes out when the proof does not verify.
#[test]
fn a_validation_is_withdrawn() {
    let pce = Pce::record(NINE).unwrap();
    let job = SquareJob(NINE, Direct::WrongAux);
    let mut witnesses = Witnesses::new(pce.r1cs(), Standing::Validated);
    let wrong = witnesses.make(&job, 0).unwrap();
    assert!(pce.check(&wrong).is_err());
    let right = witnesses.again(&job, 0).unwrap().unwrap();
    pce.check(&right).unwrap();
    assert_eq!(witnesses.standing(), Standing::Refused);
    assert_eq!(witnesses.counts(), counts(1, 0, 1));
}

/// A job that cannot be proved says nothing against the direct way.
#[test]
fn a_false_claim_is_the_jobs_fault() {
    let pce = Pce::record(NINE).unwrap();
    let job = SquareJob(FALSE, Direct::Right);
    for standing in [Standing::Unknown, Standing::Validated] {
        let mut witnesses = Witnesses::new(pce.r1cs(), standing);
        let witness = witnesses.make(&job, 0).unwrap();
        assert!(pce.check(&witness).is_err());
        assert_eq!(witnesses.again(&job, 0).unwrap(), None);
        assert_eq!(witnesses.standing(), standing);
        assert_eq!(witnesses.counts().fallbacks, 0);
    }
}

/// A job whose circuit's closures, and whose direct way, yield a satisfied witness of another statement.
struct OtherStatement(SquareJob);

impl Job for OtherStatement {
    fn circuit_id(&self) -> &'static str {
        self.0.circuit_id()
    }

    fn partitions(&self) -> usize {
        self.0.partitions()
    }

    fn public_inputs(&self, _: usize) -> Result<Vec<Fr>, ProofApiError> {
        Ok(vec![Fr::from(16)])
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        self.0.circuit(partition)
    }

    fn direct_witness(&self, partition: usize) -> Result<Option<Assignment>, ProofApiError> {
        self.0.direct_witness(partition)
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        self.0.self_check()
    }
}

/// No witness of another statement is handed out, since its proof would verify against its own inputs.
#[test]
fn a_witness_of_another_statement_is_an_error() {
    let pce = Pce::record(NINE).unwrap();
    let is_statement = |error: &ProofApiError| {
        matches!(
            error,
            ProofApiError::Statement { partition: 0, input: 0, wanted, found }
                if wanted.contains("10") && found.contains("09")
        )
    };
    for (direct, standing) in [
        (Direct::Absent, Standing::Unknown),
        (Direct::Right, Standing::Unknown),
        (Direct::Right, Standing::Validated),
        (Direct::WrongAux, Standing::Unknown),
        (Direct::WrongInput, Standing::Validated),
    ] {
        let job = OtherStatement(SquareJob(NINE, direct));
        let mut witnesses = Witnesses::new(pce.r1cs(), standing);
        let error = witnesses.make(&job, 0).unwrap_err();
        assert!(is_statement(&error), "{error}");
        assert_eq!(witnesses.counts(), counts(0, 0, 0));
        // The direct way is refused where it is wrong, and only there.
        let learnt = match direct {
            Direct::Absent | Direct::Right => standing,
            _ => Standing::Refused,
        };
        assert_eq!(witnesses.standing(), learnt);
    }
    let job = OtherStatement(SquareJob(NINE, Direct::WrongInput));
    let error = Witnesses::new(pce.r1cs(), Standing::Validated).again(&job, 0);
    assert!(is_statement(&error.unwrap_err()));
    let error = by_synthesis(&job, 0, &Arc::default()).map(|_| ());
    assert!(is_statement(&error.unwrap_err()));
}
