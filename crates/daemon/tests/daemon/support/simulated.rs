//! A prover whose proof is a digest of the request, and that does what the payload's first byte says.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cuzk_daemon::{
    DeviceStatus, Done, Ended, Evicted, JobProgress, KeyStatus, LaneWork, Preloaded, Proving,
    ProvingStatus, Refused, Work,
};
use cuzk_proof_api::Request;
use cuzk_queue::Timings;
use sha2::{Digest, Sha256};

/// Never ends unless cancelled.
pub const HANGS: u8 = b'h';
/// Fails.
pub const FAILS: u8 = b'f';
/// Takes 300 ms.
pub const SLOW: u8 = b's';
/// Cannot be tried.
pub const UNAVAILABLE: u8 = b'u';

pub struct Simulated {
    pub in_service: AtomicBool,
    /// Whether loading a key does not end.
    pub loads_slowly: AtomicBool,
    /// How many more jobs are refused.
    pub refuse: AtomicUsize,
    /// Jobs that were started.
    pub started: AtomicUsize,
    /// The greatest number of jobs at a time.
    pub peak: AtomicUsize,
    running: Mutex<HashMap<u64, (String, Done)>>,
    loaded: Mutex<Vec<String>>,
}

/// What stands for the proof of a request.
pub fn proof(request: &Request) -> Vec<u8> {
    let mut hasher = Sha256::new();
    hasher.update(&request.vanilla_proof);
    for proof in &request.vanilla_proofs {
        hasher.update((proof.len() as u64).to_le_bytes());
        hasher.update(proof);
    }
    hasher.update(&request.randomness);
    hasher.update(request.partition_index.to_le_bytes());
    hasher.update(request.sector_number.to_le_bytes());
    hasher.finalize().repeat(6)
}

impl Simulated {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            in_service: AtomicBool::new(true),
            loads_slowly: AtomicBool::new(false),
            refuse: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            running: Mutex::default(),
            loaded: Mutex::default(),
        })
    }

    pub fn running(&self) -> usize {
        self.running.lock().expect("no panic").len()
    }

    fn end(&self, ticket: u64, ended: Ended) {
        let running = self.running.lock().expect("no panic").remove(&ticket);
        if let Some((_, done)) = running {
            done(ended);
        }
    }
}

/// The prover as the daemon takes it.
pub struct Shared(pub Arc<Simulated>);

#[tonic::async_trait]
impl Proving for Shared {
    fn start(&self, work: Work, done: Done) -> Result<(), Refused> {
        let lower = |left: usize| left.checked_sub(1);
        let refuse = &self.0.refuse;
        if refuse
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, lower)
            .is_ok()
        {
            return Err(Refused {
                reason: "not now".to_owned(),
            });
        }
        let request = work.request;
        let first = request.vanilla_proof.first();
        let first = first.or_else(|| request.vanilla_proofs.first()?.first());
        let first = first.copied().unwrap_or_default();
        self.0.started.fetch_add(1, Ordering::SeqCst);
        let mut running = self.0.running.lock().expect("no panic");
        running.insert(work.ticket, (work.job.to_string(), done));
        self.0.peak.fetch_max(running.len(), Ordering::SeqCst);
        drop(running);
        if first == HANGS {
            return Ok(());
        }
        let ended = match first {
            FAILS => Ended::Failed {
                message: "partition 0: it fails".to_owned(),
            },
            UNAVAILABLE => Ended::Unavailable {
                reason: "no key".to_owned(),
            },
            _ => Ended::Completed {
                proof: proof(&request),
                timings: Timings {
                    key_ms: 1,
                    witness_ms: 2,
                    device_ms: 3,
                },
            },
        };
        let ms = if first == SLOW { 300 } else { 2 };
        let simulated = Arc::clone(&self.0);
        tokio::runtime::Handle::current().spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            let ended = match simulated.in_service.load(Ordering::SeqCst) {
                true => ended,
                false => Ended::Unavailable {
                    reason: "no device".to_owned(),
                },
            };
            simulated.end(work.ticket, ended);
        });
        Ok(())
    }

    fn cancel(&self, ticket: u64) {
        self.0.end(ticket, Ended::Cancelled);
    }

    fn status(&self) -> ProvingStatus {
        let running = self.0.running.lock().expect("no panic");
        let lanes = running.values().take(2).map(|(job, _)| {
            Some(LaneWork {
                job: job.clone(),
                partition: 0,
                ms: 1,
            })
        });
        let jobs = running.values().map(|(job, _)| JobProgress {
            job: job.clone(),
            stage: "running".to_owned(),
            partitions: 1,
            proved: 0,
        });
        let loaded = self.0.loaded.lock().expect("no panic");
        let keys = loaded.iter().map(|circuit| KeyStatus {
            circuit: circuit.clone(),
            devices: vec![0],
            on_host: true,
            device_bytes: 1000,
            host_bytes: 100,
            ..KeyStatus::default()
        });
        ProvingStatus {
            devices: vec![DeviceStatus {
                ordinal: 0,
                name: "simulated".to_owned(),
                in_service: self.0.in_service.load(Ordering::SeqCst),
                memory_bytes: 1 << 30,
                reserved_bytes: 1 << 20,
                lanes: lanes.collect(),
                proofs: 5,
                faults: 0,
            }],
            keys: keys.collect(),
            jobs: jobs.collect(),
            host_reserved_bytes: 10,
            host_budget_bytes: 20,
            ..ProvingStatus::default()
        }
    }

    async fn preload(&self, circuit: &str) -> Result<Preloaded, String> {
        while self.0.loads_slowly.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut loaded = self.0.loaded.lock().expect("no panic");
        let already = loaded.iter().any(|found| found == circuit);
        if !already {
            loaded.push(circuit.to_owned());
        }
        Ok(Preloaded { already, ms: 4 })
    }

    async fn evict(&self, circuit: &str) -> Result<Evicted, String> {
        let mut loaded = self.0.loaded.lock().expect("no panic");
        let before = loaded.len();
        loaded.retain(|found| found != circuit);
        let was_loaded = loaded.len() < before;
        let bytes = if was_loaded { 1100 } else { 0 };
        Ok(Evicted { was_loaded, bytes })
    }
}
