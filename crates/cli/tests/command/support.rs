//! A folder to run the command in, on the small WindowPoSt circuit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with its own keys and compiled circuits.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cuzk"))
            .args(args)
            .current_dir(self.folder.path())
            .env("FIL_PROOFS_PARAMETER_CACHE", self.path("keys"))
            .env("FIL_PROOFS_PARENT_CACHE", self.path("parents"))
            .env("CUZK_PCE_CACHE", self.path("pce"))
            .output()
            .unwrap()
    }

    /// Runs what must succeed and returns its JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {stderr}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs what must fail with `code` and returns its error.
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(&[args, &["--quiet"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        stderr
    }

    /// Makes the payload of a synthetic 2 KiB sector in the folder `payloads`.
    pub fn synth(&self, kind: &str, more: &[&str]) -> Value {
        self.json(&[&synth(kind)[..], more].concat())
    }

    pub fn key(&self, extension: &str) -> PathBuf {
        let entries = fs::read_dir(self.path("keys")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        let wanted = |path: &PathBuf| path.extension().is_some_and(|e| e == extension);
        paths.find(wanted).unwrap()
    }
}

/// What makes the payload of a synthetic 2 KiB sector in the folder `payloads`.
pub fn synth(kind: &str) -> [&str; 7] {
    [
        "synth",
        "--kind",
        kind,
        "--sector-size",
        "2KiB",
        "--out",
        "payloads",
    ]
}

/// Flips the lowest bit of a byte of a file.
pub fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

pub const CIRCUIT: [&str; 2] = ["--circuit", "wpost-2k"];
pub const PAYLOAD: &str = "payloads/wpost-2k.json";

/// A bench with a payload, a key and a proof.
pub fn proved() -> Bench {
    let bench = Bench::new();
    let made = bench.synth("window-post", &["--check"]);
    assert_eq!(made["circuit"], "wpost-2k");
    let key = bench.json(&[&["keygen"], &CIRCUIT[..]].concat());
    assert!(key["params_bytes"].as_u64().unwrap() > 11_000_000);
    let row = bench.json(&[
        "prove",
        PAYLOAD,
        "--out",
        "wpost.proof",
        "--check",
        "--backend",
        "cpu",
    ]);
    assert_eq!(row["backend"], "cpu");
    assert_eq!(row["proof_bytes"], 192);
    assert_eq!(row["witnesses"], ways(1, 0));
    bench
}

/// How many witnesses were made directly, and how many by closures.
pub fn ways(direct: u64, closures: u64) -> Value {
    serde_json::json!({"direct": direct, "closures": closures, "fallbacks": 0})
}
