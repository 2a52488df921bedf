//! Errors that know where in a payload they arose.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuzk_proof_api::ProofApiError;

/// A [`ProofApiError::Field`] whose field is filled in by [`Within`] on the way up.
pub fn wrong(wanted: impl Display, found: impl Display) -> ProofApiError {
    ProofApiError::field("", wanted.to_string(), found.to_string())
}

/// A [`ProofApiError::Library`] from what one of Filecoin's functions reported.
pub fn library<E: Display>(what: &'static str) -> impl Fn(E) -> ProofApiError {
    move |error| ProofApiError::Library {
        what,
        message: format!("{error:#}"),
    }
}

/// Runs a verifier of Filecoin's crates over proofs that somebody else made.
///
/// Errors: [`ProofApiError::InvalidVanillaProof`] where it refuses them, or where they have a form that it asserts they
/// do not have; [`ProofApiError::Library`] where it fails.
pub fn verified<E: Display>(
    what: &'static str,
    verify: impl FnOnce() -> Result<bool, E>,
) -> Result<(), ProofApiError> {
    let refused = |message| Err(ProofApiError::InvalidVanillaProof { message });
    // Nothing that a panic could leave half-written outlives the call.
    match catch_unwind(AssertUnwindSafe(verify)) {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => refused(format!("{what} refuses it")),
        Ok(Err(error)) => Err(library(what)(error)),
        Err(_) => refused(format!("{what} does not know its form")),
    }
}

/// Puts the name of a field, or the index of an item, in front of the path of a [`ProofApiError::Field`].
pub trait Within {
    /// The error arose in this field.
    fn within(self, field: &str) -> Self;

    /// The error arose in this item of a list.
    fn within_item(self, index: usize) -> Self;
}

impl<T> Within for Result<T, ProofApiError> {
    fn within(self, field: &str) -> Self {
        self.map_err(|error| prefix(error, || field.to_owned()))
    }

    fn within_item(self, index: usize) -> Self {
        self.map_err(|error| prefix(error, || format!("[{index}]")))
    }
}

fn prefix(error: ProofApiError, outer: impl FnOnce() -> String) -> ProofApiError {
    match error {
        ProofApiError::Field {
            field,
            wanted,
            found,
        } => {
            let dot = if field.is_empty() || field.starts_with('[') {
                ""
            } else {
                "."
            };
            ProofApiError::Field {
                field: format!("{}{dot}{field}", outer()),
                wanted,
                found,
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_grow_outwards() {
        let inner: Result<(), _> = Err(wrong("7 hashes", 6));
        let error = inner
            .within("hashes")
            .within_item(2)
            .within("path")
            .within_item(0)
            .within("vanilla_proofs");
        let text = error.map_err(|e| e.to_string());
        assert_eq!(
            text,
            Err("field vanilla_proofs[0].path[2].hashes: wanted 7 hashes, found 6".to_owned())
        );
    }

    #[test]
    fn verifiers_accept_refuse_fail_or_assert() {
        let said =
            |result: Result<bool, &str>| verified("check", || result).map_err(|e| e.to_string());
        assert_eq!(said(Ok(true)), Ok(()));
        assert_eq!(
            said(Ok(false)),
            Err("the vanilla proof is not valid: check refuses it".to_owned())
        );
        assert_eq!(said(Err("no room")), Err("check: no room".to_owned()));
        let asserted = verified("check", || -> Result<bool, &str> { panic!("asserted") });
        assert!(matches!(
            asserted,
            Err(ProofApiError::InvalidVanillaProof { .. })
        ));
    }

    #[test]
    fn other_errors_pass_unchanged() {
        let inner: Result<(), _> = Err(library("setup")("no room"));
        assert_eq!(
            inner.within("comm_r").map_err(|e| e.to_string()),
            Err("setup: no room".to_owned())
        );
    }
}
