//! Keys and proofs.

use std::path::Path;

use cuzk_curve::{Bytes, EncodedPoints, Group};
use cuzk_groth16::Proof;
use cuzk_params::{Parameters, VerifyingKey};

/// The name that errors give to the bytes.
const NAME: &str = "fuzz";

/// A `.params` file: what is accepted encodes to the same bytes, but for what follows the last section.
pub fn parameters(data: &[u8]) {
    let bytes = Bytes::new(data.to_vec());
    if let Ok(parameters) = Parameters::from_bytes(Path::new(NAME), &bytes) {
        let mut encoded = parameters.vk().to_bytes();
        for points in [
            parameters.h(),
            parameters.l(),
            parameters.a(),
            parameters.b_g1(),
        ] {
            section(points, &mut encoded);
        }
        section(parameters.b_g2(), &mut encoded);
        assert_eq!(encoded, data[..data.len() - parameters.trailing_bytes()]);
    }
}

fn section<G: Group>(points: &EncodedPoints<G>, out: &mut Vec<u8>) {
    let count = u32::try_from(points.len()).expect("a count of 32 bits");
    out.extend(count.to_be_bytes());
    out.extend_from_slice(points.bytes());
}

/// A `.vk` file: what is accepted encodes to the same bytes.
pub fn verifying_key(data: &[u8]) {
    let bytes = Bytes::new(data.to_vec());
    if let Ok(key) = VerifyingKey::from_bytes(Path::new(NAME), &bytes) {
        assert_eq!(key.to_bytes(), data);
    }
}

/// A proof: what is accepted encodes to the same bytes.
pub fn proof(data: &[u8]) {
    if let Ok(proof) = Proof::from_bytes(data) {
        assert_eq!(proof.to_bytes(), data);
    }
}
