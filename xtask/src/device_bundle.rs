//! `cargo xtask device-bundle`: what a machine with a GPU and without a toolchain needs to test and measure the CUDA
//! backend, in one folder.

mod peers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::Message;
use clap::Args;

use crate::build_kernels::{BUILT, source_hash};
use crate::commands;

/// The folder, from the workspace's root.
const BUNDLE: &str = "device-bundle";

/// The bundle's bytes at most.
const LIMIT: u64 = 64 << 20;

/// Build the backend's tests and examples, with the kernels in them.
const BUILDS: &[&str] = &[
    "cargo build --release -p cuzk-backend-cuda --tests --examples --message-format=json-render-diagnostics",
    "cargo build --release -p cuzk-cli --example measure_circuits --message-format=json-render-diagnostics",
];

/// The programs of the bundle, in the order in which they run, and their arguments.
const PROGRAMS: &[(&str, &str)] = &[
    ("conformance", "--test-threads 1"),
    ("proofs", ""),
    ("lanes", ""),
    ("measure", "16 18 20 22 24 check"),
    ("measure_proof", "18/4 20/4 22/32 24/4"),
    ("measure_circuits", "check"),
];

#[derive(Args)]
pub struct Options {
    /// Also pack the comparison with sppark, built for this architecture, such as 90
    #[arg(long, value_name = "ARCH")]
    peers: Option<u32>,
}

/// Fills the folder anew.
pub fn run(options: &Options) -> Result<()> {
    let root = commands::root();
    let manifest = root.join(BUILT).join("manifest.json");
    ensure!(
        manifest.is_file(),
        "there are no kernels to pack: run `cargo xtask build-kernels` first"
    );
    let hash = source_hash::source_hash(&root.join("kernels"))?;
    let text = fs::read_to_string(&manifest)?;
    ensure!(source_hash::is_of(&text, &hash), "{}", source_hash::OLDER);
    let executables = build()?;
    let bundle = root.join(BUNDLE);
    if bundle.exists() {
        fs::remove_dir_all(&bundle)
            .with_context(|| format!("cannot empty {}", bundle.display()))?;
    }
    fs::create_dir_all(&bundle)?;
    let mut bytes = 0;
    for (name, _) in PROGRAMS {
        let Some((_, from)) = executables.iter().find(|(built, _)| built == name) else {
            bail!("the build made no program {name}");
        };
        bytes += pack(from, &bundle.join(name))?;
    }
    if let Some(arch) = options.peers {
        bytes += pack(&peers::build(&root, arch)?, &bundle.join("peers-cuda"))?;
    }
    bytes += fs::copy(&manifest, bundle.join("manifest.json"))?;
    fs::write(bundle.join("run.sh"), script())?;
    println!(
        "{}: {:.1} MiB",
        bundle.display(),
        bytes as f64 / f64::from(1 << 20)
    );
    ensure!(
        bytes <= LIMIT,
        "the bundle has {bytes} bytes, more than {LIMIT}"
    );
    Ok(())
}

/// The names and places of the executables.
fn build() -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for build in BUILDS {
        let mut command = commands::parse(build)?;
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start {command:?}"))?;
        ensure!(output.status.success(), "{command:?}: {}", output.status);
        for message in Message::parse_stream(&output.stdout[..]) {
            if let Message::CompilerArtifact(artifact) = message?
                && let Some(executable) = artifact.executable
            {
                found.push((artifact.target.name, executable.into_std_path_buf()));
            }
        }
    }
    Ok(found)
}

/// Copies a program without its symbols; returns its bytes.
fn pack(from: &Path, to: &Path) -> Result<u64> {
    commands::run(Command::new("strip").arg(from).arg("-o").arg(to))?;
    Ok(fs::metadata(to)?.len())
}

/// Runs every program and fails with the first.
fn script() -> String {
    let mut text =
        "#!/bin/sh\n# Tests, then measurements, on device 0.\nset -e\ncd \"$(dirname \"$0\")\"\n"
            .to_owned();
    for (name, arguments) in PROGRAMS {
        text.push_str(format!("./{name} {arguments}").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_runs_every_program() {
        let script = script();
        assert!(script.starts_with("#!/bin/sh\n"));
        for (name, arguments) in PROGRAMS {
            let line = format!("./{name} {arguments}");
            assert!(
                script.lines().any(|found| found == line.trim_end()),
                "{name}"
            );
        }
    }
}
