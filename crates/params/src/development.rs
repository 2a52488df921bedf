//! The mark beside a key that was made for development.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ParamsError;
use crate::writer::replace_file;

const KIND: &str = "development";

/// What stands in `<name>.dev.json` beside `<name>.params` and `<name>.vk`: the key's toxic waste was known to one
/// process, so whoever ran it could have kept it and can forge proofs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevelopmentMark {
    kind: String,
    insecure: bool,
    /// The program that made the key and its version, such as `cuzk 0.1.0`.
    pub made_by: String,
    /// The shape hash of the circuit, hexadecimal.
    pub shape_hash: String,
}

impl DevelopmentMark {
    /// A mark for a key of the circuit with this shape hash.
    pub fn new(made_by: impl Into<String>, shape_hash: impl Into<String>) -> Self {
        Self {
            kind: KIND.to_owned(),
            insecure: true,
            made_by: made_by.into(),
            shape_hash: shape_hash.into(),
        }
    }

    /// Where the mark of a `.params` or `.vk` file lies.
    pub fn path(key_file: &Path) -> PathBuf {
        key_file.with_extension("dev.json")
    }

    /// Writes the mark beside a key file.
    ///
    /// # Errors
    /// [`ParamsError::Io`].
    pub fn write(&self, key_file: &Path) -> Result<(), ParamsError> {
        let path = Self::path(key_file);
        let mut json = serde_json::to_vec_pretty(self).map_err(|source| ParamsError::Json {
            file: path.clone(),
            source,
        })?;
        json.push(b'\n');
        replace_file(&path, &json)
    }

    /// The mark beside a key file; `None` where there is none.
    ///
    /// # Errors
    /// [`ParamsError::Io`], [`ParamsError::Json`], or [`ParamsError::Mark`] for a mark of another kind, or one that does
    /// not own up to being insecure.
    pub fn read(key_file: &Path) -> Result<Option<Self>, ParamsError> {
        let path = Self::path(key_file);
        let json = match std::fs::read(&path) {
            Ok(json) => json,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ParamsError::io(&path, "read", source)),
        };
        Self::parse(&path, &json).map(Some)
    }

    /// Parses the bytes of a mark; `file` is for errors.
    ///
    /// # Errors
    /// [`ParamsError::Json`] or [`ParamsError::Mark`], as [`DevelopmentMark::read`].
    pub fn parse(file: &Path, json: &[u8]) -> Result<Self, ParamsError> {
        let mark: Self = serde_json::from_slice(json).map_err(|source| ParamsError::Json {
            file: file.to_path_buf(),
            source,
        })?;
        let refuse = |field, wanted, found| ParamsError::Mark {
            file: file.to_path_buf(),
            field,
            wanted,
            found,
        };
        if mark.kind != KIND {
            return Err(refuse("kind", KIND, mark.kind));
        }
        if !mark.insecure {
            return Err(refuse("insecure", "true", "false".to_owned()));
        }
        Ok(mark)
    }
}
