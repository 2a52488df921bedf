//! Byte strings of Filecoin: field elements, provers, bincode.

use std::fmt::Display;

use bincode::Options;
use cuzk_curve::Fr;
use cuzk_proof_api::ProofApiError;
use ff::PrimeField;
use filecoin_hashers::Domain;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::wrong;

/// 32 bytes of a payload that must be a field element, little-endian; not checked yet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Node(pub [u8; 32]);

impl Node {
    /// The element, as the domain of one of Filecoin's hashers.
    ///
    /// Errors: [`ProofApiError::Field`] where the bytes are not below the modulus; Filecoin's domains take any bytes
    /// and panic when they are converted.
    pub fn domain<D: Domain>(self) -> Result<D, ProofApiError> {
        if bool::from(Fr::from_repr(self.0).is_some()) {
            Ok(D::from(self.0))
        } else {
            Err(wrong(
                "a field element below the modulus, little-endian",
                Hex(&self.0),
            ))
        }
    }
}

/// A 32-byte field of a request that must be a field element, as the domain of one of Filecoin's hashers.
///
/// Errors: [`ProofApiError::Field`] where it has another length or is not below the modulus.
pub fn scalar<D: Domain>(bytes: &[u8]) -> Result<D, ProofApiError> {
    let bytes = bytes
        .try_into()
        .map_err(|_| wrong("32 bytes", format!("{} bytes", bytes.len())))?;
    Node(bytes).domain()
}

/// Refuses zeros only, which Filecoin takes for "not set" in commitments and seeds.
pub fn non_zero(bytes: &[u8]) -> Result<(), ProofApiError> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Err(wrong(
            "bytes that are not all zero",
            format!("{} zero bytes", bytes.len()),
        ));
    }
    Ok(())
}

/// The prover id of a miner's actor: the payload of its id address (the id as unsigned LEB128), padded with zeros.
pub fn prover_id(miner_id: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut rest = miner_id;
    for byte in &mut bytes {
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    bytes
}

/// Decodes one bincode 1.x value with fixed-width integers that takes up all of `bytes`.
///
/// Errors: [`ProofApiError::Field`] where it does not decode or bytes are left over; `wanted` names the type.
pub fn decode_bincode<T: DeserializeOwned>(bytes: &[u8], wanted: &str) -> Result<T, ProofApiError> {
    bincode::DefaultOptions::new()
        .with_fixint_encoding()
        .with_limit(bytes.len() as u64)
        .reject_trailing_bytes()
        .deserialize(bytes)
        .map_err(|error| {
            wrong(
                format_args!("bincode {wanted}"),
                format_args!("{} bytes: {error}", bytes.len()),
            )
        })
}

struct Hex<'a>(&'a [u8]);

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff::Field;
    use filecoin_hashers::poseidon::PoseidonDomain;

    #[test]
    fn the_modulus_is_the_first_value_refused() {
        let greatest = (Fr::ZERO - Fr::ONE).to_repr();
        let mut modulus = greatest;
        modulus[0] += 1;
        assert_eq!(
            scalar::<PoseidonDomain>(&greatest).unwrap(),
            PoseidonDomain::from(greatest)
        );
        for bytes in [modulus, [0xff; 32]] {
            assert!(scalar::<PoseidonDomain>(&bytes).is_err());
        }
        for length in [0, 31, 33] {
            let error = scalar::<PoseidonDomain>(&vec![0; length])
                .unwrap_err()
                .to_string();
            assert!(error.contains("wanted 32 bytes"), "{error}");
        }
    }

    #[test]
    fn prover_ids_are_leb128() {
        let start = |id, len: usize| prover_id(id)[..len].to_vec();
        assert_eq!(start(0, 2), [0, 0]);
        assert_eq!(start(127, 2), [0x7f, 0]);
        assert_eq!(start(128, 3), [0x80, 1, 0]);
        assert_eq!(start(1000, 3), [0xe8, 7, 0]);
        assert_eq!(
            start(u64::MAX, 11),
            [255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0]
        );
    }

    #[test]
    fn bincode_takes_all_bytes_or_none() {
        assert_eq!(
            decode_bincode::<u64>(&[1, 0, 0, 0, 0, 0, 0, 0], "u64").unwrap(),
            1
        );
        for length in [0, 7, 9] {
            assert!(
                decode_bincode::<u64>(&vec![0; length], "u64").is_err(),
                "{length}"
            );
        }
    }
}
