//! A proof and its 192 bytes.

use cuzk_curve::encoding::{Encoding, EncodingError, not_infinity};
use cuzk_curve::{G1, G1Affine, G2, G2Affine};

use crate::ProofError;

/// Bytes of a proof: A and C compressed in G1, B in G2, in the order A, B, C.
pub const PROOF_BYTES: usize = 192;

/// A Groth16 proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// A in G1.
    pub a: G1Affine,
    /// B in G2.
    pub b: G2Affine,
    /// C in G1.
    pub c: G1Affine,
}

impl Proof {
    /// Decodes a proof with all checks: length, flags, ranges, curve, subgroup, and no point at infinity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ProofError> {
        if bytes.len() != PROOF_BYTES {
            return Err(ProofError::Length {
                wanted: PROOF_BYTES,
                found: bytes.len(),
            });
        }
        let (a, rest) = bytes.split_at(G1::COMPRESSED_BYTES);
        let (b, c) = rest.split_at(G2::COMPRESSED_BYTES);
        Ok(Self {
            a: point::<G1>("A", a)?,
            b: point::<G2>("B", b)?,
            c: point::<G1>("C", c)?,
        })
    }

    /// The proof's bytes.
    pub fn to_bytes(&self) -> [u8; PROOF_BYTES] {
        let mut out = Vec::with_capacity(PROOF_BYTES);
        G1::write_compressed(&self.a, &mut out);
        G2::write_compressed(&self.b, &mut out);
        G1::write_compressed(&self.c, &mut out);
        let mut bytes = [0; PROOF_BYTES];
        bytes.copy_from_slice(&out);
        bytes
    }
}

fn point<G: Encoding>(point: &'static str, bytes: &[u8]) -> Result<G::Affine, ProofError> {
    let decoded = G::read_compressed(bytes).and_then(not_infinity);
    decoded.map_err(|source: EncodingError| ProofError::Point { point, source })
}
