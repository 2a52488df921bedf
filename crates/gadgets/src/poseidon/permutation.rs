//! The permutation, generic over the architecture of the lanes.
//!
//! Values stay in linear form (see [`FrLanes`]), the form in which they are loaded and stored. A product of two of them
//! carries the architecture's constant twice, so one of the two is first multiplied by [`FrLanes::LOADED_PRODUCT`]. Keys,
//! which are added, are divided by it beforehand.

use cuzk_curve::Fr;
use cuzk_curve::simd::{Arch, FrLanes, Lanes};
use ff::Field;

use super::{MAX_WIDTH, PoseidonConstants};

type Factor<A> = <<A as Arch>::Fr as FrLanes>::Factor;

/// Constants as an architecture multiplies with them.
pub struct Tables<A: Arch> {
    width: usize,
    half_full_rounds: usize,
    witness_len: usize,
    /// The domain tag after the first S-box.
    tag: Factor<A>,
    /// What the first S-boxes add before, those of the preimage.
    first_keys: Vec<Factor<A>>,
    /// What the S-boxes add after, in the order in which they run; the tag's in the first round and those of the last
    /// round are left out.
    keys: Vec<Factor<A>>,
    /// By columns.
    mds: Vec<Factor<A>>,
    /// By columns.
    pre_sparse: Vec<Factor<A>>,
    /// For each partial round the first column, then the rest of the first row.
    sparse: Vec<Factor<A>>,
    loaded_product: Factor<A>,
}

impl<A: Arch> Tables<A> {
    #[inline(always)]
    pub fn new(arch: A, constants: &PoseidonConstants<'_>) -> Self {
        let width = constants.mds.len();
        let loaded = Fr::from(A::Fr::LOADED_PRODUCT);
        let unloaded = Option::<Fr>::from(loaded.invert()).unwrap_or(Fr::ONE);
        let factor = |value: &Fr| A::Fr::factor(arch, value);
        let key = |value: &Fr| factor(&(value * unloaded));
        let columns = |matrix: &[Vec<Fr>]| {
            let column = |j: usize| matrix.iter().map(move |row| row[j]);
            let by_columns = (0..width).flat_map(column);
            by_columns.map(|value| factor(&value)).collect()
        };
        let (first, after) = constants.round_keys.split_at(width);
        let mut tag = constants.domain_tag + first[0];
        tag = tag.square().square() * tag + after[0];
        let both = |s: &super::Sparse<'_>| s.column.iter().chain(s.row).map(factor).collect();
        let sparse: Vec<Vec<Factor<A>>> = constants.sparse.iter().map(both).collect();
        Self {
            width,
            half_full_rounds: constants.full_rounds / 2,
            witness_len: 3 * (width - 1)
                + 4 * (width * (constants.full_rounds - 1) + constants.partial_rounds)
                + 1,
            tag: key(&tag),
            first_keys: first[1..].iter().map(key).collect(),
            keys: after[1..].iter().map(key).collect(),
            mds: columns(constants.mds),
            pre_sparse: columns(constants.pre_sparse),
            sparse: sparse.concat(),
            loaded_product: factor(&loaded),
        }
    }
}

/// Preimages and the places of their witnesses.
pub struct Batches<'a, A: Arch> {
    pub tables: &'a Tables<A>,
    pub preimages: &'a [Fr],
    pub witnesses: &'a mut [Fr],
}

impl<A: Arch> Batches<'_, A> {
    /// All of them, a batch of lanes after the other. The last is filled up with zeros.
    #[inline(always)]
    pub fn run(self, arch: A) {
        let (arity, len) = (self.tables.width - 1, self.tables.witness_len);
        let preimages = self.preimages.chunks(A::LANES * arity);
        let witnesses = self.witnesses.chunks_mut(A::LANES * len);
        for (preimages, witnesses) in preimages.zip(witnesses) {
            if preimages.len() == A::LANES * arity {
                permute(arch, self.tables, preimages, witnesses);
                continue;
            }
            let mut padded = vec![Fr::ZERO; A::LANES * arity];
            padded[..preimages.len()].copy_from_slice(preimages);
            let mut scratch = vec![Fr::ZERO; A::LANES * len];
            permute(arch, self.tables, &padded, &mut scratch);
            witnesses.copy_from_slice(&scratch[..witnesses.len()]);
        }
    }
}

