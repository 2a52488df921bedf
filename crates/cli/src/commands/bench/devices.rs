//! `cuzk bench devices`: the same steady queue of partitions on one device, on two, and so on.

mod faults;
mod fleet;
mod load;
mod subject;
mod text;
mod toy;

use std::time::Duration;

use cuzk_backend::{Backend, FixedBase};
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::CudaBackend;
use cuzk_engine::{Engine, Footprints};
use serde::Serialize;

use crate::args::{BackendArgs, ParamsFolder, PceFolder};
use crate::backend::{self, BackendChoice};
use crate::console::Console;
use crate::engine::{cuda_devices, cuda_halves};
use crate::failure::{USAGE, failure};
use crate::{circuits, footprints, places};

use faults::FaultCount;
use fleet::{Member, simulated, wrapped};
use load::{Load, OutOfService, Run};
use subject::Subject;

const AFTER_HELP: &str = "\
For each circuit and each number of devices, an engine of its own proves --jobs jobs of --partitions partitions, which
--workers clients submit one after the other. The first devices of --backend are used, or --simulated ones. Reported are:

  proofs/s       partitions proved and verified a second, from the first submission to the last answer
  of linear      that, over the number of devices times what one device did
  share, idle    a device's part of all partitions, and the part of the time in which none of its lanes had work
  MB/s           witnesses brought to a device, which is what a proof uploads
  cores          processor time of the whole program over the time that passed
  latency        one job alone on the idle engine, from submission to answer: the median of --alone of them

With two devices or more the same load is run again while the last device fails at every try from a quarter of the jobs
on: it goes out of service, no job may be lost, and it must come back once it works again.

Every proof is verified by the engine and once more by this command, outside the measured time. --faults goes through a
matrix of faults in place of all that: each kind at each step of a proof, once and without end, on two devices or on the
halves of one GPU.

A circuit's name may be followed by a number of partitions, PoReps only: porep-32g/176 spreads the challenges of a 32 GiB
sector over 176 partitions instead of ten, one a partition, whose circuit has 7.2 million constraints. No chain knows such
a proof; it is a size between others.

Keys must be there (`cuzk keygen`), but for the toy circuit, which simulated devices prove by default, and for circuits
with a number of partitions: theirs are made in memory.

Examples:
  cuzk bench devices --simulated 2                                  how it works, without a GPU
  cuzk bench devices --circuit porep-2k,winning-2k --json           all GPUs: on 1, 2, 4, ... of them
  cuzk bench devices --circuit porep-32g/176 --jobs 120 --workers 8 a middle size, for eight GPUs
  cuzk bench devices --circuit porep-2k --backend cuda:0,1 --devices 1,2 --lanes 3
  cuzk bench devices --circuit porep-2k,snap-2k,wpost-2k,winning-2k --faults";

/// How proofs scale with the number of devices.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Devices {
    /// The circuits, by name; with --simulated by default a toy circuit, else porep-2k and winning-2k.
    #[arg(long, value_delimiter = ',')]
    pub circuit: Vec<String>,
    /// The numbers of devices; by default 1, 2, 4, ... and all.
    #[arg(long, value_delimiter = ',')]
    pub devices: Vec<usize>,
    /// Simulate so many devices on the processor instead of using GPUs.
    #[arg(long, value_name = "N", conflicts_with_all = ["backend", "device_memory"])]
    pub simulated: Option<usize>,
    /// Milliseconds for which each of a proof's seven operations occupies a simulated device.
    #[arg(long, value_name = "MS", default_value_t = 5)]
    pub latency_ms: u64,
    /// Jobs of each run.
    #[arg(long, default_value_t = 20)]
    pub jobs: usize,
    /// Partitions of a job.
    #[arg(long, default_value_t = 10)]
    pub partitions: usize,
    /// Clients, each of which submits its next job when the last one has ended.
    #[arg(long, default_value_t = 4)]
    pub workers: usize,
    /// Proofs that overlap on a device.
    #[arg(long, default_value_t = crate::engine::LANES)]
    pub lanes: usize,
    /// Witnesses that are computed at once; by default as many as there are processors, 16 at most.
    #[arg(long)]
    pub witnesses: Option<usize>,
    /// Jobs of which each is proved alone, for the latency.
    #[arg(long, default_value_t = 5)]
    pub alone: usize,
    /// Go through a matrix of faults instead.
    #[arg(long)]
    pub faults: bool,
    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub params: ParamsFolder,
    #[command(flatten)]
    pub pce: PceFolder,
}

/// All that was measured.
#[derive(Serialize)]
struct Report {
    /// `simulated`, or as `--backend` names it.
    backend: String,
    /// The devices, in the order of their ordinals.
    devices: Vec<String>,
    lanes: usize,
    witnesses: usize,
    workers: usize,
    jobs: usize,
    partitions: usize,
    circuits: Vec<Measured>,
}

/// A circuit's part.
#[derive(Serialize)]
struct Measured {
    circuit: String,
    constraints: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out_of_service: Option<OutOfService>,
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<FaultCount>,
}

