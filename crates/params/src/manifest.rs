//! parameters.json: the published key files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::{FileDigest, KeyName, ParamsError, digest_file};

/// What is published about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterFile {
    /// Where it is found on IPFS.
    pub cid: String,
    /// The digest of its bytes.
    pub digest: FileDigest,
    /// The sector size in bytes that it is for.
    pub sector_size: u64,
}

/// The published key files by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterFiles {
    files: BTreeMap<KeyName, ParameterFile>,
}

/// An entry as it is written.
#[derive(Deserialize)]
struct Entry {
    cid: String,
    digest: String,
    sector_size: u64,
}

impl ParameterFiles {
    /// Reads a parameters.json.
    ///
    /// # Errors
    /// [`ParamsError::Missing`], [`ParamsError::Io`], or as [`ParameterFiles::parse`].
    pub fn read(file: &Path) -> Result<Self, ParamsError> {
        let json = std::fs::read(file).map_err(|source| ParamsError::io(file, "read", source))?;
        Self::parse(file, &json)
    }

    /// Parses the bytes of a parameters.json; `file` is for errors.
    ///
    /// # Errors
    /// [`ParamsError::Json`], [`ParamsError::Name`] or [`ParamsError::DigestFormat`].
    pub fn parse(file: &Path, json: &[u8]) -> Result<Self, ParamsError> {
        let entries: BTreeMap<String, Entry> =
            serde_json::from_slice(json).map_err(|source| ParamsError::Json {
                file: file.to_path_buf(),
                source,
            })?;
        let files = entries.into_iter().map(|(name, entry)| {
            let published = ParameterFile {
                cid: entry.cid,
                digest: entry.digest.parse()?,
                sector_size: entry.sector_size,
            };
            Ok((name.parse()?, published))
        });
        Ok(Self {
            files: files.collect::<Result<_, ParamsError>>()?,
        })
    }

    /// What is published about a file.
    pub fn get(&self, name: &KeyName) -> Option<&ParameterFile> {
        self.files.get(name)
    }

    /// All files in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&KeyName, &ParameterFile)> {
        self.files.iter()
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether no file is listed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Compares the digest of a file with the published one for its name.
    ///
    /// # Errors
    /// [`ParamsError::Name`] or [`ParamsError::Unpublished`] where its name is not listed, [`ParamsError::Digest`] where
    /// the digest differs, or what [`digest_file`] returns.
    pub fn verify(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), ParamsError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let published = self
            .get(&name.parse()?)
            .ok_or_else(|| ParamsError::Unpublished {
                name: name.clone().into_owned(),
            })?;
        let found = digest_file(path, progress)?;
        if found == published.digest {
            return Ok(());
        }
        Err(ParamsError::Digest {
            file: path.to_path_buf(),
            wanted: published.digest,
            found,
        })
    }
}
