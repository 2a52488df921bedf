//! What the queue knows without asking the disk: every unfinished job, and when the finished ones ended.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::{ContentHash, Count, Job, JobId, State, Usage};

/// An unfinished job and its turn among equals.
struct Live {
    job: Job,
    turn: u64,
    /// How often its payload could not be read.
    refused: u32,
    /// When it may be claimed.
    not_before_ms: u64,
}

/// A payload of unfinished jobs.
#[derive(Copy, Clone)]
struct Payload {
    /// Unfinished jobs that need it.
    jobs: usize,
    bytes: u64,
    /// Whether the file is what was submitted, as far as is known.
    sound: bool,
}

/// The unfinished jobs, their payloads, and the ends of the others.
#[derive(Default)]
pub struct Index {
    live: HashMap<JobId, Live>,
    /// Waiting jobs in the order in which they are to run.
    ready: BTreeSet<(Reverse<u8>, u64, JobId)>,
    payloads: HashMap<ContentHash, Payload>,
    payload_bytes: u64,
    /// Finished jobs by the time of their end.
    finished: BTreeSet<(u64, JobId)>,
    /// Finished jobs that the disk did not take.
    pub unsaved: HashMap<JobId, Job>,
    next_turn: u64,
}

impl Index {
    /// An unfinished job.
    pub fn live(&self, id: &JobId) -> Option<&Job> {
        self.live.get(id).map(|live| &live.job)
    }

    /// Unfinished jobs: those that run first, then those that wait, in their order.
    pub fn unfinished(&self) -> impl Iterator<Item = &Job> {
        let running = self.live.values().map(|live| &live.job);
        let running = running.filter(|job| job.state == State::Running);
        let waiting = self.ready.iter().filter_map(|(.., id)| self.live(id));
        running.chain(waiting)
    }

    /// The number of unfinished jobs, and of those that are still to be written.
    pub fn held(&self) -> usize {
        self.live.len() + self.unsaved.len()
    }

    /// Bytes of the payloads on disk.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Whether a payload is on disk.
    pub fn has_payload(&self, content: &ContentHash) -> bool {
        let payload = self.payloads.get(content);
        payload.is_some_and(|payload| payload.sound)
    }

    /// Whether an unfinished job needs a payload.
    pub fn needs_payload(&self, content: &ContentHash) -> bool {
        self.payloads.contains_key(content)
    }

    /// Notes whether a payload is on disk.
    pub fn set_payload(&mut self, content: &ContentHash, sound: bool) {
        if let Some(payload) = self.payloads.get_mut(content) {
            payload.sound = sound;
        }
    }

    /// Adds an unfinished job that waits.
    pub fn add(&mut self, job: Job) {
        let payload = self.payloads.entry(job.content).or_insert(Payload {
            jobs: 0,
            bytes: job.payload_bytes,
            sound: true,
        });
        if payload.jobs == 0 {
            self.payload_bytes += payload.bytes;
        }
        payload.jobs += 1;
        let turn = self.next_turn;
        self.next_turn += 1;
        self.ready.insert((Reverse(job.priority), turn, job.id));
        let live = Live {
            job,
            turn,
            refused: 0,
            not_before_ms: 0,
        };
        self.live.insert(live.job.id, live);
    }

    /// The job that is to run next, of at least this priority.
    pub fn next(&self, min_priority: u8, now_ms: u64) -> Option<JobId> {
        let mut urgent = self
            .ready
            .iter()
            .take_while(|(Reverse(priority), ..)| *priority >= min_priority)
            .map(|(.., id)| *id);
        urgent.find(|id| {
            let live = self.live.get(id);
            live.is_some_and(|live| live.not_before_ms <= now_ms)
        })
    }

    /// Lets an unfinished job not be claimed before a time. Says how often this was asked for.
    pub fn postpone(&mut self, id: &JobId, not_before_ms: u64) -> u32 {
        let Some(live) = self.live.get_mut(id) else {
            return 0;
        };
        live.not_before_ms = not_before_ms;
        live.refused += 1;
        live.refused
    }

    /// Jobs that go before a waiting one; 0 for one that runs.
    pub fn position(&self, id: &JobId) -> usize {
        match self.live.get(id) {
            Some(live) if live.job.state == State::Accepted => {
                let key = (Reverse(live.job.priority), live.turn, *id);
                self.ready.iter().take_while(|entry| **entry < key).count()
            }
            _ => 0,
        }
    }

    /// Changes an unfinished job; it keeps its turn.
    pub fn update(&mut self, id: &JobId, change: impl FnOnce(&mut Job)) {
        let Some(live) = self.live.get_mut(id) else {
            return;
        };
        self.ready
            .remove(&(Reverse(live.job.priority), live.turn, *id));
        change(&mut live.job);
        if live.job.state == State::Accepted {
            self.ready
                .insert((Reverse(live.job.priority), live.turn, *id));
        }
    }

    /// Removes an unfinished job. Says whether no other needs its payload.
    pub fn remove(&mut self, id: &JobId) -> bool {
        let Some(live) = self.live.remove(id) else {
            return false;
        };
        self.ready
            .remove(&(Reverse(live.job.priority), live.turn, *id));
        let content = live.job.content;
        let Some(payload) = self.payloads.get_mut(&content) else {
            return false;
        };
        payload.jobs -= 1;
        if payload.jobs > 0 {
            return false;
        }
        self.payload_bytes -= payload.bytes;
        self.payloads.remove(&content);
        true
    }

    /// Notes a finished job.
    pub fn add_finished(&mut self, job: &Job) {
        if let Some(ended) = job.finished_ms {
            self.finished.insert((ended, job.id));
        }
    }

    /// Forgets a finished job.
    pub fn remove_finished(&mut self, job: &Job) {
        if let Some(ended) = job.finished_ms {
            self.finished.remove(&(ended, job.id));
        }
    }

    /// Finished jobs that ended before a time or are more than are to be kept, the oldest first.
    pub fn outdated(&self, before_ms: u64, keep: usize) -> Vec<(u64, JobId)> {
        let surplus = self.finished.len().saturating_sub(keep);
        let outdated = self.finished.iter().enumerate();
        outdated
            .take_while(|(position, (ended, _))| *position < surplus || *ended < before_ms)
            .map(|(_, entry)| *entry)
            .collect()
    }

    /// Forgets entries that [`Index::outdated`] named.
    pub fn forget(&mut self, entries: &[(u64, JobId)]) {
        for entry in entries {
            self.finished.remove(entry);
        }
    }

    /// Identities of finished jobs, the last one first.
    pub fn last_finished(&self) -> impl Iterator<Item = JobId> {
        self.finished.iter().rev().map(|(_, id)| *id)
    }

    /// Counts, without the bounds.
    pub fn usage(&self) -> Usage {
        let mut usage = Usage {
            payload_bytes: self.payload_bytes,
            finished: self.finished.len(),
            unsaved: self.unsaved.len(),
            ..Usage::default()
        };
        for live in self.live.values() {
            let count: &mut Count = usage.kinds.entry(live.job.kind).or_default();
            match live.job.state {
                State::Running => count.running += 1,
                _ => count.waiting += 1,
            }
        }
        usage
    }
}
