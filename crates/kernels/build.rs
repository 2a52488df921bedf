//! Finds what `cargo xtask build-kernels` left in `kernels/built` and has it embedded. Needs no CUDA.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let built = sources.join("built");
    // A file that is absent counts as changed, each time: until there is that folder, it is the one around it that changes.
    let watched = if built.is_dir() { &built } else { &sources };
    println!("cargo::rerun-if-changed={}", watched.display());
    println!("cargo::rustc-check-cfg=cfg(kernels_built)");
    let manifest = built.join("manifest.json");
    if manifest.is_file() {
        println!("cargo::rustc-cfg=kernels_built");
        let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
        fs::write(out.join("built.rs"), listing(&built, &manifest)?)?;
    }
    Ok(())
}

/// Rust source that embeds every fat binary and the manifest.
fn listing(built: &Path, manifest: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(built)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "fatbin")
        {
            files.push(fs::canonicalize(path)?);
        }
    }
    files.sort();
    let images: Vec<_> = files
        .iter()
        .map(|file| format!("include_bytes!({file:?}),"))
        .collect();
    Ok(format!(
        "static IMAGES: &[&[u8]] = &[{}];\nstatic MANIFEST: &str = include_str!({:?});\n",
        images.concat(),
        fs::canonicalize(manifest)?
    ))
}
