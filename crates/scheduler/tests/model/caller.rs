//! A model of the caller: it carries actions out on memories and lanes of its own and fails where one does not fit.

use std::collections::{BTreeMap, BTreeSet};

use cuzk_scheduler::*;

/// An action that has not been answered.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    Witness(UnitId),
    Run(Attempt),
    Load(CircuitId, Place),
    Evict(CircuitId, Place),
    Probe(DeviceId),
    Abort(UnitId),
}

/// What the caller has of a unit.
#[derive(Clone, Debug)]
pub struct ModelUnit {
    pub circuit: CircuitId,
    pub spec: UnitSpec,
    pub host: u64,
    /// Whether a witness is in memory or being computed.
    pub witness: bool,
    pub witness_done: bool,
    /// Whether it uses the resource in the host's memory: not if that could not be loaded.
    pub uses_host: bool,
    pub seat: Option<(DeviceId, Lane, u64)>,
    pub attempts: u32,
    pub failures: Vec<(Option<DeviceId>, Fault)>,
    pub last_device: Option<DeviceId>,
    pub finished: bool,
    pub aborted: bool,
    /// What it takes if its witness is stopped.
    pub overtaken: Option<(CircuitId, UnitSpec)>,
}

#[derive(Clone, Debug)]
pub struct ModelJob {
    pub spec: JobSpec,
    pub units: Vec<ModelUnit>,
    pub outcome: Option<Outcome>,
}

#[derive(Clone, Debug, Default)]
pub struct ModelDevice {
    pub memory: u64,
    pub in_service: bool,
    pub lanes: BTreeMap<Lane, UnitId>,
    /// Bytes, and whether it is loaded.
    pub resources: BTreeMap<CircuitId, (u64, bool)>,
}

pub struct Model {
    pub config: Config,
    pub scheduler: Scheduler,
    pub now: Instant,
    pub jobs: BTreeMap<JobId, ModelJob>,
    pub devices: BTreeMap<DeviceId, ModelDevice>,
    pub host_resources: BTreeMap<CircuitId, (u64, bool)>,
    pub pending: Vec<Pending>,
    /// Tries that were lost with their device.
    pub lost: Vec<Attempt>,
    pub rejected: Vec<Rejection>,
    /// Resources that the host had no room for in advance.
    pub refused: Vec<CircuitId>,
    pub placed: Vec<(Attempt, DeviceId)>,
    pub started: Vec<UnitId>,
    sizes: BTreeMap<CircuitId, Circuit>,
    evicting: BTreeSet<(CircuitId, Place)>,
}

impl Model {
    pub fn new(config: Config) -> Self {
        Self {
            config,
            scheduler: Scheduler::new(config).unwrap(),
            now: Instant(0),
            jobs: BTreeMap::new(),
            devices: BTreeMap::new(),
            host_resources: BTreeMap::new(),
            pending: Vec::new(),
            lost: Vec::new(),
            rejected: Vec::new(),
            refused: Vec::new(),
            placed: Vec::new(),
            started: Vec::new(),
            sizes: BTreeMap::new(),
            evicting: BTreeSet::new(),
        }
    }

    /// Reports an event and carries out what comes back.
    pub fn send(&mut self, event: Event) {
        let submitted = match &event {
            Event::Submitted(spec) | Event::SubmittedEarly(spec) => Some(spec.clone()),
            _ => None,
        };
        let named = match &event {
            Event::Submitted(spec) | Event::SubmittedEarly(spec) => Some(spec.circuit),
            Event::Preload { circuit, .. } => Some(*circuit),
            Event::Replaced { by, .. } => Some(*by),
            _ => None,
        };
        self.sizes
            .extend(named.map(|circuit| (circuit.id, circuit)));
        let replaced = match &event {
            Event::Replaced { by, unit, .. } => Some((by.id, *unit)),
            _ => None,
        };
        let mut actions = Vec::new();
        self.scheduler.handle(event, self.now, &mut actions);
        if let Some((by, unit)) = replaced {
            self.replaced(by, unit);
        }
        for action in actions {
            if let Action::Overtaken { unit } = action {
                let found = self.unit(unit);
                assert!(found.witness && !found.witness_done && !found.aborted);
                found.overtaken = replaced;
                continue;
            }
            self.carry_out(action, submitted.as_ref());
            self.check_budgets();
        }
    }

    /// Units that have another circuit now: none of them has anything yet.
    fn replaced(&mut self, by: CircuitId, spec: UnitSpec) {
        for (&job, known) in &mut self.jobs {
            for (index, unit) in (0..).zip(&mut known.units) {
                let circuit = self.scheduler.circuit(UnitId { job, index });
                if circuit.is_none_or(|circuit| circuit == unit.circuit) {
                    continue;
                }
                assert_eq!(circuit, Some(by));
                assert!(!unit.witness && !unit.finished && unit.seat.is_none());
                assert_eq!(known.outcome, None);
                (unit.circuit, unit.spec) = (by, spec);
            }
        }
    }

