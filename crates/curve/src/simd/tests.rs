//! Every operation against blst, for every architecture that the machine has.

use std::io::Write;

use ff::{Field, PrimeField};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

use super::*;

/// What a field must offer to be tested: values to try, and its arithmetic one element at a time.
trait Oracle: Copy + Default + PartialEq + std::fmt::Debug + 'static {
    fn random(rng: &mut ChaCha8Rng) -> Self;
    fn edges() -> Vec<Self>;
    fn plus(self, rhs: Self) -> Self;
    fn minus(self, rhs: Self) -> Self;
    fn times(self, rhs: Self) -> Self;
    fn one() -> Self;
    fn inverse(self) -> Self;
}

impl Oracle for Fr {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        Field::random(rng)
    }

    fn edges() -> Vec<Self> {
        let mut edges = vec![Fr::ZERO, Fr::ONE, -Fr::ONE, Fr::from(2), -Fr::from(2)];
        for bits in [51, 52, 53, 104, 156, 208, 254] {
            let power = Fr::from(2).pow_vartime([bits]);
            edges.extend([power, -power, power - Fr::ONE, power + Fr::ONE]);
            // The same patterns as Montgomery words.
            let words = power * Fr::from(2).pow_vartime([256]).invert().unwrap();
            edges.extend([words, -words]);
        }
        edges
    }

    fn plus(self, rhs: Self) -> Self {
        self + rhs
    }

    fn minus(self, rhs: Self) -> Self {
        self - rhs
    }

    fn times(self, rhs: Self) -> Self {
        self * rhs
    }

    fn one() -> Self {
        Fr::ONE
    }

    fn inverse(self) -> Self {
        self.invert().unwrap_or(Fr::ZERO)
    }
}

impl Oracle for Fq {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        let mut bytes = [0; 48];
        rng.fill_bytes(&mut bytes);
        Fq::from_encoded(&bytes)
    }

    fn edges() -> Vec<Self> {
        let one = Fq::ONE;
        let zero = Fq::default();
        let mut edges = vec![zero, one, zero.sub(&one)];
        let mut power = one;
        for bits in 1..=384 {
            power = power.add(&power);
            if bits % 52 <= 1 || bits > 378 {
                edges.extend([power, zero.sub(&power), power.sub(&one)]);
            }
        }
        edges
    }

    fn plus(self, rhs: Self) -> Self {
        self.add(&rhs)
    }

    fn minus(self, rhs: Self) -> Self {
        self.sub(&rhs)
    }

    fn times(self, rhs: Self) -> Self {
        self.mul(&rhs)
    }

    fn one() -> Self {
        Fq::ONE
    }

    fn inverse(self) -> Self {
        self.invert()
    }
}

impl Oracle for Fq2 {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        Fq2::new(Oracle::random(rng), Oracle::random(rng))
    }

    fn edges() -> Vec<Self> {
        let edges = <Fq as Oracle>::edges();
        let mut pairs = vec![Fq2::ONE, Fq2::new(edges[9], edges[9])];
        for (i, edge) in edges.iter().enumerate() {
            pairs.push(Fq2::new(*edge, Fq::default()));
            pairs.push(Fq2::new(Fq::default(), *edge));
            pairs.push(Fq2::new(*edge, edges[(7 * i + 1) % edges.len()]));
        }
        pairs
    }

    fn plus(self, rhs: Self) -> Self {
        self.add(&rhs)
    }

    fn minus(self, rhs: Self) -> Self {
        self.sub(&rhs)
    }

    fn times(self, rhs: Self) -> Self {
        self.mul(&rhs)
    }

    fn one() -> Self {
        Fq2::ONE
    }

    fn inverse(self) -> Self {
        self.invert()
    }
}

/// Pairs of edges and of random values, a multiple of the lanes.
fn samples<F: Oracle>() -> (Vec<F>, Vec<F>) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let edges = F::edges();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in &edges {
        for y in &edges {
            a.push(*x);
            b.push(*y);
        }
        for _ in 0..4 {
            a.push(*x);
            b.push(F::random(&mut rng));
        }
    }
    for _ in 0..2000 {
        a.push(F::random(&mut rng));
        b.push(F::random(&mut rng));
    }
    a.truncate(a.len() & !63);
    b.truncate(a.len());
    (a, b)
}

fn scalars<L: Lanes>(lanes: L) -> Vec<L::Scalar> {
    let mut out = vec![L::Scalar::default(); L::Arch::LANES];
    lanes.to_scalars(&mut out);
    out
}

