//! What can go wrong while sectors and payloads are made, read or checked.

use crate::{Kind, SectorSize};
use std::error::Error;

/// A failure of this crate.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// A name that is none of the known ones.
    #[error("unknown {what} {found:?}, wanted one of {wanted}")]
    Name {
        /// What was being parsed ("kind", "sector size", "PoRep feature").
        what: &'static str,
        /// The known names.
        wanted: &'static str,
        /// The text that was given.
        found: String,
    },
    /// A sector size in bytes that Filecoin's networks do not use.
    #[error("unknown sector size of {bytes} bytes, wanted one of {wanted}", wanted = SectorSize::NAMES)]
    SectorBytes {
        /// The size that was given, in bytes.
        bytes: u64,
    },
    /// A registered proof number that is not one of this kind and sector size.
    #[error("registered proof {found} is not a {kind} proof of a {size} sector")]
    RegisteredProof {
        /// The kind of the payload.
        kind: Kind,
        /// The sector size of the payload.
        size: SectorSize,
        /// The number that was given.
        found: u64,
    },
    /// A sector count outside `1..=limit`.
    #[error("a WindowPoSt partition of {size} sectors holds 1 to {limit} sectors, not {found}")]
    SectorCount {
        /// The sector size.
        size: SectorSize,
        /// The most sectors that one partition holds.
        limit: usize,
        /// The count that was asked for.
        found: usize,
    },
    /// Challenges that are drawn from CommR cannot be met by a sector that was built around its challenges.
    #[error(
        "{feature} PoRep draws its challenges from CommR: at {size} that needs a sealed sector (the interactive circuit is the same one)"
    )]
    NeedsSealedSector {
        /// The PoRep feature that was asked for.
        feature: crate::PoRepFeature,
        /// The sector size.
        size: SectorSize,
    },
    /// Sealing a real sector of this size takes a sealing machine.
    #[error("real sectors are made at 2KiB and 8MiB, not at {size}; use a synthetic one")]
    TooLargeToSeal {
        /// The sector size that was asked for.
        size: SectorSize,
    },
    /// A payload of this kind must hold a field that is absent.
    #[error("the {kind} payload lacks {field}")]
    Missing {
        /// The kind of the payload.
        kind: Kind,
        /// The absent field.
        field: &'static str,
    },
    /// A payload holds a field with a value that contradicts another one.
    #[error("{field}: wanted {wanted}, found {found}")]
    Mismatch {
        /// The field.
        field: &'static str,
        /// What the other fields ask for.
        wanted: String,
        /// What stands there.
        found: String,
    },
    /// A JSON text that does not have the wanted form.
    #[error("{what} is not the wanted JSON")]
    Json {
        /// Which text.
        what: &'static str,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// A field that is not base64.
    #[error("{field} is not base64")]
    Base64 {
        /// The field.
        field: &'static str,
        /// Where and why.
        #[source]
        source: base64::DecodeError,
    },
    /// A field whose bytes have the wrong number.
    #[error("{field} has {found} bytes, wanted {wanted}")]
    Length {
        /// The field.
        field: &'static str,
        /// The number of bytes wanted.
        wanted: usize,
        /// The number of bytes found.
        found: usize,
    },
    /// A vanilla proof that is not the wanted bincode.
    #[error("{what} {index} is not the wanted bincode")]
    Bincode {
        /// Which proof.
        what: &'static str,
        /// Its place in the list.
        index: usize,
        /// Why.
        #[source]
        source: bincode::Error,
    },
    /// A file or directory could not be made, read or written.
    #[error("{what}")]
    Io {
        /// What was attempted.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// A function of Filecoin's own crates reported a failure.
    #[error("filecoin-proofs failed: {step}")]
    Filecoin {
        /// The step that failed.
        step: &'static str,
        /// What Filecoin's crate said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A function of Filecoin's own crates panicked, which malformed vanilla proofs can make it do.
    #[error("filecoin-proofs panicked: {step}")]
    Panicked {
        /// The step that panicked.
        step: &'static str,
    },
}

/// Names the step in which a function of Filecoin's crates failed.
pub(crate) trait Step<T> {
    /// Turns the foreign error into a [`SynthError::Filecoin`] of `step`.
    fn step(self, step: &'static str) -> Result<T, SynthError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Step<T> for Result<T, E> {
    fn step(self, step: &'static str) -> Result<T, SynthError> {
        self.map_err(|source| SynthError::Filecoin {
            step,
            source: source.into(),
        })
    }
}
