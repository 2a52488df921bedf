//! Tests of the byte formats.

use std::io::Write;
use std::path::Path;

use ff::Field;
use group::{Curve, Group as _};
use rand_core::{RngCore, SeedableRng};

use super::*;
use crate::{Fr, G1Projective, G2Projective};

/// A small deterministic generator, so that a failure can be repeated.
struct Rng(u64);

impl SeedableRng for Rng {
    type Seed = [u8; 8];
    fn from_seed(seed: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(seed))
    }
}

impl RngCore for Rng {
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn fill_bytes(&mut self, dest: &mut [u8]) {
        for chunk in dest.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(dest);
        Ok(())
    }
}

/// A file of the vectors' folder, or nothing and a message where no folder is named.
fn vectors(name: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("CUZK_TEST_VECTORS") else {
        // Not through `println!`, which the test harness keeps to itself.
        let note = format!("not tested: {name}, since CUZK_TEST_VECTORS is not set\n");
        std::io::stdout().write_all(note.as_bytes()).unwrap();
        return None;
    };
    let path = Path::new(&folder).join("points").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(bytes)
}

/// The files hold the multiples 0, 1, 2, … of the generator.
fn check_vectors<G: Encoding>(uncompressed: &str, compressed: &str) {
    let (Some(plain), Some(packed)) = (vectors(uncompressed), vectors(compressed)) else {
        return;
    };
    let mut expected = G::Projective::identity();
    let plain = plain.chunks_exact(G::UNCOMPRESSED_BYTES);
    let packed = packed.chunks_exact(G::COMPRESSED_BYTES);
    assert_eq!((plain.len(), packed.len()), (1000, 1000));
    for (plain, packed) in plain.zip(packed) {
        let point = expected.to_affine();
        assert!(G::read_uncompressed(plain) == Ok(point));
        assert!(G::read_compressed(packed) == Ok(point));
        let (mut a, mut b) = (Vec::new(), Vec::new());
        G::write_uncompressed(&point, &mut a);
        G::write_compressed(&point, &mut b);
        assert_eq!((a.as_slice(), b.as_slice()), (plain, packed));
        expected += G::Projective::generator();
    }
}

#[test]
fn published_vectors() {
    check_vectors::<G1>(
        "g1_uncompressed_valid_test_vectors.dat",
        "g1_compressed_valid_test_vectors.dat",
    );
    check_vectors::<G2>(
        "g2_uncompressed_valid_test_vectors.dat",
        "g2_compressed_valid_test_vectors.dat",
    );
}

fn encoded<G: Encoding>(point: &G::Affine) -> (Vec<u8>, Vec<u8>) {
    let (mut plain, mut packed) = (Vec::new(), Vec::new());
    G::write_uncompressed(point, &mut plain);
    G::write_compressed(point, &mut packed);
    (plain, packed)
}

fn each_step_is_named<G: Encoding>(random: G::Affine) {
    let (plain, packed) = encoded::<G>(&random);
    let edit = |bytes: &[u8], at: usize, value: u8| {
        let mut bytes = bytes.to_vec();
        bytes[at] = value;
        bytes
    };
    for len in [0, 1, plain.len() - 1] {
        let length = |wanted, found| Some(EncodingError::Length { wanted, found });
        assert_eq!(
            G::read_on_curve(&plain[..len]).err(),
            length(plain.len(), len)
        );
    }
    assert!(matches!(
        G::read_compressed(&plain).err(),
        Some(EncodingError::Length { .. })
    ));
    for flags in [0x20, 0x60, 0x80, 0xa0, 0xc0, 0xe0] {
        let bytes = edit(&plain, 0, plain[0] | flags);
        assert_eq!(
            G::read_on_curve(&bytes).err(),
            Some(EncodingError::Flags { found: flags })
        );
    }
    for flags in [0x00, 0x20, 0x40, 0x60, 0xe0] {
        let bytes = edit(&packed, 0, packed[0] & 0x1f | flags);
        assert_eq!(
            G::read_compressed(&bytes).err(),
            Some(EncodingError::Flags { found: flags })
        );
    }
    let infinity = |len: usize, flags: u8| edit(&vec![0; len], 0, flags);
    assert!(G::read_uncompressed(&infinity(plain.len(), 0x40)) == Ok(G::Affine::identity()));
    assert!(G::read_compressed(&infinity(packed.len(), 0xc0)) == Ok(G::Affine::identity()));
    let dirty = edit(&infinity(plain.len(), 0x40), plain.len() - 1, 1);
    assert_eq!(
        G::read_on_curve(&dirty).err(),
        Some(EncodingError::InfinityBits)
    );
    let dirty = edit(&infinity(plain.len(), 0x41), 0, 0x41);
    assert_eq!(
        G::read_on_curve(&dirty).err(),
        Some(EncodingError::InfinityBits)
    );
    for index in 0..plain.len() / 48 {
        let mut bytes = plain.clone();
        bytes[index * 48..][..48].copy_from_slice(&MODULUS);
        assert_eq!(
            G::read_on_curve(&bytes).err(),
            Some(EncodingError::Coordinate { index })
        );
    }
    let off = edit(&plain, plain.len() - 1, plain[plain.len() - 1] ^ 1);
    assert_eq!(G::read_on_curve(&off).err(), Some(EncodingError::OffCurve));
    assert_eq!(
        G::read_uncompressed(&off).err(),
        Some(EncodingError::OffCurve)
    );
    assert!(not_infinity(random).is_ok());
    assert_eq!(
        not_infinity(G::Affine::identity()).err(),
        Some(EncodingError::Infinity)
    );
}