fn each<F: Oracle>(a: &[F], b: &[F], operation: impl Fn(F, F) -> F) -> Vec<F> {
    a.iter().zip(b).map(|(a, b)| operation(*a, *b)).collect()
}

/// All operations that every field has.
fn check_field<L: Lanes<Scalar = F>, F: Oracle>(arch: L::Arch) {
    let (a, b) = samples::<F>();
    let lanes = <L::Arch as Arch>::LANES;
    for (a, b) in a.chunks(lanes).zip(b.chunks(lanes)) {
        let (x, y) = (L::from_scalars(arch, a), L::from_scalars(arch, b));
        assert_eq!(scalars(x), a);
        assert_eq!(scalars(x.add(y)), each(a, b, F::plus));
        assert_eq!(scalars(x.sub(y)), each(a, b, F::minus));
        assert_eq!(scalars(x.mul(y)), each(a, b, F::times));
        assert_eq!(scalars(x.square()), each(a, a, F::times));
        assert_eq!(scalars(x.double()), each(a, a, F::plus));
        assert_eq!(scalars(x.neg()), each(a, a, |a, _| F::default().minus(a)));
        assert_eq!(scalars(L::splat(arch, &b[0])), vec![b[0]; lanes]);
        check_masks(x, y, a, b);
        check_lazy(x, y, a, b);
    }
}

fn check_masks<L: Lanes<Scalar = F>, F: Oracle>(x: L, y: L, a: &[F], b: &[F]) {
    let bits = |test: &dyn Fn(usize) -> bool| {
        (0..a.len()).fold(0, |bits, i| bits | u64::from(test(i)) << i)
    };
    assert_eq!(x.is_zero().bits(), bits(&|i| a[i] == F::default()));
    assert_eq!(x.sub(x).is_zero().bits(), bits(&|_| true));
    assert_eq!(x.add(x.neg()).is_zero().bits(), bits(&|_| true));
    assert_eq!(x.mul(y).sub(y.mul(x)).is_zero().bits(), bits(&|_| true));
    // Zero as the difference of equal values, times anything: a multiple of p that is not the canonical zero.
    assert_eq!(x.sub(x).mul(y).is_zero().bits(), bits(&|_| true));
    assert_eq!(x.sub(x).square().is_zero().bits(), bits(&|_| true));
    assert_eq!(x.equals(y).bits(), bits(&|i| a[i] == b[i]));
    assert_eq!(x.add(y).sub(x).equals(y).bits(), bits(&|_| true));
    let mask = <L::Arch as Arch>::Mask::from_bits(x.arch(), 0b0110_1001);
    let chosen = scalars(L::select(mask, x, y));
    for (i, chosen) in chosen.iter().enumerate() {
        assert_eq!(*chosen, if mask.lane(i) { a[i] } else { b[i] });
    }
    assert_eq!(mask.not().or(mask).bits(), bits(&|_| true));
    assert!(!mask.not().and(mask).any());
}

fn check_lazy<L: Lanes<Scalar = F>, F: Oracle>(x: L, y: L, a: &[F], b: &[F]) {
    let (sums, differences) = (each(a, b, F::plus), each(a, b, F::minus));
    let (sum, difference) = (x.add_lazy(y), x.sub_lazy(y));
    assert_eq!(scalars(sum), sums);
    assert_eq!(scalars(difference), differences);
    assert_eq!(
        scalars(sum.mul(difference)),
        each(&sums, &differences, F::times)
    );
    assert_eq!(scalars(sum.square()), each(&sums, &sums, F::times));
    assert_eq!(
        scalars(difference.square()),
        each(&differences, &differences, F::times)
    );
    assert_eq!(
        scalars(sum.sub(difference)),
        each(&sums, &differences, F::minus)
    );
    assert_eq!(
        scalars(difference.add(sum)),
        each(&sums, &differences, F::plus)
    );
    assert!(!difference.sub(difference).is_zero().not().any());
}

fn check_inversion<L: Lanes<Scalar = F>, F: Oracle>(arch: L::Arch) {
    let (a, _) = samples::<F>();
    let lanes = <L::Arch as Arch>::LANES;
    let mut scratch = Vec::new();
    for count in [0, 1, 2, 3, 4, 5, 8, 100] {
        let a = &a[..count * lanes];
        let mut values: Vec<L> = a.chunks(lanes).map(|a| L::from_scalars(arch, a)).collect();
        for value in &values {
            let inverse = scalars(invert_lanes(*value));
            let product = each(&inverse, &scalars(*value), F::times);
            for (product, value) in product.iter().zip(scalars(*value)) {
                assert!(*product == F::one() || value == F::default());
            }
        }
        batch_invert(arch, &mut values, &mut scratch);
        let inverses: Vec<F> = values.iter().flat_map(|value| scalars(*value)).collect();
        assert_eq!(inverses, each(a, a, |a, _| a.inverse()));
    }
}

