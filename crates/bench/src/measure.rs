//! What is measured, and how.

use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;
use cuzk_synth::{Kind, SectorSize};
use serde::{Deserialize, Serialize};

use crate::memory::peak_bytes;
use crate::workshop::Workshop;
use crate::{ours, peer};

/// Whose code.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// cuzk.
    Ours,
    /// bellperson.
    Peer,
}

/// What is done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// From the payload to the proof's bytes, with the key on disk; ours verifies the proof too.
    Prove,
    /// From the blank circuit to a key: ours on disk, the peer's in memory.
    Keygen,
    /// From the witness to a and b on one thread (ours), from the circuit to a, b and c on one thread (peer).
    Evaluate,
    /// From the blank circuit to its compiled form (ours), from the circuit to a, b and c of one proof (peer), both on one
    /// thread: what a circuit's first proof waits for, and what it could do instead.
    Compile,
    /// From the decoded payload to the assignment on one thread: ours directly, the peer by the circuit's closures.
    Witness,
    /// The same directly for both: ours on two threads, the peer on one.
    WitnessScaling,
    /// Bytes of the matrices: ours the compiled file, the peer 36 bytes a non-zero.
    Size,
}

/// One comparison.
#[derive(Copy, Clone, Debug)]
pub struct Measurement {
    /// The row's name.
    pub name: &'static str,
    /// The proof type.
    pub kind: Kind,
    /// The size of the sector.
    pub size: SectorSize,
    /// What is done.
    pub work: Work,
    /// Whether peak memory is a row too.
    pub memory: bool,
    /// How often each side runs; the first of more than two is a warm-up.
    runs: (usize, usize),
}

/// All comparisons.
pub const MEASUREMENTS: &[Measurement] = &[
    with_memory("prove-porep-2k", Kind::PoRep, (4, 1)),
    with_memory("prove-snap-2k", Kind::Snap, (4, 1)),
    with_memory("prove-winning-post-2k", Kind::WinningPost, (6, 4)),
    with_memory("prove-window-post-2k", Kind::WindowPost, (6, 4)),
    keygen("keygen-winning-post-2k", Kind::WinningPost),
    keygen("keygen-window-post-2k", Kind::WindowPost),
    evaluate("pce-eval-porep-2k", Kind::PoRep, 4),
    evaluate("pce-eval-snap-2k", Kind::Snap, 4),
    evaluate("pce-eval-winning-post-2k", Kind::WinningPost, 6),
    evaluate("pce-eval-window-post-2k", Kind::WindowPost, 6),
    compile("compile-porep-2k", Kind::PoRep),
    compile("compile-snap-2k", Kind::Snap),
    compile("compile-winning-post-2k", Kind::WinningPost),
    compile("compile-window-post-2k", Kind::WindowPost),
    witness("witness-porep-2k", Kind::PoRep, (8, 4)),
    witness("witness-snap-2k", Kind::Snap, (8, 4)),
    witness("witness-winning-post-2k", Kind::WinningPost, (22, 8)),
    witness("witness-window-post-2k", Kind::WindowPost, (42, 22)),
    scaling("witness-porep-2k-two-threads", Kind::PoRep, 8),
    scaling("witness-snap-2k-two-threads", Kind::Snap, 8),
    scaling("witness-winning-post-2k-two-threads", Kind::WinningPost, 22),
    scaling("witness-window-post-2k-two-threads", Kind::WindowPost, 42),
    small("pce-size-porep-2k", Kind::PoRep, Work::Size, (1, 1)),
];

/// Comparisons at full size, which are made where they are asked for: WindowPoSt's closures alone take minutes.
pub const FULL_SIZE: &[Measurement] = &[
    full("witness-porep-32g", Kind::PoRep, Work::Witness, (4, 1)),
    full("witness-snap-32g", Kind::Snap, Work::Witness, (4, 1)),
    full(
        "compile-winning-post-32g",
        Kind::WinningPost,
        Work::Compile,
        (4, 4),
    ),
    full("compile-porep-32g", Kind::PoRep, Work::Compile, (1, 1)),
    full(
        "witness-winning-post-32g",
        Kind::WinningPost,
        Work::Witness,
        (8, 4),
    ),
    full(
        "witness-window-post-32g",
        Kind::WindowPost,
        Work::Witness,
        (2, 1),
    ),
    full(
        "witness-porep-32g-two-threads",
        Kind::PoRep,
        Work::WitnessScaling,
        (4, 4),
    ),
    full(
        "witness-snap-32g-two-threads",
        Kind::Snap,
        Work::WitnessScaling,
        (4, 4),
    ),
    full(
        "witness-winning-post-32g-two-threads",
        Kind::WinningPost,
        Work::WitnessScaling,
        (8, 8),
    ),
    full(
        "witness-window-post-32g-two-threads",
        Kind::WindowPost,
        Work::WitnessScaling,
        (2, 2),
    ),
];

