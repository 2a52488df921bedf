//! Each bad field of a request is refused with its name.

use cuzk_proof_api::{ProofApiError, Request};
use cuzk_synth::Kind;
use serde_json::{Value, json};

use crate::support::{close_porep, decode, open_porep, real, snap_8m};

/// Decoding must fail with an error in `field`.
fn refused(kind: Kind, request: &Request, field: &str) {
    match decode(kind, request) {
        Err(ProofApiError::Field { field: found, .. }) => assert_eq!(found, field),
        Err(other) => panic!("{kind} {field}: {other}"),
        Ok(_) => panic!("{kind}: a bad {field} was accepted"),
    }
}

fn changed(kind: Kind, change: impl FnOnce(&mut Request)) -> Request {
    let mut request = real(kind);
    change(&mut request);
    request
}

const HIGH: [u8; 32] = [0xff; 32];

#[test]
fn sector_sizes_and_proof_numbers() {
    for kind in Kind::ALL {
        for bytes in [0, 2047, 4096, u64::MAX] {
            refused(
                kind,
                &changed(kind, |r| r.sector_size = bytes),
                "sector_size",
            );
        }
        for number in [1, 20, 25, u64::MAX] {
            refused(
                kind,
                &changed(kind, |r| r.registered_proof = number),
                "registered_proof",
            );
        }
    }
    // Numbers of one PoSt type are not those of the other.
    refused(
        Kind::WindowPost,
        &changed(Kind::WindowPost, |r| r.registered_proof = 0),
        "registered_proof",
    );
    refused(
        Kind::WinningPost,
        &changed(Kind::WinningPost, |r| r.registered_proof = 10),
        "registered_proof",
    );
    refused(
        Kind::Snap,
        &changed(Kind::Snap, |r| r.registered_proof = 5),
        "registered_proof",
    );
}

#[test]
fn post_fields() {
    for kind in [Kind::WindowPost, Kind::WinningPost] {
        for randomness in [vec![], vec![1; 31], vec![1; 33], HIGH.to_vec()] {
            refused(
                kind,
                &changed(kind, |r| r.randomness = randomness),
                "randomness",
            );
        }
        refused(
            kind,
            &changed(kind, |r| r.vanilla_proofs.clear()),
            "vanilla_proofs",
        );
        let many = changed(kind, |r| {
            r.vanilla_proofs = vec![r.vanilla_proofs[0].clone(); 3]
        });
        refused(kind, &many, "vanilla_proofs");
        refused(
            kind,
            &changed(kind, |r| r.vanilla_proofs[0].push(0)),
            "vanilla_proofs[0]",
        );
        refused(
            kind,
            &changed(kind, |r| r.vanilla_proofs[0].clear()),
            "vanilla_proofs[0]",
        );
        refused(
            kind,
            &changed(kind, |r| r.vanilla_proofs[0][8..40].copy_from_slice(&HIGH)),
            "vanilla_proofs[0].comm_r",
        );
        // A sector of another size has longer paths.
        let larger = changed(kind, |r| {
            (r.sector_size, r.registered_proof) = (8 << 20, r.registered_proof + 1)
        });
        refused(
            kind,
            &larger,
            "vanilla_proofs[0].vanilla_proof.sectors[0].inclusion_proofs[0].data.Single.path.path",
        );
    }
    let late = changed(Kind::WindowPost, |r| r.partition_index = 3000);
    refused(Kind::WindowPost, &late, "partition_index");
    let partition = changed(Kind::WinningPost, |r| r.partition_index = 1);
    refused(Kind::WinningPost, &partition, "partition_index");
}

