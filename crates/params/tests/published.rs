//! Names and digests of the published keys, and Zcash's Sapling keys.

use std::fs;
use std::io::Write;
use std::path::Path;

use cuzk_curve::Bytes;
use cuzk_params::{
    KeyFileKind, KeyName, ParameterFiles, Parameters, ParamsError, PointCheck, digest_bytes,
};

/// A file of the vectors' folder, or nothing and a message where no folder is named.
fn vectors(name: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("CUZK_TEST_VECTORS") else {
        // Not through `println!`, which the test harness keeps to itself.
        let note = format!("not tested: {name}, since CUZK_TEST_VECTORS is not set\n");
        std::io::stdout()
            .write_all(note.as_bytes())
            .expect("written");
        return None;
    };
    let path = Path::new(&folder).join(name);
    let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(bytes)
}

#[test]
fn parameters_json_parses() {
    let Some(json) = vectors("filecoin/parameters.json") else {
        return;
    };
    let files = ParameterFiles::parse(Path::new("parameters.json"), &json).expect("published");
    assert_eq!(files.len(), 44);
    for (name, _) in files.iter() {
        assert_eq!(name.version, 28);
        for kind in [KeyFileKind::Params, KeyFileKind::VerifyingKey] {
            assert!(files.get(&name.with_kind(kind)).is_some(), "{name}");
        }
        assert_eq!(
            name.to_string().parse::<KeyName>().expect("its own text"),
            *name
        );
    }
    let sizes: std::collections::BTreeSet<u64> = files.iter().map(|(_, f)| f.sector_size).collect();
    assert_eq!(
        sizes.into_iter().collect::<Vec<_>>(),
        [1 << 11, 1 << 23, 1 << 29, 1 << 35, 1 << 36]
    );
}

const ID: &str = "032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f";

#[test]
fn names_that_are_none() {
    let good = format!("v28-stacked-{ID}.params");
    assert!(good.parse::<KeyName>().is_ok());
    let bad = [
        String::new(),
        ".params".to_owned(),
        good.replace(".params", ""),
        good.replace(".params", ".srs"),
        good.replace(".params", "params"),
        good.replace("v28", "28"),
        good.replace("v28", "v"),
        good.replace("v28", "v+28"),
        good.replace("v28", "v99999999999"),
        good.replace("-stacked", "-"),
        good.replace("-stacked", ""),
        good.replace("stacked", "st/cked"),
        good.replace("stacked", "../x"),
        good.replace(ID, &ID.to_uppercase()),
        good.replace(ID, &ID[1..]),
        good.replace(ID, &ID.replace('a', "g")),
    ];
    for name in bad {
        let error = name.parse::<KeyName>().expect_err(&name);
        assert!(matches!(error, ParamsError::Name { .. }), "{name}");
    }
}

fn manifest(name: &str, digest: &str) -> String {
    format!(r#"{{"{name}": {{"cid": "Qm", "digest": "{digest}", "sector_size": 2048}}}}"#)
}

#[test]
fn digests_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = format!("v28-test-{ID}.vk");
    let path = folder.path().join(&name);
    let content = vec![7; 3_000_000];
    fs::write(&path, &content).expect("written");
    let parse = |json: String| ParameterFiles::parse(Path::new("p.json"), json.as_bytes());

    let digest = digest_bytes(&content);
    let files = parse(manifest(&name, &digest.to_string())).expect("parsed");
    let mut last = (0, 0);
    files
        .verify(&path, &mut |done, total| last = (done, total))
        .expect("the same bytes");
    assert_eq!(last, (3_000_000, 3_000_000));

    fs::write(&path, &content[1..]).expect("written");
    let error = files
        .verify(&path, &mut |_, _| {})
        .expect_err("other bytes");
    assert!(matches!(error, ParamsError::Digest { wanted, .. } if wanted == digest));
    fs::remove_file(&path).expect("removed");
    let error = files.verify(&path, &mut |_, _| {}).expect_err("no file");
    assert!(matches!(error, ParamsError::Missing { .. }));
    let error = files
        .verify(&path.with_extension("params"), &mut |_, _| {})
        .expect_err("unlisted");
    assert!(matches!(error, ParamsError::Unpublished { .. }));

    for digest in [
        "",
        "00",
        "zz7263a93ad84b35cebd8ef8cd0bf9e6",
        &"0".repeat(64),
    ] {
        let error = parse(manifest(&name, digest)).expect_err(digest);
        assert!(
            matches!(error, ParamsError::DigestFormat { .. }),
            "{digest}"
        );
    }
    let error = parse(manifest("x", "00")).expect_err("no name");
    assert!(matches!(
        error,
        ParamsError::DigestFormat { .. } | ParamsError::Name { .. }
    ));
    let error = parse("[".to_owned()).expect_err("no JSON");
    assert!(matches!(error, ParamsError::Json { .. }));
}

/// BLAKE2b-512 of "abc" is in RFC 7693, appendix A.
#[test]
fn the_digest_is_the_start_of_blake2b() {
    assert_eq!(
        digest_bytes(b"abc").to_string(),
        "ba80a53f981c4d0d6a2797b69f12f6e9"
    );
}

fn sapling(name: &str, bytes: Vec<u8>, sizes: (usize, [usize; 5])) {
    let key = Parameters::from_bytes(Path::new(name), &Bytes::from(bytes)).expect("opened");
    let found = [
        key.h().len(),
        key.l().len(),
        key.a().len(),
        key.b_g1().len(),
        key.b_g2().len(),
    ];
    assert_eq!((key.vk().ic.len(), found), sizes, "{name}");
    assert_eq!(key.trailing_bytes(), 52_836);
    key.check_points(PointCheck::Subgroup, &mut |_, _| {})
        .expect("the ceremony's points");
}

#[test]
fn saplings_keys_pass_all_checks() {
    let spend = [
        wagyu_zcash_parameters_1::load_partial_parameters(),
        wagyu_zcash_parameters_2::load_partial_parameters(),
        wagyu_zcash_parameters_3::load_partial_parameters(),
        wagyu_zcash_parameters_4::load_partial_parameters(),
        wagyu_zcash_parameters_5::load_partial_parameters(),
    ];
    sapling(
        "spend",
        spend.concat(),
        (8, [131_071, 98_638, 85_390, 61_300, 61_300]),
    );
    let output = wagyu_zcash_parameters_6::load_partial_parameters();
    sapling("output", output, (6, [8_191, 7_821, 6_298, 4_850, 4_850]));
}
