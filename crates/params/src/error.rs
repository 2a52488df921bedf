//! What can be wrong with keys.

use std::io;
use std::path::{Path, PathBuf};

use cuzk_curve::encoding::EncodingError;

use crate::{FileDigest, Section};

/// An error about a key file, with the file, the place in it, and what was wanted and found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The operating system refused a call.
    #[error("{}: cannot {action}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was attempted.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A key that is not there.
    #[error(
        "{} is missing: fetch the published key, or make a development key with `cuzk keygen`",
        file.display()
    )]
    Missing {
        /// The file that was looked for.
        file: PathBuf,
    },
    /// The file ends inside the verifying key or before a count.
    #[error(
        "{}: cut short in {section}: wanted {wanted} bytes at offset {offset}, found {found}",
        file.display()
    )]
    Truncated {
        /// The file.
        file: PathBuf,
        /// The section that is cut, or whose count is.
        section: Section,
        /// Where the read began.
        offset: usize,
        /// Bytes that were wanted there.
        wanted: usize,
        /// Bytes that are left there.
        found: usize,
    },
    /// A section claims more points than the file has room for.
    #[error(
        "{}: {section} claims {wanted} points, but the file has room for {found}: it is cut short or the count is wrong",
        file.display()
    )]
    CountPastEnd {
        /// The file.
        file: PathBuf,
        /// The section.
        section: Section,
        /// The count as written.
        wanted: usize,
        /// Whole points that fit into what is left.
        found: usize,
    },
    /// A section that may not be empty is.
    #[error("{}: {section} is empty", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
        /// The section.
        section: Section,
    },
    /// A section's count does not go with the circuit or with the other sections.
    #[error("{}: {section} holds {found} points, wanted {wanted}", file.display())]
    Count {
        /// The file.
        file: PathBuf,
        /// The section.
        section: Section,
        /// The count that was wanted.
        wanted: usize,
        /// The count that was found.
        found: usize,
    },
    /// h does not hold one point fewer than a power of two.
    #[error("{}: h holds {found} points, wanted one fewer than a power of two", file.display())]
    Domain {
        /// The file.
        file: PathBuf,
        /// The count that was found.
        found: usize,
    },
    /// A point that may not stand in a key.
    #[error("{}: {section}, point {index}: {fault}", file.display())]
    Point {
        /// The file.
        file: PathBuf,
        /// The section.
        section: Section,
        /// The point's index in the section.
        index: usize,
        /// What is wrong with it.
        fault: EncodingError,
    },
    /// gamma equals delta in G2: whoever accepts such a key accepts forged proofs.
    #[error("{}: gamma_g2 equals delta_g2: forged proofs would verify under this key", file.display())]
    GammaEqualsDelta {
        /// The file.
        file: PathBuf,
    },
    /// The verifying key inside a `.params` differs from the `.vk` beside it: they belong to different setups.
    #[error("{}: the verifying key inside differs from {}", file.display(), vk.display())]
    VerifyingKeyDiffers {
        /// The `.params` file.
        file: PathBuf,
        /// The `.vk` file.
        vk: PathBuf,
    },
    /// Bytes after the end where none may be.
    #[error("{}: {found} bytes after the end", file.display())]
    TrailingBytes {
        /// The file.
        file: PathBuf,
        /// How many.
        found: usize,
    },
    /// A file whose digest is not the published one.
    #[error("{}: digest {found}, wanted {wanted}", file.display())]
    Digest {
        /// The file.
        file: PathBuf,
        /// The published digest.
        wanted: FileDigest,
        /// The file's digest.
        found: FileDigest,
    },
    /// A digest that is not 32 hexadecimal digits.
    #[error("digest {found:?}: wanted 32 hexadecimal digits")]
    DigestFormat {
        /// What was found.
        found: String,
    },
    /// A file that parameters.json does not list.
    #[error("{name} is not among the published parameter files")]
    Unpublished {
        /// The file's name.
        name: String,
    },
    /// A key name that is not `v<version>-<circuit>-<64 hexadecimal digits>.{params,vk}`.
    #[error("key name {name:?}: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A JSON file (parameters.json or a development mark) that does not parse.
    #[error("{}: {source}", file.display())]
    Json {
        /// The file.
        file: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A mark beside a key that does not say what it must.
    #[error("{}: {field}: wanted {wanted}, found {found}", file.display())]
    Mark {
        /// The mark's file.
        file: PathBuf,
        /// The field.
        field: &'static str,
        /// What it must say.
        wanted: &'static str,
        /// What it says.
        found: String,
    },
    /// A writer was given the sections in another order than the file's.
    #[error("{}: wanted section {wanted}, found {found}", file.display())]
    SectionOrder {
        /// The file being written.
        file: PathBuf,
        /// The next section of the file, or `the end`.
        wanted: &'static str,
        /// What was given.
        found: &'static str,
    },
    /// More points in a section than its count can say.
    #[error("{}: {section}: more than 2^32 - 1 points", file.display())]
    TooManyPoints {
        /// The file being written.
        file: PathBuf,
        /// The section.
        section: Section,
    },
    /// The system has no random numbers to offer, which the subgroup check needs.
    #[error("no random numbers from the system: {0}")]
    Random(#[from] rand_core::Error),
}

impl ParamsError {
    /// Turns a failed call on `file` into an error; a file that is not there is [`Self::Missing`].
    pub(crate) fn io(file: &Path, action: &'static str, source: io::Error) -> Self {
        let file = file.to_path_buf();
        if source.kind() == io::ErrorKind::NotFound {
            return Self::Missing { file };
        }
        Self::Io {
            file,
            action,
            source,
        }
    }
}
