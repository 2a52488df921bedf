//! `grpc-client`: holds the daemon against a client that shares no code with it.
//!
//! Makes a Python environment with grpcio under the target folder (this needs the network once), generates stubs from
//! the interface, and runs `crates/daemon/tests/python/client.py` against the release build of the program.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands;

/// What the client needs, in versions that go together.
const PACKAGES: [&str; 6] = [
    "grpcio>=1.66,<2",
    "grpcio-tools>=1.66,<2",
    "grpcio-health-checking>=1.66,<2",
    "grpcio-reflection>=1.66,<2",
    "protobuf>=5",
    "websocket-client>=1.6,<2",
];
const BUILD: &str = "cargo build --release --bin cuzk --example verify_filecoin";
const INTERFACE: &str = "crates/proto/proto";
const SCRIPT: &str = "crates/daemon/tests/python/client.py";

/// Runs the client.
pub fn run() -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let work = target.join("grpc-client");
    let python = work.join("venv/bin/python3");
    let stubs = work.join("stubs");
    run_command(&mut commands::parse(BUILD)?)?;
    std::fs::create_dir_all(&stubs)?;
    if !python.exists() {
        let mut command = Command::new("python3");
        run_command(command.args(["-m", "venv"]).arg(work.join("venv")))?;
        let mut command = Command::new(&python);
        run_command(
            command
                .args(["-m", "pip", "install", "--quiet"])
                .args(PACKAGES),
        )?;
    }
    let mut command = Command::new(&python);
    command.args(["-m", "grpc_tools.protoc", "-I", INTERFACE]);
    command.arg(format!("--python_out={}", stubs.display()));
    command.arg(format!("--grpc_python_out={}", stubs.display()));
    run_command(command.arg("cuzk.proto"))?;
    let mut command = Command::new(&python);
    command.arg(SCRIPT).arg(target.join("release/cuzk"));
    command.arg(target.join("release/examples/verify_filecoin"));
    run_command(command.arg(stubs).arg(work.join("work")))
}

fn run_command(command: &mut Command) -> Result<()> {
    println!("$ {command:?}");
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
