//! The cache on disk.

use cuzk_pce::{Cache, FileFault, Pce, PceError};
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
            PceError::File {
                path: ref named,
                fault: FileFault::Checksum {
                    section: "aux density of B",
                    ..
                }
            } if *named == path
        ),
        "{error}"
    );
    let named = error.to_string();
    assert!(
        named.starts_with(&path.display().to_string()),
        "the message begins with the file: {named}"
    );
    let fault = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        match cache.find("cubic").unwrap_err() {
            PceError::File { path: named, fault } if named == path => fault,
            other => panic!("{other}"),
        }
    };
    let magic = fault(b"not a PCE");
    assert!(
        matches!(&magic, FileFault::Magic { found } if found == b"not a PC"),
        "{magic}"
    );
    let cut = fault(&whole[..100]);
    assert!(
        matches!(
            cut,
            FileFault::Truncated {
                section: "the header",
                wanted: 296,
                found: 100
            }
        ),
        "{cut}"
    );
    let mut more = whole.clone();
    more[12] += 1;
    let sections = fault(&more);
    assert!(
        matches!(
            sections,
            FileFault::Sections {
                wanted: 9,
                found: 10
            }
        ),
        "{sections}"
    );
}

#[test]
fn a_name_without_a_hash_names_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    cache
        .put("cubic", &Pce::record(Cubic { x: None }).unwrap())
        .unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let name = files
        .find(|file| file.extension().unwrap() == "shape")
        .unwrap();
    std::fs::write(&name, "nothing\n").unwrap();
    match cache.find("cubic").unwrap_err() {
        PceError::File {
            path,
            fault: FileFault::Hash { found },
        } => {
            assert_eq!((path, found), (name, "nothing".to_owned()));
        }
        other => panic!("{other}"),
    }
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
    let PceError::File { path: named, fault } = &error else {
        panic!("{error}");
    };
    assert_eq!(*named, path);
    let wanted = cuzk_pce::VERSION;
    let older = wanted - 1;
    assert!(
        matches!(*fault, FileFault::Version { wanted: w, found } if (w, found) == (wanted, older)),
        "{error}"
    );
    assert!(error.to_string().contains("compile the circuit again"));
}
