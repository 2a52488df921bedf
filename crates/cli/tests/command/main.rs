//! The command as a person or a script meets it: results, files, errors and exit codes, on the small WindowPoSt circuit.

mod bad_input;
mod options;
mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use support::{Bench, CIRCUIT, PAYLOAD, proved, ways};

#[test]
fn from_payload_to_verified_proof() {
    let bench = proved();
    let row = bench.json(&["verify", PAYLOAD, "wpost.proof"]);
    assert_eq!(row["valid"], true);
    let row = bench.json(&[&["compile", "--check", PAYLOAD], &CIRCUIT[..]].concat());
    assert_eq!(row["checked"]["satisfied"], true);
    // A circuit as small as this is mostly templates, which are held decoded beside their encoded rows.
    let number = |name: &str| row[name].as_f64().unwrap();
    assert!(number("file_bytes") <= 0.5 * number("non_zeros"));
    assert!(number("memory_bytes") <= 12.0 * number("non_zeros"));
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

    bench.synth("window-post", &[]);
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
        Some(6) => assert!(!output.stderr.is_empty()),
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
