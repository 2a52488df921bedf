//! `cuzk synth`.

use std::fs;

use anyhow::Context;
use cuzk_synth::{Kind, Options, SynthError, synthetic, verify_vanilla};
use serde::Serialize;

use crate::args::Synth;
use crate::circuits::Circuit;
use crate::console::Console;
use crate::failure::{INVALID, USAGE, failure};
use crate::job;
use crate::table::grouped;

#[derive(Serialize)]
struct Row {
    circuit: &'static str,
    partitions: usize,
    payload: String,
    payload_bytes: u64,
    synth_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    vanilla_check_s: Option<f64>,
}

/// Makes the payload of a synthetic sector.
pub fn run(args: &Synth, console: &Console) -> anyhow::Result<()> {
    let options = Options {
        seed: args.seed,
        window_sectors: args.sectors,
        porep_feature: args.porep_feature,
    };
    let what = format!(
        "making a synthetic {} sector for {}",
        args.sector_size, args.kind
    );
    if args.sectors.is_some() && args.kind != Kind::WindowPost {
        let message = format!("--sectors: a {} has none to choose", args.kind);
        return Err(failure(USAGE, message));
    }
    let made = console.step(&what, |_| synthetic(args.kind, args.sector_size, &options));
    let made = made.map_err(|error| match error {
        SynthError::SectorCount { .. } | SynthError::NeedsSealedSector { .. } => {
            failure(USAGE, error.to_string())
        }
        other => other.into(),
    })?;
    let payload = &made.value;
    let vanilla_check_s = if args.check {
        let checked = console.step("the official verifier checks it", |_| {
            verify_vanilla(payload)
        })?;
        if !checked.value {
            return Err(failure(
                INVALID,
                "the official vanilla verifier refuses the payload",
            ));
        }
        Some(checked.seconds)
    } else {
        None
    };
    let circuit = Circuit::of(args.kind, args.sector_size)?.spec.id;
    let folder = args.out.join(circuit);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = args.out.join(format!("{circuit}.json"));
    fs::write(&path, payload.to_json()).with_context(|| path.display().to_string())?;
    for (name, bytes) in payload.raw_files() {
        let raw = folder.join(name);
        fs::write(&raw, bytes).with_context(|| raw.display().to_string())?;
    }
    let row = Row {
        circuit,
        partitions: job::decode(payload)?.partitions(),
        payload_bytes: fs::metadata(&path)?.len(),
        payload: path.display().to_string(),
        synth_s: made.seconds,
        vanilla_check_s,
    };
    let checked = match row.vanilla_check_s {
        Some(seconds) => format!("; the official verifier accepts it ({seconds:.2} s)"),
        None => String::new(),
    };
    let text = format!(
        "{}: {} ({} bytes, {} partitions) in {:.2} s{checked}",
        row.circuit,
        row.payload,
        grouped(row.payload_bytes),
        row.partitions,
        row.synth_s
    );
    console.result(&row, &text)
}
