//! A proof made by `filecoin-proofs` with a key of its own, before [`verify_proof`].

use cuzk_synth::{Kind, Options, Payload, SectorSize, environment, synthetic, verify_proof};
use filecoin_proofs::parameters::window_post_public_params;
use filecoin_proofs::{
    FallbackPoStSectorProof, PoStConfig, PoStType, SectorShape2KiB, WINDOW_POST_CHALLENGE_COUNT,
    generate_single_window_post_with_vanilla,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use std::process::Command;
use storage_proofs_core::api_version::ApiVersion;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_post::fallback::{FallbackPoSt, FallbackPoStCircuit, FallbackPoStCompound};

type TestResult = Result<(), Box<dyn std::error::Error>>;

/// Set in the child process, which is started with the folders of `filecoin-proofs` in its environment.
const CHILD: &str = "CUZK_SYNTH_TEST_CHILD";

#[test]
fn a_proof_by_filecoin_proofs_verifies_for_its_statement_alone() -> TestResult {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let folder = tempfile::tempdir()?;
    for (_, path) in environment(folder.path()) {
        std::fs::create_dir(path)?;
    }
    let status = Command::new(std::env::current_exe()?)
        .args([
            "a_proof_by_filecoin_proofs_verifies_for_its_statement_alone",
            "--exact",
            "--nocapture",
        ])
        .envs(environment(folder.path()))
        .env(CHILD, "1")
        .status()?;
    assert!(status.success());
    Ok(())
}

fn child() -> TestResult {
    let size = SectorSize::KIB_2;
    let config = PoStConfig {
        sector_size: filecoin_proofs::SectorSize(size.bytes()),
        challenge_count: WINDOW_POST_CHALLENGE_COUNT,
        sector_count: 2,
        typ: PoStType::Window,
        priority: false,
        api_version: ApiVersion::V1_2_0,
    };
    let params = window_post_public_params::<SectorShape2KiB>(&config)?;
    type Compound = FallbackPoStCompound<SectorShape2KiB>;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    <Compound as CompoundProof<
        FallbackPoSt<SectorShape2KiB>,
        FallbackPoStCircuit<SectorShape2KiB>,
    >>::groth_params(Some(&mut rng), &params)?;
    let payload = synthetic(Kind::WindowPost, size, &Options::default())?;
    let vanilla: Vec<FallbackPoStSectorProof<SectorShape2KiB>> = payload
        .vanilla_proofs
        .iter()
        .map(|proof| bincode::deserialize(proof))
        .collect::<Result<_, _>>()?;
    let proof = generate_single_window_post_with_vanilla::<SectorShape2KiB>(
        &config,
        &payload.randomness,
        payload.prover_id(),
        vanilla,
        0,
    )?
    .0;
    assert!(verify_proof(&payload, &proof)?);
    let other = |change: fn(&mut Payload)| {
        let mut payload = payload.clone();
        change(&mut payload);
        verify_proof(&payload, &proof)
    };
    assert!(!other(|payload| payload.randomness[3] ^= 1)?);
    assert!(!other(|payload| payload.replicas[1].comm_r[3] ^= 1)?);
    assert!(!other(|payload| payload.replicas[0].sector_number += 9)?);
    assert!(verify_proof(&payload, &proof[..191]).is_err());
    assert!(verify_proof(&payload, &[&proof[..], &[0]].concat()).is_err());
    let mut swapped = proof.clone();
    swapped.rotate_left(48);
    assert!(!verify_proof(&payload, &swapped).unwrap_or(false));
    Ok(())
}
