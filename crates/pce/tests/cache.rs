//! The cache on disk.

use cuzk_pce::{Cache, Pce, PceError};
use cuzk_r1cs::ShapeHash;
use cuzk_testing::circuits::Cubic;

#[test]
fn what_was_put_is_found_by_hash_and_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().join("new"));
    let pce = Pce::record(Cubic { x: None }).unwrap();
    assert!(cache.get(pce.hash).unwrap().is_none());
    assert!(cache.find("cubic").unwrap().is_none());
    let path = cache.put("cubic", &pce).unwrap();
    assert_eq!(path, cache.path(pce.hash));
    assert_eq!(cache.get(pce.hash).unwrap().unwrap().hash, pce.hash);
    assert_eq!(cache.find("cubic").unwrap().unwrap().hash, pce.hash);
    assert!(cache.find("other").unwrap().is_none());
    let left: Vec<_> = std::fs::read_dir(cache.folder()).unwrap().collect();
    assert_eq!(left.len(), 2, "the file, its name, and no temporary files");
}

#[test]
fn notes_lie_beside_their_shape() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let (hash, other) = (ShapeHash([1; 32]), ShapeHash([2; 32]));
    assert_eq!(cache.note(hash, "topic").unwrap(), None);
    for text in ["first", "second"] {
        cache.put_note(hash, "topic", text).unwrap();
        let found = cache.note(hash, "topic").unwrap();
        assert_eq!(found.as_deref(), Some(text));
    }
    assert_eq!(cache.note(hash, "another").unwrap(), None);
    assert_eq!(cache.note(other, "topic").unwrap(), None);
    let missing = Cache::new(folder.path().join("missing"));
    assert!(missing.put_note(hash, "topic", "text").is_err());
}

#[test]
fn a_file_under_another_hash_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let pce = Pce::record(Cubic { x: None }).unwrap();
    let wrong = ShapeHash([7; 32]);
    pce.write(&cache.path(wrong)).unwrap();
    let error = cache.get(wrong).unwrap_err();
    assert!(
        matches!(error, PceError::OtherShape { wanted, .. } if wanted == wrong),
        "{error}"
    );
}

#[test]
fn a_damaged_file_is_refused_and_names_the_section() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let pce = Pce::record(Cubic { x: None }).unwrap();
    let path = cache.put("cubic", &pce).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    std::fs::write(&path, flipped).unwrap();
    let error = cache.find("cubic").unwrap_err();
    assert!(
        matches!(
            error,
            PceError::Checksum {
                section: "aux density of B",
                ..
            }
        ),
        "{error}"
    );
    std::fs::write(&path, b"not a PCE").unwrap();
    assert!(matches!(
        cache.find("cubic").unwrap_err(),
        PceError::Format { .. }
    ));
    std::fs::write(&path, &whole[..100]).unwrap();
    assert!(matches!(
        cache.find("cubic").unwrap_err(),
        PceError::Truncated { .. }
    ));
}

#[test]
fn a_file_of_another_version_is_refused_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cubic.pce");
    Pce::record(Cubic { x: None })
        .unwrap()
        .write(&path)
        .unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] -= 1;
    std::fs::write(&path, bytes).unwrap();
    let error = Pce::open(&path).unwrap_err();
    assert!(matches!(error, PceError::Format { .. }), "{error}");
    assert!(error.to_string().contains("compile the circuit again"));
}
