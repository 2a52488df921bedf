//! Circuits with their static types, and the names of their keys.

use bellpepper_core::Circuit;
use cuzk_curve::Fr;
use cuzk_proof_api::{AnyCircuit, CircuitSpec, KeyNames, ProofApiError};
use storage_proofs_core::parameter_cache::{parameter_id, verifying_key_id};

use crate::SectorSize;

/// Receives a circuit with its static type, which other provers' functions ask for.
pub trait CircuitVisitor {
    /// What comes of the visit.
    type Output;

    /// Takes the circuit.
    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Self::Output;
}

/// The visitor that forgets the type.
#[derive(Copy, Clone, Debug)]
pub struct Boxed;

impl CircuitVisitor for Boxed {
    type Output = Box<dyn AnyCircuit>;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Self::Output {
        Box::new(circuit)
    }
}

/// The sector size of the circuit called `id`, one of `specs`.
///
/// Errors: [`ProofApiError::UnknownCircuit`].
pub fn size_of(specs: &[CircuitSpec], id: &str) -> Result<SectorSize, ProofApiError> {
    match specs.iter().find(|spec| spec.id == id) {
        Some(spec) => SectorSize::from_bytes(spec.sector_bytes),
        None => Err(ProofApiError::UnknownCircuit {
            found: id.to_owned(),
            known: specs
                .iter()
                .map(|spec| spec.id)
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

/// The file names of the key with this cache identifier of `storage-proofs-core`.
pub fn key_names(cache_identifier: &str) -> KeyNames {
    KeyNames {
        params: parameter_id(cache_identifier),
        vk: verifying_key_id(cache_identifier),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circuits_are_found_by_name() {
        let specs = [CircuitSpec {
            id: "toy-8m",
            sector_bytes: 8 << 20,
            partitions: 1,
        }];
        assert_eq!(size_of(&specs, "toy-8m").unwrap(), SectorSize::MiB8);
        let error = size_of(&specs, "toy-2k").unwrap_err().to_string();
        assert_eq!(error, "no circuit toy-2k; known: toy-8m");
    }
}
