//! Keys made by bellperson are read, checked, written and stored byte for byte.

mod common;

use std::fs;
use std::path::Path;

use common::{open, ours_of_peer_vk, peer_bytes, peer_key};
use cuzk_curve::{Bytes, EncodedPoints, G1, G2};
use cuzk_params::{
    DevelopmentMark, Expected, KeyFileKind, KeyStore, Parameters, ParamsError, ParamsWriter,
    PointCheck, Section, VerifyingKey, digest_bytes, digest_file, write_verifying_key,
};

/// Writes `key` again, a part of its points as points and the rest encoded.
fn rewrite(path: &Path, key: &common::PeerKey) -> Result<(), ParamsError> {
    let mut writer = ParamsWriter::create(path, &ours_of_peer_vk(&key.vk))?;
    let sections = [
        (Section::H, &key.h),
        (Section::L, &key.l),
        (Section::A, &key.a),
        (Section::BG1, &key.b_g1),
    ];
    for (name, points) in sections {
        let (start, end) = points.split_at(points.len() / 2);
        let mut section = writer.section::<G1>(name)?;
        section.write(start)?;
        section.write_encoded(&EncodedPoints::encode(end))?;
        section.finish()?;
    }
    let mut section = writer.section::<G2>(Section::BG2)?;
    section.write(&key.b_g2)?;
    section.finish()?;
    writer.finish()
}

#[test]
fn bellpersons_keys_round_trip() {
    let folder = tempfile::tempdir().expect("a folder");
    for squarings in [1, 2, 6, 7, 13, 14] {
        let peer = peer_key(squarings, 1);
        let bytes = peer_bytes(&peer);
        let path = folder.path().join(format!("{squarings}.params"));
        rewrite(&path, &peer).expect("written");
        assert_eq!(fs::read(&path).expect("read"), bytes, "{squarings}");

        let key = Parameters::open(&path).expect("opened");
        assert_eq!(*key.vk(), ours_of_peer_vk(&peer.vk));
        assert_eq!(key.trailing_bytes(), 0);
        assert_eq!(
            **key.h().bytes(),
            **EncodedPoints::<G1>::encode(&peer.h).bytes()
        );
        assert_eq!(
            **key.l().bytes(),
            **EncodedPoints::<G1>::encode(&peer.l).bytes()
        );
        assert_eq!(
            **key.a().bytes(),
            **EncodedPoints::<G1>::encode(&peer.a).bytes()
        );
        assert_eq!(
            **key.b_g1().bytes(),
            **EncodedPoints::<G1>::encode(&peer.b_g1).bytes()
        );
        assert_eq!(
            **key.b_g2().bytes(),
            **EncodedPoints::<G2>::encode(&peer.b_g2).bytes()
        );
        let mut last = (0, 0);
        for level in [PointCheck::Curve, PointCheck::Subgroup] {
            key.check_points(level, &mut |done, total| last = (done, total))
                .expect("good points");
        }
        assert_eq!(last.0, last.1);
    }
}

#[test]
fn verifying_keys_round_trip() {
    let folder = tempfile::tempdir().expect("a folder");
    let peer = peer_key(5, 2);
    let mut bytes = Vec::new();
    peer.vk.write(&mut bytes).expect("written to memory");
    let ours = ours_of_peer_vk(&peer.vk);
    assert_eq!(ours.to_bytes(), bytes);
    assert_eq!(ours.digest(), digest_bytes(&bytes));
    let path = folder.path().join("a.vk");
    write_verifying_key(&path, &ours).expect("written");
    assert_eq!(VerifyingKey::read(&path).expect("read"), ours);
    assert_eq!(
        digest_file(&path, &mut |_, _| {}).expect("read"),
        ours.digest()
    );
    bytes.push(0);
    let error = VerifyingKey::from_bytes(Path::new("a.vk"), &Bytes::from(bytes));
    assert!(matches!(
        error,
        Err(ParamsError::TrailingBytes { found: 1, .. })
    ));
}

