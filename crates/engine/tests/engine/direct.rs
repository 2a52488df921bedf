//! Witnesses that are computed directly: used where they were validated, computed again by closures where one was wrong,
//! and what is known of them kept beside the compiled circuit.

use std::time::Duration;

use cuzk_backend_cpu::CpuBackend;
use cuzk_engine::{Engine, Failure, Files, Outcome};
use cuzk_groth16::keygen;
use cuzk_params::KeyStore;
use cuzk_pce::Cache;
use cuzk_proof_api::{Standing, direct_topic};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::support::*;

fn one_witness_at_a_time() -> cuzk_engine::Config {
    let mut config = config();
    config.scheduler.witness_slots = 1;
    config
}

/// A proof from a wrong witness does not verify; the witness is computed by closures then, and no device is blamed.
#[test]
fn a_wrong_direct_witness_is_computed_again() {
    for circuit in TOYS {
        let devices = devices(1, Duration::ZERO);
        let engine = engine(one_witness_at_a_time(), &devices);
        let job = ToyJob::new(circuit, 1..=5).with_direct(Direct::WrongFor(2));
        let handle = submit(&engine, &job);
        assert_completes(&handle, &job);
        let status = engine.status();
        assert_eq!((status.counters.proofs, status.counters.faults), (5, 0));
        assert_eq!(status.devices[0].faults, 0);
        // Five proofs and the one that did not verify.
        assert_eq!(devices[0].report().started, 6);
        assert_baseline(&engine, &devices);
    }
}

/// Closures that yield the same say that it is the job that is wrong: there is no second proof.
#[test]
fn a_job_that_is_wrong_both_ways_fails() {
    let devices = devices(2, Duration::ZERO);
    let engine = engine(one_witness_at_a_time(), &devices);
    let right = ToyJob::new("toy-cubic", [3]).with_direct(Direct::Right);
    assert_completes(&submit(&engine, &right), &right);
    let mut wrong = ToyJob::new("toy-cubic", [3, 4]).with_direct(Direct::Right);
    wrong.unsatisfied = Some(1);
    match outcome(&submit(&engine, &wrong)) {
        Outcome::Failed(Failure {
            partition: Some(1),
            device: None,
            message,
            ..
        }) => assert!(message.contains("constraint"), "{message}"),
        other => panic!("{other}"),
    }
    assert_eq!(engine.status().counters.faults, 0);
    assert_completes(&submit(&engine, &right), &right);
    assert_baseline(&engine, &devices);
}

#[test]
fn what_is_known_of_direct_witnesses_outlives_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, circuits) = (folder.path().join("keys"), folder.path().join("circuits"));
    for made in [&keys, &circuits] {
        std::fs::create_dir(made).unwrap();
    }
    let pce = &toy_named("toy-chain").pce;
    let (key, mut rng) = (keys.join("toy-chain.params"), ChaCha8Rng::seed_from_u64(7));
    keygen::write(&CpuBackend, pce, &key, &mut rng, &mut |_| {}).unwrap();
    let cache = Cache::new(&circuits);
    // Proofs that a new engine computes for a job, and what is known then.
    let run = |direct| {
        let devices = devices(1, Duration::ZERO);
        let files = Files::new(KeyStore::new(&keys), cache.clone());
        let engine = Engine::new(config(), with_lanes(&devices, 2), files).unwrap();
        let job = ToyJob::new("toy-chain", [1]).with_direct(direct);
        assert_completes(&submit(&engine, &job), &job);
        let note = cache.note(pce.hash, &direct_topic()).unwrap();
        let known = Standing::named(note.unwrap_or_default().trim());
        (devices[0].report().started, known)
    };
    assert_eq!(run(Direct::Absent), (1, Standing::Unknown));
    assert_eq!(run(Direct::Right), (1, Standing::Validated));
    // Validated ones are not checked before they are used, so it takes a proof to find a wrong one.
    assert_eq!(run(Direct::WrongFor(0)), (2, Standing::Refused));
    // There are no more of them.
    assert_eq!(run(Direct::WrongFor(0)), (1, Standing::Refused));
}
