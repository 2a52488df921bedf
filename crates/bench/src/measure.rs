//! What is measured, and how.

use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;
use cuzk_synth::Kind;
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
    /// From the blank circuit to a key in memory or on disk.
    Keygen,
    /// From the witness to a and b on one thread (ours), from the circuit to a, b and c on one thread (peer).
    Evaluate,
    /// From the payload to the witness on one thread, for both.
    Witness,
}

/// One comparison.
#[derive(Copy, Clone, Debug)]
pub struct Measurement {
    /// The row's name.
    pub name: &'static str,
    /// The proof type, at 2 KiB.
    pub kind: Kind,
    /// What is done.
    pub work: Work,
    /// Whether peak memory is a row too.
    pub memory: bool,
    /// How often each side runs; the first of more than two is a warm-up.
    runs: (usize, usize),
}

/// All comparisons.
pub const MEASUREMENTS: &[Measurement] = &[
    prove("prove-porep-2k", Kind::PoRep, (4, 1)),
    prove("prove-snap-2k", Kind::Snap, (4, 1)),
    prove("prove-winning-post-2k", Kind::WinningPost, (6, 4)),
    prove("prove-window-post-2k", Kind::WindowPost, (6, 4)),
    other(
        "keygen-winning-post-2k",
        Kind::WinningPost,
        Work::Keygen,
        (4, 1),
    ),
    other(
        "keygen-window-post-2k",
        Kind::WindowPost,
        Work::Keygen,
        (4, 1),
    ),
    other("pce-eval-porep-2k", Kind::PoRep, Work::Evaluate, (4, 4)),
    other("pce-eval-snap-2k", Kind::Snap, Work::Evaluate, (4, 4)),
    other(
        "pce-eval-winning-post-2k",
        Kind::WinningPost,
        Work::Evaluate,
        (6, 6),
    ),
    other(
        "pce-eval-window-post-2k",
        Kind::WindowPost,
        Work::Evaluate,
        (6, 6),
    ),
    other("witness-porep-2k", Kind::PoRep, Work::Witness, (4, 4)),
];

const fn prove(name: &'static str, kind: Kind, runs: (usize, usize)) -> Measurement {
    Measurement {
        name,
        kind,
        work: Work::Prove,
        memory: true,
        runs,
    }
}

const fn other(name: &'static str, kind: Kind, work: Work, runs: (usize, usize)) -> Measurement {
    Measurement {
        name,
        kind,
        work,
        memory: false,
        runs,
    }
}

/// One side's result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The median.
    pub seconds: f64,
    /// Runs that the median is over.
    pub runs: usize,
    /// The largest resident set of the process.
    pub peak_bytes: u64,
}

impl Measurement {
    /// The comparison of that name.
    pub fn named(name: &str) -> anyhow::Result<&'static Self> {
        let found = MEASUREMENTS.iter().find(|m| m.name == name);
        found.with_context(|| format!("no measurement {name}"))
    }

    /// Measures one side.
    pub fn run(&self, side: Side, workshop: &Workshop) -> anyhow::Result<Measured> {
        let kind = self.kind;
        let one = |run: &mut dyn FnMut() -> anyhow::Result<f64>, runs: usize| {
            let mut seconds = Vec::with_capacity(runs);
            for _ in 0..runs {
                seconds.push(run()?);
            }
            if runs > 2 {
                seconds.remove(0);
            }
            seconds.sort_by(f64::total_cmp);
            Ok(Measured {
                seconds: seconds[seconds.len() / 2],
                runs: seconds.len(),
                peak_bytes: peak_bytes(),
            })
        };
        match (side, self.work) {
            (Side::Ours, Work::Prove) => one(&mut || ours::prove(workshop, kind), self.runs.0),
            (Side::Peer, Work::Prove) => one(&mut || peer::prove(workshop, kind), self.runs.1),
            (Side::Ours, Work::Keygen) => one(&mut || ours::keygen(workshop, kind), self.runs.0),
            (Side::Peer, Work::Keygen) => one(&mut || peer::keygen(workshop, kind), self.runs.1),
            (Side::Ours, Work::Evaluate) => one(&mut ours::evaluate(workshop, kind)?, self.runs.0),
            (Side::Peer, Work::Evaluate) => {
                one(&mut || peer::evaluate(workshop, kind), self.runs.1)
            }
            (Side::Ours, Work::Witness) => one(&mut || ours::witness(workshop, kind), self.runs.0),
            (Side::Peer, Work::Witness) => one(&mut || peer::witness(workshop, kind), self.runs.1),
        }
    }
}

/// The seconds that `run` takes, its result kept from being optimised away.
pub fn seconds<T>(run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    let start = Instant::now();
    std::hint::black_box(run()?);
    Ok(start.elapsed().as_secs_f64())
}