/// Where lanes store what they allocate: lane i at `rows[i * stride + at]`.
struct Sink<'a> {
    rows: &'a mut [Fr],
    stride: usize,
    at: usize,
}

impl Sink<'_> {
    #[inline(always)]
    fn put<L: FrLanes<Scalar = Fr>>(&mut self, value: L) {
        value.store(&mut self.rows[self.at..], self.stride);
        self.at += 1;
    }
}

/// As many permutations as there are lanes.
#[inline(always)]
fn permute<A: Arch>(arch: A, tables: &Tables<A>, preimages: &[Fr], witnesses: &mut [Fr]) {
    let width = tables.width;
    let mut keys = tables.keys.iter();
    let mut state = [A::Fr::zero(arch); MAX_WIDTH];
    let state = &mut state[..width];
    let mut sink = Sink {
        rows: witnesses,
        stride: tables.witness_len,
        at: 0,
    };
    state[0] = A::Fr::broadcast(arch, &tables.tag);
    for i in 1..width {
        let loaded = A::Fr::load(arch, &preimages[i - 1..], width - 1);
        let input = loaded.add(A::Fr::broadcast(arch, &tables.first_keys[i - 1]));
        state[i] = powers(arch, tables, input, keys.next(), &mut sink);
    }
    multiply(arch, state, &tables.mds);
    for round in 1..tables.half_full_rounds {
        for element in &mut *state {
            sink.put(*element);
            *element = powers(arch, tables, *element, keys.next(), &mut sink);
        }
        let last = round + 1 == tables.half_full_rounds;
        multiply(
            arch,
            state,
            if last {
                &tables.pre_sparse
            } else {
                &tables.mds
            },
        );
    }
    for sparse in tables.sparse.chunks_exact(2 * width - 1) {
        sink.put(state[0]);
        let first = powers(arch, tables, state[0], keys.next(), &mut sink);
        state[0] = first;
        let (column, row) = sparse.split_at(width);
        state[0] = A::Fr::dot(arch, state, column);
        for i in 1..width {
            state[i] = state[i].add(first.scale(&row[i - 1]));
        }
    }
    for _ in 0..tables.half_full_rounds {
        for element in &mut *state {
            sink.put(*element);
            *element = powers(arch, tables, *element, keys.next(), &mut sink);
        }
        multiply(arch, state, &tables.mds);
    }
    sink.put(state[1]);
}

/// Allocates l², l⁴ and l⁵ + key, and returns the last.
#[inline(always)]
fn powers<A: Arch>(
    arch: A,
    tables: &Tables<A>,
    input: A::Fr,
    key: Option<&Factor<A>>,
    sink: &mut Sink<'_>,
) -> A::Fr {
    let whole = unload(tables, input);
    let square = input.mul(whole);
    sink.put(square);
    let fourth = square.mul(unload(tables, square));
    sink.put(fourth);
    let mut fifth = fourth.mul(whole);
    if let Some(key) = key {
        fifth = fifth.add(A::Fr::broadcast(arch, key));
    }
    sink.put(fifth);
    fifth
}

/// The element itself instead of its linear form.
#[inline(always)]
fn unload<A: Arch>(tables: &Tables<A>, value: A::Fr) -> A::Fr {
    if A::Fr::LOADED_PRODUCT == 1 {
        value
    } else {
        value.scale(&tables.loaded_product)
    }
}

/// The state, a row vector, times a matrix given by its columns.
#[inline(always)]
fn multiply<A: Arch>(arch: A, state: &mut [A::Fr], columns: &[Factor<A>]) {
    let mut before = [A::Fr::zero(arch); MAX_WIDTH];
    before[..state.len()].copy_from_slice(state);
    let before = &before[..state.len()];
    for (element, column) in state.iter_mut().zip(columns.chunks_exact(before.len())) {
        *element = A::Fr::dot(arch, before, column);
    }
}
