//! What a measurement of a daemon is made with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::ValueHint;
use cuzk_synth::{Kind, Options, Payload, SectorSize, synthetic};

use crate::circuits::Circuit;
use crate::commands::bench::load::{self, Asked, Pace};
use crate::commands::bench::plot;
use crate::commands::bench::report::Report;
use crate::commands::submit::{call, daemon, message};
use crate::console::Console;
use crate::daemon_args::Target;
use crate::failure::{INVALID, failure};
use crate::job::{decode, read_payload};

/// Bytes of a partition's proof.
const PROOF_BYTES: usize = 192;

/// What is asked of which daemon, and where results go.
#[derive(clap::Args, Debug)]
pub struct Under {
    /// Payload files, as `cuzk synth` writes them, in turn. Without any, synthetic sectors are made.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_delimiter = ',')]
    pub payload: Vec<PathBuf>,
    /// The proof types of synthetic sectors, in turn; one that is named twice is asked for twice as often. All four by default.
    #[arg(long, value_delimiter = ',', conflicts_with = "payload")]
    pub kind: Vec<Kind>,
    /// The size of synthetic sectors.
    #[arg(long, default_value = "2KiB", conflicts_with = "payload")]
    pub sector_size: SectorSize,
    /// Draw every call's latency into this file, as SVG.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub target: Target,
}

/// Makes the calls and reports. An error where one of them brought no proof.
pub fn measure(under: &Under, pace: Pace, console: &Console) -> anyhow::Result<()> {
    let payloads = payloads(under, console)?;
    let asked: Arc<[Asked]> = payloads
        .into_iter()
        .map(asked)
        .collect::<anyhow::Result<_>>()?;
    let mut circuits: Vec<&'static str> = asked.iter().map(|asked| asked.circuit).collect();
    circuits.sort_unstable();
    circuits.dedup();
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let name = format!("bench-{}-{}", std::process::id(), now.as_millis());
    let report = call(async {
        let mut client = daemon(&under.target).await?;
        console.note("loading keys");
        let keys = load::preload(&mut client, &circuits).await?;
        console.note("proving");
        let samples = load::run(client, asked, pace, &name).await?;
        Ok(Report::new(pace, keys, samples))
    })?;
    if let Some(path) = &under.plot {
        let svg = plot::svg(&report.samples);
        std::fs::write(path, svg).with_context(|| path.display().to_string())?;
    }
    console.result(&report, &report.text())?;
    let without: usize = report.errors.values().sum();
    if without > 0 {
        return Err(failure(
            INVALID,
            format!("{without} calls brought no proof"),
        ));
    }
    Ok(())
}

fn payloads(under: &Under, console: &Console) -> anyhow::Result<Vec<Payload>> {
    if !under.payload.is_empty() {
        return under
            .payload
            .iter()
            .map(|path| read_payload(path))
            .collect();
    }
    let kinds = match under.kind.as_slice() {
        [] => &Kind::ALL,
        named => named,
    };
    let size = under.sector_size;
    let make = |&kind: &Kind| {
        let what = format!("making a synthetic {size} sector for {kind}");
        let made = console.step(&what, |_| synthetic(kind, size, &Options::default()));
        Ok(made?.value)
    };
    kinds.iter().map(make).collect()
}

fn asked(payload: Payload) -> anyhow::Result<Asked> {
    let partitions = decode(&payload)?.partitions();
    Ok(Asked {
        circuit: Circuit::of(payload.kind, payload.sector_size)?.spec.id,
        proof_bytes: partitions * PROOF_BYTES,
        request: message(payload, String::new())?,
    })
}
