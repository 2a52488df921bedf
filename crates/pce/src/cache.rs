//! PCE files in a folder, keyed by shape hash, with names for the circuits that they were compiled from.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use cuzk_r1cs::ShapeHash;
use tempfile::NamedTempFile;

use crate::format::VERSION;
use crate::{Pce, PceError};

/// A folder of PCE files.
///
/// A circuit's name is bound to its shape under this library's version, so an upgrade compiles again instead of
/// trusting what another version recorded.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in `folder`, which is made when something is first put.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where the PCE of this shape lies.
    pub fn path(&self, hash: ShapeHash) -> PathBuf {
        self.folder.join(format!("{hash}.pce"))
    }

    /// The PCE of this shape, or `None` where it was not put.
    pub fn get(&self, hash: ShapeHash) -> Result<Option<Pce>, PceError> {
        let path = self.path(hash);
        let pce = match Pce::open(&path) {
            Err(PceError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            other => other?,
        };
        if pce.hash == hash {
            Ok(Some(pce))
        } else {
            Err(PceError::OtherShape {
                path,
                wanted: hash,
                found: pce.hash,
            })
        }
    }

    /// The PCE that was put under this name, or `None` where there is none.
    pub fn find(&self, name: &str) -> Result<Option<Pce>, PceError> {
        let path = self.name_path(name);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(PceError::io(&path))?,
        };
        match parse_hash(text.trim()) {
            Some(hash) => self.get(hash),
            None => Err(PceError::Section {
                section: "the name's file",
                wanted: "a shape hash of 64 hexadecimal digits".to_owned(),
                found: format!("{} in {}", text.trim(), path.display()),
            }),
        }
    }

    /// Stores a PCE and binds `name` to it.
    pub fn put(&self, name: &str, pce: &Pce) -> Result<PathBuf, PceError> {
        let path = self.path(pce.hash);
        pce.write(&path)?;
        self.write_text(&self.name_path(name), &format!("{}\n", pce.hash))?;
        Ok(path)
    }

    /// The note on a topic that was put beside the PCE of this shape, or `None` where there is none. Topics are names of
    /// files without their folder.
    pub fn note(&self, hash: ShapeHash, topic: &str) -> Result<Option<String>, PceError> {
        let path = self.note_path(hash, topic);
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(Some).map_err(PceError::io(&path)),
        }
    }

    /// Puts a note beside the PCE of this shape, in the place of what stood there on this topic.
    pub fn put_note(&self, hash: ShapeHash, topic: &str, text: &str) -> Result<(), PceError> {
        self.write_text(&self.note_path(hash, topic), text)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn write_text(&self, path: &Path, text: &str) -> Result<(), PceError> {
        let written = NamedTempFile::new_in(&self.folder).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|e| e.error)
        });
        written.map(|_| ()).map_err(PceError::io(path))
    }

    fn note_path(&self, hash: ShapeHash, topic: &str) -> PathBuf {
        self.folder.join(format!("{hash}.{topic}"))
    }

    fn name_path(&self, name: &str) -> PathBuf {
        let version = env!("CARGO_PKG_VERSION");
        self.folder
            .join(format!("{name}-{version}-f{VERSION}.shape"))
    }
}

fn parse_hash(text: &str) -> Option<ShapeHash> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(ShapeHash(hash))
}