/// Offsets in a 2 KiB item: sector id 8, CommR 32, count 8 (sectors), count 8 (openings); an opening: variant 4,
/// root 32, leaf 32, count 8 (levels); a level: count 8 (siblings), 7 siblings, index 8.
#[test]
fn post_item_fields() {
    let item = "vanilla_proofs[0].vanilla_proof.sectors[0]";
    let data = format!("{item}.inclusion_proofs[0].data");
    let edit = |offset: usize, bytes: &[u8], field: &str| {
        let request = changed(Kind::WindowPost, |r| {
            r.vanilla_proofs[0][offset..offset + bytes.len()].copy_from_slice(bytes);
        });
        refused(Kind::WindowPost, &request, field);
    };
    edit(60, &HIGH, &format!("{data}.Single.root"));
    edit(92, &HIGH, &format!("{data}.Single.leaf"));
    edit(140, &HIGH, &format!("{data}.Single.path.path[0].hashes[0]"));
    edit(364, &[8], &format!("{data}.Single.path.path[0].index"));
    edit(
        364,
        &HIGH[..8],
        &format!("{data}.Single.path.path[0].index"),
    );
    // A length that was changed shifts what follows, so the item as a whole is refused.
    for offset in [40, 48, 124, 132] {
        edit(offset, &HIGH[..8], "vanilla_proofs[0]");
        edit(offset, &[0; 8], "vanilla_proofs[0]");
    }
    edit(56, &[3], "vanilla_proofs[0]");
    // The root beside the opening differs from the opening's.
    let end = real(Kind::WindowPost).vanilla_proofs[0].len();
    edit(end - 32, &[0; 32], &format!("{item}.inclusion_proofs[0]"));
    edit(end - 32, &HIGH, &format!("{item}.comm_r_last"));
    edit(end - 64, &HIGH, &format!("{item}.comm_c"));
}

#[test]
fn snap_fields() {
    type Commitment = fn(&mut Request) -> &mut Vec<u8>;
    let commitments: [(&str, Commitment); 3] = [
        ("comm_r_old", |r| &mut r.comm_r_old),
        ("comm_r_new", |r| &mut r.comm_r_new),
        ("comm_d_new", |r| &mut r.comm_d_new),
    ];
    for (field, of) in commitments {
        for value in [vec![], vec![1; 31], vec![1; 33], vec![0; 32], HIGH.to_vec()] {
            refused(Kind::Snap, &changed(Kind::Snap, |r| *of(r) = value), field);
        }
    }
    refused(
        Kind::Snap,
        &changed(Kind::Snap, |r| r.vanilla_proofs.clear()),
        "vanilla_proofs",
    );
    let two = changed(Kind::Snap, |r| r.vanilla_proofs.push(Vec::new()));
    refused(Kind::Snap, &two, "vanilla_proofs");
    refused(
        Kind::Snap,
        &changed(Kind::Snap, |r| r.vanilla_proofs[0].push(0)),
        "vanilla_proofs[0]",
    );
    let edit = |offset: usize, bytes: &[u8], field: &str| {
        let request = changed(Kind::Snap, |r| {
            r.vanilla_proofs[0][offset..offset + bytes.len()].copy_from_slice(bytes);
        });
        refused(Kind::Snap, &request, field);
    };
    edit(0, &HIGH, "vanilla_proofs[0].comm_c");
    edit(40, &HIGH, "vanilla_proofs[0].apex_leafs[0]");
    edit(32, &HIGH[..8], "vanilla_proofs[0]");
    edit(
        308,
        &HIGH,
        "vanilla_proofs[0].challenge_proofs[0].proof_r_old.data.Single.root",
    );
}

/// Siblings above the partition differ between two challenges: the circuit would panic on it.
#[test]
fn snap_partition_paths() {
    let mut request = snap_8m();
    // The last level of TreeD's path comes right before proof_r_new, whose length is that of proof_r_old.
    let bytes = &mut request.vanilla_proofs[2];
    let proof_r = 4 + 32 + 32 + 8 + 6 * (8 + 7 * 32 + 8);
    let index = bytes.len() - proof_r - 8;
    bytes[index - 32] ^= 1;
    refused(
        Kind::Snap,
        &request,
        "vanilla_proofs[2].challenge_proofs[9].proof_d_new",
    );
}