    fn carry_out(&mut self, action: Action, submitted: Option<&JobSpec>) {
        match action {
            Action::Accepted { job } => self.accept(job, submitted.expect("a submission")),
            Action::Rejected { job, reason } => {
                assert_eq!(Some(job), submitted.map(|spec| spec.job));
                self.rejected.push(reason);
            }
            Action::StartWitness { unit } => self.start_witness(unit),
            Action::Place {
                attempt,
                device,
                lane,
            } => self.place(attempt, device, lane),
            Action::Overtaken { .. } => panic!("told without a circuit that was replaced"),
            Action::Abort { unit } => self.abort(unit),
            Action::Load { circuit, place } => self.load(circuit, place),
            Action::Evict { circuit, place } => self.evict(circuit, place),
            Action::NoRoom { circuit } => {
                let needed = self.sizes[&circuit].host.0;
                let full = self.in_use_on_host() + needed > self.config.host_memory.0;
                assert!(full || self.evicting.contains(&(circuit, Place::Host)));
                self.refused.push(circuit);
            }
            Action::OutOfService { device } => {
                let device = self.devices.get_mut(&device).unwrap();
                assert!(device.in_service);
                device.in_service = false;
            }
            Action::BackInService { device } => {
                let device = self.devices.get_mut(&device).unwrap();
                assert!(!device.in_service);
                device.in_service = true;
            }
            Action::Probe { device } => {
                assert!(!self.devices[&device].in_service);
                self.pending.push(Pending::Probe(device));
            }
            Action::JobEnded { job, outcome } => self.end(job, outcome),
        }
    }

    fn accept(&mut self, job: JobId, spec: &JobSpec) {
        let circuit = spec.circuit.id;
        let unit = |spec: &UnitSpec| ModelUnit {
            circuit,
            spec: *spec,
            host: 0,
            witness: false,
            witness_done: false,
            uses_host: false,
            seat: None,
            attempts: 0,
            failures: Vec::new(),
            last_device: None,
            finished: false,
            aborted: false,
            overtaken: None,
        };
        let model = ModelJob {
            spec: spec.clone(),
            units: spec.units.iter().map(unit).collect(),
            outcome: None,
        };
        let before = self.jobs.insert(job, model);
        assert!(before.is_none(), "accepted twice");
        let known = self.jobs.values().filter(|job| job.outcome.is_none());
        let critical = spec.priority == Priority::Critical;
        let alike = known.filter(|job| (job.spec.priority == Priority::Critical) == critical);
        assert!(alike.count() <= self.config.max_jobs);
    }

    pub fn unit(&mut self, id: UnitId) -> &mut ModelUnit {
        let job = self.jobs.get_mut(&id.job).expect("a known job");
        &mut job.units[id.index as usize]
    }

    pub fn circuit(&self, id: UnitId) -> CircuitId {
        self.jobs[&id.job].units[id.index as usize].circuit
    }

    fn start_witness(&mut self, id: UnitId) {
        assert_eq!(self.jobs[&id.job].outcome, None);
        assert!(self.host_resources.contains_key(&self.circuit(id)));
        assert!(!self.evicting.contains(&(self.circuit(id), Place::Host)));
        let unit = self.unit(id);
        assert!(!unit.witness && !unit.finished && unit.seat.is_none());
        unit.witness = true;
        unit.witness_done = false;
        unit.uses_host = true;
        unit.host = unit.spec.host.0;
        self.started.push(id);
        self.pending.push(Pending::Witness(id));
    }

    fn place(&mut self, attempt: Attempt, device_id: DeviceId, lane: Lane) {
        let id = attempt.unit;
        let circuit = self.circuit(id);
        assert_eq!(self.jobs[&id.job].outcome, None);
        assert!(lane.0 < self.config.lanes);
        let unit = self.unit(id);
        assert!(unit.witness && unit.witness_done && unit.seat.is_none() && !unit.finished);
        unit.attempts += 1;
        assert_eq!(unit.attempts, attempt.number);
        assert!(unit.attempts <= 2 && unit.attempts as usize <= unit.failures.len() + 1);
        unit.seat = Some((device_id, lane, unit.spec.device.0));
        unit.last_device = Some(device_id);
        let device = self.devices.get_mut(&device_id).unwrap();
        assert!(device.in_service, "placed on a device out of service");
        assert_eq!(device.lanes.insert(lane, id), None, "a lane given twice");
        assert!(
            device
                .resources
                .get(&circuit)
                .is_some_and(|(_, loaded)| *loaded)
        );
        assert!(!self.evicting.contains(&(circuit, Place::Device(device_id))));
        self.placed.push((attempt, device_id));
        self.pending.push(Pending::Run(attempt));
    }

    fn abort(&mut self, id: UnitId) {
        let unit = self.unit(id);
        assert!(!unit.aborted && !unit.finished, "aborted in vain");
        unit.aborted = true;
        self.pending.retain(|pending| match pending {
            Pending::Witness(unit) => *unit != id,
            Pending::Run(attempt) => attempt.unit != id,
            _ => true,
        });
        self.pending.push(Pending::Abort(id));
    }

