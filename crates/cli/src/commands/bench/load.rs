//! Calls to a daemon, and how long each took.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cuzk_daemon::Client;
use cuzk_proto::v1::await_proof_response::Status;
use cuzk_proto::v1::{AwaitProofResponse, ProveRequest, SubmitProofRequest};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// When calls are made.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// A call when an earlier one has been answered, so many at once.
    Closed {
        /// Calls in all.
        count: usize,
        /// Calls that wait at a time.
        at_once: usize,
    },
    /// A call whenever its time has come, whatever became of the others.
    Open {
        /// Calls in all.
        count: usize,
        /// Calls in a second.
        per_s: f64,
    },
}

impl Pace {
    fn count(self) -> usize {
        match self {
            Self::Closed { count, .. } | Self::Open { count, .. } => count,
        }
    }

    /// When call `number` is due, from the start.
    fn due(self, number: usize) -> Duration {
        match self {
            Self::Closed { .. } => Duration::ZERO,
            Self::Open { per_s, .. } => Duration::from_secs_f64(number as f64 / per_s),
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The circuit, by which results are told apart.
    pub circuit: &'static str,
    /// The request, without a name.
    pub request: SubmitProofRequest,
    /// Bytes of its proof.
    pub proof_bytes: usize,
}

/// How a call went.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// The circuit.
    pub circuit: &'static str,
    /// When the call was due, from the start of the measurement.
    pub due_s: f64,
    /// From then to the answer, as the caller saw it.
    pub latency_s: f64,
    /// What of it the job waited in the queue, as the daemon says.
    pub queue_s: f64,
    /// Opening its circuit and key.
    pub key_s: f64,
    /// Computing witnesses, all partitions together.
    pub witness_s: f64,
    /// On devices, all partitions together.
    pub device_s: f64,
    /// Why there is no proof, where there is none.
    pub error: Option<String>,
}

/// Makes the calls, each for the next of what is asked for, in turn, as jobs whose names start with `name`.
pub async fn run(
    client: Client,
    asked: Arc<[Asked]>,
    pace: Pace,
    name: &str,
) -> anyhow::Result<Vec<Sample>> {
    let start = Instant::now();
    let at_once = match pace {
        Pace::Closed { at_once, .. } => at_once,
        Pace::Open { count, .. } => count,
    };
    let places = Arc::new(Semaphore::new(at_once));
    let mut calls = JoinSet::new();
    for number in 0..pace.count() {
        let place = Arc::clone(&places).acquire_owned().await?;
        let due = match pace {
            Pace::Closed { .. } => Instant::now(),
            Pace::Open { .. } => start + pace.due(number),
        };
        tokio::time::sleep_until(due).await;
        let (client, asked) = (client.clone(), Arc::clone(&asked));
        let name = format!("{name}-{number}");
        calls.spawn(async move {
            let asked = &asked[number % asked.len()];
            let sample = call(client, asked, name, start, due).await;
            drop(place);
            (number, sample)
        });
    }
    let mut samples = calls.join_all().await;
    samples.sort_by_key(|(number, _)| *number);
    Ok(samples.into_iter().map(|(_, sample)| sample).collect())
}

async fn call(
    mut client: Client,
    asked: &Asked,
    name: String,
    start: Instant,
    due: Instant,
) -> Sample {
    let submit = SubmitProofRequest {
        request_id: name,
        ..asked.request.clone()
    };
    let answer = client
        .prove(ProveRequest {
            submit: Some(submit),
        })
        .await;
    let latency_s = due.elapsed().as_secs_f64();
    let (answer, error) = match answer {
        Ok(answer) => {
            let answer = answer.into_inner().result.unwrap_or_default();
            let error = fault(&answer, asked.proof_bytes);
            (answer, error)
        }
        Err(refused) => {
            let error = format!("{:?}: {}", refused.code(), refused.message());
            (AwaitProofResponse::default(), Some(error))
        }
    };
    let seconds = |ms: u64| ms as f64 / 1000.0;
    Sample {
        circuit: asked.circuit,
        due_s: (due - start).as_secs_f64(),
        latency_s,
        queue_s: seconds(answer.queue_wait_ms),
        key_s: seconds(answer.srs_load_ms),
        witness_s: seconds(answer.synthesis_ms),
        device_s: seconds(answer.gpu_compute_ms),
        error,
    }
}

/// What is wrong with an answer.
fn fault(answer: &AwaitProofResponse, wanted: usize) -> Option<String> {
    match (answer.status(), answer.proof.len()) {
        (Status::Completed, found) if found == wanted => None,
        (Status::Completed, found) => Some(format!("wanted {wanted} bytes, found {found}")),
        (status, _) => Some(format!("{status:?}: {}", answer.error_message)),
    }
}

/// Loads the keys of these circuits, so that no call waits for that; the circuits with the seconds that it took.
pub async fn preload(
    client: &mut Client,
    circuits: &[&'static str],
) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let mut loaded = Vec::new();
    for circuit in circuits {
        let request = cuzk_proto::v1::PreloadSrsRequest {
            circuit_id: (*circuit).to_owned(),
        };
        let answer = client.preload_srs(request).await;
        let answer = answer.with_context(|| format!("the key of {circuit}"))?;
        loaded.push((*circuit, answer.into_inner().load_time_ms as f64 / 1000.0));
    }
    Ok(loaded)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A call that waited a second in the queue, two for its witness and three on a device.
    pub fn sample(
        circuit: &'static str,
        due_s: f64,
        latency_s: f64,
        error: Option<&str>,
    ) -> Sample {
        Sample {
            circuit,
            due_s,
            latency_s,
            queue_s: 1.0,
            key_s: 0.0,
            witness_s: 2.0,
            device_s: 3.0,
            error: error.map(str::to_owned),
        }
    }

    #[test]
    fn calls_at_a_rate_have_their_times() {
        let pace = Pace::Open {
            count: 3,
            per_s: 4.0,
        };
        assert_eq!(pace.due(0), Duration::ZERO);
        assert_eq!(pace.due(3), Duration::from_millis(750));
        let closed = Pace::Closed {
            count: 3,
            at_once: 2,
        };
        assert_eq!((closed.due(2), closed.count()), (Duration::ZERO, 3));
    }

    #[test]
    fn only_a_whole_proof_is_right() {
        let answer = |status: Status, bytes| AwaitProofResponse {
            status: status.into(),
            proof: vec![0; bytes],
            error_message: "why".to_owned(),
            ..AwaitProofResponse::default()
        };
        assert_eq!(fault(&answer(Status::Completed, 192), 192), None);
        assert!(fault(&answer(Status::Completed, 0), 192).is_some());
        let failed = fault(&answer(Status::Failed, 0), 0);
        assert_eq!(failed.as_deref(), Some("Failed: why"));
    }
}
