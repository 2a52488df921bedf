//! `cuzk bench stress`.

use crate::commands::bench::load::Pace;
use crate::commands::bench::target::{Under, measure};
use crate::console::Console;
use crate::failure::{USAGE, failure};

/// The most calls that may be made: each holds its payload.
const MAX_CALLS: f64 = 100_000.0;

/// `cuzk bench stress`.
#[derive(clap::Args, Debug)]
pub struct Stress {
    /// Proofs that are asked for in a second, at equal distances.
    #[arg(long, value_name = "PER_S")]
    pub rate: f64,
    /// For how long.
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    pub seconds: f64,
    #[command(flatten)]
    pub under: Under,
}

/// Proofs at a rate.
pub fn run(args: &Stress, console: &Console) -> anyhow::Result<()> {
    let calls = args.rate * args.seconds;
    if !(args.rate > 0.0 && (1.0..=MAX_CALLS).contains(&calls)) {
        let message = format!(
            "--rate {} for --seconds {}: wanted from 1 to {MAX_CALLS} calls",
            args.rate, args.seconds
        );
        return Err(failure(USAGE, message));
    }
    let pace = Pace::Open {
        count: calls as usize,
        per_s: args.rate,
    };
    measure(&args.under, pace, console)
}
