//! cuzk against bellperson on the CPU: same machine, same run, same circuits, keys and threads.
//!
//! Each side of each measurement runs in a process of its own, so that its peak memory is its own. The result is one
//! JSON array on standard output, a row a measurement; progress goes to standard error.

mod measure;
mod memory;
mod ours;
mod peer;
mod workshop;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::{Parser, Subcommand};
use serde::Serialize;

use crate::measure::{FULL_SIZE, MEASUREMENTS, Measured, Measurement, Side};
use crate::workshop::Workshop;

// A crate that is only listed in Cargo.toml is not linked; this line links the proof types.
use cuzk_plugins as _;

/// Measures cuzk against bellperson on the CPU.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Option<Task>,
    /// Measure only what has one of these names, or a name that begins so.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Measure witnesses of 32 GiB sectors too: minutes and gigabytes.
    #[arg(long)]
    full_size: bool,
    /// The folder for payloads, keys and compiled circuits; a temporary one by default.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

/// What a child process does.
#[derive(Subcommand)]
enum Task {
    /// Makes what the measurements need.
    Prepare {
        /// The folder.
        work: PathBuf,
        /// The measurement.
        name: String,
    },
    /// Measures one side and prints it as JSON.
    Measure {
        /// The folder.
        work: PathBuf,
        /// The measurement.
        name: String,
        /// Which side.
        side: Side,
    },
}

#[derive(Serialize)]
struct Row {
    name: String,
    ours: Option<f64>,
    peer: Option<f64>,
    ratio: Option<f64>,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    match &args.command {
        Some(Task::Prepare { work, name }) => {
            Workshop::new(work).prepare(Measurement::named(name)?)
        }
        Some(Task::Measure { work, name, side }) => {
            let measured = Measurement::named(name)?.run(*side, &Workshop::new(work))?;
            println!("{}", serde_json::to_string(&measured)?);
            Ok(())
        }
        None => compare(&args),
    }
}

fn compare(args: &Args) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir()?;
    let work = args.work.as_deref().unwrap_or(temporary.path());
    let chosen = |m: &&Measurement| {
        args.only.is_empty()
            || args
                .only
                .iter()
                .any(|name| m.name.starts_with(name.as_str()))
    };
    let mut rows = Vec::new();
    let full_size = if args.full_size { FULL_SIZE } else { &[] };
    for measurement in MEASUREMENTS.iter().chain(full_size).filter(chosen) {
        eprintln!("{}", measurement.name);
        child(&["prepare"], work, measurement.name, &[])?;
        let ours = side(work, measurement.name, "ours")?;
        let peer = side(work, measurement.name, "peer")?;
        rows.push(row(
            measurement.name.to_owned(),
            ours.value,
            peer.value,
            measurement.unit(),
        ));
        if measurement.memory {
            let mebibytes = |m: &Measured| Some(m.peak_bytes as f64 / f64::from(1 << 20));
            let name = format!("{}-peak", measurement.name);
            rows.push(row(name, mebibytes(&ours), mebibytes(&peer), "MiB"));
        }
    }
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}

/// A ratio above 1 says how much better ours is.
fn row(name: String, ours: Option<f64>, peer: Option<f64>, unit: &'static str) -> Row {
    Row {
        name,
        ours,
        peer,
        ratio: ours.zip(peer).map(|(ours, peer)| peer / ours),
        unit,
        note: ours.is_none().then_some("there is no direct witness"),
    }
}

fn side(work: &Path, name: &str, side: &str) -> anyhow::Result<Measured> {
    let output = child(&["measure"], work, name, &[side])?;
    let measured: Measured = serde_json::from_slice(&output)?;
    let value = measured
        .value
        .map_or("absent".to_owned(), |v| format!("{v:.6}"));
    let (runs, peak) = (measured.runs, measured.peak_bytes >> 20);
    eprintln!("  {side}: {value} (median of {runs}), peak {peak} MiB");
    Ok(measured)
}

fn child(task: &[&str], work: &Path, name: &str, rest: &[&str]) -> anyhow::Result<Vec<u8>> {
    let program = std::env::current_exe().context("this program's own path")?;
    let mut command = Command::new(program);
    command.args(task).arg(work).arg(name).args(rest);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(output.stdout)
}
