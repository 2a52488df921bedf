//! Options do what their help says.

use std::fs;

use cuzk_synth::Payload;

use crate::support::{Bench, CIRCUIT, PAYLOAD, proved, synth};

fn window_post(bench: &Bench, more: &[&str]) -> Payload {
    bench.synth("window-post", more);
    Payload::from_json(&fs::read(bench.path(PAYLOAD)).unwrap()).unwrap()
}

#[test]
fn sectors_are_made_as_asked() {
    let bench = Bench::new();
    let first = window_post(&bench, &[]);
    assert_eq!(first, window_post(&bench, &["--seed", "0"]));
    assert_ne!(first, window_post(&bench, &["--seed", "1"]));
    let one = window_post(&bench, &["--sectors", "1"]);
    assert_eq!(one.vanilla_proofs.len(), 1);
    for kind in ["window-post", "porep"] {
        bench.fails(2, &[&synth(kind)[..], &["--sectors", "3"]].concat());
    }
    for (feature, partitions) in [
        ("interactive", 1),
        ("synthetic", 1),
        ("non-interactive", 13),
    ] {
        let row = bench.synth("porep", &["--check", "--porep-feature", feature]);
        assert_eq!(row["partitions"], partitions, "{feature}");
    }
    bench.fails(
        2,
        &[&synth("porep")[..], &["--porep-feature", "other"]].concat(),
    );
}

#[test]
fn keys_are_replaced_only_when_asked() {
    let bench = proved();
    let keygen = [&["keygen"], &CIRCUIT[..]].concat();
    bench.fails(2, &keygen);
    // Half of a key may be half of a published one.
    fs::remove_file(bench.key("params")).unwrap();
    let error = bench.fails(2, &keygen);
    assert!(error.contains(".vk is there"), "{error}");
    bench.fails(2, &["demo", "--kind", "window-post"]);
    bench.json(&[&keygen[..], &["--force"]].concat());
    bench.json(&["prove", PAYLOAD, "--out", "again.proof"]);
    bench.json(&["verify", PAYLOAD, "again.proof"]);
    bench.fails(4, &["verify", PAYLOAD, "wpost.proof"]);
}

#[test]
fn places_threads_and_partitions_are_chosen() {
    let bench = proved();
    let here = ["--pce", "circuits", "--threads", "1"];
    let prove = ["prove", PAYLOAD, "--out", "one.proof", "--partition", "0"];
    bench.json(&[&prove[..], &here].concat());
    assert!(fs::read_dir(bench.path("circuits")).unwrap().count() > 0);
    bench.json(&["verify", PAYLOAD, "one.proof", "--partition", "0"]);
    bench.fails(2, &["verify", PAYLOAD, "one.proof", "--partition", "1"]);
    let error = bench.fails(2, &["inspect", "one.proof", "--manifest", PAYLOAD]);
    assert!(error.contains(".params"), "{error}");
    bench.fails(
        5,
        &["verify", PAYLOAD, "one.proof", "--params", "elsewhere"],
    );
    bench.fails(
        2,
        &[
            "prove",
            PAYLOAD,
            "--out",
            "p",
            "--device-memory",
            "8 apples",
        ],
    );
}

#[test]
fn keys_are_held_against_published_digests() {
    let bench = proved();
    let params = bench.key("params");
    let file = params.to_str().unwrap();
    let quick = bench.json(&["inspect", file, "--quick"]);
    assert!(quick["points"].as_str().unwrap().starts_with("not checked"));
    let whole = bench.json(&["inspect", file]);
    let name = params.file_name().unwrap().to_str().unwrap();
    let mut digest = whole["digest"].as_str().unwrap().to_owned();
    for right in [true, false] {
        let manifest =
            serde_json::json!({name: {"cid": "Qm", "digest": digest, "sector_size": 2048}});
        fs::write(bench.path("parameters.json"), manifest.to_string()).unwrap();
        let inspect = ["inspect", file, "--manifest", "parameters.json"];
        if right {
            assert!(bench.json(&inspect)["published"].is_string());
        } else {
            bench.fails(3, &inspect);
        }
        // The same digest but for its first digit.
        let other = if digest.starts_with('0') { "1" } else { "0" };
        digest.replace_range(..1, other);
    }
}
