//! What is wrong is named and ends with its exit code, and nothing is written.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use cuzk_synth::Payload;
use serde_json::Value;

use crate::support::{Bench, CIRCUIT, PAYLOAD, flip, proved};

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
    let mut order_three = [0; 48];
    order_three[0] = 0x80;
    let mut at_infinity = [0; 48];
    at_infinity[0] = 0xc0;
    let mut above_modulus = [0xff; 48];
    above_modulus[0] = 0x9f;
    let mut uncompressed: [u8; 48] = good[..48].try_into().unwrap();
    uncompressed[0] &= 0x7f;
    for (what, point) in [
        ("outside the subgroup", order_three),
        ("infinity", at_infinity),
        ("modulus", above_modulus),
        ("flags 0x", uncompressed),
    ] {
        for (name, at) in [("A", 0), ("C", 144)] {
            let mut bad = good.clone();
            bad[at..at + 48].copy_from_slice(&point);
            fs::write(bench.path("bad.proof"), bad).unwrap();
            let error = bench.fails(3, &["verify", PAYLOAD, "bad.proof"]);
            assert!(error.contains(&format!("proof: {name}")), "{what}: {error}");
            assert!(error.contains(what), "{what}: {error}");
        }
    }
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

/// Where the points of H begin in a key.
fn h_points(key: &[u8]) -> usize {
    let inputs = u32::from_be_bytes(key[864..868].try_into().unwrap()) as usize;
    868 + inputs * 96 + 4
}

/// What can be wrong with a key: the bytes to put somewhere, and what is said of it.
fn bad_keys(key: &[u8]) -> Vec<(&'static str, Range<usize>, Vec<u8>, &'static str)> {
    let h = h_points(key);
    let count = u32::from_be_bytes(key[h - 4..h].try_into().unwrap());
    let mut order_three = vec![0; 96];
    order_three[95] = 2;
    let mut infinity = vec![0; 96];
    infinity[0] = 0x40;
    let mut off_curve = key[h..h + 96].to_vec();
    off_curve[95] ^= 1;
    let counted = |count: u32| count.to_be_bytes().to_vec();
    let point = h + 96 * 7..h + 96 * 8;
    vec![
        (
            "count of all ones",
            h - 4..h,
            counted(u32::MAX),
            "h claims 4294967295 points",
        ),
        ("count of zero", h - 4..h, counted(0), "l claims"),
        (
            "count one too many",
            h - 4..h,
            counted(count + 1),
            "l claims",
        ),
        (
            "off the curve",
            point.clone(),
            off_curve,
            "h, point 7: not on the curve",
        ),
        (
            "outside the subgroup",
            point.clone(),
            order_three,
            "h, point 7: on the curve but outside the subgroup",
        ),
        ("at infinity", point, infinity, "h, point 7: "),
        ("gamma is delta", 384..576, key[672..864].to_vec(), "gamma"),
    ]
}

#[test]
fn damaged_keys_are_named_and_give_no_proof() {
    let bench = proved();
    let params = bench.key("params");
    let key = fs::read(&params).unwrap();
    for (what, range, bytes, said) in bad_keys(&key) {
        let mut damaged = key.clone();
        damaged[range].copy_from_slice(&bytes);
        fs::write(&params, &damaged).unwrap();
        let report = bench.run(&["inspect", params.to_str().unwrap(), "--json"]);
        assert_eq!(report.status.code(), Some(3), "{what}");
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let faults = report["faults"].as_array().unwrap();
        let fault = faults.first().and_then(Value::as_str).unwrap_or_default();
        assert!(
            fault.contains(said) && !fault.is_empty(),
            "{what}: {faults:?}"
        );
        let proving = bench.run(&["prove", PAYLOAD, "--out", "none", "--quiet"]);
        let code = proving.status.code().unwrap();
        assert!([3, 4].contains(&code), "{what}: {code}");
        assert!(!bench.path("none").exists(), "{what}");
    }
    for length in [h_points(&key) + 96 * 100 + 5, key.len() - 1] {
        fs::write(&params, &key[..length]).unwrap();
        bench.fails(3, &["prove", PAYLOAD, "--out", "none"]);
        bench.fails(3, &["inspect", params.to_str().unwrap()]);
    }
}

