//! The transforms against their definitions and against bellperson's.

use bellperson::domain::EvaluationDomain;
use cuzk_backend::{BackendError, Transform};
use cuzk_curve::Fr;
use cuzk_curve::simd::dispatch_scalar;
use ec_gpu_gen::threadpool::Worker;
use ff::Field;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::domain::Domain;
use super::passes::Transformed;
use super::quotient::Quotient;
use super::{naive, quotient, transform};

const TRANSFORMS: [Transform; 4] = [
    Transform::Forward,
    Transform::Inverse,
    Transform::CosetForward,
    Transform::CosetInverse,
];

fn random(size: usize) -> Vec<Fr> {
    let mut rng = ChaCha8Rng::seed_from_u64(size as u64);
    let mut values: Vec<Fr> = (0..size).map(|_| Fr::random(&mut rng)).collect();
    // Edges of the field among them.
    for (value, edge) in values.iter_mut().zip([Fr::ZERO, -Fr::ONE, Fr::ONE]) {
        *value = edge;
    }
    values
}

/// The transform one lane at a time.
fn scalar(values: &[Fr], transform: Transform) -> Vec<Fr> {
    let domain = Domain::new(values.len()).unwrap();
    dispatch_scalar(Transformed {
        input: values.to_vec(),
        domain: &domain,
        transform,
    })
}

fn scalar_quotient(a: &[Fr], b: &[Fr]) -> Vec<Fr> {
    let domain = Domain::new(a.len()).unwrap();
    dispatch_scalar(Quotient {
        a: a.to_vec(),
        b: b.to_vec(),
        domain: &domain,
    })
}

fn fast(values: &[Fr], direction: Transform) -> Vec<Fr> {
    let mut values = values.to_vec();
    transform(&mut values, direction).unwrap();
    values
}

/// The transform by bellperson.
fn bellperson(values: &[Fr], transform: Transform) -> Vec<Fr> {
    let worker = Worker::new();
    let mut domain = EvaluationDomain::from_coeffs(values.to_vec()).unwrap();
    match transform {
        Transform::Forward => domain.fft(&worker, &mut None),
        Transform::Inverse => domain.ifft(&worker, &mut None),
        Transform::CosetForward => domain.coset_fft(&worker, &mut None),
        Transform::CosetInverse => domain.icoset_fft(&worker, &mut None),
    }
    .unwrap();
    domain.into_coeffs()
}

/// h as bellperson's prover computes it: seven transforms and a division on the coset.
fn bellperson_quotient(a: &[Fr], b: &[Fr]) -> Vec<Fr> {
    let worker = Worker::new();
    let c: Vec<Fr> = a.iter().zip(b).map(|(a, b)| a * b).collect();
    let mut domains = [a.to_vec(), b.to_vec(), c].map(|values| {
        let mut domain = EvaluationDomain::from_coeffs(values).unwrap();
        domain.ifft(&worker, &mut None).unwrap();
        domain.coset_fft(&worker, &mut None).unwrap();
        domain
    });
    let [a, b, c] = &mut domains;
    a.mul_assign(&worker, b);
    a.sub_assign(&worker, c);
    a.divide_by_z_on_coset(&worker);
    a.icoset_fft(&worker, &mut None).unwrap();
    a.as_ref().to_vec()
}

#[test]
fn small_transforms_equal_their_definition() {
    for log in 0..=10 {
        let values = random(1 << log);
        for transform in TRANSFORMS {
            let expected = naive::transform(&values, transform);
            assert_eq!(fast(&values, transform), expected, "2^{log} {transform:?}");
            assert_eq!(
                scalar(&values, transform),
                expected,
                "2^{log} {transform:?}"
            );
        }
    }
}

#[test]
fn large_transforms_equal_bellperson() {
    for log in 11..=17 {
        let values = random(1 << log);
        for transform in TRANSFORMS {
            let expected = bellperson(&values, transform);
            assert!(
                fast(&values, transform) == expected,
                "2^{log} {transform:?}"
            );
            if log < 14 {
                assert!(
                    scalar(&values, transform) == expected,
                    "2^{log} {transform:?}"
                );
            }
        }
    }
}

#[test]
fn small_quotients_equal_long_division() {
    for log in 0..=9 {
        let (a, b) = (random(1 << log), random(1 << log).split_off(0));
        let b: Vec<Fr> = b.iter().rev().copied().collect();
        let expected = naive::quotient(&a, &b);
        assert_eq!(expected.last(), Some(&Fr::ZERO));
        assert_eq!(quotient(a.clone(), b.clone()).unwrap(), expected, "2^{log}");
        assert_eq!(scalar_quotient(&a, &b), expected, "2^{log}");
    }
}

#[test]
fn large_quotients_equal_bellperson() {
    for log in 10..=16 {
        let a = random(1 << log);
        let b: Vec<Fr> = a.iter().rev().map(|a| a.square()).collect();
        let expected = bellperson_quotient(&a, &b);
        assert!(
            quotient(a.clone(), b.clone()).unwrap() == expected,
            "2^{log}"
        );
        if log < 13 {
            assert!(scalar_quotient(&a, &b) == expected, "2^{log}");
        }
    }
}

#[test]
fn zeros_and_equal_values_transform() {
    for size in [1, 2, 64, 128, 1024] {
        for transform in TRANSFORMS {
            for value in [Fr::ZERO, Fr::ONE, -Fr::ONE] {
                let values = vec![value; size];
                assert_eq!(
                    fast(&values, transform),
                    naive::transform(&values, transform)
                );
            }
        }
        let zeros = vec![Fr::ZERO; size];
        assert_eq!(quotient(zeros.clone(), zeros.clone()).unwrap(), zeros);
    }
}

#[test]
fn wrong_lengths_are_errors() {
    for size in [0, 3, 5, 1000] {
        let mut values = vec![Fr::ONE; size];
        let result = transform(&mut values, Transform::Forward);
        assert!(matches!(result, Err(BackendError::Domain { size: found }) if found == size));
        assert_eq!(values.len(), size);
        let result = quotient(values.clone(), values);
        assert!(matches!(result, Err(BackendError::Domain { size: found }) if found == size));
    }
    let result = quotient(vec![Fr::ONE; 4], vec![Fr::ONE; 2]);
    assert!(matches!(
        result,
        Err(BackendError::Length {
            wanted: 4,
            found: 2,
            ..
        })
    ));
    assert!(Domain::new(1 << 33).is_err());
    assert!(Domain::new(1 << 32).is_ok());
}
