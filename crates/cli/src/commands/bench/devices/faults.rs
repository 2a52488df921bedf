//! Every kind of fault at every step of a proof: the right outcome, the next job passes, memory comes back.

use std::time::{Duration, Instant};

use cuzk_backend::Backend;
use cuzk_engine::{Config, Engine, Outcome, Status};
use cuzk_simulated::{Fault, SimulatedBackend, Step};
use serde::Serialize;

use crate::console::Console;
use crate::failure::{USAGE, failure};

use super::fleet::Member;
use super::load::{Load, preload, wait_until};
use super::subject::Subject;

/// Partitions of a job that two devices share.
const PARTITIONS: usize = 4;
/// A device hangs when it takes so many times what a job took, or what bringing the key to all devices took.
const STALL_FACTOR: u32 = 5;
/// And at least this long.
const STALL: Duration = Duration::from_secs(1);
const SLOW: Duration = Duration::from_millis(50);

/// Cases of which each ended as it must.
#[derive(Serialize, Default)]
pub struct FaultCount {
    /// One fault: made good on the other device.
    pub made_good: usize,
    /// A fault at every try on every device: the job failed, naming partition and device.
    pub failed: usize,
    /// A step that takes longer: no fault.
    pub slow: usize,
    /// A device that hangs: given up, its partitions proved elsewhere, back when it answered.
    pub hung: usize,
    pub seconds: f64,
}

/// Steps after which a proof is wrong, and does not merely fail.
const WITH_RESULTS: [Step; 4] = [Step::MatVec, Step::Quotient, Step::Msm, Step::MsmQuery];
/// Where a device hangs: with a key, and with a proof.
const HANGING: [Step; 3] = [Step::LoadPoints, Step::LoadWitness, Step::Quotient];

struct Matrix<'a, B: Backend + Clone> {
    subject: &'a Subject,
    fleet: &'a [Member<B>],
    engine: Engine<SimulatedBackend<B>>,
    /// How long it took to bring the key to all devices, and then to do a job.
    times: [Duration; 2],
    /// What is in use with the key on all devices and no job.
    resident: InUse,
}

/// Bytes that are reserved on the host and on all devices, and those that the devices hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InUse {
    host: u64,
    devices: Vec<(u64, u64)>,
}

/// Whether a fault at this step needs an empty device to happen.
fn is_load(step: Step) -> bool {
    matches!(step, Step::LoadMatrices | Step::LoadPoints)
}

/// Goes through all cases on the first two devices.
///
/// Errors: the first case that ends otherwise, by name.
pub fn matrix<B: Backend + Clone>(
    subject: &Subject,
    fleet: &[Member<B>],
    load: &Load,
    console: &Console,
) -> anyhow::Result<FaultCount> {
    let fleet = fleet.get(..2).ok_or_else(|| {
        let message = "--faults wants two devices, one to make good what the other does wrong";
        failure(USAGE, message)
    })?;
    let start = Instant::now();
    let mut count = FaultCount::default();
    let mut config = load.config();
    config.scheduler.max_faults = u32::MAX;
    let matrix = Matrix::new(subject, fleet, config.clone())?;
    let cases = Step::ALL
        .into_iter()
        .flat_map(|step| [(step, Fault::Error), (step, Fault::OutOfMemory)])
        .chain(WITH_RESULTS.map(|step| (step, Fault::WrongResult)));
    let what = |case: &dyn std::fmt::Debug| format!("{}: {case:?}", subject.name);
    for case in cases {
        console.step(&what(&case), |_| matrix.is_made_good(case, 1))?;
        console.step(&what(&case), |_| matrix.fails_everywhere(case))?;
        matrix.next_passes()?;
        count.made_good += 1;
        count.failed += 1;
    }
    for step in Step::ALL {
        matrix.is_made_good((step, Fault::Slow(SLOW)), 0)?;
        count.slow += 1;
    }
    matrix.empty()?;
    let [load, job] = matrix.times.map(|time| STALL.max(time * STALL_FACTOR));
    drop(matrix);
    (config.load_stall_after, config.stall_after) = (load, job);
    let matrix = Matrix::new(subject, fleet, config)?;
    for step in HANGING {
        console.step(&what(&(step, Fault::Hang)), |_| matrix.hangs(step))?;
        count.hung += 1;
    }
    count.seconds = start.elapsed().as_secs_f64();
    Ok(count)
}

