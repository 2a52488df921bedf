//! Writes a right file for each fuzz target to start from: `fuzz-seeds FOLDER`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bellperson::groth16::{create_random_proof, generate_random_parameters};
use cuzk_curve::{Bls12, Fr};
use cuzk_fuzz::{porep_documents, reference};
use cuzk_params::DevelopmentMark;
use cuzk_pce::Pce;
use cuzk_synth::Kind;
use cuzk_testing::circuits::{Cubic, Step, StepCircuit};
// Instrumented code needs what libFuzzer counts with, here too.
use libfuzzer_sys as _;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

fn main() -> Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .context("usage: fuzz-seeds FOLDER")?;
    let folder = PathBuf::from(folder);
    keys(&folder)?;
    Pce::record(Cubic { x: None })?.write(&folder.join("pce/cubic"))?;
    Pce::record(repeating())?.write(&folder.join("pce/repeating"))?;
    files(&folder)?;
    let outer_and_inner = porep_documents(&reference(Kind::PoRep)?);
    let (outer, inner) = outer_and_inner.context("a PoRep payload is two documents")?;
    write(&folder, "porep/outer", &[&[0], &*outer].concat())?;
    write(&folder, "porep/inner", &[&[1], &*inner].concat())?;
    for kind in [Kind::WindowPost, Kind::WinningPost, Kind::Snap] {
        let proofs = reference(kind)?.vanilla_proofs;
        let parts = u8::try_from(proofs.len() - 1)?;
        let seed = [&[parts], &*proofs.concat()].concat();
        write(&folder, &format!("{}/proofs", kind.name()), &seed)?;
    }
    Ok(())
}

/// Blocks that repeat and call others that do, with words and packed words, and rows that are in no block.
fn repeating() -> StepCircuit {
    let words = vec![
        Step::Bits(24),
        Step::Word(12),
        Step::Pairs(12),
        Step::Pack(24, 1),
    ];
    let rounds = (0..30).map(|i| Step::Round([0, 1, 2, -1][i % 4])).collect();
    let inner = Step::Repeat(2, words);
    let outer = Step::Repeat(3, vec![Step::Bit(true), inner, Step::Repeat(2, rounds)]);
    StepCircuit {
        steps: vec![Step::Input(3), Step::Aux(5), outer, Step::Bit(false)],
        blank: true,
    }
}

/// A payload file of each kind, a parameters.json and a development mark.
fn files(folder: &Path) -> Result<()> {
    for kind in Kind::ALL {
        let name = format!("payload-file/{}", kind.name());
        write(folder, &name, reference(kind)?.to_json().as_bytes())?;
    }
    let name = format!("v28-stacked-{}.params", "5a".repeat(32));
    let (cid, digest) = ("QmSeed", "0f".repeat(16));
    let published = serde_json::json!({
        name: { "cid": cid, "digest": digest, "sector_size": 2048 },
    });
    write(folder, "manifest/one", published.to_string().as_bytes())?;
    let mark = DevelopmentMark::new("cuzk 0.1.0", "00".repeat(32));
    write(folder, "mark/one", &serde_json::to_vec_pretty(&mark)?)
}

/// bellperson's key for a small circuit, and a proof.
fn keys(folder: &Path) -> Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let parameters = generate_random_parameters::<Bls12, _, _>(Cubic { x: None }, &mut rng)?;
    let mut bytes = Vec::new();
    parameters.write(&mut bytes)?;
    write(folder, "params/cubic", &bytes)?;
    bytes.clear();
    parameters.vk.write(&mut bytes)?;
    write(folder, "vk/cubic", &bytes)?;
    bytes.clear();
    let circuit = Cubic {
        x: Some(Fr::from(3)),
    };
    create_random_proof(circuit, &parameters, &mut rng)?.write(&mut bytes)?;
    write(folder, "proof/cubic", &bytes)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    fs::write(&path, bytes).with_context(|| path.display().to_string())
}