fn check_rows<L: CoordinateLanes<Scalar = F>, F: Oracle>(arch: L::Arch) {
    let (a, b) = samples::<F>();
    let lanes = <L::Arch as Arch>::LANES;
    for (a, b) in a.chunks(lanes).zip(b.chunks(lanes)).take(200) {
        let sum = L::from_scalars(arch, a).add(L::from_scalars(arch, b));
        let mut rows = vec![L::Row::default(); lanes];
        assert!(L::gather(arch, |i| &rows[i]).is_zero().lane(lanes - 1));
        sum.scatter(|i, row| rows[lanes - 1 - i] = row);
        let back = scalars(L::gather(arch, |i| &rows[lanes - 1 - i]));
        assert_eq!(back, each(a, b, F::plus));
    }
}

/// Big-endian bytes of any content, against the definition.
fn check_encoded<A: Arch>(arch: A) {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for round in 0..50 {
        let mut bytes = vec![[0u8; 96]; A::LANES];
        for bytes in &mut bytes {
            rng.fill_bytes(bytes);
            if round < 2 {
                bytes.fill(255 * round);
            }
        }
        let expected = |bytes: &[u8]| {
            let mut value = Fq::default();
            let mut power = Fq::ONE;
            let mut masked = bytes.to_vec();
            masked[0] &= 0x1f;
            for byte in masked.iter().rev() {
                for bit in 0..8 {
                    if byte >> bit & 1 == 1 {
                        value = value.add(&power);
                    }
                    power = power.add(&power);
                }
            }
            value
        };
        let g1 = scalars(A::Fq::gather_encoded(arch, |i| &bytes[i]));
        let g2 = scalars(A::Fq2::gather_encoded(arch, |i| &bytes[i]));
        for (i, bytes) in bytes.iter().enumerate() {
            let (first, second) = (expected(&bytes[..48]), expected(&bytes[48..]));
            assert_eq!(g1[i], first);
            assert_eq!(g2[i], Fq2::new(second, first));
        }
        let short = scalars(A::Fq2::gather_encoded(arch, |i| &bytes[i][..95]));
        assert_eq!(short, vec![Fq2::default(); A::LANES]);
        let short = scalars(A::Fq::gather_encoded(arch, |i| &bytes[i][..47]));
        assert_eq!(short, vec![Fq::default(); A::LANES]);
    }
}

fn check_linear<A: Arch>(arch: A) {
    let (a, b) = samples::<Fr>();
    let stride = 3;
    for (a, b) in a.chunks(3 * A::LANES).zip(b.chunks(3 * A::LANES)) {
        if a.len() < 3 * A::LANES {
            continue;
        }
        let (x, y) = (A::Fr::load(arch, a, stride), A::Fr::load(arch, b, stride));
        let w = A::Fr::factor(arch, &b[1]);
        let stored = |value: A::Fr| {
            let mut rows = vec![Fr::ONE; 3 * A::LANES];
            value.store(&mut rows, stride);
            assert!(rows.iter().skip(1).step_by(3).all(|row| *row == Fr::ONE));
            rows.into_iter().step_by(3).collect::<Vec<_>>()
        };
        let every = |operation: &dyn Fn(Fr, Fr) -> Fr| {
            let pairs = a.iter().zip(b).step_by(3);
            pairs.map(|(a, b)| operation(*a, *b)).collect::<Vec<_>>()
        };
        assert_eq!(stored(x), every(&|a, _| a));
        assert_eq!(stored(x.sub(y)), every(&|a, b| a - b));
        assert_eq!(stored(x.scale(&w)), every(&|a, _| a * b[1]));
        assert_eq!(
            stored(x.mul(A::Fr::splat(arch, &b[1]))),
            every(&|a, _| a * b[1])
        );
        let correction = Fr::from(A::Fr::LOADED_PRODUCT).invert().unwrap();
        assert_eq!(stored(x.mul(y)), every(&|a, b| a * b * correction));
        // Sixteen layers, as a transform of 2^16 elements has them.
        let (mut low, mut high) = (x, y);
        let (mut expected_low, mut expected_high) = (every(&|a, _| a), every(&|_, b| b));
        for _ in 0..16 {
            (low, high) = A::Fr::butterfly(low, high, &w);
            for (low, high) in expected_low.iter_mut().zip(&mut expected_high) {
                let product = *high * b[1];
                (*low, *high) = (*low + product, *low - product);
            }
        }
        assert_eq!(stored(low.reduce()), expected_low);
        assert_eq!(
            stored(high.scale(&w)),
            expected_high.iter().map(|h| h * b[1]).collect::<Vec<_>>()
        );
    }
}