impl<'a, B: Backend + Clone> Matrix<'a, B> {
    fn new(subject: &'a Subject, fleet: &'a [Member<B>], config: Config) -> anyhow::Result<Self> {
        let devices = fleet.iter().map(|member| member.device.clone()).collect();
        let engine = Engine::new(config, devices, subject.source.clone())?;
        let mut matrix = Self {
            subject,
            fleet,
            engine,
            times: [Duration::ZERO; 2],
            resident: InUse {
                host: 0,
                devices: Vec::new(),
            },
        };
        let clock = Instant::now();
        preload(&matrix.engine, subject)?;
        matrix.times[0] = clock.elapsed();
        matrix.resident = matrix.in_use(&matrix.engine.status());
        let clock = Instant::now();
        matrix.passes(&"before the faults")?;
        matrix.times[1] = clock.elapsed();
        Ok(matrix)
    }

    fn in_use(&self, status: &Status) -> InUse {
        let devices = status.devices.iter().zip(self.fleet);
        let devices = devices
            .map(|(status, member)| (status.reserved_bytes, member.faults.report().used_bytes));
        InUse {
            host: status.host_reserved_bytes,
            devices: devices.collect(),
        }
    }

    /// A job on both devices, all of whose proofs are valid.
    fn passes(&self, what: &dyn std::fmt::Debug) -> anyhow::Result<()> {
        let handle = self
            .engine
            .submit(self.subject.with_partitions(PARTITIONS))?;
        match handle.wait() {
            Outcome::Completed(completed) => {
                self.subject.verify(&[completed.proof], PARTITIONS)?;
                Ok(())
            }
            other => anyhow::bail!("{what:?}: {other}"),
        }
    }

    fn next_passes(&self) -> anyhow::Result<()> {
        self.passes(&"after the fault")
    }

    /// Makes a fault in loading happen: nothing is loaded then.
    fn prepare(&self, step: Step) -> anyhow::Result<()> {
        if is_load(step) {
            return self.empty();
        }
        preload(&self.engine, self.subject)
    }

    /// Sees that nothing but the key is left. It stays, unless it is what went wrong: it can take seconds to come back.
    fn settled(&self, step: Step) -> anyhow::Result<()> {
        if is_load(step) {
            return self.empty();
        }
        let only_the_key = |status: &Status| self.in_use(status) == self.resident;
        wait_until(&self.engine, "memory to come back", only_the_key).map(drop)
    }

    /// Evicts the key and sees that nothing is left, neither reserved nor in the devices' memory.
    fn empty(&self) -> anyhow::Result<()> {
        self.engine.evict(&self.subject.name);
        wait_until(&self.engine, "memory to come back", |status| {
            self.engine.evict(&self.subject.name);
            let InUse { host, devices } = self.in_use(status);
            host == 0 && devices.iter().all(|&bytes| bytes == (0, 0))
        })?;
        Ok(())
    }

    fn faults(&self) -> u64 {
        self.engine.status().devices[0].faults
    }

    /// The first device does it once; the job must come through, and so many faults be counted.
    fn is_made_good(&self, case: (Step, Fault), wanted: u64) -> anyhow::Result<()> {
        let (step, fault) = case;
        self.prepare(step)?;
        let before = self.faults();
        self.fleet[0].faults.inject(step, fault, 1);
        self.passes(&case)?;
        let found = self.faults() - before;
        anyhow::ensure!(
            found == wanted,
            "{case:?}: wanted {wanted} faults, found {found}"
        );
        self.fleet[0].faults.heal();
        self.settled(step)
    }

    /// All devices do it at every try.
    fn fails_everywhere(&self, case: (Step, Fault)) -> anyhow::Result<()> {
        let (step, fault) = case;
        self.prepare(step)?;
        for member in self.fleet {
            member.faults.inject(step, fault, usize::MAX);
        }
        let handle = self.engine.submit(self.subject.with_partitions(1))?;
        let outcome = handle.wait();
        self.fleet.iter().for_each(|member| member.faults.heal());
        match outcome {
            Outcome::Failed(why) if why.partition == Some(0) && why.device.is_some() => {}
            other => anyhow::bail!("{case:?}: wanted a failure with its device, found: {other}"),
        }
        self.settled(step)
    }

    /// The first device hangs, and is healed after it was given up.
    fn hangs(&self, step: Step) -> anyhow::Result<()> {
        self.prepare(step)?;
        self.fleet[0].faults.inject(step, Fault::Hang, 1);
        self.passes(&(step, Fault::Hang))?;
        let is_lost = |status: &Status| status.devices[0].lost;
        wait_until(&self.engine, "the device to be given up", is_lost)?;
        self.fleet[0].faults.heal();
        let is_back = |status: &Status| status.devices[0].in_service;
        wait_until(&self.engine, "the device's return", is_back)?;
        self.next_passes()?;
        self.empty()
    }
}
