//! The kernels' headers, compiled for the host, against blst: arithmetic on random and edge values, and the logic of
//! transforms, multi-scalar multiplication, selections and matrix rows.

mod host;
mod logic;
mod rows;
mod selections;
mod value;

use cuzk_curve::{Fq, Fq2, Fr, G1, G2, Group};
use ff::{Field, PrimeField};
use group::prime::PrimeCurveAffine;
use group::{Curve, Group as _};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use value::Value;

/// All pairs of `values`.
fn pairs<T: Copy>(values: &[T]) -> Vec<(T, T)> {
    let all = values
        .iter()
        .flat_map(|a| values.iter().map(move |b| (*a, *b)));
    all.collect()
}

fn encode<T: Value>(pairs: &[(T, T)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (a, b) in pairs {
        a.write(&mut out);
        b.write(&mut out);
    }
    out
}

/// Runs an operation of field pairs and compares its seven results a pair.
fn check_field<T: Value + PartialEq + std::fmt::Debug>(
    operation: &str,
    values: &[T],
    definition: impl Fn(T, T) -> [T; 7],
) {
    let pairs = pairs(values);
    let output = host::run(operation, encode(&pairs));
    assert_eq!(output.len(), pairs.len() * 7 * T::BYTES);
    let names = ["a + b", "a - b", "a b", "a^2", "-a", "2 a", "1 / a"];
    for ((a, b), results) in pairs.iter().zip(output.chunks(7 * T::BYTES)) {
        let wanted = definition(*a, *b);
        for (i, bytes) in results.chunks(T::BYTES).enumerate() {
            assert_eq!(
                T::read(bytes),
                wanted[i],
                "{operation}: {}, {a:?}, {b:?}",
                names[i]
            );
        }
    }
}

fn scalars() -> Vec<Fr> {
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let mut values = vec![Fr::ZERO, Fr::ONE, -Fr::ONE, Fr::from(2), Fr::from(u64::MAX)];
    values.extend([Fr::ROOT_OF_UNITY, Fr::from(1 << 32), -Fr::from(1 << 32)]);
    values.extend((0..40).map(|_| Fr::random(&mut rng)));
    values
}

fn base_field() -> Vec<Fq> {
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    let zero = Fq::default();
    let mut values = vec![zero, Fq::ONE, zero.sub(&Fq::ONE), Fq::ONE.add(&Fq::ONE)];
    for _ in 0..40 {
        let mut bytes = [0; Fq::BYTES];
        rng.fill_bytes(&mut bytes);
        values.push(Fq::from_encoded(&bytes));
    }
    values
}

#[test]
fn the_scalar_field_is_blsts() {
    check_field("fr", &scalars(), |a, b| {
        let inverse = a.invert().unwrap_or(Fr::ZERO);
        [a + b, a - b, a * b, a.square(), -a, a.double(), inverse]
    });
}

#[test]
fn the_base_field_is_blsts() {
    check_field("fq", &base_field(), |a, b| {
        let negated = Fq::default().sub(&a);
        [
            a.add(&b),
            a.sub(&b),
            a.mul(&b),
            a.square(),
            negated,
            a.add(&a),
            a.invert(),
        ]
    });
}

#[test]
fn the_quadratic_extension_is_blsts() {
    let base = base_field();
    let mut values: Vec<Fq2> = base.windows(2).map(|w| Fq2::new(w[0], w[1])).collect();
    values.extend([Fq2::default(), Fq2::ONE, Fq2::new(Fq::default(), Fq::ONE)]);
    check_field("fq2", &values, |a, b| {
        let negated = Fq2::default().sub(&a);
        [
            a.add(&b),
            a.sub(&b),
            a.mul(&b),
            a.square(),
            negated,
            a.add(&a),
            a.invert(),
        ]
    });
}

#[test]
fn integers_go_in_and_out() {
    let values = scalars();
    let mut input = Vec::new();
    values.iter().for_each(|value| value.write(&mut input));
    let output = host::run("fr-integers", input);
    assert_eq!(output.len(), values.len() * 64);
    for (value, bytes) in values.iter().zip(output.chunks(64)) {
        assert_eq!(bytes[..32], value.to_bytes_le());
        let mut memory = Vec::new();
        value.write(&mut memory);
        let back = Fr::from_bytes_le(&memory.try_into().unwrap()).unwrap();
        assert_eq!(Fr::read(&bytes[32..]), back);
    }
}

#[test]
fn integers_of_the_base_field_go_in_and_out() {
    let values = base_field();
    let mut input = Vec::new();
    values.iter().for_each(|value| value.write(&mut input));
    let output = host::run("fq-integers", input.clone());
    assert_eq!(output.len(), values.len() * 96);
    let reversed = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes.reverse();
        Fq::from_encoded(&bytes.try_into().unwrap())
    };
    for ((value, memory), bytes) in values.iter().zip(input.chunks(48)).zip(output.chunks(96)) {
        assert_eq!(reversed(&bytes[..48]), *value);
        assert_eq!(Fq::read(&bytes[48..]), reversed(memory));
    }
}

/// Points whose pairs hold every case: infinity, equal, opposite, double of the other, random.
fn points<G: Group>() -> Vec<G::Affine> {
    let mut rng = ChaCha12Rng::seed_from_u64(3);
    let p = G::Projective::random(&mut rng);
    let mut points = vec![G::Affine::identity(), G::Affine::generator()];
    points.extend([p, -p, p.double(), -p.double(), p.double() + p].map(|p| p.to_affine()));
    points.extend((0..9).map(|_| G::Projective::random(&mut rng).to_affine()));
    points
}

/// Appends an affine point in memory form.
pub fn write_point<G: Group<Coordinate: Value>>(point: &G::Affine, out: &mut Vec<u8>) {
    let (x, y) = G::coordinates(point);
    x.write(out);
    y.write(out);
}

fn check_group<G: Group<Coordinate: Value>>(operation: &str) {
    let pairs = pairs(&points::<G>());
    let mut input = Vec::new();
    for (p, q) in &pairs {
        write_point::<G>(p, &mut input);
        write_point::<G>(q, &mut input);
    }
    let size = G::Coordinate::BYTES;
    let record = (6 * 3 + 2 * 2) * size;
    let output = host::run(operation, input);
    assert_eq!(output.len(), pairs.len() * record);
    for ((p, q), results) in pairs.iter().zip(output.chunks(record)) {
        let (p, q) = (p.to_curve(), q.to_curve());
        let two = p.double();
        let many = two * Fr::from(1_000_003);
        let wanted = [p + q, two + q, two + q.double(), two.double(), q, many];
        let (jacobian, affine) = results.split_at(18 * size);
        for (i, bytes) in jacobian.chunks(3 * size).enumerate() {
            let [x, y, z] = [0, 1, 2].map(|k| G::Coordinate::read(&bytes[k * size..]));
            assert_eq!(
                G::from_jacobian(x, y, z),
                wanted[i],
                "{operation}, result {i}"
            );
        }
        for (bytes, wanted) in affine.chunks(2 * size).zip([p + q, two]) {
            let [x, y] = [0, 1].map(|k| G::Coordinate::read(&bytes[k * size..]));
            assert_eq!(
                G::from_coordinates(x, y),
                wanted.to_affine(),
                "{operation}, affine"
            );
        }
    }
}

#[test]
fn additions_in_g1_are_exact() {
    check_group::<G1>("g1");
}

#[test]
fn additions_in_g2_are_exact() {
    check_group::<G2>("g2");
}
