//! Errors that know where in a payload they arose.

use std::fmt::Display;

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
    fn other_errors_pass_unchanged() {
        let inner: Result<(), _> = Err(library("setup")("no room"));
        assert_eq!(
            inner.within("comm_r").map_err(|e| e.to_string()),
            Err("setup: no room".to_owned())
        );
    }
}