#[test]
fn porep_envelope() {
    let kind = Kind::PoRep;
    let (envelope, inner) = open_porep(&real(kind));
    let whole = real(kind).vanilla_proof;
    for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
        match decode(kind, &changed(kind, |r| r.vanilla_proof.truncate(cut))) {
            Err(ProofApiError::Field { field, .. }) => {
                assert!(field.starts_with("vanilla_proof"), "{field}")
            }
            other => panic!("cut at {cut}: {:?}", other.err()),
        }
    }
    refused(
        kind,
        &changed(kind, |r| r.vanilla_proof.extend(b"{}")),
        "vanilla_proof",
    );
    refused(
        kind,
        &changed(kind, |r| r.sector_number += 1),
        "vanilla_proof.SectorNum",
    );
    refused(
        kind,
        &changed(kind, |r| r.miner_id += 1),
        "vanilla_proof.Phase1Out.replica_id",
    );
    for (field, value) in [
        ("SectorNum", json!(-1)),
        ("SectorNum", json!("1")),
        ("SectorSize", json!(4096)),
        ("Phase1Out", json!("not base64!")),
        ("Phase1Out", json!("YQ")),
        ("Phase1Out", json!("YQ==")),
        ("Phase1Out", json!("")),
        ("Phase1Out", json!(7)),
    ] {
        let mut envelope = envelope.clone();
        envelope[field] = value;
        let request = changed(kind, |r| {
            r.vanilla_proof = envelope.to_string().into_bytes()
        });
        refused(kind, &request, &format!("vanilla_proof.{field}"));
    }
    let mut missing = envelope.clone();
    missing.as_object_mut().unwrap().remove("Phase1Out");
    refused(
        kind,
        &changed(kind, |r| r.vanilla_proof = missing.to_string().into_bytes()),
        "vanilla_proof",
    );
    let text = inner.to_string();
    for inner in [&text[..text.len() - 1], &format!("{text}]"), "[]", "null"] {
        refused(
            kind,
            &changed(kind, |r| close_porep(r, envelope.clone(), inner.as_bytes())),
            "vanilla_proof.Phase1Out",
        );
    }
}

/// Changes one place of the inner document and expects the error there, or at `field` where that is given.
fn porep_edit(pointer: &str, value: Value, field: Option<&str>) {
    let request = changed(Kind::PoRep, |r| {
        let (envelope, mut inner) = open_porep(r);
        *inner
            .pointer_mut(pointer)
            .unwrap_or_else(|| panic!("{pointer}")) = value;
        close_porep(r, envelope, inner.to_string().as_bytes());
    });
    let path = pointer[1..]
        .split('/')
        .map(|step| match step.parse::<usize>() {
            Ok(index) => format!("[{index}]"),
            Err(_) => format!(".{step}"),
        });
    let path = format!("vanilla_proof.Phase1Out{}", path.collect::<String>());
    refused(Kind::PoRep, &request, field.unwrap_or(&path));
}

#[test]
fn porep_document() {
    for field in ["/comm_r", "/comm_d", "/replica_id", "/seed", "/ticket"] {
        porep_edit(field, json!(vec![1; 31]), None);
        porep_edit(field, json!("AAAA"), None);
        let out_of_range = format!("vanilla_proof.Phase1Out.{}[0]", &field[1..]);
        porep_edit(&format!("{field}/0"), json!(256), Some(&out_of_range));
    }
    for field in ["/comm_r", "/comm_d", "/replica_id"] {
        porep_edit(field, json!(HIGH), None);
    }
    for field in ["/comm_r", "/comm_d", "/seed"] {
        porep_edit(field, json!(vec![0; 32]), None);
    }
    porep_edit(
        "/comm_d",
        json!(vec![1; 32]),
        Some("vanilla_proof.Phase1Out.replica_id"),
    );
    porep_edit(
        "/ticket",
        json!(vec![1; 32]),
        Some("vanilla_proof.Phase1Out.replica_id"),
    );
    for name in [
        "StackedDrg2KiBV1",
        "StackedDrg8MiBV1_1",
        "StackedDrg2KiBV1_1_Feat_SyntheticPoRep",
        "",
    ] {
        porep_edit("/registered_proof", json!(name), None);
    }
}

