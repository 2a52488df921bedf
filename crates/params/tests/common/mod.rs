//! A small circuit and bellperson's key for it.

use std::path::Path;

use bellpepper_core::{Circuit, ConstraintSystem, LinearCombination, SynthesisError};
use bellperson::groth16;
use cuzk_curve::{Bls12, Bytes, Fr};
use cuzk_params::{Parameters, ParamsError, VerifyingKey};
use rand_chacha::ChaCha12Rng;
use rand_core::SeedableRng;

/// x^(2^n) = y: `squarings` constraints, x and the powers between private.
#[derive(Clone)]
pub struct Squares {
    pub squarings: usize,
}

impl Circuit<Fr> for Squares {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let missing = || Err(SynthesisError::AssignmentMissing);
        let zero = LinearCombination::zero;
        let mut x = cs.alloc(|| "x", missing)?;
        for i in 1..self.squarings {
            let y = cs.alloc(|| "power", missing)?;
            cs.enforce(
                || format!("square {i}"),
                |_| zero() + x,
                |_| zero() + x,
                |_| zero() + y,
            );
            x = y;
        }
        let y = cs.alloc_input(|| "y", missing)?;
        cs.enforce(|| "last", |_| zero() + x, |_| zero() + x, |_| zero() + y);
        Ok(())
    }
}

pub type PeerKey = groth16::Parameters<Bls12>;

pub fn peer_key(squarings: usize, seed: u64) -> PeerKey {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    groth16::generate_random_parameters::<Bls12, _, _>(Squares { squarings }, &mut rng)
        .expect("a key")
}

pub fn peer_bytes(key: &PeerKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.write(&mut bytes).expect("written to memory");
    bytes
}

pub fn open(bytes: Vec<u8>) -> Result<Parameters, ParamsError> {
    Parameters::from_bytes(Path::new("test.params"), &Bytes::from(bytes))
}

pub fn ours_of_peer_vk(vk: &groth16::VerifyingKey<Bls12>) -> VerifyingKey {
    VerifyingKey {
        alpha_g1: vk.alpha_g1,
        beta_g1: vk.beta_g1,
        beta_g2: vk.beta_g2,
        gamma_g2: vk.gamma_g2,
        delta_g1: vk.delta_g1,
        delta_g2: vk.delta_g2,
        ic: vk.ic.clone(),
    }
}