#[test]
fn errors_name_the_step() {
    let mut rng = Rng(1);
    for _ in 0..20 {
        each_step_is_named::<G1>(G1Projective::random(&mut rng).to_affine());
        each_step_is_named::<G2>(G2Projective::random(&mut rng).to_affine());
    }
}

/// Compressed points of random x: on the curve half of the time, in the subgroup practically never.
fn outside_subgroup<G: Encoding>(rng: &mut Rng) {
    let mut found = 0;
    for _ in 0..64 {
        let mut bytes = vec![0; G::COMPRESSED_BYTES];
        rng.fill_bytes(&mut bytes);
        for coordinate in bytes.chunks_mut(48) {
            coordinate[0] &= 0x0f;
        }
        bytes[0] |= COMPRESSED;
        match G::read_compressed_on_curve(&bytes) {
            Err(error) => assert_eq!(error, EncodingError::OffCurve),
            Ok(point) => {
                found += 1;
                let (plain, _) = encoded::<G>(&point);
                assert!(G::read_on_curve(&plain) == Ok(point));
                for result in [G::read_uncompressed(&plain), G::read_compressed(&bytes)] {
                    assert_eq!(result.err(), Some(EncodingError::OutsideSubgroup));
                }
            }
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn points_outside_the_subgroup_are_told_from_points_off_the_curve() {
    outside_subgroup::<G1>(&mut Rng(2));
    outside_subgroup::<G2>(&mut Rng(3));
}

#[test]
fn points_of_order_three_with_x_zero() {
    let (mut plus, mut minus) = ([0; 96], [0; 96]);
    plus[95] = 2;
    minus[48..].copy_from_slice(&MODULUS);
    minus[95] -= 2;
    for bytes in [plus, minus] {
        assert_eq!(
            G1::read_on_curve(&bytes).err(),
            Some(EncodingError::OutsideSubgroup)
        );
    }
    plus[95] = 3;
    assert_eq!(
        G1::read_on_curve(&plus).err(),
        Some(EncodingError::OffCurve)
    );
    for first in [0x80, 0xa0] {
        let mut bytes = [0; 48];
        bytes[0] = first;
        assert_eq!(
            G1::read_compressed(&bytes).err(),
            Some(EncodingError::OutsideSubgroup)
        );
    }
}

#[test]
fn random_multiples_round_trip() {
    let mut rng = Rng(4);
    for _ in 0..50 {
        let scalar = Fr::random(&mut rng);
        let one = (G1Affine::generator() * scalar).to_affine();
        let two = (G2Affine::generator() * scalar).to_affine();
        let (plain, packed) = encoded::<G1>(&one);
        assert!(
            G1::read_uncompressed(&plain) == Ok(one) && G1::read_compressed(&packed) == Ok(one)
        );
        let (plain, packed) = encoded::<G2>(&two);
        assert!(
            G2::read_uncompressed(&plain) == Ok(two) && G2::read_compressed(&packed) == Ok(two)
        );
    }
}
