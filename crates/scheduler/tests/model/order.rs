//! The order in which witnesses start and units are placed: priority, ageing, turns, and fairness between tenants.

use std::collections::BTreeMap;

use cuzk_scheduler::*;
use proptest::prelude::*;

use crate::caller::{Model, Pending};

const CIRCUIT: Circuit = Circuit {
    id: CircuitId(1),
    host: Bytes(1),
    device: Bytes(1),
};
const SECOND: u64 = 1_000_000;

fn config(lanes: u32, witness_slots: usize, critical_run: u32) -> Config {
    Config {
        lanes,
        witness_slots,
        critical_run,
        promote_after_us: 20 * SECOND,
        ..Config::default()
    }
}

fn job(id: u64, tenant: u64, priority: Priority, units: usize) -> JobSpec {
    let unit = UnitSpec {
        host: Bytes(1),
        device: Bytes(1),
    };
    JobSpec {
        job: JobId(id),
        tenant: TenantId(tenant),
        priority,
        deadline: None,
        circuit: CIRCUIT,
        units: vec![unit; units],
    }
}

/// A model whose devices and host have the resource loaded, so that a unit that gets a lane is placed at once.
fn warm(config: Config, devices: u32) -> Model {
    let mut model = Model::new(config);
    preload(&mut model, devices, 1 << 30);
    model
}

/// Devices of this memory, each with the resource.
fn preload(model: &mut Model, devices: u32, memory: u64) {
    let devices: Vec<DeviceId> = (0..devices).map(DeviceId).collect();
    for &id in &devices {
        model.device_up(id, memory);
    }
    let circuit = CIRCUIT;
    model.send(Event::Preload { circuit, devices });
    model.settle();
}

/// The oracle: what a job counts as, after so long a time.
fn class(spec: &JobSpec, submitted: Instant, now: Instant) -> Priority {
    let steps = now.since(submitted) / (20 * SECOND);
    match (spec.priority, steps) {
        (Priority::Low, 0) => Priority::Low,
        (Priority::Low, 1) | (Priority::Normal, 0) => Priority::Normal,
        (Priority::Low | Priority::Normal, _) => Priority::High,
        (priority, _) => priority,
    }
}

/// Units by the order in which their witnesses were started, and by class.
struct Watch {
    submitted: BTreeMap<JobId, Instant>,
    started: usize,
    placed: usize,
    /// Critical units placed in a row while others waited.
    run: u32,
}

impl Watch {
    fn class(&self, model: &Model, id: JobId) -> Priority {
        class(&model.jobs[&id].spec, self.submitted[&id], model.now)
    }

    /// Holds what an event has caused against the units that waited before, or were made ready by it.
    fn check(&mut self, model: &Model, mut waiting: Vec<UnitId>, mut ready: Vec<UnitId>) {
        for &unit in &model.started[self.started..] {
            let at = waiting.iter().position(|other| *other == unit);
            let class = self.class(model, waiting.remove(at.expect("it waited")).job);
            let mut others = waiting.iter().map(|unit| self.class(model, unit.job));
            assert!(others.all(|other| other <= class || other == Priority::Critical));
        }
        for &(attempt, _) in &model.placed[self.placed..] {
            let unit = attempt.unit;
            let at = ready
                .iter()
                .position(|other| *other == unit)
                .expect("it was ready");
            let class = self.class(model, ready[at].job);
            let classes: Vec<_> = ready
                .iter()
                .map(|unit| self.class(model, unit.job))
                .collect();
            let is_first = classes[..at].iter().all(|other| *other != class);
            assert!(is_first, "first started, first placed");
            ready.remove(at);
            let others = classes.iter().filter(|c| **c != Priority::Critical);
            let highest = others.clone().max().copied();
            let critical_waits = classes.contains(&Priority::Critical);
            let others_turn = self.run >= model.config.critical_run && highest.is_some();
            if class == Priority::Critical {
                assert!(!others_turn, "the others had their turn");
                let left = others.count() > 0;
                self.run = if left { self.run + 1 } else { 0 };
            } else {
                assert_eq!(Some(class), highest);
                assert!(!critical_waits || others_turn, "critical ones go first");
                self.run = 0;
            }
        }
        (self.started, self.placed) = (model.started.len(), model.placed.len());
    }
}

/// Units whose witness is not started, and units ready for a lane, the first started first.
fn queues(model: &Model) -> (Vec<UnitId>, Vec<UnitId>) {
    let mut waiting = Vec::new();
    for (&job, model) in &model.jobs {
        let units = model.units.iter().enumerate();
        let unstarted = units.filter(|(_, unit)| !unit.witness && !unit.finished);
        waiting.extend(unstarted.map(|(index, _)| UnitId {
            job,
            index: index as u32,
        }));
    }
    let is_ready = |id: &&UnitId| {
        let unit = &model.jobs[&id.job].units[id.index as usize];
        unit.witness_done && unit.seat.is_none()
    };
    let ready = model.started.iter().filter(is_ready).copied().collect();
    (waiting, ready)
}

