//! The engine as what proves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cuzk_backend::Backend;
use cuzk_engine::{CircuitStatus, Engine, JobHandle, JobState, Outcome, Status, Submission};
use cuzk_proof_api::by_wire_kind;
use cuzk_queue::{JobId, Timings};

use crate::loading;
use crate::proving::{
    DeviceStatus, Done, Ended, Evicted, JobProgress, KeyStatus, LaneWork, Preloaded, Proving,
    ProvingStatus, Refused, Work,
};
use crate::stages::Stages;

/// How long loading a key may take: the greatest are 200 GB.
const LOAD_LIMIT: Duration = Duration::from_secs(1800);
/// How long memory may take to be given back.
const EVICT_LIMIT: Duration = Duration::from_secs(10);
/// How often the engine is told anew what to load while it does not.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// How often the engine is asked whether it is done.
const POLL: Duration = Duration::from_millis(20);

/// An [`Engine`] as the daemon takes it.
pub struct EngineProving<B: Backend + Clone> {
    engine: Arc<Engine<B>>,
    /// The numbers under which people know the devices.
    ordinals: Vec<u32>,
    running: Arc<Running>,
}

/// The jobs that the engine has, by their tickets.
type Running = Mutex<HashMap<u64, (JobId, JobHandle)>>;

impl<B: Backend + Clone> EngineProving<B> {
    /// This engine, with the numbers under which people know its devices, in the order of the engine's.
    pub fn new(engine: Engine<B>, ordinals: Vec<u32>) -> Self {
        Self {
            engine: Arc::new(engine),
            ordinals,
            running: Arc::default(),
        }
    }

    fn ordinal(&self, device: usize) -> u32 {
        self.ordinals.get(device).copied().unwrap_or(device as u32)
    }

    /// The engine's state, waited for where that holds nobody up.
    async fn snapshot(&self) -> Result<Status, String> {
        let engine = Arc::clone(&self.engine);
        let status = tokio::task::spawn_blocking(move || engine.status());
        status.await.map_err(|error| error.to_string())
    }

