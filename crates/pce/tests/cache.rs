//! The cache on disk.

use std::path::Path;

use cuzk_curve::{Bytes, Fr};
use cuzk_pce::{Cache, FileFault, Pce, PceError};
use cuzk_r1cs::ShapeHash;
use cuzk_testing::circuits::Cubic;
use ff::Field;
use xxhash_rust::xxh3::xxh3_64;

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

/// The bytes of a file with another coefficient, its checksums made right.
fn with_coefficient(file: &[u8], index: usize, value: Fr) -> Vec<u8> {
    // The section table begins behind the magic, two numbers, three counts and the hash; the coefficients are the first.
    let (table, entry) = (72, 24);
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let section = number(table)..number(table) + number(table + 8);
    let mut file = file.to_vec();
    let at = section.start + 32 * index;
    file[at..at + 32].copy_from_slice(&value.to_bytes_le());
    let checksum = xxh3_64(&file[section]).to_le_bytes();
    file[table + 16..table + 24].copy_from_slice(&checksum);
    let end = table + 9 * entry;
    let checksum = xxh3_64(&file[..end]).to_le_bytes();
    file[end..end + 8].copy_from_slice(&checksum);
    file
}

/// Evaluations take the first two coefficients for 1 and -1, in some places without reading them.
#[test]
fn coefficients_are_what_their_index_says() {
    let pce = Pce::record(Cubic { x: None }).unwrap();
    let good = pce.to_bytes().unwrap();
    let open = |bytes| Pce::from_bytes(Path::new("crafted.pce"), Bytes::new(bytes));
    assert!(pce.coefficients.len() > 2);
    for (index, &value) in pce.coefficients.iter().enumerate() {
        assert!(open(with_coefficient(&good, index, value)).is_ok());
    }
    for (index, value) in [
        (0, -Fr::ONE),
        (0, Fr::ZERO),
        (1, Fr::ONE),
        (1, Fr::from(7)),
        (2, Fr::ZERO),
    ] {
        match open(with_coefficient(&good, index, value)) {
            Err(PceError::File {
                fault: FileFault::PinnedCoefficient { index: named, .. },
                ..
            }) => assert_eq!(named, index),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("opened with {value:?} as coefficient {index}"),
        }
    }
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