    fn load(&mut self, circuit: CircuitId, place: Place) {
        let size = self.sizes[&circuit];
        let before = match place {
            Place::Host => self.host_resources.insert(circuit, (size.host.0, false)),
            Place::Device(device) => {
                let on_host = self.host_resources.get(&circuit);
                assert!(
                    on_host.is_some_and(|(_, loaded)| *loaded),
                    "nothing to load from"
                );
                let device = self.devices.get_mut(&device).unwrap();
                device.resources.insert(circuit, (size.device.0, false))
            }
        };
        assert_eq!(before, None, "loaded what is there");
        self.pending.push(Pending::Load(circuit, place));
    }

    /// Nothing in use is evicted.
    fn evict(&mut self, circuit: CircuitId, place: Place) {
        let resource = match place {
            Place::Host => self.host_resources[&circuit],
            Place::Device(device) => self.devices[&device].resources[&circuit],
        };
        assert!(resource.1, "evicted while it is loaded");
        for (id, job) in &self.jobs {
            for unit in job.units.iter().filter(|unit| unit.circuit == circuit) {
                let used = match place {
                    Place::Host => unit.uses_host,
                    Place::Device(device) => unit.seat.is_some_and(|(on, ..)| on == device),
                };
                assert!(!used, "{place:?}: evicted while {id:?} uses it");
            }
        }
        if place == Place::Host {
            let loading =
                |pending: &Pending| matches!(pending, Pending::Load(c, _) if *c == circuit);
            assert!(
                !self.pending.iter().any(loading),
                "evicted while it is read"
            );
        }
        assert!(self.evicting.insert((circuit, place)));
        self.pending.push(Pending::Evict(circuit, place));
    }

    /// A job ends once, as it should.
    fn end(&mut self, id: JobId, outcome: Outcome) {
        let now = self.now;
        let job = self.jobs.get_mut(&id).expect("an accepted job");
        assert_eq!(job.outcome, None, "ended twice");
        job.outcome = Some(outcome);
        let all_finished = job.units.iter().all(|unit| unit.finished);
        assert_eq!(outcome == Outcome::Completed, all_finished);
        match outcome {
            Outcome::Expired => assert!(job.spec.deadline.is_some_and(|at| at <= now)),
            Outcome::Failed {
                unit,
                cause: Cause::Device { device, fault },
            } => {
                let failures = &job.units[unit.index as usize].failures;
                assert!(failures.len() >= 2);
                assert_eq!(failures.last(), Some(&(Some(device), fault)));
            }
            Outcome::Unavailable { needed, .. } => {
                let fits = |d: &ModelDevice| d.in_service && d.memory >= needed.0;
                assert!(!self.devices.values().any(fits));
            }
            Outcome::Completed | Outcome::Cancelled | Outcome::Failed { .. } => {}
        }
    }

    fn in_use_on_host(&self) -> u64 {
        let units = self.jobs.values().flat_map(|job| &job.units);
        let units: u64 = units.map(|unit| unit.host).sum();
        let resources = self.host_resources.values().map(|(bytes, _)| bytes);
        units + resources.sum::<u64>()
    }

    /// What is in the memories is within the budgets.
    fn check_budgets(&self) {
        let units = self.jobs.values().flat_map(|job| &job.units);
        assert!(
            self.in_use_on_host() <= self.config.host_memory.0,
            "host memory"
        );
        for (id, device) in &self.devices {
            let seats = units.clone().filter_map(|unit| unit.seat);
            let here = seats.filter(|(on, ..)| on == id).map(|(_, _, bytes)| bytes);
            let resources: u64 = device.resources.values().map(|(bytes, _)| bytes).sum();
            assert!(
                here.sum::<u64>() + resources <= device.memory,
                "{id}: memory"
            );
        }
    }

    /// Nothing is under way, and nothing is held but idle resources.
    pub fn check_all_returned(&mut self) {
        let stats = self.scheduler.stats();
        let resources: u64 = self.host_resources.values().map(|(bytes, _)| bytes).sum();
        let expected = Stats {
            host_used: Bytes(resources),
            ignored: stats.ignored,
            ..Stats::default()
        };
        assert_eq!(stats, expected);
        for status in self.scheduler.devices() {
            let device = &self.devices[&status.device];
            let resources: u64 = device.resources.values().map(|(bytes, _)| bytes).sum();
            assert_eq!(status.used, Bytes(resources));
            assert!(status.lanes.iter().all(Option::is_none));
        }
        assert!(self.scheduler.resources().iter().all(|r| r.users == 0));
        assert!(self.jobs.values().all(|job| job.outcome.is_some()));
    }

    pub fn evicted(&mut self, circuit: CircuitId, place: Place) {
        self.evicting.remove(&(circuit, place));
    }
}
