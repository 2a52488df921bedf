//! A real 2 KiB sector: sealed, updated and proved by `filecoin-proofs` itself.
//!
//! `filecoin-proofs` reads its folders from the environment once, so each test runs in a child process
//! that was started with them.

use cuzk_synth::{
    Kind, Payload, RealStep, SectorSize, SynthError, environment, real, verify_proof,
    verify_vanilla,
};
use std::path::{Path, PathBuf};
use std::process::Command;

type TestResult = Result<(), Box<dyn std::error::Error>>;

/// Set in a child process to the folder that holds all of its files.
const FOLDER: &str = "CUZK_SYNTH_TEST_FOLDER";

/// Runs `test` in a child process of its own, which is this program asked for the test `name` alone.
fn in_child(name: &str, test: impl FnOnce(&Path) -> TestResult) -> TestResult {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return test(&PathBuf::from(folder));
    }
    let folder = tempfile::tempdir()?;
    for (_, path) in environment(folder.path()) {
        std::fs::create_dir(path)?;
    }
    std::fs::create_dir(folder.path().join("scratch"))?;
    let status = Command::new(std::env::current_exe()?)
        .args([name, "--exact", "--nocapture"])
        .envs(environment(folder.path()))
        .env(FOLDER, folder.path())
        .status()?;
    assert!(status.success(), "{name} failed in its child process");
    assert_eq!(
        std::fs::read_dir(folder.path().join("scratch"))?.count(),
        0,
        "files were left behind"
    );
    assert_eq!(
        std::fs::read_dir(folder.path().join("parents"))?.count(),
        1,
        "the graph's parents lie elsewhere"
    );
    Ok(())
}

fn payloads(folder: &Path, steps: &mut Vec<RealStep>) -> Result<Vec<Payload>, SynthError> {
    real(
        SectorSize::KIB_2,
        &Kind::ALL,
        &folder.join("scratch"),
        &mut |step| steps.push(step),
    )
}

#[test]
fn all_kinds_are_accepted_and_the_same_each_time() -> TestResult {
    in_child("all_kinds_are_accepted_and_the_same_each_time", |folder| {
        let mut steps = Vec::new();
        let made = payloads(folder, &mut steps)?;
        assert_eq!(steps.len(), 8);
        assert_eq!(
            made.iter().map(|payload| payload.kind).collect::<Vec<_>>(),
            Kind::ALL
        );
        for payload in &made {
            assert!(verify_vanilla(payload)?, "{}", payload.kind);
            assert_eq!(Payload::from_json(payload.to_json().as_bytes())?, *payload);
        }
        assert_eq!(payloads(folder, &mut steps)?, made);
        Ok(())
    })
}

#[test]
fn porep_json_has_the_fields_that_curio_sends() -> TestResult {
    in_child("porep_json_has_the_fields_that_curio_sends", |folder| {
        let made = real(
            SectorSize::KIB_2,
            &[Kind::PoRep],
            &folder.join("scratch"),
            &mut |_| {},
        )?;
        let text = std::str::from_utf8(&made[0].vanilla_proof)?;
        assert!(
            text.starts_with(r#"{"SectorNum":1,"Phase1Out":""#)
                && text.ends_with(r#"","SectorSize":2048}"#)
        );
        let wrapper: serde_json::Value = serde_json::from_str(text)?;
        let inner = base64::Engine::decode(
            &base64::engine::general_purpose::STANDARD,
            wrapper["Phase1Out"].as_str().unwrap_or_default(),
        )?;
        let inner: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&inner)?;
        let fields: Vec<&str> = inner.keys().map(String::as_str).collect();
        let wanted = [
            "comm_d",
            "comm_r",
            "registered_proof",
            "replica_id",
            "seed",
            "ticket",
            "vanilla_proofs",
        ];
        assert_eq!(fields, wanted);
        assert_eq!(inner["registered_proof"], "StackedDrg2KiBV1_1");
        assert_eq!(inner["replica_id"].as_array().map(Vec::len), Some(32));
        let challenge = &inner["vanilla_proofs"]["StackedDrg2KiBV1"][0][0];
        assert!(challenge["comm_r_last_proof"]["data"]["Single"].is_object());
        Ok(())
    })
}

#[test]
fn verify_proof_needs_a_key_and_whole_proofs() -> TestResult {
    in_child("verify_proof_needs_a_key_and_whole_proofs", |folder| {
        for payload in payloads(folder, &mut Vec::new())? {
            for length in [0, 1, 191, 192, 193] {
                let result = verify_proof(&payload, &vec![0; length]);
                assert!(
                    matches!(result, Err(SynthError::Filecoin { .. })),
                    "{} {length}: {result:?}",
                    payload.kind
                );
            }
        }
        Ok(())
    })
}

#[test]
fn large_sectors_are_refused() -> TestResult {
    let folder = tempfile::tempdir()?;
    for size in [SectorSize::MIB_512, SectorSize::GIB_32, SectorSize::GIB_64] {
        let result = real(size, &Kind::ALL, folder.path(), &mut |_| {});
        assert!(matches!(result, Err(SynthError::TooLargeToSeal { size: found }) if found == size));
    }
    let absent = folder.path().join("absent");
    assert!(matches!(
        real(SectorSize::KIB_2, &[], &absent, &mut |_| {}),
        Err(SynthError::Io { .. })
    ));
    Ok(())
}
