//! A job as the database holds it: a version, a checksum, and JSON.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{ContentHash, Job, JobId, State, Timings};

/// The first byte of every record.
const VERSION: u8 = 1;
/// Bytes before the JSON: the version and the checksum of what follows.
const HEADER_BYTES: usize = 9;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    request_id: String,
    kind: i32,
    priority: u8,
    content: String,
    payload_bytes: u64,
    attempt: u32,
    interruptions: u32,
    accepted_ms: u64,
    started_ms: Option<u64>,
    finished_ms: Option<u64>,
    state: StoredState,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredState {
    Accepted,
    Running,
    Completed { proof: String, timings: Timings },
    Failed { message: String },
    Cancelled,
}

/// Why bytes are no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Shorter than a header.
    #[error("{found} bytes are no record")]
    Short {
        /// Bytes that are there.
        found: usize,
    },
    /// A version that this program does not know.
    #[error("record version {found}, wanted {VERSION}")]
    Version {
        /// The version.
        found: u8,
    },
    /// The checksum does not fit.
    #[error("the checksum does not fit")]
    Checksum,
    /// The content does not read.
    #[error("{message}")]
    Content {
        /// What is wrong with it.
        message: String,
    },
}

/// The bytes of a job's record.
pub fn encode(job: &Job) -> Vec<u8> {
    let state = match &job.state {
        State::Accepted => StoredState::Accepted,
        State::Running => StoredState::Running,
        State::Completed { proof, timings } => StoredState::Completed {
            proof: hex::encode(proof),
            timings: *timings,
        },
        State::Failed { message } => StoredState::Failed {
            message: message.clone(),
        },
        State::Cancelled => StoredState::Cancelled,
    };
    let stored = Stored {
        request_id: job.request_id.clone(),
        kind: job.kind,
        priority: job.priority,
        content: job.content.to_string(),
        payload_bytes: job.payload_bytes,
        attempt: job.attempt,
        interruptions: job.interruptions,
        accepted_ms: job.accepted_ms,
        started_ms: job.started_ms,
        finished_ms: job.finished_ms,
        state,
    };
    // Numbers, strings and plain enums always have a JSON form, and a Vec takes all bytes.
    let json = serde_json::to_vec(&stored).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + json.len());
    bytes.push(VERSION);
    bytes.extend(xxh3_64(&json).to_le_bytes());
    bytes.extend(json);
    bytes
}

/// The job that a record under this identity is about.
pub fn decode(id: JobId, bytes: &[u8]) -> Result<Job, RecordError> {
    let (header, json) = bytes
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or(RecordError::Short { found: bytes.len() })?;
    if header[0] != VERSION {
        return Err(RecordError::Version { found: header[0] });
    }
    if header[1..] != xxh3_64(json).to_le_bytes() {
        return Err(RecordError::Checksum);
    }
    let stored: Stored = serde_json::from_slice(json).map_err(content)?;
    let hash: ContentHash = stored.content.parse().map_err(content)?;
    let job = Job {
        id: JobId::of(&stored.request_id, &hash),
        request_id: stored.request_id,
        kind: stored.kind,
        priority: stored.priority,
        content: hash,
        payload_bytes: stored.payload_bytes,
        attempt: stored.attempt,
        interruptions: stored.interruptions,
        accepted_ms: stored.accepted_ms,
        started_ms: stored.started_ms,
        finished_ms: stored.finished_ms,
        state: match stored.state {
            StoredState::Accepted => State::Accepted,
            StoredState::Running => State::Running,
            StoredState::Completed { proof, timings } => State::Completed {
                proof: hex::decode(proof).map_err(content)?,
                timings,
            },
            StoredState::Failed { message } => State::Failed { message },
            StoredState::Cancelled => State::Cancelled,
        },
    };
    if job.id != id {
        return Err(content("the record is that of another job"));
    }
    if job.state.is_final() != job.finished_ms.is_some() {
        return Err(content("the state and the time of its end disagree"));
    }
    Ok(job)
}

fn content(error: impl std::fmt::Display) -> RecordError {
    RecordError::Content {
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs() -> Vec<Job> {
        let content = ContentHash::of(b"payload");
        let states = [
            State::Accepted,
            State::Running,
            State::Completed {
                proof: vec![7; 192],
                timings: Timings {
                    key_ms: 1,
                    witness_ms: 2,
                    device_ms: 3,
                },
            },
            State::Failed {
                message: "partition 3: \"no\"\n".to_owned(),
            },
            State::Cancelled,
        ];
        let job = |state: State| Job {
            id: JobId::of("wdpost-[1 2]", &content),
            request_id: "wdpost-[1 2]".to_owned(),
            kind: 3,
            priority: 4,
            content,
            payload_bytes: 7,
            attempt: 2,
            interruptions: 1,
            accepted_ms: u64::MAX,
            started_ms: Some(5),
            finished_ms: state.is_final().then_some(6),
            state,
        };
        states.into_iter().map(job).collect()
    }

    #[test]
    fn records_read_back() {
        for job in jobs() {
            assert_eq!(decode(job.id, &encode(&job)), Ok(job));
        }
    }

    #[test]
    fn no_flipped_bit_and_no_cut_is_taken() {
        for job in jobs() {
            let bytes = encode(&job);
            for bit in 0..bytes.len() * 8 {
                let mut wrong = bytes.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(job.id, &wrong).is_err(), "bit {bit}");
            }
            for length in 0..bytes.len() {
                assert!(decode(job.id, &bytes[..length]).is_err(), "{length} bytes");
            }
            assert!(decode(JobId([0; 16]), &bytes).is_err());
        }
    }
}
