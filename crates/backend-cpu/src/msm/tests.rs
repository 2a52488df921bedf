//! The tuned sums against naive ones, on both architectures.

use super::*;
use cuzk_curve::simd::dispatch_scalar;
use cuzk_curve::{Bytes, G1, G1Projective, G2};
use ff::Field;
use group::Curve;
use group::prime::PrimeCurveAffine;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Distinct points at one addition each.
fn distinct<G: Group>(rng: &mut ChaCha8Rng, count: usize) -> Vec<G::Affine> {
    let (first, step) = (G::Projective::random(&mut *rng), G::Projective::random(rng));
    let points: Vec<_> = std::iter::successors(Some(first), |point| Some(*point + step))
        .take(count)
        .collect();
    let mut affine = vec![G::Affine::identity(); count];
    G::Projective::batch_normalize(&points, &mut affine);
    affine
}

fn random(rng: &mut ChaCha8Rng, count: usize) -> Vec<Fr> {
    (0..count).map(|_| Fr::random(&mut *rng)).collect()
}

fn check<G: Group>(points: &[G::Affine], scalars: &[Fr], what: &str) {
    let points = EncodedPoints::<G>::encode(points);
    let wanted = naive::msm(&points, scalars);
    let name = G::NAME;
    assert_eq!(msm_indexed(&points, None, scalars), wanted, "{name} {what}");
    let task = Msm {
        points: &points,
        indices: None,
        scalars,
    };
    assert_eq!(dispatch_scalar(task), wanted, "{name} {what}, one lane");
}

fn check_selected<G: Group>(points: &[G::Affine], indices: &[u32], what: &str) {
    let wanted = indices.iter().fold(G::Projective::identity(), |sum, &i| {
        sum + points[i as usize]
    });
    let points = &EncodedPoints::<G>::encode(points);
    let name = G::NAME;
    assert_eq!(sum_selected(points, indices), wanted, "{name} {what}");
    let task = Selected { points, indices };
    assert_eq!(dispatch_scalar(task), wanted, "{name} {what}, one lane");
}

fn sizes<G: Group>(counts: &[usize]) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for &count in counts {
        let points = distinct::<G>(&mut rng, count);
        check::<G>(
            &points,
            &random(&mut rng, count),
            &format!("{count} random"),
        );
        let indices: Vec<u32> = (0..count as u32).filter(|_| rng.r#gen()).collect();
        check_selected::<G>(&points, &indices, &format!("{count} selected"));
        let all: Vec<u32> = (0..count as u32).collect();
        check_selected::<G>(&points, &all, &format!("{count} all"));
    }
}

#[test]
fn sizes_of_g1() {
    sizes::<G1>(&[0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 237, 511, 512, 513, 4097]);
}

#[test]
fn sizes_of_g2() {
    sizes::<G2>(&[0, 1, 2, 3, 8, 9, 33, 511, 513]);
}

/// Scalars that are all of one kind, or a mix.
fn kinds(rng: &mut ChaCha8Rng, count: usize) -> Vec<(&'static str, Vec<Fr>)> {
    let power = Fr::from(2).pow([100]);
    let mix = (0..count).map(|i| match i % 6 {
        0 => Fr::ZERO,
        1 => Fr::ONE,
        2 => -Fr::ONE,
        3 => Fr::from(rng.next_u64() % 256),
        4 => -Fr::from(rng.next_u64() % 65536),
        _ => Fr::random(&mut *rng),
    });
    vec![
        ("mixed", mix.collect()),
        ("zero", vec![Fr::ZERO; count]),
        ("one", vec![Fr::ONE; count]),
        ("r - 1", vec![-Fr::ONE; count]),
        ("small", (0..count as u64).map(Fr::from).collect()),
        ("one bucket", vec![power; count]),
    ]
}

/// Points among which additions are often not plain.
fn point_kinds<G: Group>(
    rng: &mut ChaCha8Rng,
    count: usize,
) -> Vec<(&'static str, Vec<G::Affine>)> {
    let plain = distinct::<G>(rng, count);
    let point = plain[0];
    let minus = (-point.to_curve()).to_affine();
    let identity = G::Affine::identity();
    let pattern = |f: &dyn Fn(usize) -> G::Affine| (0..count).map(f).collect();
    vec![
        ("equal", vec![point; count]),
        (
            "opposite",
            pattern(&|i| if i % 2 == 0 { point } else { minus }),
        ),
        (
            "halves",
            pattern(&|i| if i < count / 2 { point } else { minus }),
        ),
        (
            "some identity",
            pattern(&|i| if i % 3 == 0 { identity } else { plain[i] }),
        ),
        ("identity", vec![identity; count]),
        ("pairs", pattern(&|i| plain[i / 2])),
        ("plain", plain.clone()),
    ]
}

