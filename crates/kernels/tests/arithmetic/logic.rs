//! The logic of the kernels that transform and that add up buckets, tile by tile and chunk by chunk on the host.

use cuzk_curve::{Fr, G1, G2, Group};
use ff::{Field, PrimeField};
use group::prime::PrimeCurveAffine;
use group::{Curve, Group as _};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::host;
use crate::value::Value;
use crate::write_point;

/// The values of a polynomial on the subgroup that `root` generates, in the order of its powers.
fn transform(values: &[Fr], root: Fr) -> Vec<Fr> {
    if values.len() == 1 {
        return values.to_vec();
    }
    let half = |odd: usize| {
        let values: Vec<Fr> = values.iter().skip(odd).step_by(2).copied().collect();
        transform(&values, root.square())
    };
    let (even, odd) = (half(0), half(1));
    let mut power = Fr::ONE;
    let mut out = vec![Fr::ZERO; values.len()];
    for i in 0..values.len() / 2 {
        let term = odd[i] * power;
        (out[i], out[i + values.len() / 2]) = (even[i] + term, even[i] - term);
        power *= root;
    }
    out
}

fn reversed(values: &[Fr]) -> Vec<Fr> {
    let bits = values.len().trailing_zeros();
    let place = |i: usize| {
        i.reverse_bits()
            .checked_shr(usize::BITS - bits)
            .unwrap_or(0)
    };
    (0..values.len()).map(|i| values[place(i)]).collect()
}

/// Small sizes, each radix alone, and passes whose tiles hold columns, in rounds of two and of three levels.
#[test]
fn passes_make_a_transform() {
    let plans: [&[u32]; 11] = [
        &[1],
        &[2],
        &[3],
        &[5],
        &[9],
        &[10],
        &[6, 6],
        &[7, 6],
        &[8, 6],
        &[6, 6, 5],
        &[10, 4],
    ];
    let root = Fr::ROOT_OF_UNITY.pow_vartime([1 << (Fr::S - 30)]);
    let mut rng = ChaCha12Rng::seed_from_u64(4);
    let mut input = Vec::new();
    root.write(&mut input);
    let mut all = Vec::new();
    for (levels, plan) in [2u32, 3]
        .into_iter()
        .flat_map(|levels| plans.map(|plan| (levels, plan)))
    {
        let log_size: u32 = plan.iter().sum();
        for word in [&[levels, log_size], plan, &[0]].concat() {
            input.extend(word.to_le_bytes());
        }
        let values: Vec<Fr> = (0..1 << log_size).map(|_| Fr::random(&mut rng)).collect();
        values.iter().for_each(|value| value.write(&mut input));
        all.push((levels, plan, values));
    }
    let output = host::run("transforms", input);
    let mut results = output.chunks_exact(32).map(Fr::read);
    for (levels, plan, values) in all {
        let case = format!("{plan:?} by {levels}");
        let log_size = values.len().trailing_zeros();
        let root = root.pow_vartime([1 << (30 - log_size)]);
        let wanted = transform(&values, root);
        let frequency: Vec<Fr> = results.by_ref().take(values.len()).collect();
        assert!(reversed(&frequency) == wanted, "in frequency, {case}");
        let time: Vec<Fr> = results.by_ref().take(values.len()).collect();
        assert!(transform(&wanted, root) == time, "in time, {case}");
    }
    assert!(results.next().is_none());
}

fn multiplications_add_up<G: Group<Coordinate: Value>>(operation: &str, sizes: &[usize]) {
    let mut rng = ChaCha12Rng::seed_from_u64(5);
    let (mut input, mut wanted) = (Vec::new(), Vec::new());
    for (width, &size) in [3u32, 5, 8, 13].iter().cycle().zip(sizes) {
        let random = |rng: &mut _| G::Projective::random(rng).to_affine();
        let points: Vec<G::Affine> = (0..size).map(|_| random(&mut rng)).collect();
        let equal = vec![G::Affine::generator(); size];
        let scalars: Vec<Fr> = (0..size).map(|_| Fr::random(&mut rng)).collect();
        let edges = (0..size as u64)
            .map(|i| Fr::from(i % 4) - Fr::from(2))
            .collect();
        for (scalars, points) in [
            (scalars, &points),
            (edges, &points),
            (vec![-Fr::ONE; size], &equal),
        ] {
            input.extend(width.to_le_bytes());
            input.extend((size as u32).to_le_bytes());
            scalars.iter().for_each(|scalar| scalar.write(&mut input));
            points
                .iter()
                .for_each(|point| write_point::<G>(point, &mut input));
            wanted.push(
                points
                    .iter()
                    .zip(&scalars)
                    .map(|(p, s)| *p * *s)
                    .sum::<G::Projective>(),
            );
        }
    }
    let output = host::run(operation, input);
    let size = G::Coordinate::BYTES;
    assert_eq!(output.len(), wanted.len() * 3 * size);
    for (index, (bytes, wanted)) in output.chunks(3 * size).zip(wanted).enumerate() {
        let [x, y, z] = [0, 1, 2].map(|k| G::Coordinate::read(&bytes[k * size..]));
        assert_eq!(
            G::from_jacobian(x, y, z),
            wanted,
            "{operation}, case {index}"
        );
    }
}

#[test]
fn buckets_add_up_in_g1() {
    multiplications_add_up::<G1>("msm-g1", &[0, 1, 2, 31, 33, 100, 200]);
}

#[test]
fn buckets_add_up_in_g2() {
    multiplications_add_up::<G2>("msm-g2", &[1, 17, 50]);
}
