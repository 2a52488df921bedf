//! Bellperson's own verifier: the second opinion on every proof that the demo makes.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Context;
use bellperson::groth16::{self, Proof, VerifyingKey};
use blstrs::Bls12;
use cuzk_curve::Fr;

/// A verifying key as bellperson reads it.
pub struct Verifier {
    key: groth16::PreparedVerifyingKey<Bls12>,
}

impl Verifier {
    /// Reads a `.vk` file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let key = VerifyingKey::<Bls12>::read(BufReader::new(file))?;
        Ok(Self {
            key: groth16::prepare_verifying_key(&key),
        })
    }

    /// Whether the proof's bytes are a valid proof for the public inputs, without ONE.
    pub fn verify(&self, proof: &[u8], public: &[Fr]) -> anyhow::Result<bool> {
        let proof = Proof::<Bls12>::read(proof)?;
        Ok(groth16::verify_proof(&self.key, &proof, public)?)
    }
}
