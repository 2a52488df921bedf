//! The fixed-base multiples against one double-and-add a scalar.

use super::*;
use cuzk_curve::simd::dispatch_scalar;
use cuzk_curve::{G1, G2};
use ff::Field;
use group::Group as _;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn check<G: Group>(base: &G::Affine, scalars: &[Fr]) {
    let wanted: Vec<G::Affine> = scalars.iter().map(|s| (*base * s).to_affine()).collect();
    assert_eq!(fixed_base::<G>(base, scalars), wanted);
    assert_eq!(dispatch_scalar(FixedBase::<G> { base, scalars }), wanted);
}

fn check_group<G: Group>() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let base = G::Projective::random(&mut rng).to_affine();
    for count in [0, 1, 2, 7, 8, 9, 300] {
        let mut scalars: Vec<Fr> = (0..count).map(|_| Fr::random(&mut rng)).collect();
        let special = [
            Fr::ZERO,
            Fr::ONE,
            -Fr::ONE,
            Fr::from(1 << 15),
            -Fr::from(1 << 15),
        ];
        for (place, value) in scalars.iter_mut().skip(1).step_by(2).zip(special) {
            *place = value;
        }
        check::<G>(&base, &scalars);
    }
    check::<G>(&G::Affine::identity(), &[Fr::ONE, Fr::from(9)]);
}

#[test]
fn multiples_of_g1() {
    check_group::<G1>();
}

#[test]
fn multiples_of_g2() {
    check_group::<G2>();
}

#[test]
fn a_table_holds_the_multiples_of_each_window() {
    let base = <G1 as Group>::Affine::generator();
    let table = table::<_, G1>(cuzk_curve::simd::Scalar, &base, 5);
    let points = to_affine(cuzk_curve::simd::Scalar, table.points());
    assert_eq!(points.len(), 51 * 16);
    for (i, point) in points.iter().enumerate() {
        let power = Fr::from(32).pow([i as u64 / 16]);
        let multiple = power * Fr::from(i as u64 % 16 + 1);
        assert_eq!(*point, (base * multiple).to_affine(), "{i}");
    }
}
