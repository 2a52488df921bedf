//! Random sequences of events, faults and cancellations included, against a model of the caller.

use cuzk_scheduler::*;
use proptest::prelude::*;

use crate::caller::{Model, Pending};

const FAULTS: [Fault; 4] = [
    Fault::Device,
    Fault::OutOfMemory,
    Fault::Verification,
    Fault::Witness,
];

/// What happens next. Numbers choose among what there is, modulo.
#[derive(Clone, Debug)]
enum Step {
    Submit(JobSpec),
    SubmitEarly(JobSpec),
    Replace(u64, u64, UnitSpec),
    Well(usize),
    Badly(usize, usize),
    DeviceDone(usize),
    DropWitness(usize),
    Release(usize, u64),
    Cancel(usize),
    Up(u32, u64),
    Down(u32),
    Removed(u32),
    Preload(Circuit, Vec<DeviceId>),
    Unload(u64),
    Late(usize, bool),
    Wait(u64),
}

fn circuit(id: u64) -> Circuit {
    Circuit {
        id: CircuitId(id),
        host: Bytes([20, 0, 10, 30][id as usize]),
        device: Bytes([30, 10, 0, 40][id as usize]),
    }
}

fn unit() -> impl Strategy<Value = UnitSpec> {
    (0..60_u64, 0..70_u64).prop_map(|(host, device)| UnitSpec {
        host: Bytes(host),
        device: Bytes(device),
    })
}

