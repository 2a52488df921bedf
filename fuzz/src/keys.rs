//! Keys and proofs.

use std::path::Path;

use cuzk_curve::Bytes;
use cuzk_groth16::Proof;
use cuzk_params::{Parameters, VerifyingKey};

/// The name that errors give to the bytes.
const NAME: &str = "fuzz";

/// A `.params` file: what is accepted begins with the key inside.
pub fn parameters(data: &[u8]) {
    let bytes = Bytes::new(data.to_vec());
    if let Ok(parameters) = Parameters::from_bytes(Path::new(NAME), &bytes) {
        assert!(data.starts_with(&parameters.vk().to_bytes()));
    }
}

/// A `.vk` file: what is accepted encodes to the same bytes.
pub fn verifying_key(data: &[u8]) {
    let bytes = Bytes::new(data.to_vec());
    if let Ok(key) = VerifyingKey::from_bytes(Path::new(NAME), &bytes) {
        assert!(data.starts_with(&key.to_bytes()));
    }
}

/// A proof: what is accepted encodes to the same bytes.
pub fn proof(data: &[u8]) {
    if let Ok(proof) = Proof::from_bytes(data) {
        assert_eq!(proof.to_bytes(), data);
    }
}
