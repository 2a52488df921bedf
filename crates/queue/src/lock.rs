//! One process a store.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::QueueError;

/// The right to work on a store; the system takes it back when the process ends, however it ends.
pub struct StoreLock {
    _file: File,
}

impl StoreLock {
    /// Takes the lock of the store in `folder` and leaves this process's number in it.
    ///
    /// Errors: [`QueueError::Held`] with the number of the process that has it.
    pub fn take(folder: &Path) -> Result<Self, QueueError> {
        let path = folder.join("lock");
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(QueueError::io(&path, "open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The holder writes its number right after it has the lock.
                let _ = file.read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "(unknown)".to_owned(),
                    number => number.to_owned(),
                };
                let store = folder.to_owned();
                return Err(QueueError::Held { store, holder });
            }
            Err(TryLockError::Error(source)) => {
                return Err(QueueError::io(&path, "lock")(source));
            }
        }
        // The number is for people only: a full disk does not keep the lock from holding.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}
