//! The engine as its user holds it.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded, unbounded};
use cuzk_backend::Backend;
use cuzk_lease::{Lane, Leases};
use cuzk_scheduler::{DeviceId, Scheduler};

use crate::coordinator::{Coordinator, DecoderTask, DeviceRecord, OpenerTask, Parts, Pools};
use crate::workers::{Finish, Message, Pool, Thread, join_all, spawn, spawn_lane, spawn_loader};
use crate::{Config, Device, EngineError, JobHandle, JobId, Refused, Source, Status, Submission};

#[cfg(test)]
mod tests;

/// Proves jobs on devices. See the crate's documentation.
///
/// Dropping it ends all jobs that have not ended as [`crate::Outcome::Unavailable`]; [`Engine::drain`] first lets them
/// end by themselves.
pub struct Engine<B: Backend + Clone> {
    inbox: Sender<Message<B>>,
    threads: Vec<Thread>,
    grace: Duration,
}

impl<B: Backend + Clone> Engine<B> {
    /// Starts an engine on these devices.
    ///
    /// # Errors
    /// [`EngineError`]: limits that allow nothing, devices that have another number of lanes than
    /// [`cuzk_scheduler::Config::lanes`] or are the same, threads that do not start.
    pub fn new(
        config: Config,
        devices: Vec<Device<B>>,
        source: impl Source,
    ) -> Result<Self, EngineError> {
        Self::finishing_by(config, devices, source, Finish::run)
    }

    /// [`Engine::new`] with another way to finish a proof than [`Finish::run`], for tests of that moment.
    fn finishing_by(
        config: Config,
        devices: Vec<Device<B>>,
        source: impl Source,
        finish: impl Fn(Finish, &Sender<Message<B>>) + Clone + Send + 'static,
    ) -> Result<Self, EngineError> {
        let scheduler = Scheduler::new(config.scheduler).map_err(EngineError::Scheduler)?;
        check(&config, &devices)?;
        let (report, inbox) = unbounded();
        let mut threads = Vec::new();
        let pools = pools(&config, devices.len(), &report, &mut threads, finish)?;
        let lanes = devices.iter().map(|d| (d.pci, d.lanes.clone()));
        let leases = Leases::new(lanes)?;
        let devices = devices.iter().enumerate();
        let devices = devices
            .map(|(index, device)| start_device(index, device, &leases, &report, &mut threads))
            .collect::<Result<_, _>>()?;
        let canceller = report.clone();
        let cancel = Arc::new(move |job: JobId| drop(canceller.send(Message::Cancel(job))));
        let grace = config.shutdown_grace;
        let coordinator = Coordinator::new(Parts {
            config,
            source: Arc::new(source),
            scheduler,
            inbox,
            cancel,
            pools,
            devices,
        });
        threads.push(spawn("cuzk-engine".to_owned(), || coordinator.run())?);
        Ok(Self {
            inbox: report,
            threads,
            grace,
        })
    }

    /// Takes a job.
    ///
    /// # Errors
    /// [`Refused`]: the queue is full, the tenant has too many jobs, or the engine is shutting down.
    pub fn submit(&self, submission: Submission) -> Result<JobHandle, Refused> {
        let (reply, answer) = bounded(1);
        let message = Message::Submit { submission, reply };
        self.inbox
            .send(message)
            .map_err(|_| Refused::ShuttingDown)?;
        answer.recv().unwrap_or(Err(Refused::ShuttingDown))
    }

    /// The state of everything now.
    pub fn status(&self) -> Status {
        let (reply, answer) = bounded(1);
        drop(self.inbox.send(Message::Snapshot(reply)));
        answer.recv().unwrap_or_default()
    }

    /// Wants a circuit and its key in the memory of the host, and from there in that of all devices. One call does all of it:
    /// the circuit is compiled where it must be, opened, and then loaded to each device that is in service by then, on which
    /// no partition waits for memory, and that has room without evicting others (what is just being evicted counts as
    /// gone). Devices without are left out.
    ///
    /// [`Engine::status`] shows how far that is: [`crate::CircuitStatus::on_host`], [`crate::CircuitStatus::devices`]. What
    /// keeps it from the host is in [`crate::CircuitStatus::error`]: no circuit or key of that name, or no room. The next
    /// attempt clears that.
    pub fn preload(&self, circuit: &str) {
        let circuit = circuit.to_owned();
        drop(self.inbox.send(Message::Preload { circuit }));
    }

