//! `cuzk bench devices` on simulated devices: what it prints is what happened.

use std::process::Command;

use serde_json::Value;

fn bench(arguments: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuzk"));
    let output = command.args(["bench", "devices"]).args(arguments).output();
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn json(arguments: &[&str]) -> Value {
    let (done, out, err) = bench(&[arguments, &["--json", "--quiet"]].concat());
    assert!(done, "{err}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn partitions_are_shared_and_a_failing_device_loses_none() {
    let load = ["--jobs", "12", "--partitions", "5", "--alone", "1"];
    let report = json(&[&["--simulated", "2"], &load[..]].concat());
    assert_eq!(report["devices"].as_array().unwrap().len(), 2);
    let circuit = &report["circuits"][0];
    assert_eq!(circuit["circuit"], "toy");
    let runs = circuit["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for (run, devices) in runs.iter().zip(1..) {
        assert_eq!(run["devices"], devices);
        assert_eq!((&run["proofs"], &run["faults"]), (&60.into(), &0.into()));
        let each = run["per_device"].as_array().unwrap();
        let proofs: u64 = each.iter().map(|d| d["proofs"].as_u64().unwrap()).sum();
        assert_eq!((each.len(), proofs), (devices, 60));
        let shares = each.iter().map(|d| d["share"].as_f64().unwrap());
        let around = 1.0 / devices as f64;
        assert!(
            shares
                .into_iter()
                .all(|share| (share - around).abs() <= 0.1)
        );
    }
    let out = &circuit["out_of_service"];
    assert_eq!(out["name"], "simulated 1");
    assert_eq!(out["proofs"], 60);
    assert!(out["faults"].as_u64().unwrap() >= 3);
}

#[test]
fn every_fault_ends_as_it_must() {
    let report = json(&["--simulated", "2", "--latency-ms", "1", "--faults"]);
    let faults = &report["circuits"][0]["faults"];
    let counts = ["made_good", "failed", "slow", "hung"].map(|kind| faults[kind].as_u64());
    assert_eq!(counts, [Some(18), Some(18), Some(7), Some(3)]);
}

#[test]
fn a_wrong_command_line_says_what_is_wrong() {
    for (arguments, said) in [
        (
            &["--simulated", "2", "--devices", "3"][..],
            "wanted 3, found 2",
        ),
        (&["--simulated", "0"], "nothing to measure"),
        (&["--simulated", "1", "--faults"], "two devices"),
        (
            &["--simulated", "1", "--circuit", "porep-2k/two"],
            "wanted a number of partitions, found two",
        ),
        (
            &["--simulated", "1", "--circuit", "porep-2k/3"],
            "wanted from 1 to 2, found 3",
        ),
        (
            &["--simulated", "1", "--circuit", "winning-2k/2"],
            "only a PoRep",
        ),
    ] {
        let (done, _, err) = bench(arguments);
        assert!(!done && err.contains(said), "{err}");
    }
}
