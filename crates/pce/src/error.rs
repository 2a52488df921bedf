//! What can go wrong with a PCE.

use std::io;
use std::path::{Path, PathBuf};

use cuzk_r1cs::{R1csError, ShapeHash};

/// What can go wrong with a PCE or its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PceError {
    /// The circuit or its matrices.
    #[error(transparent)]
    R1cs(#[from] R1csError),
    /// The file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A PCE file, or the file of a name, that is not as it must be.
    #[error("{}: {fault}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: FileFault,
    },
    /// A file that holds another circuit than its name says.
    #[error("{}: holds shape {found}, wanted {wanted}", path.display())]
    OtherShape {
        /// The file.
        path: PathBuf,
        /// The shape that was wanted.
        wanted: ShapeHash,
        /// The shape that was found.
        found: ShapeHash,
    },
}

/// What can be wrong with a file's bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// The file does not begin as a PCE does.
    #[error("no PCE file: it starts with {found:02x?}; compile the circuit again")]
    Magic {
        /// Its first bytes, at most 8.
        found: Vec<u8>,
    },
    /// A version of the format that this library does not read.
    #[error("version {found} of the format, wanted {wanted}; compile the circuit again")]
    Version {
        /// The version that this library reads.
        wanted: u32,
        /// The file's.
        found: u32,
    },
    /// Another number of sections than the version has.
    #[error("{found} sections, wanted {wanted}; compile the circuit again")]
    Sections {
        /// How many there must be.
        wanted: u32,
        /// How many there are.
        found: u32,
    },
    /// The file or a section ends inside something that it must hold.
    #[error("{section}: ends after {found} bytes, wanted {wanted}")]
    Truncated {
        /// What was being read.
        section: &'static str,
        /// The end that was wanted, in bytes.
        wanted: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// A section goes on after its content.
    #[error("{section}: {found} bytes after the end")]
    Trailing {
        /// The section.
        section: &'static str,
        /// How many bytes.
        found: u64,
    },
    /// Bytes that do not match their checksum.
    #[error(
        "{section} is damaged: its checksum is {found:016x}, wanted {wanted:016x}; compile the circuit again"
    )]
    Checksum {
        /// The section.
        section: &'static str,
        /// The stored checksum.
        wanted: u64,
        /// The checksum of the bytes.
        found: u64,
    },
    /// A number outside of what it may be.
    #[error("{section}, byte {offset}: {what}: {found}, wanted 0 to {limit}")]
    Number {
        /// The section.
        section: &'static str,
        /// Where the number ends, in bytes from the section's start.
        offset: usize,
        /// What the number is.
        what: &'static str,
        /// The largest that it may be.
        limit: u64,
        /// What it is.
        found: i64,
    },
    /// A run of nothing, which no one writes.
    #[error("{section}, byte {offset}: an empty run")]
    EmptyRun {
        /// The section.
        section: &'static str,
        /// Where, in bytes from the section's start.
        offset: usize,
    },
    /// A bit map with a one past its end.
    #[error("{section}, byte {offset}: a bit past the end of {bits} bits")]
    PastTheEnd {
        /// The section.
        section: &'static str,
        /// Where the bit map ends, in bytes from the section's start.
        offset: usize,
        /// Bits of the bit map.
        bits: usize,
    },
    /// A coefficient that is no canonical field element.
    #[error("coefficient {index} is not below the modulus")]
    Coefficient {
        /// Its index.
        index: usize,
    },
    /// A coefficient other than its place says: the first is 1, the second -1, and none is zero.
    #[error("coefficient {index}: {found}, wanted {wanted}")]
    PinnedCoefficient {
        /// Its index.
        index: usize,
        /// What it may be.
        wanted: &'static str,
        /// What it is.
        found: String,
    },
    /// Counts, templates or rows that do not fit together.
    #[error(transparent)]
    R1cs(#[from] R1csError),
    /// The file of a name does not hold a shape hash.
    #[error("wanted a shape hash of 64 hexadecimal digits, found {found:?}")]
    Hash {
        /// What it holds.
        found: String,
    },
}

impl FileFault {
    /// The error of a file at `path`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(Self) -> PceError + '_ {
        move |fault| PceError::File {
            path: path.to_owned(),
            fault,
        }
    }
}

impl PceError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
