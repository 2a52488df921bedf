//! The registry: what was linked in.

use crate::{CircuitSpec, ProofApiError, ProofType};

/// A registered proof type; submit it with `inventory::submit!`.
pub struct Registered(pub &'static dyn ProofType);

inventory::collect!(Registered);

/// All linked proof types, by ascending identifier.
///
/// Errors: [`ProofApiError::DuplicateProofType`].
pub fn registry() -> Result<Vec<&'static dyn ProofType>, ProofApiError> {
    let mut types: Vec<_> = inventory::iter::<Registered>().map(|r| r.0).collect();
    types.sort_by_key(|t| t.id());
    match types.windows(2).find(|pair| pair[0].id() == pair[1].id()) {
        Some(pair) => Err(ProofApiError::DuplicateProofType {
            id: pair[0].id().to_owned(),
        }),
        None => Ok(types),
    }
}

/// The proof type called `id`.
pub fn by_id(id: &str) -> Result<&'static dyn ProofType, ProofApiError> {
    find(id.to_owned(), |t| t.id() == id)
}

/// The proof type with this number in `cuzk.v1`'s `ProofKind`.
pub fn by_wire_kind(kind: i32) -> Result<&'static dyn ProofType, ProofApiError> {
    find(kind.to_string(), |t| t.wire_kind() == kind)
}

/// The proof type that has a circuit called `circuit`, and that circuit.
pub fn by_circuit(circuit: &str) -> Result<(&'static dyn ProofType, CircuitSpec), ProofApiError> {
    let types = registry()?;
    let all = || {
        types
            .iter()
            .flat_map(|t| t.circuits().iter().map(move |c| (*t, *c)))
    };
    all()
        .find(|(_, spec)| spec.id == circuit)
        .ok_or_else(|| ProofApiError::UnknownCircuit {
            found: circuit.to_owned(),
            known: all()
                .map(|(_, spec)| spec.id)
                .collect::<Vec<_>>()
                .join(", "),
        })
}

fn find(
    found: String,
    matches: impl Fn(&dyn ProofType) -> bool,
) -> Result<&'static dyn ProofType, ProofApiError> {
    let types = registry()?;
    let known = || types.iter().map(|t| t.id()).collect::<Vec<_>>().join(", ");
    types
        .iter()
        .copied()
        .find(|t| matches(*t))
        .ok_or_else(|| ProofApiError::UnknownProofType {
            found,
            known: known(),
        })
}
