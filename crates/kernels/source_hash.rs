//! The SHA-256 of the kernels' sources, for the build script and for `cargo xtask`, which shares this file.

use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};

/// The field of the manifest that holds the hash.
pub const FIELD: &str = "source_sha256";

/// What is said of kernels that were built of other sources.
pub const OLDER: &str = "kernels/built is older than kernels/: run `cargo xtask build-kernels`, or remove kernels/built";

/// A hash over the names and contents of all sources below the folder `kernels`, as hexadecimal digits.
pub fn source_hash(kernels: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    for extension in ["cu", "cuh"] {
        for folder in ["src", "include"] {
            for file in files(&kernels.join(folder), extension)? {
                let text = fs::read(&file)?;
                let name = file.strip_prefix(kernels).unwrap_or(&file);
                hash.update(name.to_string_lossy().as_bytes());
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(&text);
            }
        }
    }
    let bytes = hash.finalize();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a manifest, as it is written, is of sources with this hash.
pub fn is_of(manifest: &str, hash: &str) -> bool {
    manifest.contains(&format!("\"{FIELD}\": \"{hash}\""))
}

/// The files below a folder with this extension, in order.
pub fn files(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
