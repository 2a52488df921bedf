//! The command as a person or a script meets it: results, files, errors and exit codes, on the small WindowPoSt circuit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with its own keys and compiled circuits.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
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
    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {stderr}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs what must fail with `code` and returns its error.
    fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(&[args, &["--quiet"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        stderr
    }

    fn key(&self, extension: &str) -> PathBuf {
        let entries = fs::read_dir(self.path("keys")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        let wanted = |path: &PathBuf| path.extension().is_some_and(|e| e == extension);
        paths.find(wanted).unwrap()
    }
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

const CIRCUIT: [&str; 2] = ["--circuit", "wpost-2k"];
const PAYLOAD: &str = "payloads/wpost-2k.json";

/// A bench with a payload, a key and a proof.
fn proved() -> Bench {
    let bench = Bench::new();
    let args = [
        "synth",
        "--kind",
        "window-post",
        "--sector-size",
        "2KiB",
        "--out",
        "payloads",
    ];
    let made = bench.json(&[&args[..], &["--check"]].concat());
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
fn ways(direct: u64, closures: u64) -> Value {
    serde_json::json!({"direct": direct, "closures": closures, "fallbacks": 0})
}

#[test]
fn from_payload_to_verified_proof() {
    let bench = proved();
    let row = bench.json(&["verify", PAYLOAD, "wpost.proof"]);
    assert_eq!(row["valid"], true);
    let row = bench.json(&[&["compile", "--check", PAYLOAD], &CIRCUIT[..]].concat());
    assert_eq!(row["checked"]["satisfied"], true);
    assert!(row["bytes_per_non_zero"].as_f64().unwrap() <= 6.0);
    for (file, is) in [
        (PathBuf::from(PAYLOAD), "a payload"),
        (PathBuf::from("wpost.proof"), "a proof"),
        (bench.key("params"), "a proving key (.params)"),
        (bench.key("vk"), "a verifying key (.vk)"),
        (
            PathBuf::from(row["file"].as_str().unwrap()),
            "a compiled circuit (PCE)",
        ),
    ] {
        let report = bench.json(&["inspect", file.to_str().unwrap()]);
        assert_eq!(report["is"], is);
        assert_eq!(report["faults"], serde_json::json!([]));
    }
    let params = bench.key("params");
    let report = bench.json(&["inspect", params.to_str().unwrap()]);
    assert!(
        report["development_key"]
            .as_str()
            .unwrap()
            .contains("insecure")
    );
    assert_eq!(report["points"], "all on the curve and in the subgroup");
}

/// What is known of direct witnesses lies beside the compiled circuit, and decides.
#[test]
fn direct_witnesses_are_used_where_they_are_validated() {
    let bench = Bench::new();
    let row = bench.json(&[&["compile"], &CIRCUIT[..]].concat());
    assert_eq!(row["direct_witness"], "validated");
    let folder = bench.path("pce");
    let paths = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path());
    let is_note = |path: &PathBuf| path.to_str().unwrap().contains(".direct-");
    let notes: Vec<PathBuf> = paths.filter(is_note).collect();
    let [note] = &notes[..] else {
        panic!("one note in {folder:?}: {notes:?}");
    };
    assert_eq!(fs::read_to_string(note).unwrap(), "validated\n");

    let args = ["synth", "--kind", "window-post", "--sector-size", "2KiB"];
    bench.json(&[&args[..], &["--out", "payloads"]].concat());
    let check = [&["compile", "--check", PAYLOAD], &CIRCUIT[..]].concat();
    for (standing, ways) in [("refused", ways(0, 1)), ("validated", ways(1, 0))] {
        fs::write(note, standing).unwrap();
        let row = bench.json(&check);
        assert_eq!(row["direct_witness"], standing);
        assert_eq!(row["checked"]["witnesses"], ways);
        assert_eq!(row["checked"]["satisfied"], true);
    }
    fs::write(note, "refused").unwrap();
    let row = bench.json(&[&check[..], &["--force"]].concat());
    assert_eq!(row["direct_witness"], "validated");
}

#[test]
fn wrong_proofs_are_refused() {
    let bench = proved();
    let good = fs::read(bench.path("wpost.proof")).unwrap();
    for length in [0, 191, 193] {
        let mut bytes = good.clone();
        bytes.resize(length, 0);
        fs::write(bench.path("cut.proof"), bytes).unwrap();
        let error = bench.fails(3, &["verify", PAYLOAD, "cut.proof"]);
        assert!(error.contains("wanted 192 bytes"), "{error}");
    }
    // A valid point in C's place that is not this proof's C.
    let mut other = good.clone();
    other.copy_within(0..48, 144);
    fs::write(bench.path("other.proof"), other).unwrap();
    let error = bench.fails(4, &["verify", PAYLOAD, "other.proof"]);
    assert!(error.contains("not valid"), "{error}");
    flip(&bench.path("wpost.proof"), 0);
    let error = bench.fails(3, &["verify", PAYLOAD, "wpost.proof"]);
    assert!(error.contains("proof: A"), "{error}");
    let error = bench.fails(3, &["inspect", "wpost.proof"]);
    assert!(error.contains("1 fault"), "{error}");
    let error = bench.fails(2, &["prove", PAYLOAD, "--out", "p", "--partition", "1"]);
    assert!(error.contains("partition 1"), "{error}");
}

#[test]
fn wrong_keys_are_refused() {
    let bench = proved();
    let (params, vk) = (bench.key("params"), bench.key("vk"));
    let whole = fs::read(&params).unwrap();
    let prove = ["prove", PAYLOAD, "--out", "p"];
    for length in [0, 1, 863, 864, 868, whole.len() / 2, whole.len() - 1] {
        fs::write(&params, &whole[..length]).unwrap();
        let error = bench.fails(3, &prove);
        assert!(
            error.contains(params.file_name().unwrap().to_str().unwrap()),
            "{error}"
        );
    }
    fs::write(&params, &whole).unwrap();

    // The key of another setup: the same shape, another verifying key.
    let other = Bench::new();
    other.json(&[&["keygen"], &CIRCUIT[..]].concat());
    fs::copy(other.key("vk"), &vk).unwrap();
    let error = bench.fails(3, &prove);
    assert!(error.contains("differs"), "{error}");
    fs::copy(other.key("params"), &params).unwrap();
    bench.json(&prove);
    bench.fails(4, &["verify", PAYLOAD, "wpost.proof"]);

    fs::remove_file(&params).unwrap();
    let error = bench.fails(5, &prove);
    assert!(
        error.contains("missing") && error.contains("keygen"),
        "{error}"
    );
    bench.fails(2, &["keygen", "--kind", "porep", "--sector-size", "512MiB"]);
}

#[test]
fn a_key_with_one_bad_point_gives_no_proof_and_is_reported() {
    let bench = proved();
    let params = bench.key("params");
    let size = fs::metadata(&params).unwrap().len() as usize;
    flip(&params, size - 1);
    let error = bench.fails(3, &["inspect", params.to_str().unwrap()]);
    assert!(error.contains("1 fault"), "{error}");
    let report = bench.run(&["inspect", params.to_str().unwrap(), "--json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let fault = report["faults"][0].as_str().unwrap();
    assert!(
        fault.contains("b_g2, point") && fault.contains("not on the curve"),
        "{fault}"
    );
}

#[test]
fn wrong_payloads_are_refused() {
    let bench = Bench::new();
    let args = [
        "synth",
        "--kind",
        "window-post",
        "--sector-size",
        "2KiB",
        "--out",
        "payloads",
    ];
    bench.json(&args);
    let text = fs::read_to_string(bench.path(PAYLOAD)).unwrap();
    for (name, changed) in [
        ("cut", text[..text.len() / 2].to_owned()),
        ("another size", text.replace("2KiB", "8MiB")),
        (
            "not base64",
            text.replacen("\"randomness\": \"", "\"randomness\": \"!", 1),
        ),
        ("no proofs", "{}".to_owned()),
    ] {
        assert_ne!(changed, text, "{name}");
        fs::write(bench.path("changed.json"), changed).unwrap();
        bench.fails(3, &["prove", "changed.json", "--out", "p"]);
        bench.fails(3, &["inspect", "changed.json"]);
    }
    bench.fails(1, &["prove", "absent.json", "--out", "p"]);
    bench.fails(2, &["synth", "--kind", "porep"]);
    bench.fails(3, &["compile", "--circuit", "porep-3k"]);
}

#[test]
fn a_damaged_compiled_circuit_is_compiled_again() {
    let bench = Bench::new();
    let first = bench.json(&[&["compile"], &CIRCUIT[..]].concat());
    let file = PathBuf::from(first["file"].as_str().unwrap());
    flip(&file, 2000);
    bench.fails(3, &["inspect", file.to_str().unwrap()]);
    let again = bench.json(&[&["compile"], &CIRCUIT[..]].concat());
    assert_eq!(again["shape_hash"], first["shape_hash"]);
    bench.json(&["inspect", file.to_str().unwrap()]);
}

/// A run over several circuits keeps each, and one that is started again makes what is missing.
#[test]
fn several_circuits_are_compiled_and_kept() {
    let bench = Bench::new();
    let all = ["compile", "--kind", "winning-post", "--sector-size", "all"];
    let first = bench.json(&all);
    let rows = first.as_array().unwrap();
    assert_eq!(rows.len(), 5);
    let files: Vec<PathBuf> = rows
        .iter()
        .map(|row| row["file"].as_str().unwrap().into())
        .collect();
    let written = |file: &PathBuf| fs::metadata(file).unwrap().modified().unwrap();
    let before: Vec<_> = files.iter().map(written).collect();
    fs::remove_file(&files[1]).unwrap();
    let again = bench.json(&all);
    for (index, row) in again.as_array().unwrap().iter().enumerate() {
        assert_eq!(row["shape_hash"], rows[index]["shape_hash"]);
        assert_eq!(
            written(&files[index]) == before[index],
            index != 1,
            "{index}"
        );
    }
    bench.fails(
        2,
        &[
            "compile",
            "--kind",
            "all",
            "--sector-size",
            "all",
            "--check",
            PAYLOAD,
        ],
    );
    bench.fails(2, &["compile", "--kind", "all"]);
}

#[test]
fn the_demo_proves_and_keeps_what_it_made() {
    let bench = Bench::new();
    let rows = bench.json(&[
        "demo",
        "--kind",
        "window-post,winning-post",
        "--keep",
        "kept",
    ]);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["verified"], true);
        assert_eq!(row["sector_size"], "2KiB");
        for seconds in ["compile_s", "witness_s", "prove_s", "verify_s"] {
            assert!(row[seconds].as_f64().is_some(), "{seconds}");
        }
    }
    let keys = bench.path("kept/keys");
    for circuit in ["wpost-2k", "winning-2k"] {
        let payload = bench.path(&format!("kept/{circuit}.json"));
        let proof = bench.path(&format!("kept/{circuit}.proof"));
        let (payload, proof) = (payload.to_str().unwrap(), proof.to_str().unwrap());
        let row = bench.json(&["verify", payload, proof, "--params", keys.to_str().unwrap()]);
        assert_eq!(row["valid"], true);
    }
}

/// What no machine has is refused, whatever it has; and where a GPU is chosen, the result says so.
#[test]
fn a_gpu_that_cannot_be_used_is_an_error() {
    let bench = Bench::new();
    for verb in [&["demo"][..], &["keygen", "--circuit", "wpost-2k"]] {
        let error = bench.fails(6, &[verb, &["--backend", "cuda:4095"]].concat());
        assert!(error.contains("--backend cpu"), "{error}");
    }
    for wrong in ["gpu", "cuda:", "cuda:0,0"] {
        bench.fails(2, &["demo", "--backend", wrong]);
    }
    let output = bench.run(&["devices", "--json"]);
    match output.status.code() {
        Some(0) => {
            let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(rows.is_array());
        }
        Some(6) => assert!(String::from_utf8_lossy(&output.stderr).contains("driver")),
        code => panic!("{code:?}"),
    }
}

#[test]
fn help_completions_and_manual_are_there() {
    let bench = Bench::new();
    let help = bench.run(&["--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    for verb in [
        "demo", "synth", "keygen", "compile", "prove", "verify", "inspect", "devices",
    ] {
        assert!(help.contains(verb), "{verb}");
    }
    assert!(help.contains("Exit codes"));
    for shell in ["bash", "zsh", "fish"] {
        let output = bench.run(&["completions", shell]);
        assert!(
            String::from_utf8(output.stdout).unwrap().contains("keygen"),
            "{shell}"
        );
    }
    assert!(bench.run(&["man", "man"]).status.success());
    assert!(bench.path("man/cuzk-prove.1").is_file());
}
