//! The `cuzk` command: a Groth16 prover for Filecoin's proofs.

mod args;
mod backend;
mod bellperson_verifier;
mod circuits;
mod commands;
mod console;
mod daemon_args;
mod engine;
mod failure;
mod footprints;
mod job;
mod keys;
mod memory;
mod places;
mod standing;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::console::Console;
use crate::failure::{USAGE, failure};

// A crate that is only listed in Cargo.toml is not linked; this line links the proof types.
use cuzk_plugins as _;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", failure::said(&error));
            ExitCode::from(failure::exit_code(&error))
        }
    }
}

/// Refuses `--json` of a command that has no result to print.
fn without_result(args: &Args) -> anyhow::Result<()> {
    if args.json {
        let advice = "--json: serve, top, completions and man have no result to print as JSON";
        return Err(failure(USAGE, advice));
    }
    Ok(())
}

fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get());
        pool.build_global()?;
    }
    let console = Console::new(args.json, args.quiet);
    let Some(command) = &args.command else {
        without_result(args)?;
        return commands::serve::run(&args.serve);
    };
    args.serve.refuse_before_a_verb()?;
    match command {
        Command::Serve(_) | Command::Top(_) | Command::Completions { .. } | Command::Man { .. } => {
            without_result(args)?;
        }
        _ => {}
    }
    match command {
        Command::Demo(demo) => commands::demo::run(demo, &console),
        Command::Synth(synth) => commands::synth::run(synth, &console),
        Command::Keygen(keygen) => commands::keygen::run(keygen, &console),
        Command::Compile(compile) => commands::compile::run(compile, &console),
        Command::Prove(prove) => commands::prove::run(prove, &console),
        Command::Devices => commands::devices::run(&console),
        Command::Verify(verify) => commands::verify::run(verify, &console),
        Command::Inspect(inspect) => commands::inspect::run(inspect, &console),
        Command::Serve(serve) => commands::serve::run(serve),
        Command::Submit(submit) => commands::submit::run(submit, &console),
        Command::Await(wait) => commands::submit::wait(wait, &console),
        Command::Cancel(cancel) => commands::submit::cancel(cancel, &console),
        Command::Status(status) => commands::status::run(status, &console),
        Command::Top(top) => commands::status::top(top),
        Command::Bench(bench) => commands::bench::run(bench, &console),
        Command::Completions { shell } => commands::generate::completions(*shell),
        Command::Man { folder } => commands::generate::man(folder),
    }
}
