//! Payloads as files that are named by their content.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{ContentHash, QueueError};

/// Files whose names end so are not finished.
const STAGED: &str = "part";

/// Linux' numbers for no memory, no file handles in the system, and none in this process.
const ENOMEM: i32 = 12;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// The folder of payloads.
pub struct Payloads {
    folder: PathBuf,
    next_stage: AtomicU64,
}

/// A file on disk without its final name. Dropping it removes it.
pub struct Staged {
    path: PathBuf,
    kept: bool,
}

/// A file of the folder.
pub struct Found {
    /// Where it lies.
    pub path: PathBuf,
    /// The payload that it claims to be; none for an unfinished or foreign file.
    pub content: Option<ContentHash>,
    /// Its length.
    pub bytes: u64,
}

/// Why a payload cannot be read.
pub enum Unreadable {
    /// It is not there.
    Missing,
    /// Its bytes do not have its hash.
    Damaged,
    /// The system refused to read this one.
    Refused(QueueError),
    /// The system has no file handles or no memory left, whichever payload it is.
    Exhausted(QueueError),
}

impl Payloads {
    /// The payloads in `folder`, which is made where absent.
    pub fn open(folder: PathBuf) -> Result<Self, QueueError> {
        make_folder(&folder)?;
        Ok(Self {
            folder,
            next_stage: AtomicU64::new(0),
        })
    }

    /// Writes a payload to a temporary name and syncs it.
    pub fn stage(&self, payload: &[u8]) -> Result<Staged, QueueError> {
        let number = self.next_stage.fetch_add(1, Ordering::Relaxed);
        let staged = Staged {
            path: self.folder.join(format!("{number}.{STAGED}")),
            kept: false,
        };
        let write = || {
            let mut file = File::create(&staged.path)?;
            file.write_all(payload)?;
            file.sync_all()
        };
        write().map_err(QueueError::io(&staged.path, "write"))?;
        Ok(staged)
    }

    /// Gives a staged payload its name, durably.
    pub fn keep(&self, mut staged: Staged, content: &ContentHash) -> Result<(), QueueError> {
        let path = self.path(content);
        fs::rename(&staged.path, &path).map_err(QueueError::io(&path, "rename to"))?;
        staged.kept = true;
        sync_folder(&self.folder)
    }

    /// Reads a payload and checks that it is the one that was written.
    pub fn read(&self, content: &ContentHash) -> Result<Vec<u8>, Unreadable> {
        let path = self.path(content);
        match fs::read(&path) {
            Ok(bytes) if ContentHash::of(&bytes) == *content => Ok(bytes),
            Ok(_) => Err(Unreadable::Damaged),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Unreadable::Missing),
            Err(error) => {
                let code = error.raw_os_error();
                let error = QueueError::io(path, "read")(error);
                Err(match code {
                    Some(ENOMEM | ENFILE | EMFILE) => Unreadable::Exhausted(error),
                    _ => Unreadable::Refused(error),
                })
            }
        }
    }

    /// Removes a payload; one that is left behind is removed when the store is opened.
    pub fn remove(&self, content: &ContentHash) {
        let _ = fs::remove_file(self.path(content));
    }

    /// All files of the folder.
    pub fn list(&self) -> Result<Vec<Found>, QueueError> {
        let refused = || QueueError::io(&self.folder, "list");
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(refused())? {
            let entry = entry.map_err(refused())?;
            found.push(Found {
                path: entry.path(),
                content: entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok()),
                bytes: entry.metadata().map_err(refused())?.len(),
            });
        }
        Ok(found)
    }

    /// Where a payload lies.
    pub fn path(&self, content: &ContentHash) -> PathBuf {
        self.folder.join(content.to_string())
    }
}

impl Found {
    /// Whether the file was being written when its process ended.
    pub fn is_staged(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == STAGED)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes a folder that nobody else can read, where absent.
pub fn make_folder(folder: &Path) -> Result<(), QueueError> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(folder)
        .map_err(QueueError::io(folder, "make the folder"))
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> Result<(), QueueError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(QueueError::io(folder, "sync"))
}