/// Sums of products, as many as may be, of extreme values among others.
fn check_dot<A: Arch>(arch: A) {
    let (a, b) = samples::<Fr>();
    let largest = vec![-Fr::ONE; 16 * A::LANES];
    let runs = a.chunks(16 * A::LANES).zip(b.chunks(16));
    for (a, b) in runs.chain([(&largest[..], &largest[..16])]) {
        // A sum is reduced, but not canonical.
        let reduced = |values| {
            let value = A::Fr::from_scalars(arch, values);
            value.add(value).sub(value)
        };
        let values: Vec<A::Fr> = a.chunks_exact(A::LANES).map(reduced).collect();
        let factors: Vec<_> = b.iter().map(|b| A::Fr::factor(arch, b)).collect();
        for count in [0, 1, 2, 15, values.len()] {
            let mut expected = vec![Fr::ZERO; A::LANES];
            for (a, b) in a.chunks(A::LANES).zip(b).take(count) {
                for (sum, a) in expected.iter_mut().zip(a) {
                    *sum += a * b;
                }
            }
            let count = count.min(values.len());
            let found = A::Fr::dot(arch, &values[..count], &factors);
            assert_eq!(scalars(found), expected);
            assert_eq!(
                scalars(found.mul(found)),
                each(&expected, &expected, Fr::times)
            );
        }
        let broadcast = A::Fr::broadcast(arch, &factors[0]);
        assert_eq!(scalars(broadcast), vec![b[0]; A::LANES]);
    }
}

struct Check;

impl Kernel for Check {
    type Output = &'static str;

    fn run<A: Arch>(self, arch: A) -> &'static str {
        assert!(A::LANES.is_power_of_two());
        check_field::<A::Fr, Fr>(arch);
        check_field::<A::Fq, Fq>(arch);
        check_field::<A::Fq2, Fq2>(arch);
        check_inversion::<A::Fr, Fr>(arch);
        check_inversion::<A::Fq, Fq>(arch);
        check_inversion::<A::Fq2, Fq2>(arch);
        check_rows::<A::Fq, Fq>(arch);
        check_rows::<A::Fq2, Fq2>(arch);
        check_encoded(arch);
        check_linear(arch);
        check_dot(arch);
        A::NAME
    }
}

/// Says which architecture that was, past the test harness, which keeps to itself what is printed: on a machine without
/// AVX-512 IFMA its code is not tested.
#[test]
fn the_widest_architecture_equals_blst() {
    let name = dispatch(Check);
    let note = match name {
        "avx512-ifma" => format!("tested: {name}\n"),
        _ => format!("not tested: avx512-ifma, which this machine lacks; the widest is {name}\n"),
    };
    std::io::stdout().write_all(note.as_bytes()).unwrap();
    // Detected by other means than the ones that are tested.
    let Ok(flags) = std::fs::read_to_string("/proc/cpuinfo") else {
        return;
    };
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let wide = [
        "avx512f",
        "avx512bw",
        "avx512dq",
        "avx512vl",
        "avx512ifma",
        "bmi2",
    ];
    assert_eq!(name == "avx512-ifma", wide.into_iter().all(has), "{name}");
}

#[test]
fn the_scalar_architecture_equals_blst() {
    assert_eq!(dispatch_scalar(Check), "scalar");
}

#[test]
fn fields_have_the_right_constants() {
    assert_eq!(Fr::MODULUS.trim_start_matches("0x").len(), 64);
    let one = Fq::ONE;
    assert_eq!(format!("{one:?}"), format!("0x{:096x}", 1));
    let minus_one = Fq::default().sub(&one);
    let mut p_minus_one = String::from("0x");
    for (i, limb) in Fq::P.iter().enumerate().rev() {
        p_minus_one += &format!("{:016x}", limb - u64::from(i == 0));
    }
    assert_eq!(format!("{minus_one:?}"), p_minus_one);
}
