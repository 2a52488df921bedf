//! `cuzk bench single`.

use std::num::NonZeroUsize;

use crate::commands::bench::load::Pace;
use crate::commands::bench::target::{Under, measure};
use crate::console::Console;

/// `cuzk bench single`.
#[derive(clap::Args, Debug)]
pub struct Single {
    /// Proofs in all.
    #[arg(long, value_name = "N", default_value = "10")]
    pub count: NonZeroUsize,
    #[command(flatten)]
    pub under: Under,
}

/// One proof after the other.
pub fn run(args: &Single, console: &Console) -> anyhow::Result<()> {
    let pace = Pace::Closed {
        count: args.count.get(),
        at_once: 1,
    };
    measure(&args.under, pace, console)
}
