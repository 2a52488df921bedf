//! Tests of the subgroup check against blst, point by point.

use ff::Field;
use group::prime::PrimeCurveAffine;
use group::{Curve, Group as _};
use rand_chacha::ChaCha12Rng;
use rand_core::SeedableRng;

use super::*;
use crate::simd::dispatch_scalar;
use crate::{Fr, G1, G1Affine, G2};

/// `n` points of the subgroup: sums of a few random ones.
fn good<G: Encoding>(n: usize, rng: &mut ChaCha12Rng) -> Vec<G::Affine> {
    let step = G::Projective::random(&mut *rng);
    let mut point = G::Projective::random(rng);
    (0..n)
        .map(|_| {
            point += step;
            point.to_affine()
        })
        .collect()
}

/// A random point on the curve, outside the subgroup.
fn on_curve<G: Encoding>(rng: &mut ChaCha12Rng) -> G::Affine {
    let mut bytes = vec![0; G::COMPRESSED_BYTES];
    loop {
        rng.fill_bytes(&mut bytes);
        bytes[0] = 0x80 | bytes[0] & 0x0f;
        match G::read_compressed_on_curve(&bytes) {
            Ok(point) if !G::in_subgroup(&point) => return point,
            _ => {}
        }
    }
}

fn multiply<G: Encoding>(point: &G::Affine, scalar: &[u8]) -> G::Projective {
    let mut product = G::Projective::identity();
    for byte in scalar {
        for bit in (0..8).rev() {
            product = product.double();
            if byte >> bit & 1 == 1 {
                product += point;
            }
        }
    }
    product
}

/// Big-endian quotient of a big-endian number by a small one, which must divide it.
fn divide(number: &[u8], divisor: u32) -> Vec<u8> {
    let mut rest = 0u32;
    let quotient = number
        .iter()
        .map(|&byte| {
            let value = rest << 8 | u32::from(byte);
            rest = value % divisor;
            (value / divisor) as u8
        })
        .collect();
    assert_eq!(rest, 0, "{divisor} divides the cofactor");
    quotient
}

/// A point of order `prime`, which divides the cofactor `square` times: the product of the order r, of the cofactor's
/// other part and of a random point.
fn small_order<G: Encoding>(
    cofactor: &[u8],
    prime: u32,
    multiplicity: u32,
    rng: &mut ChaCha12Rng,
) -> G::Affine {
    let other = (0..multiplicity).fold(cofactor.to_vec(), |number, _| divide(&number, prime));
    let r_minus_one = (-Fr::ONE).to_bytes_be();
    loop {
        let point = on_curve::<G>(rng);
        let by_r = multiply::<G>(&point, &r_minus_one) + point;
        let mut candidate = multiply::<G>(&by_r.to_affine(), &other).to_affine();
        if bool::from(candidate.is_identity()) {
            continue;
        }
        let times = |point: &G::Affine| multiply::<G>(point, &prime.to_be_bytes()).to_affine();
        while !bool::from(times(&candidate).is_identity()) {
            candidate = times(&candidate);
        }
        return candidate;
    }
}

const G1_COFACTOR: &str = "396c8c005555e1568c00aaab0000aaab";
const G2_COFACTOR: &str = "05d543a95414e7f1091d50792876a202cd91de4547085abaa68a205b2e5a7ddfa628f1cb4d9e82ef21537e293a6691ae1616ec6e786f0c70cf1c38e31c7238e5";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal"))
        .collect()
}

fn bad_points<G: Encoding>(
    cofactor: &str,
    primes: [(u32, u32); 2],
    rng: &mut ChaCha12Rng,
) -> Vec<G::Affine> {
    let mut bad = vec![on_curve::<G>(rng)];
    for (prime, multiplicity) in primes {
        bad.push(small_order::<G>(&bytes(cofactor), prime, multiplicity, rng));
    }
    // A good point plus a point of small order.
    bad.push((good::<G>(1, rng)[0].to_curve() + bad[1]).to_affine());
    bad.iter().for_each(|point| assert!(!G::in_subgroup(point)));
    bad
}

