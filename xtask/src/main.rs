//! The project's own commands, run as `cargo xtask <verb>`: one file a verb.

mod bench;
mod build_kernels;
mod commands;
mod device_bundle;
mod fuzz;
mod grpc_client;
mod tidy;
mod validate;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands", version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Checks what a compiler does not: dependencies, documentation, sizes, words, pinned identifiers
    Tidy,
    /// Runs exactly what CI runs, in order, up to the first failure
    Validate,
    /// Runs the fuzz targets on stable Rust
    Fuzz(fuzz::Options),
    /// Runs a suite of benchmarks and prints its ratios
    Bench(bench::Options),
    /// Builds the GPU kernels, which the next build of the programs embeds
    BuildKernels(build_kernels::Options),
    /// Packs the CUDA backend's tests and measurements for a machine without a toolchain
    DeviceBundle(device_bundle::Options),
    /// Calls the daemon with Python's grpcio: every call, the four kinds, over a unix socket and TCP
    GrpcClient,
}

fn main() -> ExitCode {
    let outcome = match fuzz::as_compiler_wrapper() {
        Some(compiled) => compiled.map(|()| ExitCode::SUCCESS),
        None => run_verb(),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run_verb() -> Result<ExitCode> {
    match Arguments::parse().verb {
        Verb::Tidy => tidy::run()?,
        Verb::Validate => return validate::run(),
        Verb::Fuzz(options) => fuzz::run(&options)?,
        Verb::Bench(options) => bench::run(&options)?,
        Verb::BuildKernels(options) => build_kernels::run(&options)?,
        Verb::DeviceBundle(options) => device_bundle::run(&options)?,
        Verb::GrpcClient => grpc_client::run()?,
    }
    Ok(ExitCode::SUCCESS)
}