#[test]
fn porep_proofs() {
    let all = "/vanilla_proofs/StackedDrg2KiBV1";
    let one = format!("{all}/0/0");
    let (_, inner) = open_porep(&real(Kind::PoRep));
    let proofs = inner.pointer(all).unwrap();
    let tagged = |tag: &str| json!({ tag: proofs });
    porep_edit("/vanilla_proofs", tagged("StackedDrg8MiBV1"), None);
    porep_edit(
        "/vanilla_proofs",
        tagged("StackedDrg4KiBV1"),
        Some("vanilla_proof.Phase1Out.vanilla_proofs"),
    );
    porep_edit(all, json!([]), None);
    porep_edit(all, json!([proofs[0], proofs[0]]), None);
    porep_edit(&format!("{all}/0"), json!([]), None);
    porep_edit(&format!("{all}/0"), json!([proofs[0][0]]), None);
    for list in [
        "labeling_proofs",
        "labeling_proofs/0/parents",
        "labeling_proofs/1/parents",
        "encoding_proof/parents",
        "replica_column_proofs/drg_parents",
        "replica_column_proofs/exp_parents",
        "replica_column_proofs/c_x/column/rows",
        "replica_column_proofs/drg_parents/5/column/rows",
        "replica_column_proofs/exp_parents/7/column/rows",
        "replica_column_proofs/c_x/inclusion_proof/data/Single/path/path",
        "comm_d_proofs/data/Single/path/path",
        "comm_d_proofs/data/Single/path/path/3/hashes",
        "comm_r_last_proof/data/Single/path/path",
        "comm_r_last_proof/data/Single/path/path/1/hashes",
    ] {
        porep_edit(&format!("{one}/{list}"), json!([]), None);
    }
    for node in [
        "labeling_proofs/1/parents/36",
        "encoding_proof/parents/0",
        "replica_column_proofs/exp_parents/7/column/rows/1",
        "replica_column_proofs/c_x/inclusion_proof/data/Single/leaf",
        "comm_d_proofs/data/Single/root",
        "comm_d_proofs/data/Single/path/path/5/hashes/0",
    ] {
        porep_edit(&format!("{one}/{node}"), json!(HIGH), None);
    }
    porep_edit(
        &format!("{one}/comm_d_proofs/data/Single/path/path/0/index"),
        json!(2),
        None,
    );
    porep_edit(
        &format!("{one}/comm_r_last_proof/data/Single/path/path/0/index"),
        json!(8),
        None,
    );
    let path = proofs
        .pointer("/0/0/comm_r_last_proof/data/Single/path")
        .unwrap();
    let sub = json!({"Sub": {"base_proof": path, "sub_proof": path, "root": HIGH, "leaf": HIGH}});
    porep_edit(&format!("{one}/comm_r_last_proof/data"), sub, None);
}

/// Well-formed but wrong: decoded, and then refused by the official vanilla verifiers.
#[test]
fn tampered_proofs_fail_the_self_check() {
    let check = |kind: Kind, request: &Request| match decode(kind, request).unwrap().self_check() {
        Err(ProofApiError::InvalidVanillaProof { .. }) => (),
        other => panic!("{kind}: {other:?}"),
    };
    let flip = |kind: Kind, offset: usize| changed(kind, |r| r.vanilla_proofs[0][offset] ^= 1);
    for kind in [Kind::WindowPost, Kind::WinningPost] {
        check(kind, &flip(kind, 8));
        check(kind, &flip(kind, 92));
        check(kind, &changed(kind, |r| r.randomness[0] ^= 1));
    }
    check(Kind::Snap, &flip(Kind::Snap, 0));
    check(Kind::Snap, &flip(Kind::Snap, 40));
    check(Kind::Snap, &changed(Kind::Snap, |r| r.comm_d_new[0] ^= 1));
    for pointer in [
        "/comm_r/0",
        "/seed/0",
        "/vanilla_proofs/StackedDrg2KiBV1/0/1/comm_d_proofs/data/Single/leaf/0",
        "/vanilla_proofs/StackedDrg2KiBV1/0/0/labeling_proofs/0/node",
    ] {
        let request = changed(Kind::PoRep, |r| {
            let (envelope, mut inner) = open_porep(r);
            let place = inner.pointer_mut(pointer).unwrap();
            *place = json!(place.as_u64().unwrap() ^ 1);
            close_porep(r, envelope, inner.to_string().as_bytes());
        });
        check(Kind::PoRep, &request);
    }
}

/// The update's circuit asserts the encoding of the data, so it is checked before the circuit is made.
#[test]
fn updates_with_a_wrong_encoding_have_no_circuit() {
    // Leaf of the first challenge's proof_r_old, proof_d_new and proof_r_new: a proof in tree R is 556 bytes long,
    // one in tree D 364, and the first starts at byte 304.
    for offset in [340, 340 + 556, 340 + 556 + 364] {
        let request = changed(Kind::Snap, |r| r.vanilla_proofs[0][offset] ^= 1);
        let job = decode(Kind::Snap, &request).unwrap();
        assert!(
            matches!(
                job.circuit(0),
                Err(ProofApiError::InvalidVanillaProof { .. })
            ),
            "{offset}"
        );
    }
    let request = changed(Kind::Snap, |r| r.comm_r_new[0] ^= 1);
    assert!(decode(Kind::Snap, &request).unwrap().circuit(0).is_err());
}