#[test]
fn wrong_payloads_are_refused() {
    let bench = Bench::new();
    bench.synth("window-post", &[]);
    let text = fs::read_to_string(bench.path(PAYLOAD)).unwrap();
    for (name, changed) in [
        ("cut", text[..text.len() / 2].to_owned()),
        ("another size", text.replace("2KiB", "8MiB")),
        (
            "not base64",
            text.replacen("\"randomness\": \"", "\"randomness\": \"!", 1),
        ),
        ("no proofs", "{}".to_owned()),
        (
            "a proof number of another kind",
            text.replacen("\"registered_proof\": 10", "\"registered_proof\": 0", 1),
        ),
    ] {
        assert_ne!(changed, text, "{name}");
        fs::write(bench.path("changed.json"), changed).unwrap();
        bench.fails(3, &["prove", "changed.json", "--out", "p"]);
        bench.fails(3, &["inspect", "changed.json"]);
    }
    bench.fails(1, &["prove", "absent.json", "--out", "p"]);
    bench.fails(2, &["synth", "--kind", "porep"]);
    for wrong in [
        "compile --circuit porep-3k",
        "keygen --circuit porep-3k",
        "top --every 0",
        "top --json",
        "completions bash --json",
        "bench stress --rate 0",
        "synth --kind porep --sector-size 512MiB --porep-feature synthetic --out p",
    ] {
        bench.fails(2, &wrong.split(' ').collect::<Vec<_>>());
    }
    let demo = ["demo", "--kind", "snap", "--sector-size", "512MiB"];
    let error = bench.fails(2, &demo);
    assert!(error.contains("cuzk keygen --circuit snap-512m"), "{error}");
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

/// A vanilla proof that is wrong in one hash decodes, and makes a witness that fails in one constraint.
#[test]
fn a_wrong_witness_names_its_constraint() {
    let bench = proved();
    let json = fs::read(bench.path(PAYLOAD)).unwrap();
    let mut payload = Payload::from_json(&json).unwrap();
    // The first hash stands behind its count, which is 7.
    let proof = &mut payload.vanilla_proofs[0];
    let count = proof
        .windows(8)
        .position(|bytes| bytes == 7u64.to_le_bytes())
        .unwrap();
    proof[count + 8] ^= 1;
    fs::write(bench.path("wrong.json"), payload.to_json()).unwrap();
    let check = ["compile", "--check", "wrong.json"];
    let error = bench.fails(4, &[&check[..], &CIRCUIT].concat());
    assert!(error.contains("constraint"), "{error}");
    let error = bench.fails(4, &["prove", "wrong.json", "--out", "none"]);
    assert!(error.contains("partition 0: constraint"), "{error}");
    let error = bench.fails(3, &["prove", "wrong.json", "--out", "none", "--check"]);
    assert!(error.contains("vanilla proof is not valid"), "{error}");
    assert!(!bench.path("none").exists());
    let error = bench.fails(3, &["inspect", "wrong.json"]);
    assert!(error.contains("1 fault"), "{error}");
}

/// Vanilla proofs with other randomness than that which they were made for satisfy their circuit, of another statement.
#[test]
fn a_proof_of_another_statement_does_not_leave() {
    let bench = proved();
    bench.synth("winning-post", &[]);
    bench.json(&["keygen", "--circuit", "winning-2k"]);
    for (circuit, wrong) in [("winning-2k", "winning.json"), ("wpost-2k", "window.json")] {
        let json = fs::read(bench.path(&format!("payloads/{circuit}.json"))).unwrap();
        let mut payload = Payload::from_json(&json).unwrap();
        payload.randomness[0] ^= 1;
        fs::write(bench.path(wrong), payload.to_json()).unwrap();
        let error = bench.fails(4, &["prove", wrong, "--out", "none"]);
        assert!(
            error.contains("of partition 0 is not the statement"),
            "{error}"
        );
        let check = ["compile", "--check", wrong, "--circuit", circuit];
        let error = bench.fails(4, &check);
        assert!(error.contains("is not the statement's"), "{error}");
        assert!(!bench.path("none").exists());
    }
}

/// Public inputs that are no field elements.
#[test]
fn values_above_the_modulus_are_named() {
    let bench = Bench::new();
    bench.synth("snap", &[]);
    let json = fs::read(bench.path("payloads/snap-2k.json")).unwrap();
    let mut payload = Payload::from_json(&json).unwrap();
    payload.comm_r_old = Some([0xff; 32]);
    fs::write(bench.path("high.json"), payload.to_json()).unwrap();
    let error = bench.fails(3, &["prove", "high.json", "--out", "none"]);
    assert!(error.contains("comm_r_old"), "{error}");
}
