//! Makes a synthetic payload of each kind and sector size and asks the official verifiers of vanilla proofs.
//!
//! `cargo run --release -p cuzk-synth --example synth_all [SIZE…]`

use cuzk_synth::{Kind, Options, PoRepFeature, SectorSize, SynthError, synthetic, verify_vanilla};
use std::time::Instant;

fn main() -> Result<(), SynthError> {
    let asked: Vec<SectorSize> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let sizes = if asked.is_empty() {
        SectorSize::ALL.to_vec()
    } else {
        asked
    };
    println!(
        "{:<7} {:<13} {:<16} {:>7} {:>12} {:>7} {:>8} verifier",
        "size", "kind", "feature", "proofs", "bytes", "make s", "verify s"
    );
    for size in sizes {
        for kind in Kind::ALL {
            let features = if kind == Kind::PoRep {
                PoRepFeature::ALL.as_slice()
            } else {
                &[PoRepFeature::Interactive]
            };
            for &feature in features {
                row(size, kind, feature)?;
            }
        }
    }
    Ok(())
}

fn row(size: SectorSize, kind: Kind, feature: PoRepFeature) -> Result<(), SynthError> {
    let shown = if kind == Kind::PoRep {
        feature.name()
    } else {
        ""
    };
    let start = Instant::now();
    let payload = match synthetic(
        kind,
        size,
        &Options {
            porep_feature: feature,
            ..Options::default()
        },
    ) {
        Err(SynthError::NeedsSealedSector { .. }) => {
            println!("{size:<7} {kind:<13} {shown:<16} needs a sealed sector");
            return Ok(());
        }
        result => result?,
    };
    let made = start.elapsed();
    let start = Instant::now();
    let accepted = verify_vanilla(&payload)?;
    let verified = start.elapsed();
    let files = payload.raw_files();
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    println!(
        "{size:<7} {kind:<13} {shown:<16} {:>7} {bytes:>12} {:>7.2} {:>8.2} {}",
        files.len(),
        made.as_secs_f64(),
        verified.as_secs_f64(),
        if accepted { "accepts" } else { "REJECTS" },
    );
    Ok(())
}