/// Measures on what the command line says.
pub fn run(args: &Devices, console: &Console) -> anyhow::Result<()> {
    let zero = [args.jobs, args.partitions, args.workers, args.lanes];
    if zero.contains(&0) || args.devices.contains(&0) || args.simulated == Some(0) {
        return Err(failure(USAGE, "a number of 0 leaves nothing to measure"));
    }
    if let Some(count) = args.simulated {
        let counts = counts(args, count)?;
        let subjects = subjects(args, console, || Ok(CpuBackend))?;
        let fleet = simulated(count, args.lanes, Duration::from_millis(args.latency_ms));
        let load = Load::of(args, Footprints::default());
        let name = "simulated".to_owned();
        let measured = measure(&subjects, &fleet, &counts, &load, args, console)?;
        return report(name, &fleet, measured, &load, args, console);
    }
    let (ordinals, remark) = backend::ordinals(&args.backend.backend)?;
    console.note(&remark);
    if ordinals.is_empty() {
        let advice = "no GPU can be used; --simulated 2 shows how this works without one";
        return Err(failure(USAGE, advice));
    }
    let memory = args.backend.device_memory.map(|bytes| bytes.0);
    let counts = counts(args, ordinals.len())?;
    let first = || CudaBackend::open_within(ordinals[0], memory).map_err(backend::refused);
    let subjects = subjects(args, console, first)?;
    let devices = match ordinals[..] {
        [only] if args.faults => cuda_halves(only, args.lanes, memory)?,
        _ => cuda_devices(&ordinals, args.lanes, memory)?,
    };
    let load = Load::of(args, footprints::on_gpus(&devices));
    let name = BackendChoice::cuda(ordinals).to_string();
    let fleet = wrapped(devices);
    let measured = measure(&subjects, &fleet, &counts, &load, args, console)?;
    report(name, &fleet, measured, &load, args, console)
}

/// The numbers of devices of which runs are wanted.
fn counts(args: &Devices, found: usize) -> anyhow::Result<Vec<usize>> {
    if let Some(&most) = args.devices.iter().max() {
        if most > found {
            let message = format!("--devices: wanted {most}, found {found}");
            return Err(failure(USAGE, message));
        }
        return Ok(args.devices.clone());
    }
    let powers = std::iter::successors(Some(1), |count| Some(2 * count));
    let mut counts: Vec<usize> = powers.take_while(|&count| count < found).collect();
    counts.push(found);
    Ok(counts)
}

/// What is to be proved. `backend` opens what makes the keys of circuits that have none in a file.
fn subjects<B: FixedBase>(
    args: &Devices,
    console: &Console,
    backend: impl Fn() -> anyhow::Result<B>,
) -> anyhow::Result<Vec<Subject>> {
    let named = |name: &String| {
        if let Some((circuit, partitions)) = name.split_once('/') {
            let wanted = partitions.parse().map_err(|_| {
                let message = format!("{name}: wanted a number of partitions, found {partitions}");
                failure(USAGE, message)
            })?;
            let circuit = circuits::Circuit::named(circuit)?;
            return Subject::spread(&circuit, wanted, &backend()?, args.partitions, console);
        }
        let (store, cache) = (places::key_store(&args.params)?, places::cache(&args.pce)?);
        let circuit = circuits::Circuit::named(name)?;
        Subject::registered(&circuit, &store, &cache, args.partitions, console)
    };
    let default = ["porep-2k", "winning-2k"].map(str::to_owned);
    match (args.circuit.as_slice(), args.simulated) {
        ([], Some(_)) => Ok(vec![toy::subject(args.partitions)?]),
        ([], None) => default.iter().map(named).collect(),
        (names, _) => names.iter().map(named).collect(),
    }
}

fn measure<B: Backend + Clone>(
    subjects: &[Subject],
    fleet: &[Member<B>],
    counts: &[usize],
    load: &Load,
    args: &Devices,
    console: &Console,
) -> anyhow::Result<Vec<Measured>> {
    let one = |subject: &Subject| {
        if args.faults {
            let count = faults::matrix(subject, fleet, load, console)?;
            return Ok(subject.measured(Vec::new(), None, Some(count)));
        }
        let (runs, out) = scale(subject, fleet, counts, load, console)?;
        Ok(subject.measured(runs, out, None))
    };
    subjects.iter().map(one).collect()
}

fn report<B: Backend>(
    backend: String,
    fleet: &[Member<B>],
    circuits: Vec<Measured>,
    load: &Load,
    args: &Devices,
    console: &Console,
) -> anyhow::Result<()> {
    let report = Report {
        backend,
        devices: fleet.iter().map(|member| member.name.clone()).collect(),
        lanes: args.lanes,
        witnesses: load.witnesses,
        workers: args.workers,
        jobs: args.jobs,
        partitions: args.partitions,
        circuits,
    };
    console.result(&report, &text::of(&report))
}

/// Runs on each number of devices, and one more on the most of them with a device that fails.
fn scale<B: Backend + Clone>(
    subject: &Subject,
    fleet: &[Member<B>],
    counts: &[usize],
    load: &Load,
    console: &Console,
) -> anyhow::Result<(Vec<Run>, Option<OutOfService>)> {
    let mut runs: Vec<Run> = Vec::new();
    for &count in counts {
        let what = format!("{} on {count} devices", subject.name);
        let run = console.step(&what, |_| load.run(subject, &fleet[..count]))?;
        runs.push(run.value);
    }
    if let Some(one) = runs.iter().find(|run| run.devices == 1) {
        let single = one.proofs_per_s;
        for run in &mut runs {
            run.of_linear = Some(run.proofs_per_s / (single * run.devices as f64));
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    if most < 2 {
        return Ok((runs, None));
    }
    let what = format!("{} on {most} devices, one of which fails", subject.name);
    let out = console.step(&what, |_| {
        load.run_with_a_failing_device(subject, &fleet[..most])
    })?;
    Ok((runs, Some(out.value)))
}

/// An engine on some devices, with a subject's key on all of them.
fn engine_on<B: Backend + Clone>(
    subject: &Subject,
    fleet: &[Member<B>],
    load: &Load,
) -> anyhow::Result<Engine<cuzk_simulated::SimulatedBackend<B>>> {
    let devices = fleet.iter().map(|member| member.device.clone()).collect();
    let engine = Engine::new(load.config(), devices, subject.source.clone())?;
    load::preload(&engine, subject)?;
    Ok(engine)
}
