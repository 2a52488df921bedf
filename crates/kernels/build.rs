//! Finds what `cargo xtask build-kernels` left in `kernels/built` and has it embedded, if it was made of the sources as they
//! are. Needs no CUDA.

mod source_hash;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let built = sources.join("built");
    // A file that is absent counts as changed, each time: until there is that folder, it is the one around it that changes.
    let watched = if built.is_dir() {
        vec![built.clone(), sources.join("src"), sources.join("include")]
    } else {
        vec![sources.clone()]
    };
    for folder in watched {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    println!("cargo::rustc-check-cfg=cfg(kernels_built)");
    let manifest = built.join("manifest.json");
    if manifest.is_file() {
        // Kernels of other sources may take other arguments than they are launched with.
        if !source_hash::is_of(
            &fs::read_to_string(&manifest)?,
            &source_hash::source_hash(&sources)?,
        ) {
            println!("cargo::error={}", source_hash::OLDER);
            return Ok(());
        }
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
