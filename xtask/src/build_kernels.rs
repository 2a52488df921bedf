//! `cargo xtask build-kernels`: machine code of `kernels/src` for a list of GPU architectures, and its manifest.

pub mod compiler;
mod report;
#[path = "../../crates/kernels/source_hash.rs"]
pub mod source_hash;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::json;

use crate::commands;
use report::Usage;
use source_hash::{files, source_hash};

/// Where the result goes, from the workspace's root: the crate `kernels` embeds what is there.
pub const BUILT: &str = "kernels/built";

/// Where it is put together.
const NEW: &str = "kernels/built.new";

/// The oldest architecture that has what the kernels use: asynchronous copies to shared memory, of 96 KiB a block.
const OLDEST: i64 = 80;

/// Flags of every compilation, architectures apart.
const FLAGS: &[&str] = &[
    "-std=c++17",
    "-O3",
    "-fatbin",
    "--compress-mode=size",
    "-Xptxas",
    "-v",
];

#[derive(Args)]
pub struct Options {
    /// Architectures, such as 90 for an H100 or H200; the highest also as PTX, for newer devices
    #[arg(long, value_delimiter = ',', default_values_t = [80, 86, 89, 90, 100, 120], value_parser = clap::value_parser!(u32).range(OLDEST..))]
    arch: Vec<u32>,
}

/// Builds every `.cu` file into a fat binary of its own.
pub fn run(options: &Options) -> Result<()> {
    ensure!(
        !options.arch.is_empty(),
        "no architecture: name at least one with --arch"
    );
    let root = commands::root();
    let kernels = root.join("kernels");
    let compiler = compiler::find(&root)?;
    println!(
        "compiler: {}, {}",
        compiler.path.display(),
        compiler.version
    );
    // What was built before stays until all is built anew: a build of the programs may be reading it.
    let new = root.join(NEW);
    empty(&new)?;
    fs::create_dir_all(&new)?;
    let sources = kernels.join("src");
    let compilation = |unit: &PathBuf| {
        let mut command = Command::new(&compiler.path);
        command.args(FLAGS).args(architecture_flags(&options.arch));
        command.arg("-I").arg(kernels.join("include")).arg(unit);
        let name = unit_name(&sources, unit)?;
        println!("{name}");
        command
            .arg("-o")
            .arg(new.join(name).with_extension("fatbin"));
        compile(&mut command)
    };
    // The units are few, and most of the time goes into two of them: all at once.
    let units =
        files(&sources, "cu").with_context(|| format!("cannot read {}", sources.display()))?;
    let mut usages = thread::scope(|scope| {
        let running: Vec<_> = units
            .iter()
            .map(|unit| scope.spawn(|| compilation(unit)))
            .collect();
        let ended = running.into_iter().map(|run| {
            run.join()
                .unwrap_or_else(|_| bail!("a compilation ended without a result"))
        });
        ended.collect::<Result<Vec<_>>>()
    })?
    .concat();
    usages.sort();
    report::print(&usages);
    let manifest = json!({
        source_hash::FIELD: source_hash(&kernels)?,
        "compiler": compiler.version,
        "flags": FLAGS,
        "architectures": options.arch,
        "kernels": usages.iter().map(Usage::to_json).collect::<Vec<_>>(),
    });
    let path = new.join("manifest.json");
    fs::write(&path, serde_json::to_string_pretty(&manifest)? + "\n")
        .with_context(|| format!("cannot write {}", path.display()))?;
    let built = root.join(BUILT);
    empty(&built)?;
    fs::rename(&new, &built).with_context(|| format!("cannot make {}", built.display()))
}

/// Removes a folder that may be there.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    Ok(())
}

fn compile(command: &mut Command) -> Result<Vec<Usage>> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{log}",
        output.status
    );
    report::parse(&log)
}

/// Machine code for each architecture, and PTX of the newest.
fn architecture_flags(architectures: &[u32]) -> Vec<String> {
    let code = architectures
        .iter()
        .map(|arch| format!("-gencode=arch=compute_{arch},code=sm_{arch}"));
    let newest = architectures.iter().max();
    let ptx = newest.map(|arch| format!("-gencode=arch=compute_{arch},code=compute_{arch}"));
    code.chain(ptx).collect()
}

/// `msm/g1.cu` below the folder of sources is the unit `msm_g1`.
fn unit_name(sources: &Path, unit: &Path) -> Result<String> {
    let relative = unit.strip_prefix(sources)?.with_extension("");
    Ok(relative.to_string_lossy().replace(['/', '\\'], "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn architectures_that_cannot_work_are_refused() {
        let parse = |arch: &str| {
            let line = <Line as clap::Parser>::try_parse_from(["build-kernels", "--arch", arch]);
            line.map(|line| line.options.arch).map_err(|_| ())
        };
        assert_eq!(parse("80,90"), Ok(vec![80, 90]));
        assert_eq!(parse("75"), Err(()));
        assert_eq!(parse("90,79"), Err(()));
    }

    #[test]
    fn manifests_are_of_their_sources_alone() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let kernels = folder.path();
        for (file, text) in [("src/a.cu", "a"), ("include/b.cuh", "b")] {
            let file = kernels.join(file);
            fs::create_dir_all(file.parent().unwrap_or(kernels))?;
            fs::write(file, text)?;
        }
        let hash = source_hash(kernels)?;
        let manifest = json!({ source_hash::FIELD: &hash, "flags": [] });
        let manifest = serde_json::to_string_pretty(&manifest)?;
        assert!(source_hash::is_of(&manifest, &hash));
        fs::write(kernels.join("notes.txt"), "no source")?;
        assert_eq!(source_hash(kernels)?, hash);
        fs::write(kernels.join("include/b.cuh"), "c")?;
        let changed = source_hash(kernels)?;
        assert!(!source_hash::is_of(&manifest, &changed));
        fs::rename(kernels.join("src/a.cu"), kernels.join("src/c.cu"))?;
        assert_ne!(source_hash(kernels)?, changed);
        Ok(())
    }

    #[test]
    fn the_newest_architecture_is_also_ptx() {
        assert_eq!(
            architecture_flags(&[80, 90]),
            [
                "-gencode=arch=compute_80,code=sm_80",
                "-gencode=arch=compute_90,code=sm_90",
                "-gencode=arch=compute_90,code=compute_90",
            ]
        );
    }

    #[test]
    fn units_are_named_by_their_folders() -> Result<()> {
        let name = unit_name(Path::new("kernels/src"), Path::new("kernels/src/msm/g1.cu"))?;
        assert_eq!(name, "msm_g1");
        Ok(())
    }

    #[test]
    fn every_source_is_found() -> Result<()> {
        let kernels = commands::root().join("kernels");
        assert!(files(&kernels.join("src"), "cu")?.len() >= 5);
        assert_eq!(source_hash(&kernels)?.len(), 64);
        Ok(())
    }
}
