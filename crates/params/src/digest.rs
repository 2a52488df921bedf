//! Digests of key files, as parameters.json gives them.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use blake2b_simd::State;

use crate::ParamsError;

const BUFFER_BYTES: usize = 1 << 20;

/// The first 16 bytes of a file's BLAKE2b-512 hash: what parameters.json gives in hexadecimal.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileDigest(pub [u8; 16]);

impl FileDigest {
    fn finish(state: &State) -> Self {
        let mut digest = [0; 16];
        digest.copy_from_slice(&state.finalize().as_bytes()[..16]);
        Self(digest)
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileDigest({self})")
    }
}

impl FromStr for FileDigest {
    type Err = ParamsError;

    fn from_str(text: &str) -> Result<Self, ParamsError> {
        let mut digest = [0; 16];
        hex::decode_to_slice(text, &mut digest).map_err(|_| ParamsError::DigestFormat {
            found: text.to_owned(),
        })?;
        Ok(Self(digest))
    }
}

/// The digest of bytes in memory.
pub fn digest_bytes(bytes: &[u8]) -> FileDigest {
    FileDigest::finish(State::new().update(bytes))
}

/// The digest of a file, read in pieces. After each piece `progress` is told how many bytes are done and how many the
/// file had when it was opened.
///
/// # Errors
/// [`ParamsError::Missing`] or [`ParamsError::Io`].
pub fn digest_file(
    path: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<FileDigest, ParamsError> {
    let mut file = File::open(path).map_err(|source| ParamsError::io(path, "open", source))?;
    let metadata = file.metadata();
    let total = metadata
        .map_err(|source| ParamsError::io(path, "measure", source))?
        .len();
    let mut state = State::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut done = 0;
    loop {
        let read = file
            .read(&mut buffer)
            .map_err(|source| ParamsError::io(path, "read", source))?;
        if read == 0 {
            return Ok(FileDigest::finish(&state));
        }
        state.update(&buffer[..read]);
        done += read as u64;
        progress(done, total);
    }
}
