//! Opening a store whatever state it was left in.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::database::{Change, OpenError, Records, Row};
use crate::embedded::{EmbeddedQueue, Inner};
use crate::index::Index;
use crate::payloads::{Payloads, make_folder};
use crate::{ContentHash, Job, JobId, Quarantined, QueueError, State};

/// Reports that are held until somebody takes them; older ones are dropped.
const MAX_REPORTS: usize = 1000;

/// Where damaged things are put, and what was found.
pub struct Quarantine {
    folder: PathBuf,
    reports: Vec<Quarantined>,
}

impl Quarantine {
    /// Moves a file here. None where that fails; the file then stays where it is, or is gone.
    pub fn take_file(&self, file: &Path) -> Option<PathBuf> {
        let to = self.free_name(&file.file_name()?.to_string_lossy())?;
        fs::rename(file, &to).ok()?;
        Some(to)
    }

    /// Writes the bytes of a record here.
    pub fn take_bytes(&self, id: JobId, bytes: &[u8]) -> Option<PathBuf> {
        let to = self.free_name(&format!("{id}.record"))?;
        fs::write(&to, bytes).ok()?;
        Some(to)
    }

    /// Notes what was found.
    pub fn report(
        &mut self,
        what: &'static str,
        job: Option<JobId>,
        file: Option<PathBuf>,
        reason: &str,
    ) {
        if self.reports.len() >= MAX_REPORTS {
            self.reports.remove(0);
        }
        self.reports.push(Quarantined {
            what,
            job,
            file,
            reason: reason.to_owned(),
        });
    }

    /// What was found since the last call.
    pub fn take_reports(&mut self) -> Vec<Quarantined> {
        std::mem::take(&mut self.reports)
    }

    fn free_name(&self, name: &str) -> Option<PathBuf> {
        make_folder(&self.folder).ok()?;
        (0..u32::MAX)
            .map(|number| self.folder.join(format!("{name}.{number}")))
            .find(|path| !path.exists())
    }
}

/// Brings a store into order: every unfinished job waits with its payload in place, and nothing else lies about.
///
/// A job fails that ran when the process ended `max_interruptions` times, since it may be what ends it.
pub fn recover(
    folder: &Path,
    payloads: &Payloads,
    max_interruptions: u32,
    now_ms: u64,
) -> Result<Inner, QueueError> {
    let mut quarantine = Quarantine {
        folder: EmbeddedQueue::quarantine_folder(folder),
        reports: Vec::new(),
    };
    let (records, rows, database_lost) = open_records(folder.join("jobs.redb"), &mut quarantine)?;
    let mut inner = Inner {
        records,
        index: Index::default(),
        quarantine,
        reserved: (0, 0),
    };
    let mut on_disk = sort_payloads(payloads)?;
    let limits = Limits {
        max_interruptions,
        now_ms,
    };
    restore_jobs(&mut inner, rows, &mut on_disk, payloads, limits)?;
    for content in on_disk.keys().filter(|c| !inner.index.has_payload(c)) {
        if database_lost {
            // Its job is not known any more; a person may still want it.
            let file = inner.quarantine.take_file(&payloads.path(content));
            let reason = "the database that named its job is gone";
            inner.quarantine.report("payload", None, file, reason);
        } else {
            payloads.remove(content);
        }
    }
    Ok(inner)
}

fn open_records(
    path: PathBuf,
    quarantine: &mut Quarantine,
) -> Result<(Records, Vec<Row>, bool), QueueError> {
    // An empty file opens as a new database.
    let fresh = fs::metadata(&path).map_or(true, |found| found.len() == 0);
    let reason = match Records::open(path.clone()) {
        Ok((records, rows)) => return Ok((records, rows, fresh)),
        Err(OpenError::Refused(error)) => return Err(error),
        Err(OpenError::Damaged(reason)) => reason,
    };
    let moved = quarantine.take_file(&path);
    quarantine.report("database", None, moved, &reason);
    match Records::open(path.clone()) {
        Ok((records, rows)) => Ok((records, rows, true)),
        Err(OpenError::Refused(error)) => Err(error),
        Err(OpenError::Damaged(message)) => Err(QueueError::Database {
            file: path,
            message,
        }),
    }
}

/// The payloads on disk with their lengths. What was being written when the process ended is removed; files of other
/// names are left alone.
fn sort_payloads(payloads: &Payloads) -> Result<HashMap<ContentHash, u64>, QueueError> {
    let mut on_disk = HashMap::new();
    for found in payloads.list()? {
        match found.content {
            Some(content) => {
                on_disk.insert(content, found.bytes);
            }
            None if found.is_staged() => {
                let _ = fs::remove_file(&found.path);
            }
            None => {}
        }
    }
    Ok(on_disk)
}

/// What decides whether a job is restored.
struct Limits {
    max_interruptions: u32,
    now_ms: u64,
}

fn restore_jobs(
    inner: &mut Inner,
    rows: Vec<Row>,
    on_disk: &mut HashMap<ContentHash, u64>,
    payloads: &Payloads,
    limits: Limits,
) -> Result<(), QueueError> {
    let mut unfinished = Vec::new();
    let mut changed = Vec::new();
    let mut removed = Vec::new();
    for row in rows {
        match row {
            Row::Job(job) if job.state.is_final() => inner.index.add_finished(&job),
            Row::Job(job) => unfinished.push(job),
            Row::Damaged { id, bytes, reason } => {
                let file = inner.quarantine.take_bytes(id, &bytes);
                inner.quarantine.report("record", Some(id), file, &reason);
                removed.push(id);
            }
        }
    }
    unfinished.sort_by_key(|job| (job.accepted_ms, job.id));
    for mut job in unfinished {
        let was_running = job.state == State::Running;
        job.interruptions += u32::from(was_running);
        let fault = payload_fault(&job, on_disk);
        if let Some(reason) = &fault {
            let file = inner.quarantine.take_file(&payloads.path(&job.content));
            on_disk.remove(&job.content);
            let id = Some(job.id);
            inner.quarantine.report("payload", id, file, reason);
        }
        let fatal = was_running && job.interruptions >= limits.max_interruptions;
        let fatal = fatal.then(|| interrupted(job.interruptions));
        if let (Some(reason), None) = (&fatal, &fault) {
            inner.quarantine.report("job", Some(job.id), None, reason);
        }
        let Some(reason) = fault.or(fatal) else {
            job.state = State::Accepted;
            if was_running {
                changed.push(job.clone());
            }
            inner.index.add(job);
            continue;
        };
        job.state = State::Failed {
            message: format!("{reason}; submit the request again"),
        };
        job.finished_ms = Some(limits.now_ms);
        inner.index.add_finished(&job);
        changed.push(job);
    }
    let puts = changed.iter().map(Change::Put);
    let changes: Vec<_> = puts
        .chain(removed.into_iter().map(Change::Remove))
        .collect();
    if changes.is_empty() {
        return Ok(());
    }
    inner.records.apply(&changes)
}

fn interrupted(times: u32) -> String {
    format!(
        "the process was killed or crashed {times} times while this job ran, perhaps because of it"
    )
}

/// What is plainly wrong with a job's payload. Its bytes are checked when it is read.
fn payload_fault(job: &Job, on_disk: &HashMap<ContentHash, u64>) -> Option<String> {
    match on_disk.get(&job.content) {
        Some(bytes) if *bytes == job.payload_bytes => None,
        Some(bytes) => Some(format!(
            "the payload has {bytes} bytes on disk, wanted {}",
            job.payload_bytes
        )),
        None => Some("the payload is gone from the disk".to_owned()),
    }
}
