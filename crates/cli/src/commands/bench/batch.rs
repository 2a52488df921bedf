//! `cuzk bench batch`.

use std::num::NonZeroUsize;

use crate::commands::bench::load::Pace;
use crate::commands::bench::target::{Under, measure};
use crate::console::Console;

/// `cuzk bench batch`.
#[derive(clap::Args, Debug)]
pub struct Batch {
    /// Proofs in all.
    #[arg(long, value_name = "N", default_value = "32")]
    pub count: NonZeroUsize,
    /// Callers that wait for a proof at a time.
    #[arg(long, value_name = "N", default_value = "8")]
    pub at_once: NonZeroUsize,
    #[command(flatten)]
    pub under: Under,
}

/// Several proofs at a time.
pub fn run(args: &Batch, console: &Console) -> anyhow::Result<()> {
    let pace = Pace::Closed {
        count: args.count.get(),
        at_once: args.at_once.get(),
    };
    measure(&args.under, pace, console)
}
