//! The coordinator: one thread that owns all state, asks the scheduler, and tells the other threads what to do.

mod circuits;
mod devices;
mod early;
mod jobs;
mod snapshot;
mod units;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use cuzk_backend::Backend;
use cuzk_scheduler::{Action, CircuitId, Event, Place, Scheduler};

use crate::job::JobId;
use crate::workers::{Assemble, Decode, Finish, Message, Open, Pool, Prepare, Witness};
use crate::{Config, Counters, Source};

use circuits::CircuitRecord;
pub(crate) use devices::DeviceRecord;
use jobs::JobRecord;

/// How often hanging devices are looked for.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// The threads of the host.
pub(crate) struct Pools {
    pub(crate) decode: Pool<DecoderTask>,
    pub(crate) open: Pool<OpenerTask>,
    pub(crate) witness: Pool<Witness>,
    pub(crate) finish: Pool<Finish>,
}

/// What a decoder does.
pub(crate) enum DecoderTask {
    Decode(Decode),
    Assemble(Assemble),
}

/// What an opener does.
pub(crate) enum OpenerTask {
    Prepare(Prepare),
    Open(Open),
}

/// All state of an engine.
pub(crate) struct Coordinator<B: Backend + Clone> {
    pub(crate) config: Config,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) scheduler: Scheduler,
    pub(crate) inbox: Receiver<Message<B>>,
    pub(crate) cancel: Arc<dyn Fn(JobId) + Send + Sync>,
    pub(crate) pools: Pools,
    pub(crate) devices: Vec<DeviceRecord<B>>,
    pub(crate) start: Instant,
    jobs: HashMap<JobId, JobRecord>,
    last_job: u64,
    /// When jobs expire, should the scheduler not know them by then.
    deadlines: BTreeSet<(Instant, JobId)>,
    circuits: HashMap<CircuitId, CircuitRecord>,
    circuit_ids: HashMap<Arc<str>, CircuitId>,
    counters: Counters,
    /// What the scheduler has not been told yet.
    events: VecDeque<Event>,
    /// Whether jobs are refused.
    closed: bool,
    /// Whoever waits for the last job to end.
    draining: Vec<Sender<()>>,
    stopped: bool,
}

/// What the engine makes for its coordinator.
pub(crate) struct Parts<B: Backend + Clone> {
    pub(crate) config: Config,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) scheduler: Scheduler,
    pub(crate) inbox: Receiver<Message<B>>,
    pub(crate) cancel: Arc<dyn Fn(JobId) + Send + Sync>,
    pub(crate) pools: Pools,
    pub(crate) devices: Vec<DeviceRecord<B>>,
}

impl<B: Backend + Clone> Coordinator<B> {
    pub(crate) fn new(parts: Parts<B>) -> Self {
        Self {
            config: parts.config,
            source: parts.source,
            scheduler: parts.scheduler,
            inbox: parts.inbox,
            cancel: parts.cancel,
            pools: parts.pools,
            devices: parts.devices,
            start: Instant::now(),
            jobs: HashMap::new(),
            last_job: 0,
            deadlines: BTreeSet::new(),
            circuits: HashMap::new(),
            circuit_ids: HashMap::new(),
            counters: Counters::default(),
            events: VecDeque::new(),
            closed: false,
            draining: Vec::new(),
            stopped: false,
        }
    }

    /// Runs until the engine is dropped.
    pub(crate) fn run(mut self) {
        self.devices_up();
        self.settle();
        while !self.stopped {
            match self.inbox.recv_timeout(self.patience()) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.settle();
            self.watch();
        }
        self.end_all();
    }

    /// How long to wait for a message at most.
    fn patience(&self) -> Duration {
        let wakeup = self.scheduler.next_wakeup();
        let left = wakeup.map(|at| Duration::from_micros(at.since(self.now())));
        let busy = self.devices.iter().any(DeviceRecord::is_busy);
        let watched = busy.then_some(WATCH_EVERY);
        let deadline = self.deadlines.first();
        let deadline = deadline.map(|(at, _)| at.saturating_duration_since(Instant::now()));
        // Nothing is due: a minute is as good as for ever.
        let idle = Duration::from_secs(60);
        let due = left.into_iter().chain(watched).chain(deadline);
        due.fold(idle, Duration::min)
    }

