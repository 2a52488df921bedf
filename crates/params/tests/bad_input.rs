//! Damaged and hostile keys: each a typed error that names the place.

mod common;

use std::path::Path;

use common::{open, ours_of_peer_vk, peer_bytes, peer_key};
use cuzk_curve::encoding::{Encoding, EncodingError};
use cuzk_curve::{Bytes, G1, G2, Group};
use cuzk_params::{ParamsError, PointCheck, Section, VerifyingKey};
use proptest::prelude::*;

/// Squarings of the key under test: 2 inputs, 40 aux, a domain of 64.
const SQUARINGS: usize = 40;

struct Key {
    bytes: Vec<u8>,
    /// Where each section's count stands, from ic to b_g2.
    counts: Vec<(Section, usize)>,
}

fn key() -> Key {
    let bytes = peer_bytes(&peer_key(SQUARINGS, 11));
    let mut at = VerifyingKey::FIXED_BYTES;
    let sections = [&[Section::Ic], &Section::QUERIES[..]].concat();
    let counts = sections.into_iter().map(|section| {
        let here = at;
        let count = u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let point = if section == Section::BG2 { 192 } else { 96 };
        at += 4 + count as usize * point;
        (section, here)
    });
    let counts = counts.collect();
    assert_eq!(at, bytes.len());
    Key { bytes, counts }
}

impl Key {
    fn count_at(&self, wanted: Section) -> usize {
        self.counts
            .iter()
            .find(|(section, _)| *section == wanted)
            .expect("listed")
            .1
    }

    fn with(&self, at: usize, replacement: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[at..at + replacement.len()].copy_from_slice(replacement);
        bytes
    }

    fn with_count(&self, section: Section, count: u32) -> Vec<u8> {
        self.with(self.count_at(section), &count.to_be_bytes())
    }

    fn with_point(&self, section: Section, index: usize, point: &[u8]) -> Vec<u8> {
        self.with(self.count_at(section) + 4 + index * point.len(), point)
    }
}

