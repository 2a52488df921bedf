//! `benches/peers`, which compares the CUDA backend with sppark. It is no member of the workspace: it needs nvcc.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build_kernels::compiler;
use crate::commands;

/// Builds the comparison for an architecture, and returns the program.
pub fn build(root: &Path, arch: u32) -> Result<PathBuf> {
    let nvcc = compiler::find(root)?.path;
    let nvcc = nvcc.canonicalize().context("nvcc's own place")?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = target.join("peers");
    let mut command = Command::new("cargo");
    command
        .args(["build", "--release", "--target-dir"])
        .arg(&target)
        .current_dir(root.join("benches/peers"))
        .env("CUZK_NVCC", nvcc)
        .env("CUZK_ARCH", arch.to_string())
        // sppark's own build script would look for a GPU; what is used of it is compiled by ours.
        .env("NVCC", "off");
    commands::run(&mut command)?;
    Ok(target.join("release/peers-cuda"))
}
