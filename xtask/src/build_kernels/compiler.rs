//! Finding nvcc: an installed one, or one in a private virtual environment.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::commands;

/// The private compiler's folder, from the workspace's root.
const PRIVATE: &str = "target/cuda-compiler";

/// What makes a compiler, from the Python package index that `pip` is configured with.
const PACKAGES: &[&str] = &[
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
];

/// A compiler that runs.
pub struct Compiler {
    /// Where it is.
    pub path: PathBuf,
    /// The last line of what it says of itself.
    pub version: String,
}

/// The compiler in `CUDA_HOME`, else on the path, else in a private environment, which is made where there is none.
pub fn find(root: &Path) -> Result<Compiler> {
    if let Some(home) = env::var_os("CUDA_HOME") {
        return ask(&Path::new(&home).join("bin/nvcc"));
    }
    if let Some(path) = on_path(env::var_os("PATH").as_deref()) {
        return ask(&path);
    }
    let environment = root.join(PRIVATE);
    match private(&environment) {
        Some(path) => ask(&path),
        None => install(&environment),
    }
}

fn on_path(path: Option<&OsStr>) -> Option<PathBuf> {
    env::split_paths(path?)
        .map(|folder| folder.join("nvcc"))
        .find(|file| file.is_file())
}

/// nvcc in a virtual environment, whose Python's version is part of the path.
fn private(environment: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(environment.join("lib")).ok()?;
    let place = "site-packages/nvidia/cu13/bin/nvcc";
    let paths = folders.filter_map(|folder| Some(folder.ok()?.path().join(place)));
    paths.into_iter().find(|path| path.is_file())
}

fn install(environment: &Path) -> Result<Compiler> {
    println!(
        "no nvcc in CUDA_HOME or on the path: installing one in {}",
        environment.display()
    );
    let mut create = Command::new("python3");
    commands::run(create.args(["-m", "venv"]).arg(environment))?;
    let mut install = Command::new(environment.join("bin/pip"));
    commands::run(
        install
            .args(["install", "--quiet", "--no-deps"])
            .args(PACKAGES),
    )?;
    match private(environment) {
        Some(path) => ask(&path),
        None => bail!(
            "{} has no nvcc after its installation",
            environment.display()
        ),
    }
}

fn ask(path: &Path) -> Result<Compiler> {
    let output = Command::new(path)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot start {}", path.display()))?;
    ensure!(
        output.status.success(),
        "{} --version: {}",
        path.display(),
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(Compiler {
        path: path.to_owned(),
        version: text.trim().lines().last().unwrap_or_default().to_owned(),
    })
}
