//! Writes a right file for each fuzz target to start from: `fuzz-seeds FOLDER`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bellperson::groth16::{create_random_proof, generate_random_parameters};
use cuzk_curve::{Bls12, Fr};
use cuzk_fuzz::{porep_documents, reference};
use cuzk_pce::Pce;
use cuzk_synth::Kind;
use cuzk_testing::circuits::Cubic;
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
