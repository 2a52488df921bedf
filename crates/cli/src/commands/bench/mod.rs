//! `cuzk bench`: measurements. One module a subcommand, and what they share.

mod batch;
mod load;
mod plot;
mod report;
mod single;
mod stress;
mod target;

use clap::Subcommand;

use crate::console::Console;

/// What is measured.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// Proofs of a daemon, one after the other: how long each takes, and where the time goes.
    Single(single::Single),
    /// A number of proofs of a daemon, several at a time: how many it makes in a second.
    Batch(batch::Batch),
    /// Proofs of a daemon that arrive at a rate, whether it keeps up or not: how long they take, and what is refused.
    Stress(stress::Stress),
}

/// Measures.
pub fn run(bench: &Bench, console: &Console) -> anyhow::Result<()> {
    match bench {
        Bench::Single(args) => single::run(args, console),
        Bench::Batch(args) => batch::run(args, console),
        Bench::Stress(args) => stress::run(args, console),
    }
}
