//! The registry as a whole: identifiers, numbers, names of keys.

use std::collections::{BTreeMap, BTreeSet};

use cuzk_plugins as _;
use cuzk_proof_api::{Priority, by_circuit, by_wire_kind, registry};
use serde_json::Value;

use crate::vectors::vector;

#[test]
fn the_registry_is_the_pinned_list() {
    let pinned: Vec<_> = include_str!("../../../../xtask/src/pinned_proof_types.txt")
        .lines()
        .collect();
    let found: Vec<_> = registry().unwrap().iter().map(|t| t.id()).collect();
    assert_eq!(found, pinned);
}

#[test]
fn wire_kinds_and_priorities() {
    let expected = [
        (1, "porep", Priority::Normal),
        (2, "snap", Priority::Low),
        (3, "window-post", Priority::High),
        (4, "winning-post", Priority::Critical),
    ];
    for (kind, id, priority) in expected {
        let found = by_wire_kind(kind).unwrap();
        assert_eq!((found.id(), found.priority()), (id, priority));
    }
    assert!(by_wire_kind(0).is_err());
    assert!(by_wire_kind(5).is_err());
}

#[test]
fn circuits_are_named_as_on_the_wire() {
    for (prefix, partitions) in [
        ("porep", [1, 1, 1, 10, 10]),
        ("snap", [1, 4, 16, 16, 16]),
        ("wpost", [1; 5]),
        ("winning", [1; 5]),
    ] {
        let sizes = [
            ("2k", 11),
            ("8m", 23),
            ("512m", 29),
            ("32g", 35),
            ("64g", 36),
        ];
        for ((suffix, bits), partitions) in sizes.into_iter().zip(partitions) {
            let (_, spec) = by_circuit(&format!("{prefix}-{suffix}")).unwrap();
            assert_eq!(
                (spec.sector_bytes, spec.partitions),
                (1 << bits, partitions),
                "{}",
                spec.id
            );
        }
    }
    let all: Vec<_> = registry()
        .unwrap()
        .iter()
        .flat_map(|t| t.circuits())
        .collect();
    assert_eq!(all.len(), 20);
}

/// Each name must be published, for the right sector size, and no two circuits may share one.
#[test]
fn key_names_are_the_published_ones() {
    let Some(bytes) = vector("filecoin/parameters.json") else {
        return;
    };
    let published: BTreeMap<String, Value> = serde_json::from_slice(&bytes).unwrap();
    let mut seen = BTreeSet::new();
    for proof_type in registry().unwrap() {
        for circuit in proof_type.circuits() {
            let names = proof_type.key_names(circuit.id).unwrap();
            for name in [names.params, names.vk] {
                assert_eq!(
                    published[&name]["sector_size"], circuit.sector_bytes,
                    "{name}"
                );
                assert!(seen.insert(name));
            }
        }
    }
    // The variant of the update proof that was never used has keys at 32 and 64 GiB.
    let unused = published
        .keys()
        .filter(|name| !seen.contains(*name))
        .collect::<Vec<_>>();
    assert!(
        unused
            .iter()
            .all(|name| name.starts_with("v28-empty-sector-update-poseidon-")),
        "{unused:?}"
    );
    assert_eq!(unused.len(), 4);
}

#[test]
fn key_names_of_32_gib_sectors() {
    let name = |circuit: &str| {
        by_circuit(circuit)
            .unwrap()
            .0
            .key_names(circuit)
            .unwrap()
            .vk
    };
    let prefix = "merkletree-poseidon_hasher-8-8-0";
    for (circuit, name_of_key, digest) in [
        (
            "porep-32g",
            "stacked-proof-of-replication",
            "sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820",
        ),
        (
            "snap-32g",
            "empty-sector-update",
            "3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18",
        ),
        (
            "wpost-32g",
            "proof-of-spacetime-fallback",
            "0377ded656c6f524f1618760bffe4e0a1c51d5a70c4509eedae8a27555733edc",
        ),
        (
            "winning-32g",
            "proof-of-spacetime-fallback",
            "559e581f022bb4e4ec6e719e563bf0e026ad6de42e56c18714a2c692b1b88d7e",
        ),
    ] {
        assert_eq!(
            name(circuit),
            format!("v28-{name_of_key}-{prefix}-{digest}.vk")
        );
    }
}

#[test]
fn unknown_circuits_are_refused_by_every_type() {
    for proof_type in registry().unwrap() {
        for circuit in ["", "toy-2k", "porep-32", "wpost-2K"] {
            assert!(proof_type.blank(circuit).is_err());
            assert!(proof_type.key_names(circuit).is_err());
        }
    }
}