/// How far each tenant has got ahead of each other while both had units waiting.
#[derive(Default)]
struct Shares {
    waiting: BTreeMap<u64, usize>,
    /// By pair: how far now, at least and at most.
    ahead: BTreeMap<(u64, u64), (i64, i64, i64)>,
}

impl Shares {
    fn note(&mut self, model: &mut Model) {
        for unit in std::mem::take(&mut model.started) {
            let tenant = model.jobs[&unit.job].spec.tenant.0;
            for (&other, _) in self
                .waiting
                .iter()
                .filter(|(id, units)| **id != tenant && **units > 0)
            {
                let pair = (tenant.min(other), tenant.max(other));
                let (now, least, most) = self.ahead.entry(pair).or_default();
                *now += if tenant < other { 1 } else { -1 };
                (*least, *most) = ((*least).min(*now), (*most).max(*now));
                assert!(*most - *least <= 2, "{pair:?}: {least} to {most}");
            }
            let left = self.waiting.get_mut(&tenant).expect("it waited");
            *left -= 1;
            if *left == 0 {
                let apart = |pair: &(u64, u64)| pair.0 != tenant && pair.1 != tenant;
                self.ahead.retain(|pair, _| apart(pair));
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Submit(usize, u64, usize),
    Witness(usize),
    Run(usize),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_usize, 0..3_u64, 1..5_usize).prop_map(|(p, t, u)| Step::Submit(p, t, u)),
        8 => any::<usize>().prop_map(Step::Witness),
        6 => any::<usize>().prop_map(Step::Run),
        1 => (1..10 * SECOND).prop_map(Step::Wait),
    ]
}

fn answer_one(model: &mut Model, index: usize, wanted: fn(&Pending) -> bool) {
    let pending = model.pending.iter().enumerate();
    let found: Vec<usize> = pending
        .filter(|(_, p)| wanted(p))
        .map(|(at, _)| at)
        .collect();
    if !found.is_empty() {
        model.answer(found[index % found.len()], true, Fault::Device);
    }
}

fn unit_of_witness(model: &Model, index: usize) -> Option<UnitId> {
    let witnesses = model.pending.iter().filter_map(|pending| match pending {
        Pending::Witness(unit) => Some(*unit),
        _ => None,
    });
    let witnesses: Vec<UnitId> = witnesses.collect();
    (!witnesses.is_empty()).then(|| witnesses[index % witnesses.len()])
}

/// Free bytes of a device by the model's own count: its memory without what is resident and what units take.
fn free(model: &Model, id: DeviceId) -> u64 {
    let device = &model.devices[&id];
    let resident = device.resources.len() as u64 * CIRCUIT.device.0;
    let seats = device.lanes.values().map(|&unit| size(model, unit));
    device.memory - resident - seats.sum::<u64>()
}

/// Device bytes of a unit.
fn size(model: &Model, id: UnitId) -> u64 {
    model.jobs[&id.job].spec.units[id.index as usize].device.0
}

/// A job whose units take these bytes of a device.
fn sized(id: u64, priority: Priority, sizes: &[u64]) -> JobSpec {
    let unit = |&bytes: &u64| UnitSpec {
        host: Bytes(1),
        device: Bytes(bytes),
    };
    JobSpec {
        units: sizes.iter().map(unit).collect(),
        ..job(id, 0, priority, 0)
    }
}

proptest! {
    /// Where units are of different sizes, no lane and no memory goes to one while they would do for one more urgent.
    #[test]
    fn the_more_urgent_goes_first_wherever_it_fits(
        lanes in 1..4_u32,
        devices in 1..4_u32,
        slots in 1..6_usize,
        steps in prop::collection::vec((0..3_usize, prop::collection::vec(1..100_u64, 1..4), any::<usize>(), 0..3_usize), 0..100),
    ) {
        let limits = Config { max_passes: u32::MAX, promote_after_us: u64::MAX, ready_per_lane: 8, ..config(lanes, slots, 1) };
        let mut model = Model::new(limits);
        preload(&mut model, devices, 100);
        for (id, (priority, sizes, index, what)) in steps.into_iter().enumerate() {
            let placed = model.placed.len();
            match what {
                0 => {
                    let urgency = [Priority::Low, Priority::Normal, Priority::High][priority];
                    model.send(Event::Submitted(sized(id as u64, urgency, &sizes)));
                }
                1 => answer_one(&mut model, index, |p| matches!(p, Pending::Witness(_))),
                _ => answer_one(&mut model, index, |p| matches!(p, Pending::Run(_))),
            }
            // Those that were placed now, and what was free before each of them: the last one first.
            let mut free: BTreeMap<DeviceId, u64> =
                model.devices.keys().map(|&id| (id, free(&model, id))).collect();
            let (_, mut ready) = queues(&model);
            for &(attempt, device) in model.placed[placed..].iter().rev() {
                let unit = attempt.unit;
                let room = free.get_mut(&device).expect("a device");
                *room += size(&model, unit);
                let urgency = |id: UnitId| model.jobs[&id.job].spec.priority;
                for &other in ready.iter().filter(|other| urgency(**other) > urgency(unit)) {
                    prop_assert!(size(&model, other) > *room, "{other:?} would have fitted");
                }
                ready.push(unit);
            }
        }
        model.drain();
        model.check_all_returned();
    }

    #[test]
    fn the_more_urgent_goes_first(
        lanes in 1..3_u32,
        devices in 1..3_u32,
        slots in 1..6_usize,
        run in 1..4_u32,
        steps in prop::collection::vec(step(), 0..150),
    ) {
        let mut model = warm(config(lanes, slots, run), devices);
        let submitted = BTreeMap::new();
        let mut watch = Watch { submitted, started: 0, placed: 0, run: 0 };
        for (id, step) in steps.into_iter().enumerate() {
            let (mut waiting, mut ready) = queues(&model);
            match step {
                Step::Submit(priority, tenant, units) => {
                    let spec = job(id as u64, tenant, Priority::ALL[priority], units);
                    watch.submitted.insert(spec.job, model.now);
                    let units = 0..units as u32;
                    waiting.extend(units.map(|index| UnitId { job: spec.job, index }));
                    model.send(Event::Submitted(spec));
                }
                Step::Witness(index) => {
                    if let Some(unit) = unit_of_witness(&model, index) {
                        let order = |unit: &UnitId| model.started.iter().position(|u| u == unit);
                        let before = ready.partition_point(|other| order(other) < order(&unit));
                        ready.insert(before, unit);
                    }
                    answer_one(&mut model, index, |p| matches!(p, Pending::Witness(_)));
                }
                Step::Run(index) => answer_one(&mut model, index, |p| matches!(p, Pending::Run(_))),
                Step::Wait(micros) => {
                    model.now = model.now.after(micros);
                    model.send(Event::Tick);
                }
            }
            watch.check(&model, waiting, ready);
        }
    }

    /// Between two tenants that both have units waiting, neither gets more than two turns ahead, whenever they came.
    #[test]
    fn tenants_that_wait_get_equal_shares(
        slots in 1..4_usize,
        arrivals in prop::collection::vec((0..4_u64, 1..12_usize, 0..30_usize), 1..20),
    ) {
        let promote_after_us = u64::MAX;
        let mut model = warm(Config { promote_after_us, ..config(1, slots, 1) }, 1);
        let mut shares = Shares::default();
        for round in 0..300 {
            for (id, &(tenant, units, at)) in arrivals.iter().enumerate() {
                if at == round {
                    *shares.waiting.entry(tenant).or_default() += units;
                    model.send(Event::Submitted(job(id as u64, tenant, Priority::Normal, units)));
                    shares.note(&mut model);
                }
            }
            while let Some(at) = model.pending.iter().position(|p| matches!(p, Pending::Witness(_))) {
                model.answer(at, true, Fault::Device);
                shares.note(&mut model);
            }
            model.now = model.now.after(SECOND);
            if let Some(at) = model.pending.iter().position(|p| matches!(p, Pending::Run(_))) {
                model.answer(at, true, Fault::Device);
                shares.note(&mut model);
            } else if round > 30 {
                break;
            }
        }
        model.drain();
        model.check_all_returned();
    }
}

/// However many critical and high jobs come, a low one is done soon after its promotions.
#[test]
fn the_least_urgent_does_not_starve() {
    for (run, others, slots) in [
        (1, 1, 1),
        (1, 3, 2),
        (2, 2, 3),
        (3, 1, 2),
        (5, 3, 1),
        (5, 1, 3),
    ] {
        flood(run, others, slots);
    }
}

fn flood(run: u32, others: u64, slots: usize) {
    let mut model = warm(config(1, slots, run), 1);
    let low = JobId(0);
    model.send(Event::Submitted(job(0, 7, Priority::Low, 1)));
    let mut next = 1;
    let promoted = 40;
    let turns = promoted + (u64::from(run) + 1) * (others + slots as u64 + 3);
    for _ in 0..turns {
        for priority in [Priority::Critical, Priority::High, Priority::High] {
            for tenant in 0..others {
                model.send(Event::Submitted(job(next, tenant, priority, 1)));
                next += 1;
            }
        }
        model.now = model.now.after(SECOND);
        for _ in 0..model.pending.len() {
            model.answer(0, true, Fault::Device);
        }
    }
    let outcome = model.jobs[&low].outcome;
    assert_eq!(
        outcome,
        Some(Outcome::Completed),
        "{run}, {others}, {slots}"
    );
}