fn agrees_with_single_checks<G: Encoding>(cofactor: &str, primes: [(u32, u32); 2]) {
    let mut rng = ChaCha12Rng::seed_from_u64(7);
    let bad = bad_points::<G>(cofactor, primes, &mut rng);
    let points = good::<G>(2 * DIRECT, &mut rng);
    for n in [0, 1, DIRECT - 1, DIRECT, DIRECT + 1, points.len()] {
        assert!(all_in_subgroup::<G>(&points[..n], &mut rng), "{n} good");
        assert_eq!(first_outside::<G>(&points[..n], &mut rng), None);
    }
    for bad in bad {
        for at in [0, points.len() - 1] {
            let mut points = points.clone();
            points[at] = bad;
            assert_eq!(first_outside::<G>(&points, &mut rng), Some(at));
        }
        // Points that cancel out, and equal ones.
        let mut points = points.clone();
        points[5] = bad;
        points[9] = (-bad.to_curve()).to_affine();
        points[11] = bad;
        assert_eq!(first_outside::<G>(&points, &mut rng), Some(5));
    }
}

#[test]
fn g1_agrees_with_single_checks() {
    agrees_with_single_checks::<G1>(G1_COFACTOR, [(3, 1), (11, 2)]);
}

#[test]
fn g2_agrees_with_single_checks() {
    agrees_with_single_checks::<G2>(G2_COFACTOR, [(13, 2), (23, 2)]);
}

/// Sums buckets on an architecture, and compares with additions one by one.
struct Compare<'a, G: Encoding> {
    points: &'a [G::Affine],
    buckets: &'a [&'a [u32]],
}

impl<G: Encoding> Kernel for Compare<'_, G> {
    type Output = ();

    fn run<A: Arch>(self, arch: A) {
        let sums = sums::sum_buckets::<A, G>(arch, self.points, self.buckets);
        assert_eq!(sums.len(), self.buckets.len());
        for (sum, bucket) in sums.iter().zip(self.buckets) {
            let point = |&index: &u32| self.points[index as usize].to_curve();
            let expected: G::Projective = bucket.iter().map(point).sum();
            assert!(
                *sum == expected.to_affine(),
                "{} of {}",
                bucket.len(),
                A::NAME
            );
        }
    }
}

fn sums_equal_additions<G: Encoding>() {
    let mut rng = ChaCha12Rng::seed_from_u64(8);
    let mut points = good::<G>(200, &mut rng);
    for i in 0..20 {
        // Equal points, inverses, and points outside the subgroup.
        points[100 + i] = points[i];
        points[120 + i] = (-points[i].to_curve()).to_affine();
        points[140 + i] = on_curve::<G>(&mut rng);
    }
    let order: Vec<u32> = (0..2000u32).map(|i| i * 7 % 200).collect();
    let equal = [5; 40];
    let inverses = [0, 120, 1, 121, 2, 3, 122];
    let mut buckets: Vec<&[u32]> = vec![&equal, &inverses, &inverses[..2], &[]];
    for len in [0, 1, 2, 3, 7, 8, 9, 31, 199] {
        buckets.extend((0..9).map(|start| &order[start * 13..][..len]));
    }
    for count in [0, 1, 7, 8, 9, buckets.len()] {
        let (points, buckets) = (&points[..], &buckets[..count]);
        dispatch(Compare::<G> { points, buckets });
        dispatch_scalar(Compare::<G> { points, buckets });
    }
}

#[test]
fn sums_of_buckets_equal_additions_one_by_one() {
    sums_equal_additions::<G1>();
    sums_equal_additions::<G2>();
}

#[test]
fn equal_points_and_infinity_are_in_the_subgroup() {
    let mut rng = ChaCha12Rng::seed_from_u64(8);
    let mut points = vec![good::<G1>(1, &mut rng)[0]; 2 * DIRECT];
    points[7] = G1Affine::identity();
    assert!(all_in_subgroup::<G1>(&points, &mut rng));
    points[3] = on_curve::<G1>(&mut rng);
    assert_eq!(first_outside::<G1>(&points, &mut rng), Some(3));
}

#[test]
fn buckets_hold_each_point_once() {
    let mut rng = ChaCha12Rng::seed_from_u64(9);
    for (points, bits) in [(0, 1), (1, 1), (1000, 4), (70_000, 16)] {
        let buckets = Buckets::random(points, bits, &mut rng);
        assert_eq!(buckets.len(), 1 << bits);
        let mut all: Vec<u32> = (0..buckets.len())
            .flat_map(|i| buckets.get(i).to_vec())
            .collect();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..points as u32));
    }
}