    /// What time brings: timers of the scheduler, deadlines, hanging devices.
    fn watch(&mut self) {
        if self
            .scheduler
            .next_wakeup()
            .is_some_and(|at| at <= self.now())
        {
            self.report(Event::Tick);
        }
        self.expire_unscheduled();
        self.lose_hanging_devices();
        self.settle();
        if self.jobs.is_empty() {
            self.draining.clear();
        }
    }

    fn take(&mut self, message: Message<B>) {
        match message {
            Message::Submit { submission, reply } => {
                // Whoever submitted may have gone.
                drop(reply.send(self.submit(submission)));
            }
            Message::Cancel(job) => self.cancel(job),
            Message::Snapshot(reply) => drop(reply.send(self.snapshot())),
            Message::Preload { circuit } => self.preload(&circuit),
            Message::Unload { circuit } => self.unload(&circuit),
            Message::Drain { idle } => self.drain(idle),
            Message::Stop => self.stopped = true,
            Message::Decoded { job, result } => self.decoded(job, result),
            Message::Compiling {
                circuit,
                key,
                footprint,
            } => self.compiling(circuit, key, footprint),
            Message::Prepared {
                circuit,
                result,
                took,
            } => self.prepared(circuit, result, took),
            Message::Opened { circuit, result } => self.opened(circuit, result),
            Message::DeviceLoaded {
                device,
                epoch,
                circuit,
                result,
            } => self.device_loaded(device, epoch, circuit, result),
            Message::DeviceFreed {
                device,
                epoch,
                circuit,
            } => self.device_freed(device, epoch, circuit),
            Message::Witness { unit, result, took } => self.witness_done(unit, result, took),
            Message::Finished {
                attempt,
                device,
                result,
            } => self.proved(attempt, device, *result),
            Message::Lane {
                device,
                lane,
                done,
                took,
            } => self.lane_done(device, lane, done, took),
            Message::Assembled { job, result } => self.assembled(job, result),
        }
    }

    /// Microseconds since the engine's start.
    fn now(&self) -> cuzk_scheduler::Instant {
        self.at(Instant::now())
    }

    fn at(&self, time: Instant) -> cuzk_scheduler::Instant {
        let since = time.saturating_duration_since(self.start);
        cuzk_scheduler::Instant(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    /// Has the scheduler told of something, as soon as what it decided before is carried out.
    fn report(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Tells the scheduler what has happened and carries out what it decides, until nothing is left.
    fn settle(&mut self) {
        let mut actions = Vec::new();
        while let Some(event) = self.events.pop_front() {
            let now = self.now();
            self.scheduler.handle(event, now, &mut actions);
            for action in actions.drain(..) {
                self.carry_out(action);
            }
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Accepted { job } => self.accepted(JobId(job.0)),
            Action::Rejected { job, reason } => self.rejected(JobId(job.0), reason),
            Action::StartWitness { unit } => self.start_witness(unit),
            Action::Place {
                attempt,
                device,
                lane,
            } => self.place(attempt, device, lane),
            Action::Overtaken { unit } => self.overtaken(unit),
            Action::Abort { unit } => self.abort(unit),
            Action::Load { circuit, place } => match place {
                Place::Host => self.open(circuit),
                Place::Device(device) => self.load(device, circuit),
            },
            Action::Evict { circuit, place } => self.evict(circuit, place),
            Action::NoRoom { circuit } => self.no_room(circuit),
            Action::OutOfService { device } => self.set_service(device, false),
            Action::BackInService { device } => self.set_service(device, true),
            Action::Probe { device } => self.probe(device),
            Action::JobEnded { job, outcome } => self.job_ended(JobId(job.0), outcome),
        }
    }
}