    /// Waits until the engine is in a state.
    ///
    /// Errors: it is not by then.
    async fn wait_for<T>(
        &self,
        limit: Duration,
        mut reached: impl FnMut(&Status) -> Option<T>,
    ) -> Result<T, String> {
        let start = Instant::now();
        loop {
            if let Some(state) = reached(&self.snapshot().await?) {
                return Ok(state);
            }
            if start.elapsed() > limit {
                return Err(format!("not after {} s", limit.as_secs()));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

#[tonic::async_trait]
impl<B: Backend + Clone> Proving for EngineProving<B> {
    fn start(&self, work: Work, done: Done) -> Result<(), Refused> {
        let proof_type = by_wire_kind(work.kind).map_err(refused)?;
        let submission = Submission::request(proof_type, work.request).priority(work.priority);
        let handle = self.engine.submit(submission).map_err(refused)?;
        lock(&self.running).insert(work.ticket, (work.job, handle.clone()));
        let running = Arc::clone(&self.running);
        let waiter = handle.clone();
        let (job, ticket) = (work.job, work.ticket);
        let wait = move || {
            let events = waiter.subscribe();
            let mut stages = Stages::new(job, waiter.state());
            for event in events {
                stages.follow(&event);
            }
            drop(stages);
            let outcome = waiter.wait();
            lock(&running).remove(&ticket);
            done(ended(outcome, &waiter));
        };
        let thread = std::thread::Builder::new().name("cuzk-wait".to_owned());
        match thread.spawn(wait) {
            Ok(_) => Ok(()),
            Err(error) => {
                lock(&self.running).remove(&ticket);
                handle.cancel();
                Err(refused(error))
            }
        }
    }

    fn cancel(&self, ticket: u64) {
        let handle = lock(&self.running)
            .get(&ticket)
            .map(|(_, handle)| handle.clone());
        if let Some(handle) = handle {
            handle.cancel();
        }
    }

    fn status(&self) -> ProvingStatus {
        let status = self.engine.status();
        let names: HashMap<_, String> = lock(&self.running)
            .values()
            .map(|(job, handle)| (handle.id(), job.to_string()))
            .collect();
        let name = |id| names.get(&id).cloned().unwrap_or_default();
        let ordinal = |device| self.ordinal(device);
        let jobs = status.jobs.iter().map(|job| JobProgress {
            job: name(job.id),
            stage: stage(job.state).to_owned(),
            partitions: job.partitions,
            proved: job.proved,
        });
        ProvingStatus {
            devices: devices(&status, name, ordinal),
            keys: status
                .circuits
                .iter()
                .map(|found| key(found, ordinal))
                .collect(),
            jobs: jobs.collect(),
            host_reserved_bytes: status.host_reserved_bytes,
            host_budget_bytes: status.host_budget_bytes,
            faults: status.counters.faults,
            invalid_proofs: status.counters.invalid,
        }
    }

    async fn preload(&self, circuit: &str) -> Result<Preloaded, String> {
        let start = Instant::now();
        let before = self.snapshot().await?;
        let already = loading::is_everywhere(&before, circuit);
        if !already {
            self.engine.preload(circuit);
            let mut asked = Instant::now();
            let loaded = self.wait_for(LOAD_LIMIT, |status| {
                let end = loading::end(&before, status, circuit);
                if end.is_none() && asked.elapsed() > ASK_AGAIN {
                    // A device that was busy or had no room may have some by now.
                    self.engine.preload(circuit);
                    asked = Instant::now();
                }
                end
            });
            loaded.await??;
        }
        let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Preloaded { already, ms })
    }

    async fn evict(&self, circuit: &str) -> Result<Evicted, String> {
        let status = self.snapshot().await?;
        let Some(before) = loading::find(&status, circuit).filter(|found| is_loaded(found)) else {
            return Ok(Evicted {
                was_loaded: false,
                bytes: 0,
            });
        };
        self.engine.evict(circuit);
        let gone = self.wait_for(EVICT_LIMIT, |status| {
            (!loading::find(status, circuit).is_some_and(is_loaded)).then_some(())
        });
        let in_use = |found| format!("{circuit} is in use: {found}");
        gone.await.map_err(in_use)?;
        Ok(Evicted {
            was_loaded: true,
            bytes: bytes(before),
        })
    }
}

fn lock(running: &Running) -> MutexGuard<'_, HashMap<u64, (JobId, JobHandle)>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(error: impl std::fmt::Display) -> Refused {
    Refused {
        reason: error.to_string(),
    }
}

fn ended(outcome: Outcome, handle: &JobHandle) -> Ended {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let timings = handle.timings();
    match outcome {
        Outcome::Completed(completed) => Ended::Completed {
            proof: completed.proof,
            timings: Timings {
                key_ms: ms(timings.resources),
                witness_ms: ms(timings.witness),
                device_ms: ms(timings.device),
            },
        },
        Outcome::Failed(failure) => Ended::Failed {
            message: failure.to_string(),
        },
        Outcome::Cancelled => Ended::Cancelled,
        Outcome::Expired => Ended::Failed {
            message: outcome.to_string(),
        },
        Outcome::Unavailable { reason } => Ended::Unavailable { reason },
    }
}

fn stage(state: JobState) -> &'static str {
    match state {
        JobState::Decoding => "decoding",
        JobState::Compiling => "opening the circuit",
        JobState::Queued => "queued",
        JobState::Running => "proving",
        JobState::Assembling => "assembling",
        JobState::Ended => "ended",
    }
}

fn is_loaded(circuit: &CircuitStatus) -> bool {
    circuit.on_host || !circuit.devices.is_empty()
}

fn bytes(circuit: &CircuitStatus) -> u64 {
    let host = if circuit.on_host {
        circuit.host_bytes
    } else {
        0
    };
    host + circuit.device_bytes * circuit.devices.len() as u64
}

fn key(circuit: &CircuitStatus, ordinal: impl Fn(usize) -> u32) -> KeyStatus {
    KeyStatus {
        circuit: circuit.name.to_string(),
        devices: circuit
            .devices
            .iter()
            .map(|device| ordinal(*device))
            .collect(),
        on_host: circuit.on_host,
        device_bytes: circuit.device_bytes,
        host_bytes: if circuit.on_host {
            circuit.host_bytes
        } else {
            0
        },
        users: circuit.users,
        error: circuit.error.clone(),
    }
}

fn devices(
    status: &Status,
    name: impl Fn(cuzk_engine::JobId) -> String,
    ordinal: impl Fn(usize) -> u32,
) -> Vec<DeviceStatus> {
    let lane = |lane: &cuzk_engine::LaneStatus| {
        lane.work.map(|(job, partition)| LaneWork {
            job: name(job),
            partition,
            ms: u64::try_from(lane.since.as_millis()).unwrap_or(u64::MAX),
        })
    };
    let devices = status.devices.iter();
    devices
        .map(|device| DeviceStatus {
            ordinal: ordinal(device.ordinal),
            name: device.name.to_string(),
            in_service: device.in_service && !device.lost,
            memory_bytes: device.memory_bytes,
            reserved_bytes: device.reserved_bytes,
            lanes: device.lanes.iter().map(lane).collect(),
            proofs: device.proofs,
            faults: device.faults,
        })
        .collect()
}
