//! Verification, of one proof and of many.

use cuzk_curve::{Bls12, Fr, G1Affine, G1Projective, G2Affine, G2Prepared, Gt};
use cuzk_params::VerifyingKey;
use ff::Field;
use group::{Curve, prime::PrimeCurveAffine};
use pairing::{Engine, MillerLoopResult, MultiMillerLoop};
use rand_core::{CryptoRng, RngCore};
use rayon::prelude::*;

use crate::{Groth16Error, Proof};

/// A verifying key with its pairings prepared.
#[derive(Clone, Debug)]
pub struct PreparedVerifyingKey {
    alpha_beta: Gt,
    minus_gamma: G2Prepared,
    minus_delta: G2Prepared,
    ic: Vec<G1Affine>,
}

impl From<&VerifyingKey> for PreparedVerifyingKey {
    fn from(vk: &VerifyingKey) -> Self {
        Self {
            alpha_beta: Bls12::pairing(&vk.alpha_g1, &vk.beta_g2),
            minus_gamma: G2Prepared::from(-vk.gamma_g2),
            minus_delta: G2Prepared::from(-vk.delta_g2),
            ic: vk.ic.clone(),
        }
    }
}

impl PreparedVerifyingKey {
    /// ic_0 + the sum of `public[i] * ic_(i+1)`.
    fn combine(&self, public: &[Fr]) -> Result<G1Projective, Groth16Error> {
        let (one, ic) = self.ic.split_first().ok_or(Groth16Error::EmptyKey)?;
        if public.len() != ic.len() {
            return Err(Groth16Error::PublicInputs {
                wanted: ic.len(),
                found: public.len(),
            });
        }
        let constant = one.to_curve();
        if public.is_empty() {
            return Ok(constant);
        }
        let bases: Vec<G1Projective> = ic.iter().map(|p| p.to_curve()).collect();
        Ok(G1Projective::multi_exp(&bases, public) + constant)
    }
}

/// Whether `proof` is valid for the public inputs (without ONE): e(A, B) = e(alpha, beta) e(IC, gamma) e(C, delta).
///
/// Errors: [`Groth16Error::PublicInputs`] where their number is not the key's, [`Groth16Error::EmptyKey`].
pub fn verify(
    key: &PreparedVerifyingKey,
    proof: &Proof,
    public: &[Fr],
) -> Result<bool, Groth16Error> {
    let combined = key.combine(public)?.to_affine();
    let b = G2Prepared::from(proof.b);
    let product = Bls12::multi_miller_loop(&[
        (&proof.a, &b),
        (&combined, &key.minus_gamma),
        (&proof.c, &key.minus_delta),
    ]);
    Ok(product.final_exponentiation() == key.alpha_beta)
}

/// Whether all proofs are valid for their public inputs, by one equation: each proof's equation raised to a random
/// 128-bit power, multiplied together. A false `true` has probability 2^-128 for those who cannot guess the powers. No proofs are
/// valid.
///
/// Errors: [`Groth16Error::PublicInputs`] where a number of inputs is not the key's, [`Groth16Error::EmptyKey`].
pub fn verify_batch(
    key: &PreparedVerifyingKey,
    proofs: &[(&Proof, &[Fr])],
    rng: &mut (impl RngCore + CryptoRng),
) -> Result<bool, Groth16Error> {
    let powers: Vec<Fr> = proofs.iter().map(|_| random_power(rng)).collect();
    let combined = proofs
        .par_iter()
        .map(|(_, public)| key.combine(public))
        .collect::<Result<Vec<_>, _>>()?;
    let gamma_side: G1Projective = combined.iter().zip(&powers).map(|(p, z)| p * z).sum();
    let delta_side: G1Projective = proofs
        .iter()
        .zip(&powers)
        .map(|((proof, _), z)| proof.c * z)
        .sum();
    let pairs: Vec<(G1Affine, G2Affine)> = proofs
        .par_iter()
        .zip(&powers)
        .map(|((proof, _), z)| ((proof.a * z).to_affine(), proof.b))
        .collect();
    let [gamma_side, delta_side] = [gamma_side, delta_side].map(|p| p.to_affine());
    let fixed = Bls12::multi_miller_loop(&[
        (&gamma_side, &key.minus_gamma),
        (&delta_side, &key.minus_delta),
    ]);
    let product = pairs
        .par_iter()
        .map(|(a, b)| Bls12::multi_miller_loop(&[(a, &G2Prepared::from(*b))]))
        .reduce_with(|left, right| left + right)
        .map_or(fixed, |product| product + fixed);
    let sum: Fr = powers.iter().sum();
    Ok(product.final_exponentiation() == key.alpha_beta * sum)
}

/// A random element of 1 ..= 2^128.
fn random_power(rng: &mut (impl RngCore + CryptoRng)) -> Fr {
    let shift = Fr::from(1 << 32).square();
    Fr::from(rng.next_u64()) * shift + Fr::from(rng.next_u64()) + Fr::ONE
}