#[test]
fn cut_files_name_section_and_offset() {
    let key = key();
    let expected = [
        (0, Section::AlphaG1, 0, 96, 0),
        (1, Section::AlphaG1, 0, 96, 1),
        (863, Section::DeltaG2, 672, 192, 191),
        (864, Section::Ic, 864, 4, 0),
    ];
    for (len, section, offset, wanted, found) in expected {
        match open(key.bytes[..len].to_vec()) {
            Err(ParamsError::Truncated {
                section: s,
                offset: o,
                wanted: w,
                found: f,
                ..
            }) => assert_eq!((s, o, w, f), (section, offset, wanted, found), "{len}"),
            other => panic!("{len}: {other:?}"),
        }
    }
    let middle_of_h = key.count_at(Section::H) + 4 + 96 * 7 + 50;
    let past_end = [
        (868, Section::Ic, 2, 0),
        (middle_of_h, Section::H, 63, 7),
        (key.bytes.len() - 1, Section::BG2, SQUARINGS, SQUARINGS - 1),
    ];
    for (len, section, wanted, found) in past_end {
        match open(key.bytes[..len].to_vec()) {
            Err(ParamsError::CountPastEnd {
                section: s,
                wanted: w,
                found: f,
                ..
            }) => assert_eq!((s, w, f), (section, wanted, found), "{len}"),
            other => panic!("{len}: {other:?}"),
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let key = key();
    let near_counts = key.counts.iter().flat_map(|(_, at)| at - 1..at + 6);
    for len in near_counts.chain((0..key.bytes.len()).step_by(101)) {
        assert!(open(key.bytes[..len].to_vec()).is_err(), "{len}");
    }
}

#[test]
fn counts_that_no_file_has_room_for() {
    let key = key();
    for (section, _) in &key.counts {
        match open(key.with_count(*section, u32::MAX)) {
            Err(ParamsError::CountPastEnd {
                section: found,
                wanted,
                ..
            }) => {
                assert_eq!((found, wanted), (*section, u32::MAX as usize));
            }
            other => panic!("{section}: {other:?}"),
        }
    }
}

/// Which error it is, the section, and its two numbers: wanted and found, or a point's index and 0.
fn described(error: ParamsError) -> (&'static str, Section, usize, usize) {
    match error {
        ParamsError::Empty { section, .. } => ("empty", section, 0, 0),
        ParamsError::Count {
            section,
            wanted,
            found,
            ..
        } => ("count", section, wanted, found),
        ParamsError::CountPastEnd {
            section,
            wanted,
            found,
            ..
        } => ("past the end", section, wanted, found),
        ParamsError::Point {
            section,
            index,
            fault: EncodingError::Coordinate { .. } | EncodingError::OffCurve,
            ..
        } => ("point", section, index, 0),
        other => panic!("{other}"),
    }
}

#[test]
fn wrong_counts() {
    let key = key();
    for (index, (section, at)) in key.counts.iter().enumerate() {
        let count = u32::from_be_bytes(key.bytes[*at..at + 4].try_into().expect("4 bytes"));
        for wrong in [0, count + 1, count - 1] {
            let error = open(key.with_count(*section, wrong)).expect_err("refused");
            let found = described(error);
            let expected = match section {
                Section::Ic if wrong == 0 => ("empty", Section::Ic, 0, 0),
                // h's count is taken for the beginning of a point.
                Section::Ic if wrong > count => ("point", Section::Ic, count as usize, 0),
                Section::BG2 if wrong > count => {
                    ("past the end", Section::BG2, SQUARINGS + 1, SQUARINGS)
                }
                Section::BG2 => ("count", Section::BG2, SQUARINGS, wrong as usize),
                // A part of a point is taken for the next section's count, which no room is left for.
                _ => ("past the end", key.counts[index + 1].0, found.2, found.3),
            };
            assert_eq!(found, expected, "{section}: {wrong}");
        }
    }
}

#[test]
fn trailing_bytes_are_counted() {
    let mut bytes = key().bytes;
    bytes.extend_from_slice(&[7; 1000]);
    assert_eq!(open(bytes).expect("opened").trailing_bytes(), 1000);
}

/// A point on the curve outside the subgroup, from the first x that has one.
fn outside<G: Encoding>() -> Vec<u8> {
    let point = (1..=255).find_map(|x| {
        let mut bytes = vec![0; G::COMPRESSED_BYTES];
        bytes[0] = 0x80;
        bytes[G::COMPRESSED_BYTES - 1] = x;
        G::read_compressed_on_curve(&bytes)
            .ok()
            .filter(|point| !G::in_subgroup(point))
    });
    let mut bytes = Vec::new();
    G::write_uncompressed(&point.expect("half of all x have a point"), &mut bytes);
    bytes
}

fn off_curve<G: Group>(good: &[u8]) -> Vec<u8> {
    let mut bytes = good[..G::UNCOMPRESSED_BYTES].to_vec();
    bytes[G::UNCOMPRESSED_BYTES - 1] ^= 1;
    bytes
}

fn infinity<G: Group>() -> Vec<u8> {
    let mut bytes = vec![0; G::UNCOMPRESSED_BYTES];
    bytes[0] = 0x40;
    bytes
}

#[test]
fn bad_points_are_named() {
    let key = key();
    for section in Section::QUERIES {
        let at = key.count_at(section) + 4;
        let points = if section == Section::BG2 {
            [
                off_curve::<G2>(&key.bytes[at..]),
                outside::<G2>(),
                infinity::<G2>(),
            ]
        } else {
            [
                off_curve::<G1>(&key.bytes[at..]),
                outside::<G1>(),
                infinity::<G1>(),
            ]
        };
        let faults = [
            EncodingError::OffCurve,
            EncodingError::OutsideSubgroup,
            EncodingError::Infinity,
        ];
        for (point, fault) in points.iter().zip(faults) {
            for index in [0, 1, SQUARINGS - 1] {
                let damaged = open(key.with_point(section, index, point)).expect("opened");
                match damaged.check_points(PointCheck::Subgroup, &mut |_, _| {}) {
                    Err(ParamsError::Point {
                        section: s,
                        index: i,
                        fault: f,
                        ..
                    }) => {
                        assert_eq!((s, i, f), (section, index, fault));
                    }
                    other => panic!("{section} {index} {fault}: {other:?}"),
                }
                let curve = damaged.check_points(PointCheck::Curve, &mut |_, _| {});
                assert_eq!(curve.is_ok(), fault == EncodingError::OutsideSubgroup);
            }
        }
    }
}

#[test]
fn the_first_bad_point_of_the_file_is_named() {
    let mut key = key();
    key.bytes = key.with_point(Section::L, 9, &infinity::<G1>());
    key.bytes = key.with_point(Section::L, 5, &outside::<G1>());
    key.bytes = key.with_point(Section::A, 0, &infinity::<G1>());
    let damaged = open(key.bytes).expect("opened");
    let error = damaged
        .check_points(PointCheck::Subgroup, &mut |_, _| {})
        .expect_err("bad points");
    let message = error.to_string();
    assert_eq!(
        message,
        "test.params: l, point 5: on the curve but outside the subgroup of prime order"
    );
}

#[test]
fn the_verifying_key_inside_is_always_checked() {
    let key = key();
    let elements = [
        (Section::AlphaG1, 0, 96),
        (Section::BetaG1, 96, 96),
        (Section::BetaG2, 192, 192),
        (Section::GammaG2, 384, 192),
        (Section::DeltaG1, 576, 96),
        (Section::DeltaG2, 672, 192),
        (Section::Ic, 868, 96),
    ];
    for (section, at, bytes) in elements {
        let (points, faults) = (
            if bytes == 96 {
                [
                    off_curve::<G1>(&key.bytes[at..]),
                    outside::<G1>(),
                    infinity::<G1>(),
                ]
            } else {
                [
                    off_curve::<G2>(&key.bytes[at..]),
                    outside::<G2>(),
                    infinity::<G2>(),
                ]
            },
            [
                EncodingError::OffCurve,
                EncodingError::OutsideSubgroup,
                EncodingError::Infinity,
            ],
        );
        for (point, fault) in points.iter().zip(faults) {
            match open(key.with(at, point)) {
                Err(ParamsError::Point {
                    section: s,
                    fault: f,
                    ..
                }) => {
                    assert_eq!((s, f), (section, fault));
                }
                other => panic!("{section} {fault}: {other:?}"),
            }
        }
    }
    let gamma = key.bytes[384..576].to_vec();
    let equal = open(key.with(672, &gamma));
    assert!(
        matches!(equal, Err(ParamsError::GammaEqualsDelta { .. })),
        "{equal:?}"
    );
    let vk = key.with(672, &gamma)[..868 + 2 * 96].to_vec();
    let equal = VerifyingKey::from_bytes(Path::new("test.vk"), &Bytes::from(vk));
    assert!(
        matches!(equal, Err(ParamsError::GammaEqualsDelta { .. })),
        "{equal:?}"
    );
}

#[test]
fn a_key_of_the_same_shape_from_another_setup() {
    let key = open(key().bytes).expect("opened");
    let other = ours_of_peer_vk(&peer_key(SQUARINGS, 12).vk);
    let error = key.check_verifying_key(&other, Path::new("other.vk"));
    assert!(matches!(
        error,
        Err(ParamsError::VerifyingKeyDiffers { .. })
    ));
    key.check_verifying_key(&key.vk().clone(), Path::new("own.vk"))
        .expect("its own");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn mutations_never_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        near in any::<bool>(),
        cut in any::<prop::sample::Index>(),
        keep in any::<bool>(),
    ) {
        static KEY: std::sync::LazyLock<Key> = std::sync::LazyLock::new(key);
        let mut bytes = KEY.bytes.clone();
        for (at, value) in edits {
            // Half of the cases strike the counts, which few random places would.
            let at = if near {
                KEY.counts[at.index(KEY.counts.len())].1 + at.index(4)
            } else {
                at.index(bytes.len())
            };
            bytes[at] = value;
        }
        if !keep {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        if let Ok(parameters) = open(bytes.clone()) {
            let points = parameters.h().len() + parameters.l().len() + parameters.a().len();
            prop_assert!(points * 96 <= bytes.len());
            let unchanged = bytes == KEY.bytes;
            let good = parameters.check_points(PointCheck::Subgroup, &mut |_, _| {}).is_ok();
            prop_assert!(good || !unchanged);
        }
    }

    #[test]
    fn random_bytes_are_no_key(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(open(bytes.clone()).is_err());
        let vk = VerifyingKey::from_bytes(Path::new("random.vk"), &Bytes::from(bytes));
        prop_assert!(vk.is_err());
    }
}
