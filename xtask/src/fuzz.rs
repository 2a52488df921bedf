//! `fuzz`: builds and runs the fuzz targets on stable Rust.
//!
//! libFuzzer needs code that reports which edges it takes. The compiler can instrument code on the stable channel, but
//! flags for all crates would build Filecoin's a second time. Cargo runs a *workspace wrapper* in place of rustc for the
//! workspace's own crates only and keeps what it makes apart: this program is that wrapper, so the decoders are
//! instrumented and everything from the registry is shared with the ordinary build.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::commands;

/// The targets: the decoders of everything that is read from outside. Each is a binary `fuzz-<name>`.
const TARGETS: &[&str] = &[
    "pce",
    "params",
    "vk",
    "proof",
    "porep",
    "window-post",
    "winning-post",
    "snap",
    "payload-file",
    "manifest",
    "mark",
];

/// Inline counters, a table of their places, and comparisons for libFuzzer to solve.
const INSTRUMENTATION: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
];

/// Set for the compilers that this program stands in for.
const WRAPPER: &str = "CUZK_FUZZ_WRAPPER";
/// Resident memory that a target may use.
const RSS_LIMIT_MB: u32 = 2048;
/// Seconds that one input may take.
const TIMEOUT_S: u32 = 20;

/// What to run and for how long.
#[derive(clap::Args)]
pub struct Options {
    /// The targets; all where none is named
    targets: Vec<String>,
    /// Seconds a target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Where cargo started this program as the compiler: compiles with instrumentation.
pub fn as_compiler_wrapper() -> Option<Result<()>> {
    std::env::var_os(WRAPPER)?;
    let mut arguments = std::env::args_os().skip(1);
    let rustc = arguments.next()?;
    let mut command = Command::new(rustc);
    command.args(arguments).args(INSTRUMENTATION);
    Some(commands::run(&mut command))
}

/// Builds the targets, writes the seeds, runs one target after the other.
pub fn run(options: &Options) -> Result<()> {
    for name in &options.targets {
        if !TARGETS.contains(&name.as_str()) {
            bail!("no target {name}; known: {}", TARGETS.join(", "));
        }
    }
    let fuzz = commands::root().join("fuzz");
    let binaries = build()?;
    let mut seeds = Command::new(binaries.join("fuzz-seeds"));
    commands::run(seeds.arg(fuzz.join("corpus")))?;
    let chosen =
        |name: &&&str| options.targets.is_empty() || options.targets.iter().any(|t| t == *name);
    for name in TARGETS.iter().filter(chosen) {
        run_target(name, &binaries, &fuzz, options.seconds)?;
    }
    Ok(())
}

/// Builds with this program as the wrapper. The folder of the binaries.
fn build() -> Result<PathBuf> {
    let wrapper = std::env::current_exe().context("where this program is")?;
    // The whole workspace is selected, so that crates from the registry have the features that they have in the tests,
    // and are not built again.
    let mut command = commands::parse("cargo build --release --workspace --bin fuzz-seeds")?;
    for name in TARGETS {
        command.arg("--bin").arg(format!("fuzz-{name}"));
    }
    command
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper)
        .env(WRAPPER, "1");
    commands::run(&mut command)?;
    let metadata = cargo_metadata::MetadataCommand::new()
        .current_dir(commands::root())
        .no_deps()
        .exec()?;
    Ok(metadata.target_directory.join("release").into())
}

fn run_target(name: &str, binaries: &Path, fuzz: &Path, seconds: u32) -> Result<()> {
    println!("\n== {name}, {seconds} s");
    let corpus = fuzz.join("corpus").join(name);
    let artifacts = fuzz.join("artifacts").join(name);
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut command = Command::new(binaries.join(format!("fuzz-{name}")));
    command
        .arg(&corpus)
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={RSS_LIMIT_MB}"))
        .arg(format!("-timeout={TIMEOUT_S}"))
        .arg("-print_final_stats=1")
        .current_dir(fuzz);
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(
        status.success(),
        "target {name} found an input that fails, kept in {}; run it again with {} and that file",
        artifacts.display(),
        command.get_program().display()
    );
    Ok(())
}
