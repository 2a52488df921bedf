//! The definitions, for the tests: quadratic, and nothing in common with the fast transforms but the root.

use cuzk_backend::Transform;
use cuzk_curve::Fr;
use ff::{Field, PrimeField};

/// The transform by evaluating at every point, or by interpolating from every point.
pub(super) fn transform(values: &[Fr], transform: Transform) -> Vec<Fr> {
    let size = values.len() as u64;
    let root = Fr::ROOT_OF_UNITY.pow_vartime([(1 << Fr::S) / size]);
    let shift = Fr::MULTIPLICATIVE_GENERATOR;
    let invert = |value: Fr| value.invert().unwrap();
    match transform {
        Transform::Forward => evaluate(values, root, Fr::ONE),
        Transform::CosetForward => evaluate(values, root, shift),
        Transform::Inverse => scaled(evaluate(values, invert(root), Fr::ONE), size, Fr::ONE),
        Transform::CosetInverse => {
            scaled(evaluate(values, invert(root), Fr::ONE), size, invert(shift))
        }
    }
}

/// The values at shift · root^i.
fn evaluate(coefficients: &[Fr], root: Fr, shift: Fr) -> Vec<Fr> {
    let mut point = shift;
    let mut values = Vec::new();
    for _ in coefficients {
        let horner = |value, coefficient: &Fr| value * point + coefficient;
        values.push(coefficients.iter().rev().fold(Fr::ZERO, horner));
        point *= root;
    }
    values
}

/// Value i times base^i / size.
fn scaled(values: Vec<Fr>, size: u64, base: Fr) -> Vec<Fr> {
    let mut factor = Fr::from(size).invert().unwrap();
    let mut out = Vec::new();
    for value in values {
        out.push(value * factor);
        factor *= base;
    }
    out
}

/// h by long division of a·b - c by x^m - 1.
pub(super) fn quotient(a: &[Fr], b: &[Fr]) -> Vec<Fr> {
    let products: Vec<Fr> = a.iter().zip(b).map(|(a, b)| a * b).collect();
    let [a, b, c] = [a, b, &products].map(|values| transform(values, Transform::Inverse));
    let size = a.len();
    let mut remainder = vec![Fr::ZERO; 2 * size];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            remainder[i + j] += a * b;
        }
    }
    for (coefficient, c) in remainder.iter_mut().zip(&c) {
        *coefficient -= c;
    }
    let high = remainder.split_off(size);
    for (low, high) in remainder.iter().zip(&high) {
        assert_eq!(*low + high, Fr::ZERO, "x^m - 1 divides a·b - c");
    }
    high
}