const fn with_memory(name: &'static str, kind: Kind, runs: (usize, usize)) -> Measurement {
    Measurement {
        memory: true,
        ..small(name, kind, Work::Prove, runs)
    }
}

const fn keygen(name: &'static str, kind: Kind) -> Measurement {
    small(name, kind, Work::Keygen, (4, 1))
}

const fn evaluate(name: &'static str, kind: Kind, runs: usize) -> Measurement {
    small(name, kind, Work::Evaluate, (runs, runs))
}

const fn compile(name: &'static str, kind: Kind) -> Measurement {
    small(name, kind, Work::Compile, (4, 4))
}

const fn witness(name: &'static str, kind: Kind, runs: (usize, usize)) -> Measurement {
    small(name, kind, Work::Witness, runs)
}

const fn scaling(name: &'static str, kind: Kind, runs: usize) -> Measurement {
    small(name, kind, Work::WitnessScaling, (runs, runs))
}

const fn small(name: &'static str, kind: Kind, work: Work, runs: (usize, usize)) -> Measurement {
    Measurement {
        name,
        kind,
        size: SectorSize::KIB_2,
        work,
        memory: false,
        runs,
    }
}

const fn full(name: &'static str, kind: Kind, work: Work, runs: (usize, usize)) -> Measurement {
    Measurement {
        size: SectorSize::GIB_32,
        ..small(name, kind, work, runs)
    }
}

/// One side's result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The median, in [`Measurement::unit`]; None where this side has no such way.
    pub value: Option<f64>,
    /// Runs that the median is over.
    pub runs: usize,
    /// The largest resident set of the process.
    pub peak_bytes: u64,
}

impl Measurement {
    /// The comparison of that name.
    pub fn named(name: &str) -> anyhow::Result<&'static Self> {
        let found = MEASUREMENTS
            .iter()
            .chain(FULL_SIZE)
            .find(|m| m.name == name);
        found.with_context(|| format!("no measurement {name}"))
    }

    /// The unit of its values.
    pub fn unit(&self) -> &'static str {
        match self.work {
            Work::Size => "bytes",
            _ => "s",
        }
    }

    /// Measures one side.
    pub fn run(&self, side: Side, workshop: &Workshop) -> anyhow::Result<Measured> {
        let runs = match side {
            Side::Ours => self.runs.0,
            Side::Peer => self.runs.1,
        };
        match (side, self.work) {
            (Side::Ours, Work::Prove) => median(runs, || ours::prove(workshop, self)),
            (Side::Peer, Work::Prove) => median(runs, || peer::prove(workshop, self)),
            (Side::Ours, Work::Keygen) => median(runs, || ours::keygen(self)),
            (Side::Peer, Work::Keygen) => median(runs, || peer::keygen(self)),
            (Side::Ours, Work::Evaluate) => median(runs, ours::evaluate(workshop, self)?),
            (Side::Peer, Work::Evaluate) => median(runs, || peer::evaluate(workshop, self)),
            (Side::Ours, Work::Compile) => on_threads(1, || median(runs, || ours::compile(self))),
            (Side::Peer, Work::Compile) => {
                on_threads(1, || median(runs, || peer::evaluate(workshop, self)))
            }
            (Side::Ours, Work::Witness) | (Side::Peer, Work::WitnessScaling) => {
                on_threads(1, || optional_median(runs, ours::witness(workshop, self)?))
            }
            (Side::Ours, Work::WitnessScaling) => {
                on_threads(2, || optional_median(runs, ours::witness(workshop, self)?))
            }
            (Side::Peer, Work::Witness) => {
                on_threads(1, || median(runs, || peer::witness(workshop, self)))
            }
            (Side::Ours, Work::Size) => median(runs, || ours::size(workshop, self)),
            (Side::Peer, Work::Size) => median(runs, || ours::plain_size(workshop, self)),
        }
    }
}

/// Runs on so many threads.
fn on_threads<T: Send>(
    threads: usize,
    run: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    pool.install(run)
}

fn median(runs: usize, mut run: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<Measured> {
    optional_median(runs, || run().map(Some))
}

/// The median, or None where the first run is None.
fn optional_median(
    runs: usize,
    mut run: impl FnMut() -> anyhow::Result<Option<f64>>,
) -> anyhow::Result<Measured> {
    let mut values = Vec::with_capacity(runs);
    for _ in 0..runs {
        let Some(value) = run()? else {
            break;
        };
        values.push(value);
    }
    if runs > 2 && !values.is_empty() {
        values.remove(0);
    }
    values.sort_by(f64::total_cmp);
    Ok(Measured {
        value: values.get(values.len() / 2).copied(),
        runs: values.len(),
        peak_bytes: peak_bytes(),
    })
}

/// The seconds that `run` takes, its result kept from being optimised away.
pub fn seconds<T>(run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    let start = Instant::now();
    std::hint::black_box(run()?);
    Ok(start.elapsed().as_secs_f64())
}
