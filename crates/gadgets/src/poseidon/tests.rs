//! Against the definition, with constants of no meaning.

use cuzk_curve::simd::dispatch_scalar;

use super::*;
use ff::Field;

/// Elements without a pattern.
struct Elements(Fr);

impl Elements {
    fn next(&mut self) -> Fr {
        self.0 = self.0.square() + self.0 + Fr::from(5);
        self.0
    }

    fn take(&mut self, count: usize) -> Vec<Fr> {
        (0..count).map(|_| self.next()).collect()
    }
}

struct Owned {
    domain_tag: Fr,
    full_rounds: usize,
    partial_rounds: usize,
    round_keys: Vec<Fr>,
    mds: Vec<Vec<Fr>>,
    pre_sparse: Vec<Vec<Fr>>,
    sparse: Vec<(Vec<Fr>, Vec<Fr>)>,
}

fn constants(width: usize, full_rounds: usize, partial_rounds: usize) -> Owned {
    let mut elements = Elements(Fr::from(width as u64));
    Owned {
        domain_tag: elements.next(),
        full_rounds,
        partial_rounds,
        round_keys: elements.take(width * full_rounds + partial_rounds),
        mds: (0..width).map(|_| elements.take(width)).collect(),
        pre_sparse: (0..width).map(|_| elements.take(width)).collect(),
        sparse: (0..partial_rounds)
            .map(|_| (elements.take(width), elements.take(width - 1)))
            .collect(),
    }
}

impl Owned {
    fn with<T>(&self, use_them: impl FnOnce(&PoseidonConstants<'_>) -> T) -> T {
        let sparse: Vec<_> = self
            .sparse
            .iter()
            .map(|(column, row)| Sparse { column, row })
            .collect();
        use_them(&PoseidonConstants {
            domain_tag: self.domain_tag,
            full_rounds: self.full_rounds,
            partial_rounds: self.partial_rounds,
            round_keys: &self.round_keys,
            mds: &self.mds,
            pre_sparse: &self.pre_sparse,
            sparse: &sparse,
        })
    }

    /// The values in order of allocation, one operation after the other.
    fn naive(&self, preimage: &[Fr]) -> Vec<Fr> {
        let width = self.mds.len();
        let mut out = Vec::new();
        let (first, after) = self.round_keys.split_at(width);
        let mut after = after.iter();
        let mut state = vec![self.domain_tag];
        state.extend(preimage);
        let half = self.full_rounds / 2;
        for round in 0..self.full_rounds + self.partial_rounds {
            let partial = (half..half + self.partial_rounds).contains(&round);
            for i in 0..if partial { 1 } else { width } {
                if round == 0 {
                    state[i] += first[i];
                } else {
                    out.push(state[i]);
                }
                let square = state[i] * state[i];
                let fifth = square * square * state[i] + after.next().unwrap_or(&Fr::ZERO);
                if (round, i) != (0, 0) {
                    out.extend([square, square * square, fifth]);
                }
                state[i] = fifth;
            }
            let matrix = |i: usize, j: usize| {
                if partial {
                    let (column, row) = &self.sparse[round - half];
                    match (i, j) {
                        (_, 0) => column[i],
                        (0, _) => row[j - 1],
                        _ => Fr::from(u64::from(i == j)),
                    }
                } else if round + 1 == half {
                    self.pre_sparse[i][j]
                } else {
                    self.mds[i][j]
                }
            };
            let product = |j| (0..width).map(|i| state[i] * matrix(i, j)).sum();
            state = (0..width).map(product).collect();
        }
        out.push(state[1]);
        out
    }
}

#[test]
fn equals_the_definition() {
    for (width, full, partial) in [(2, 4, 0), (3, 8, 55), (9, 8, 57), (12, 8, 57), (16, 6, 3)] {
        let constants = constants(width, full, partial);
        let poseidon = constants.with(Poseidon::new);
        let mut elements = Elements(Fr::from(77));
        for count in [0, 1, 7, 8, 9, 17] {
            let mut preimages = elements.take(count * (width - 1));
            // The largest element, and the smallest.
            preimages.iter_mut().step_by(5).for_each(|e| *e = -Fr::ONE);
            preimages.iter_mut().step_by(7).for_each(|e| *e = Fr::ZERO);
            let mut found = vec![Fr::ZERO; count * poseidon.witness_len()];
            poseidon.witnesses(&preimages, &mut found);
            let expected = preimages.chunks(width - 1).map(|p| constants.naive(p));
            let expected: Vec<Fr> = expected.flatten().collect();
            assert_eq!(found, expected, "{count} of width {width}");
        }
    }
}

struct OneAtATime<'a> {
    constants: &'a PoseidonConstants<'a>,
    preimages: &'a [Fr],
    witnesses: &'a mut [Fr],
}

impl Kernel for OneAtATime<'_> {
    type Output = ();

    fn run<A: Arch>(self, arch: A) {
        let batches = Batches {
            tables: &Tables::<A>::new(arch, self.constants),
            preimages: self.preimages,
            witnesses: self.witnesses,
        };
        batches.run(arch);
    }
}

#[test]
fn one_lane_equals_many() {
    let constants = constants(9, 8, 57);
    let poseidon = constants.with(Poseidon::new);
    let preimages = Elements(Fr::from(3)).take(8 * 11);
    let mut many = vec![Fr::ZERO; 11 * poseidon.witness_len()];
    let mut single = many.clone();
    poseidon.witnesses(&preimages, &mut many);
    constants.with(|constants| {
        dispatch_scalar(OneAtATime {
            constants,
            preimages: &preimages,
            witnesses: &mut single,
        });
    });
    assert_eq!(many, single);
    let last = &preimages[8 * 10..];
    assert_eq!(poseidon.witness(last), many[10 * poseidon.witness_len()..]);
}