fn job() -> impl Strategy<Value = JobSpec> {
    let units = prop::collection::vec(unit(), 0..5);
    let deadline = prop::option::weighted(0.2, 0..2_000_u64);
    (0..40_u64, 0..4_u64, 0..4_usize, deadline, 0..4_u64, units).prop_map(
        |(job, tenant, priority, deadline, id, units)| JobSpec {
            job: JobId(job),
            tenant: TenantId(tenant),
            priority: Priority::ALL[priority],
            deadline: deadline.map(Instant),
            circuit: circuit(id),
            units,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let any = any::<usize>;
    let devices = prop::collection::vec((0..3_u32).prop_map(DeviceId), 0..4);
    prop_oneof![
        8 => job().prop_map(Step::Submit),
        3 => job().prop_map(Step::SubmitEarly),
        2 => (0..4_u64, 1..4_u64, unit()).prop_map(|(id, by, unit)| Step::Replace(id, (id + by) % 4, unit)),
        20 => any().prop_map(Step::Well),
        3 => (any(), 0..FAULTS.len()).prop_map(|(index, fault)| Step::Badly(index, fault)),
        4 => any().prop_map(Step::DeviceDone),
        4 => any().prop_map(Step::DropWitness),
        2 => (any(), 0..40_u64).prop_map(|(index, bytes)| Step::Release(index, bytes)),
        2 => any().prop_map(Step::Cancel),
        2 => (0..3_u32, 50..120_u64).prop_map(|(id, memory)| Step::Up(id, memory)),
        1 => (0..3_u32).prop_map(Step::Down),
        1 => (0..3_u32).prop_map(Step::Removed),
        2 => (0..4_u64, devices).prop_map(|(id, devices)| Step::Preload(circuit(id), devices)),
        1 => (0..4_u64).prop_map(Step::Unload),
        1 => (any(), prop::bool::ANY).prop_map(|(index, well)| Step::Late(index, well)),
        4 => (1..200_u64).prop_map(Step::Wait),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    (1..4_u32, 1..4_usize, 0..3_usize, 0..4_u32, 1..4_u32).prop_map(
        |(lanes, witness_slots, ready_per_lane, max_passes, critical_run)| Config {
            host_memory: Bytes(100),
            critical_host_memory: Bytes(15),
            lanes,
            witness_slots,
            ready_per_lane,
            max_jobs: 8,
            max_tenant_jobs: 5,
            max_units: 30,
            promote_after_us: 300,
            max_passes,
            critical_run,
            max_faults: 2,
            probe_after_us: 100,
            max_probes: 2,
        },
    )
}

fn take(model: &mut Model, step: Step) {
    let runs: Vec<Attempt> = (model.pending.iter())
        .filter_map(|pending| match pending {
            Pending::Run(attempt) => Some(*attempt),
            _ => None,
        })
        .collect();
    let run = |index: usize| (!runs.is_empty()).then(|| runs[index % runs.len()]);
    let pending = model.pending.len();
    match step {
        Step::Submit(spec) | Step::SubmitEarly(spec) if model.jobs.contains_key(&spec.job) => {
            let status = model.scheduler.job(spec.job);
            if status.is_some() {
                model.send(Event::Submitted(spec));
                assert_eq!(model.rejected.pop(), Some(Rejection::Duplicate));
            }
        }
        Step::Submit(spec) => model.send(Event::Submitted(spec)),
        Step::SubmitEarly(spec) => model.send(Event::SubmittedEarly(spec)),
        Step::Replace(id, by, unit) => replace(model, id, by, unit),
        Step::Well(_) | Step::Badly(..) if pending == 0 => model.send(Event::Tick),
        Step::Well(index) => model.answer(index % pending, true, Fault::Device),
        Step::Badly(index, fault) => model.answer(index % pending, false, FAULTS[fault]),
        Step::DeviceDone(index) => run(index).into_iter().for_each(|a| model.device_done(a)),
        Step::DropWitness(index) => {
            (run(index).into_iter()).for_each(|a| model.drop_witness(a.unit));
        }
        Step::Release(index, bytes) => {
            (run(index).into_iter()).for_each(|a| model.release_some(a, bytes));
        }
        Step::Cancel(index) if !model.jobs.is_empty() => {
            let job = *model.jobs.keys().nth(index % model.jobs.len()).unwrap();
            model.send(Event::Cancelled { job });
        }
        Step::Cancel(_) => model.send(Event::Cancelled { job: JobId(0) }),
        Step::Up(id, memory) => model.device_up(DeviceId(id), memory),
        Step::Down(id) => model.device_down(DeviceId(id), false),
        Step::Removed(id) => model.device_down(DeviceId(id), true),
        Step::Preload(circuit, devices) => model.send(Event::Preload { circuit, devices }),
        Step::Unload(id) => model.send(Event::Unload {
            circuit: CircuitId(id),
        }),
        Step::Late(index, well) if !model.lost.is_empty() => {
            let attempt = model.lost[index % model.lost.len()];
            let ignored = model.scheduler.stats().ignored;
            model.send(match well {
                true => Event::Finished { attempt },
                false => Event::DeviceDone { attempt },
            });
            assert_eq!(model.scheduler.stats().ignored, ignored + 1);
        }
        Step::Late(..) => model.send(Event::Stopped {
            unit: UnitId {
                job: JobId(99),
                index: 3,
            },
        }),
        Step::Wait(micros) => {
            model.now = model.now.after(micros);
            model.send(Event::Tick);
        }
    }
}

fn replace(model: &mut Model, id: u64, by: u64, unit: UnitSpec) {
    let (circuit, by) = (CircuitId(id), circuit(by));
    model.send(Event::Replaced { circuit, by, unit });
}

proptest! {
    /// The model's assertions hold throughout; then, when faults stop, every job ends and everything is given back.
    #[test]
    fn whatever_happens_budgets_hold_and_every_job_ends_once(
        config in config(),
        memories in prop::collection::vec(50..120_u64, 0..3),
        steps in prop::collection::vec(step(), 0..250),
    ) {
        let mut model = Model::new(config);
        for (id, memory) in memories.into_iter().enumerate() {
            model.device_up(DeviceId(id as u32), memory);
        }
        for step in steps {
            take(&mut model, step);
            let late = |at: Instant| at <= model.now;
            prop_assert!(!model.scheduler.next_wakeup().is_some_and(late));
        }
        for id in 0..4 {
            let (host, device) = (Bytes(5), Bytes(5));
            replace(&mut model, id, (id + 1) % 4, UnitSpec { host, device });
        }
        model.drain();
        while !model.pending.is_empty() {
            model.answer(0, true, Fault::Device);
        }
        model.check_all_returned();
    }
}