fn hard_cases<G: Group>(count: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let all: Vec<u32> = (0..count as u32).collect();
    for (points_name, points) in point_kinds::<G>(&mut rng, count) {
        for (name, scalars) in kinds(&mut rng, count) {
            check::<G>(
                &points,
                &scalars,
                &format!("{points_name} points, {name} scalars"),
            );
        }
        check_selected::<G>(&points, &all, points_name);
        let twice: Vec<u32> = all.iter().flat_map(|&i| [i, i]).collect();
        check_selected::<G>(&points, &twice, points_name);
    }
}

/// An MSM that adds to the bucket sums of earlier chunks.
struct Chunks<'a, G: Group> {
    points: &'a EncodedPoints<G>,
    scalars: &'a [Fr],
    chunk: usize,
}

impl<G: Group> Kernel for Chunks<'_, G> {
    type Output = G::Projective;

    fn run<A: Arch>(self, arch: A) -> G::Projective {
        let points = Encoded::new(self.points, None);
        pippenger::msm_in_chunks::<A, G>(arch, &points, self.scalars, self.chunk)
    }
}

fn chunks_add_up<G: Group>(count: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for (points_name, points) in point_kinds::<G>(&mut rng, count) {
        let points = &EncodedPoints::<G>::encode(&points);
        for (name, scalars) in kinds(&mut rng, count) {
            let scalars = &scalars;
            let wanted = naive::msm(points, scalars);
            for chunk in [7, count / 3, count - 1] {
                let task = || Chunks {
                    points,
                    scalars,
                    chunk,
                };
                let what = format!("{points_name} points, {name} scalars, chunks of {chunk}");
                assert_eq!(dispatch(task()), wanted, "{what}");
                assert_eq!(dispatch_scalar(task()), wanted, "{what}, one lane");
            }
        }
    }
}

#[test]
fn chunks_add_up_in_both_groups() {
    chunks_add_up::<G1>(120);
    chunks_add_up::<G2>(40);
}

#[test]
fn hard_cases_of_g1() {
    hard_cases::<G1>(600);
}

#[test]
fn hard_cases_of_g2() {
    hard_cases::<G2>(150);
}

#[test]
fn indices_choose_the_points() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let points = distinct::<G1>(&mut rng, 100);
    let indices: Vec<u32> = (0..50).map(|i| i * i * 7 % 100).collect();
    let scalars = random(&mut rng, 50);
    let wanted = indices
        .iter()
        .zip(&scalars)
        .fold(G1Projective::identity(), |sum, (&i, s)| {
            sum + points[i as usize] * s
        });
    let points = EncodedPoints::<G1>::encode(&points);
    assert_eq!(msm_indexed(&points, Some(&indices), &scalars), wanted);
}

#[test]
fn any_bytes_give_some_point() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for fill in [None, Some(0), Some(0xff), Some(0x40)] {
        let mut bytes = vec![fill.unwrap_or(0); 192 * 100];
        if fill.is_none() {
            rng.fill_bytes(&mut bytes);
        }
        let bytes = Bytes::from(bytes);
        let scalars = random(&mut rng, 210);
        let indices: Vec<u32> = (0..210).chain([u32::MAX]).collect();
        let (Some(g1), Some(g2)) = (
            EncodedPoints::<G1>::new(bytes.clone()),
            EncodedPoints::<G2>::new(bytes),
        ) else {
            panic!("whole points");
        };
        msm_indexed(&g1, None, &scalars);
        msm_indexed(&g2, None, &scalars);
        sum_selected(&g1, &indices);
        sum_selected(&g2, &indices);
    }
}

/// A large sum whose value is known: the points are (i + 1)·P.
#[test]
fn a_large_sum() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let count = 65_537;
    let point = G1Projective::random(&mut rng);
    let multiples: Vec<_> = std::iter::successors(Some(point), |sum| Some(*sum + point))
        .take(count)
        .collect();
    let mut points = vec![G1Projective::identity().to_affine(); count];
    G1Projective::batch_normalize(&multiples, &mut points);
    let points = EncodedPoints::<G1>::encode(&points);
    for (name, scalars) in kinds(&mut rng, count) {
        let sum = (1..)
            .zip(&scalars)
            .fold(Fr::ZERO, |sum, (i, s)| sum + Fr::from(i) * s);
        assert_eq!(msm_indexed(&points, None, &scalars), point * sum, "{name}");
    }
    let all: Vec<u32> = (0..count as u32).collect();
    let total = Fr::from(count as u64 * (count as u64 + 1) / 2);
    assert_eq!(sum_selected(&points, &all), point * total);
}