#[test]
fn counts_are_held_against_a_circuit() {
    let n = 9;
    let key = open(peer_bytes(&peer_key(n, 3))).expect("opened");
    let expected = Expected {
        inputs: 2,
        aux: n,
        domain: 16,
        a_aux: n,
        b_inputs: 0,
        b_aux: n,
    };
    key.check_shape(&expected).expect("the circuit's key");
    let wrong = [
        (
            Section::Ic,
            Expected {
                inputs: 3,
                ..expected
            },
        ),
        (
            Section::H,
            Expected {
                domain: 32,
                ..expected
            },
        ),
        (
            Section::L,
            Expected {
                aux: n + 1,
                ..expected
            },
        ),
        (
            Section::A,
            Expected {
                a_aux: n - 1,
                ..expected
            },
        ),
        (
            Section::BG1,
            Expected {
                b_inputs: 1,
                ..expected
            },
        ),
    ];
    for (wanted_section, wrong) in wrong {
        match key.check_shape(&wrong) {
            Err(ParamsError::Count {
                section,
                wanted,
                found,
                ..
            }) => {
                assert_eq!(section, wanted_section);
                assert_ne!(wanted, found);
            }
            other => panic!("{wanted_section}: {other:?}"),
        }
    }
}

#[test]
fn a_store_finds_keys_and_holds_the_two_files_against_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = KeyStore::new(folder.path());
    let path = |kind| store.path("v28-test", kind).expect("a plain name");
    let (params, vk) = (path(KeyFileKind::Params), path(KeyFileKind::VerifyingKey));
    let missing = |result: Result<Parameters, ParamsError>| match result {
        Err(ParamsError::Missing { file }) => file,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing(store.parameters("v28-test")), params);
    let message = store
        .parameters("v28-test")
        .expect_err("missing")
        .to_string();
    assert!(
        message.contains("v28-test.params") && message.contains("cuzk keygen"),
        "{message}"
    );

    let peer = peer_key(4, 4);
    fs::write(&params, peer_bytes(&peer)).expect("written");
    assert_eq!(missing(store.parameters("v28-test")), vk);
    assert!(!store.contains("v28-test"));
    write_verifying_key(&vk, &ours_of_peer_vk(&peer.vk)).expect("written");
    assert!(store.contains("v28-test"));
    assert_eq!(store.parameters("v28-test").expect("opened").l().len(), 4);

    // The same circuit's key from another setup.
    write_verifying_key(&vk, &ours_of_peer_vk(&peer_key(4, 5).vk)).expect("written");
    let error = store.parameters("v28-test").expect_err("another setup");
    assert!(matches!(error, ParamsError::VerifyingKeyDiffers { vk: found, .. } if found == vk));

    for name in ["", ".", "..", "a/b", "/a", "a/"] {
        let error = store.path(name, KeyFileKind::Params).expect_err(name);
        assert!(matches!(error, ParamsError::Name { .. }), "{name}");
    }
}

#[test]
fn development_keys_carry_a_mark() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = KeyStore::new(folder.path());
    let params = store
        .path("key", KeyFileKind::Params)
        .expect("a plain name");
    assert_eq!(store.development_mark("key").expect("no mark"), None);
    let mark = DevelopmentMark::new("cuzk 0.1.0", "00ff");
    mark.write(&params).expect("written");
    assert_eq!(
        store.development_mark("key").expect("a mark"),
        Some(mark.clone())
    );
    let vk = store
        .path("key", KeyFileKind::VerifyingKey)
        .expect("a plain name");
    assert_eq!(DevelopmentMark::read(&vk).expect("the same"), Some(mark));
    let path = DevelopmentMark::path(&params);
    let json = fs::read_to_string(&path).expect("read");
    for (from, to) in [("true", "false"), ("\"development\"", "\"production\"")] {
        fs::write(&path, json.replace(from, to)).expect("written");
        let error = store.development_mark("key").expect_err(to);
        assert!(matches!(error, ParamsError::Mark { .. }), "{error}");
    }
    fs::write(&path, &json[..9]).expect("written");
    let error = store.development_mark("key").expect_err("cut");
    assert!(matches!(error, ParamsError::Json { .. }));
}

#[test]
fn sections_are_written_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.params");
    let vk = ours_of_peer_vk(&peer_key(1, 6).vk);
    let mut writer = ParamsWriter::create(&path, &vk).expect("created");
    let order = |result: Result<(), ParamsError>| {
        assert!(
            matches!(result, Err(ParamsError::SectionOrder { .. })),
            "{result:?}"
        );
    };
    order(writer.section::<G1>(Section::L).map(drop));
    order(writer.section::<G2>(Section::H).map(drop));
    writer
        .section::<G1>(Section::H)
        .and_then(|h| h.finish())
        .expect("in order");
    order(writer.finish());
    let left = fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "an unfinished file leaves nothing");
}