    /// Wants a circuit and its key out of all memories, as far as no partition uses them.
    pub fn evict(&self, circuit: &str) {
        let circuit = circuit.to_owned();
        drop(self.inbox.send(Message::Unload { circuit }));
    }

    /// Refuses jobs from now on and waits until those that are there have ended, at most so long; `true` where all have.
    pub fn drain(&self, timeout: Duration) -> bool {
        let (idle, wait) = bounded(0);
        drop(self.inbox.send(Message::Drain { idle }));
        // Nothing is ever sent: the channel closes when there are no jobs.
        matches!(
            wait.recv_timeout(timeout),
            Err(crossbeam_channel::RecvTimeoutError::Disconnected)
        )
    }
}

impl<B: Backend + Clone> Drop for Engine<B> {
    fn drop(&mut self) {
        drop(self.inbox.send(Message::Stop));
        // The other threads end when the coordinator drops their channels.
        join_all(std::mem::take(&mut self.threads), self.grace);
    }
}

impl<B: Backend + Clone> std::fmt::Debug for Engine<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({} threads)", self.threads.len())
    }
}

fn check<B: Backend + Clone>(config: &Config, devices: &[Device<B>]) -> Result<(), EngineError> {
    for (field, value) in [
        ("decoders", config.decoders),
        ("openers", config.openers),
        ("finishers", config.finishers),
        ("event_backlog", config.event_backlog),
    ] {
        if value == 0 {
            return Err(EngineError::Zero { field });
        }
    }
    let wanted = config.scheduler.lanes as usize;
    for device in devices {
        let found = device.lanes.len();
        if found != wanted {
            return Err(EngineError::Lanes {
                device: device.name.clone(),
                wanted,
                found,
            });
        }
    }
    Ok(())
}

fn pools<B: Backend>(
    config: &Config,
    devices: usize,
    report: &Sender<Message<B>>,
    threads: &mut Vec<Thread>,
    finish: impl Fn(Finish, &Sender<Message<B>>) + Clone + Send + 'static,
) -> Result<Pools, EngineError> {
    let reports = || report.clone();
    let decoder = reports();
    let decode = move |task| match task {
        DecoderTask::Decode(task) => task.run(&decoder),
        DecoderTask::Assemble(task) => task.run(&decoder),
    };
    let opener = reports();
    let open = move |task| match task {
        OpenerTask::Prepare(task) => task.run(&opener),
        OpenerTask::Open(task) => task.run(&opener),
    };
    let witness = reports();
    let compute = move |task: crate::workers::Witness| task.run(&witness);
    let finisher = reports();
    let finish = move |task| finish(task, &finisher);
    let finishers = config.finishers.saturating_mul(devices);
    Ok(Pools {
        finish: Pool::new("finish", finishers, threads, finish)?,
        decode: Pool::new("decode", config.decoders, threads, decode)?,
        open: Pool::new("open", config.openers, threads, open)?,
        witness: Pool::new("witness", config.witness_threads(), threads, compute)?,
    })
}

fn start_device<B: Backend + Clone>(
    index: usize,
    device: &Device<B>,
    leases: &Leases<B>,
    report: &Sender<Message<B>>,
    threads: &mut Vec<Thread>,
) -> Result<DeviceRecord<B>, EngineError> {
    let id = DeviceId(index as u32);
    let lanes = 0..device.lanes.len();
    let orders = lanes
        .map(|lane| {
            // Nobody else has it, and the thread keeps it.
            let lease = leases.acquire_lane(device.pci, Lane(lane as u32))?;
            spawn_lane(id, lease, report.clone(), threads)
        })
        .collect::<Result<_, _>>()?;
    let loader = spawn_loader(id, device.loader.clone(), report.clone(), threads)?;
    Ok(DeviceRecord::new(device, orders, loader))
}
