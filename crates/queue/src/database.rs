//! The database of records, reopened after a failure and set aside when it cannot be read.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::{Job, JobId, QueueError, record};

const JOBS: TableDefinition<[u8; 16], &[u8]> = TableDefinition::new("jobs");
/// Bytes of the database that are kept in memory.
const CACHE_BYTES: usize = 16 << 20;

/// The records of all jobs.
///
/// After an error of the disk redb refuses further work on an open database, so it is closed then and opened again
/// by the next call.
pub struct Records {
    path: PathBuf,
    database: Option<Database>,
}

/// A record as it was found.
pub enum Row {
    /// A job.
    Job(Job),
    /// Bytes that are none.
    Damaged {
        /// The identity that they lie under.
        id: JobId,
        /// The bytes.
        bytes: Vec<u8>,
        /// What is wrong with them.
        reason: String,
    },
}

/// Why a database did not open.
pub enum OpenError {
    /// Its content is wrong.
    Damaged(String),
    /// The system refused.
    Refused(QueueError),
}

/// A change to the records.
pub enum Change<'a> {
    /// A job is now so.
    Put(&'a Job),
    /// A job is gone.
    Remove(JobId),
}

impl Records {
    /// The records in the file, which is made where absent, and all of its rows.
    pub fn open(path: PathBuf) -> Result<(Self, Vec<Row>), OpenError> {
        // The file may hold anything: a library that trips over it must not keep the daemon from starting.
        let opened = catch_unwind(AssertUnwindSafe(|| open_and_read(&path)));
        let (database, rows) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) if is_refusal(&error) => {
                return Err(OpenError::Refused(refused(&path, error)));
            }
            Ok(Err(error)) => return Err(OpenError::Damaged(error.to_string())),
            Err(_) => return Err(OpenError::Damaged("it cannot be read".to_owned())),
        };
        let database = Some(database);
        Ok((Self { path, database }, rows))
    }

    /// Applies changes in one transaction, which is on disk when this returns.
    pub fn apply(&mut self, changes: &[Change]) -> Result<(), QueueError> {
        self.with(|database| {
            let transaction = database.begin_write()?;
            {
                let mut table = transaction.open_table(JOBS)?;
                for change in changes {
                    match change {
                        Change::Put(job) => {
                            table.insert(job.id.0, record::encode(job).as_slice())?;
                        }
                        Change::Remove(id) => {
                            table.remove(id.0)?;
                        }
                    }
                }
            }
            transaction.commit()?;
            Ok(())
        })
    }

    /// The record of a job.
    pub fn get(&mut self, id: JobId) -> Result<Option<Row>, QueueError> {
        self.with(|database| {
            let table = database.begin_read()?.open_table(JOBS)?;
            Ok(table.get(id.0)?.map(|value| row(id, value.value())))
        })
    }

    fn with<T>(
        &mut self,
        work: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, QueueError> {
        let opened = match self.database.take() {
            Some(database) => Ok(database),
            None => open_checked(&self.path),
        };
        let done = opened.and_then(|database| work(&database).map(|value| (database, value)));
        match done {
            Ok((database, value)) => {
                self.database = Some(database);
                Ok(value)
            }
            Err(error) => Err(refused(&self.path, error)),
        }
    }
}

/// Opens the database and checks every page of it.
fn open_checked(path: &Path) -> Result<Database, redb::Error> {
    let mut database = Database::builder()
        .set_cache_size(CACHE_BYTES)
        .create(path)?;
    database.check_integrity()?;
    Ok(database)
}

fn open_and_read(path: &Path) -> Result<(Database, Vec<Row>), redb::Error> {
    let database = open_checked(path)?;
    let write = database.begin_write()?;
    write.open_table(JOBS)?;
    write.commit()?;
    let table = database.begin_read()?.open_table(JOBS)?;
    let mut rows = Vec::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        rows.push(row(JobId(key.value()), value.value()));
    }
    drop(table);
    Ok((database, rows))
}

/// Whether the system said no, as opposed to the file's content being wrong.
fn is_refusal(error: &redb::Error) -> bool {
    match error {
        redb::Error::Io(error) => !matches!(
            error.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
        ),
        redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => true,
        _ => false,
    }
}

fn refused(path: &Path, error: redb::Error) -> QueueError {
    QueueError::Database {
        file: path.to_owned(),
        message: error.to_string(),
    }
}

fn row(id: JobId, bytes: &[u8]) -> Row {
    match record::decode(id, bytes) {
        Ok(job) => Row::Job(job),
        Err(error) => Row::Damaged {
            id,
            bytes: bytes.to_vec(),
            reason: error.to_string(),
        },
    }
}
