//! What can go wrong with a PCE.

use std::io;
use std::path::PathBuf;

use cuzk_r1cs::{R1csError, ShapeHash};

/// What can go wrong with a PCE or its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PceError {
    /// The circuit or its matrices.
    #[error(transparent)]
    R1cs(#[from] R1csError),
    /// The file system.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is shorter than something it must hold.
    #[error("PCE file: {section} wants bytes up to {wanted}, the file has {found}")]
    Truncated {
        /// What was being read.
        section: &'static str,
        /// The end that was wanted.
        wanted: u64,
        /// Bytes in the file.
        found: u64,
    },
    /// The file is not a PCE, or of a version that this library does not read.
    #[error("PCE file: wanted {wanted}, found {found}; compile the circuit again")]
    Format {
        /// What was wanted.
        wanted: String,
        /// What was found.
        found: String,
    },
    /// Bytes that do not match their checksum.
    #[error(
        "PCE file: {section} is damaged: its checksum is {found:016x}, wanted {wanted:016x}; compile the circuit again"
    )]
    Checksum {
        /// The section.
        section: &'static str,
        /// The stored checksum.
        wanted: u64,
        /// The checksum of the bytes.
        found: u64,
    },
    /// A section whose content contradicts the header.
    #[error("PCE file: {section}: wanted {wanted}, found {found}")]
    Section {
        /// The section.
        section: &'static str,
        /// What was wanted.
        wanted: String,
        /// What was found.
        found: String,
    },
    /// A file that holds another circuit than its name says.
    #[error("{path}: holds shape {found}, wanted {wanted}")]
    OtherShape {
        /// The file.
        path: PathBuf,
        /// The shape that was wanted.
        wanted: ShapeHash,
        /// The shape that was found.
        found: ShapeHash,
    },
}

impl PceError {
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
