//! The text files of the workspace that git tracks or would track.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::source::Source;

/// A text file.
pub struct File {
    /// From the workspace's root, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// All files that the checks look at.
pub struct Tree {
    files: Vec<File>,
}

/// Endings of the files that are read; `.ci/run` besides.
const ENDINGS: [&str; 12] = [
    ".rs", ".md", ".toml", ".sh", ".txt", ".cu", ".cuh", ".cpp", ".h", ".proto", ".mjs", ".html",
];

impl Tree {
    /// Reads the files that git tracks, and those that are new and not ignored.
    pub fn read(root: &Path) -> Result<Self> {
        let output = Command::new("git")
            .args([
                "ls-files",
                "--cached",
                "--others",
                "--exclude-standard",
                "-z",
            ])
            .current_dir(root)
            .output()
            .context("cannot start git")?;
        ensure!(output.status.success(), "git ls-files: {}", output.status);
        let listing = String::from_utf8(output.stdout).context("a file name that is not UTF-8")?;
        let mut files = Vec::new();
        for path in listing.split('\0').filter(|path| is_read(path)) {
            let full = root.join(path);
            // A file that is deleted but not yet committed is still listed.
            if full.is_file() {
                let text = std::fs::read_to_string(&full)
                    .with_context(|| format!("{path} is not text"))?;
                let path = path.to_owned();
                files.push(File { path, text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// A tree of given files.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        Self {
            files: files.iter().map(file).collect(),
        }
    }

    /// The files by ascending path.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The file at a path.
    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files, each with its comments and literals told from its code.
    pub fn rust(&self) -> impl Iterator<Item = (&File, Source<'_>)> {
        let is_rust = |file: &&File| file.path.ends_with(".rs");
        self.files
            .iter()
            .filter(is_rust)
            .map(|file| (file, Source::new(&file.text)))
    }
}

fn is_read(path: &str) -> bool {
    path == ".ci/run" || ENDINGS.iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::is_read;

    #[test]
    fn sources_and_documents_of_every_kind_are_read() {
        for path in [
            ".ci/run",
            "README.md",
            "kernels/src/msm.cu",
            "kernels/src/field.cuh",
            "kernels/tests/host.cpp",
            "benches/peers/shim.h",
            "crates/proto/proto/cuzk.proto",
            "crates/daemon/src/dashboard.html",
            "crates/daemon/src/page.mjs",
        ] {
            assert!(is_read(path), "{path}");
        }
        for path in ["Cargo.lock", "key.params", "LICENSE-MIT"] {
            assert!(!is_read(path), "{path}");
        }
    }
}
