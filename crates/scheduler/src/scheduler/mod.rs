//! The scheduler's state and the way of an event through it.

mod admit;
mod devices;
mod early;
mod jobs;
mod place;
mod resources;
mod status;
mod units;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::config::{Config, ConfigError};
use crate::event::{Action, Event};
use crate::fleet::Fleet;
use crate::job::{Job, Unit};
use crate::pool::Pool;
use crate::ready::Ready;
use crate::stats::Stats;
use crate::types::{Bytes, Circuit, CircuitId, DeviceId, Instant, JobId, TenantId, UnitId};
use crate::waiting::Waiting;

/// Decides what runs where and when. See the crate's documentation.
#[derive(Debug)]
pub struct Scheduler {
    config: Config,
    now: Instant,
    /// What was decided since the present event came in.
    outbox: Vec<Action>,
    jobs: HashMap<JobId, Job>,
    waiting: Waiting,
    /// Early jobs with units whose witness is not started, by priority and order.
    early: BTreeSet<(usize, Order)>,
    ready: Ready,
    fleet: Fleet,
    host: Pool,
    timers: BTreeSet<(Instant, Timer)>,
    /// Units that hold a resource which is on its way to the host.
    awaiting: HashMap<CircuitId, BTreeSet<UnitId>>,
    /// Resources that are wanted on a device in advance: on their way to the host, or until there is room for them.
    preloads: BTreeMap<(CircuitId, DeviceId), Circuit>,
    tenants: HashMap<TenantId, usize>,
    /// Jobs that have not ended, by the device memory that they need.
    by_need: BTreeSet<(Bytes, JobId)>,
    durations: HashMap<CircuitId, u64>,
    /// Devices that are kept free, with the unit for which.
    holds: BTreeMap<DeviceId, UnitId>,
    /// Those of them that have changed since the last event.
    touched: Vec<DeviceId>,
    counts: Counts,
    stats: Stats,
}

/// Numbers that decisions depend on.
#[derive(Debug, Default)]
struct Counts {
    jobs: usize,
    critical_jobs: usize,
    /// Witnesses being computed.
    witnesses: usize,
    critical_witnesses: usize,
    /// Units that are not critical, between the start of their witness and a lane.
    ahead: usize,
    /// Reserved for the units of critical jobs.
    critical_host: Bytes,
    /// Critical units in a row that were started, and that were assigned, while others waited.
    critical_started: u32,
    critical_assigned: u32,
    /// The next place in the order of the ready.
    sequence: u64,
}

/// Order among the jobs of a tenant and class.
type Order = (Instant, JobId);

/// What is to be done at a time.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Deadline(JobId),
    Promotion(JobId),
    Probe(DeviceId),
}

impl Scheduler {
    /// A scheduler without devices and jobs.
    ///
    /// # Errors
    ///
    /// A limit that allows nothing to be done.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            now: Instant(0),
            outbox: Vec::new(),
            jobs: HashMap::new(),
            waiting: Waiting::default(),
            early: BTreeSet::new(),
            ready: Ready::default(),
            fleet: Fleet::new(config.lanes as usize),
            host: Pool::new(config.host_memory),
            timers: BTreeSet::new(),
            awaiting: HashMap::new(),
            preloads: BTreeMap::new(),
            tenants: HashMap::new(),
            by_need: BTreeSet::new(),
            durations: HashMap::new(),
            holds: BTreeMap::new(),
            touched: Vec::new(),
            counts: Counts::default(),
            stats: Stats::default(),
        })
    }

    /// Takes in what has happened and appends what is to be done about it, in the order in which it is to be done.
    pub fn handle(&mut self, event: Event, now: Instant, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        self.run_timers();
        if !self.take(event) {
            self.stats.ignored += 1;
        }
        self.admit_all();
        self.place_all();
        actions.append(&mut self.outbox);
    }

    /// When [`Event::Tick`] is wanted, if nothing else happens before.
    pub fn next_wakeup(&self) -> Option<Instant> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// Takes an event in; false if it fits nothing.
    fn take(&mut self, event: Event) -> bool {
        match event {
            Event::Submitted(spec) => self.submitted(spec, false),
            Event::SubmittedEarly(spec) => self.submitted(spec, true),
            Event::Replaced { circuit, by, unit } => {
                self.replaced(circuit, by, unit);
                true
            }
            Event::Cancelled { job } => self.cancelled(job),
            Event::WitnessDone { unit } => self.witness_done(unit),
            Event::WitnessFailed { unit } => self.witness_failed(unit),
            Event::WitnessStopped { unit } => self.witness_stopped(unit),
            Event::HostReleased { unit, bytes } => self.host_released(unit, bytes),
            Event::WitnessDropped { unit } => self.witness_dropped(unit),
            Event::DeviceReleased { attempt, bytes } => self.device_released(attempt, bytes),
            Event::DeviceDone { attempt } => self.device_done(attempt),
            Event::Finished { attempt } => self.finished(attempt),
            Event::Failed { attempt, fault } => self.failed(attempt, fault),
            Event::Stopped { unit } => self.stopped(unit),
            Event::DeviceUp { device, memory } => self.device_up(device, memory),
            Event::DeviceDown { device } => self.device_down(device),
            Event::DeviceRemoved { device } => self.device_removed(device),
            Event::Probed { device, works } => self.probed(device, works),
            Event::Loaded { circuit, place } => self.loaded(circuit, place),
            Event::LoadFailed { circuit, place } => self.load_failed(circuit, place),
            Event::Evicted { circuit, place } => self.evicted(circuit, place),
            Event::Preload { circuit, devices } => {
                self.preload(circuit, &devices);
                true
            }
            Event::Unload { circuit } => self.unload(circuit),
            Event::Tick => true,
        }
    }

    fn run_timers(&mut self) {
        while let Some(&(at, timer)) = self.timers.first() {
            if at > self.now {
                break;
            }
            self.timers.pop_first();
            match timer {
                Timer::Deadline(job) => self.expire(job),
                Timer::Promotion(job) => self.promote(job),
                Timer::Probe(device) => self.begin_probe(device),
            }
        }
    }

    fn tell(&mut self, action: Action) {
        self.outbox.push(action);
    }

    fn unit(&self, id: UnitId) -> Option<&Unit> {
        self.jobs.get(&id.job)?.units.get(id.index as usize)
    }

    fn unit_mut(&mut self, id: UnitId) -> Option<&mut Unit> {
        let job = self.jobs.get_mut(&id.job)?;
        job.units.get_mut(id.index as usize)
    }
}
