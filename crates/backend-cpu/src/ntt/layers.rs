//! The layers of butterflies of a transform in a buffer, as many transforms at once as there are lanes.
//!
//! Both orders take butterflies that multiply before they add, so that a layer adds no more than 2p to the bound of a
//! value and nothing is reduced on the way (see [`FrLanes`]). Two layers are done together, in registers.

use cuzk_curve::simd::FrLanes;

/// Elements of a part of the buffer that stays in the first-level cache: a power of four.
const NEAR: usize = 64;

/// Position `index` with its lowest `log` bits reversed.
#[inline(always)]
pub(super) fn reversed(index: usize, log: u32) -> usize {
    if log == 0 {
        0
    } else {
        index.reverse_bits() >> (usize::BITS - log)
    }
}

/// Replaces x by its transform in bit-reversed order. The operands must be reduced; the results are loose.
///
/// Each layer splits the polynomials modulo x^2h - c² into those modulo x^h - c and x^h + c; `twiddles[k]` is the c of
/// block k, whatever the layer (see [`super::domain::reversed_twiddles`]).
#[inline(always)]
pub(super) fn natural_to_reversed<L: FrLanes>(x: &mut [L], twiddles: &[L::Factor]) {
    let mut len = x.len();
    if len < 2 {
        return;
    }
    if len.ilog2() % 2 == 1 {
        halve(x);
        len /= 2;
    } else {
        split::<L, true>(x, twiddles, 0);
        len /= 4;
    }
    while len > NEAR {
        for (k, block) in x.chunks_exact_mut(len).enumerate() {
            split::<L, false>(block, twiddles, k);
        }
        len /= 4;
    }
    for (k, block) in x.chunks_exact_mut(len).enumerate() {
        split_all(block, twiddles, k);
    }
}

/// All further layers of block k, while it is near.
#[inline(always)]
fn split_all<L: FrLanes>(block: &mut [L], twiddles: &[L::Factor], k: usize) {
    let (mut len, mut first) = (block.len(), k);
    while len > 1 {
        for (k, part) in block.chunks_exact_mut(len).enumerate() {
            split::<L, false>(part, twiddles, first + k);
        }
        len /= 4;
        first *= 4;
    }
}

/// The first layer alone, whose twiddle is one.
#[inline(always)]
fn halve<L: FrLanes>(x: &mut [L]) {
    let (low, high) = x.split_at_mut(x.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        (*low, *high) = L::butterfly_one(*low, *high);
    }
}

/// Two layers of block k. `FIRST`: the block is the whole buffer and its operands are reduced.
#[inline(always)]
fn split<L: FrLanes, const FIRST: bool>(block: &mut [L], twiddles: &[L::Factor], k: usize) {
    let (outer, left, right) = (twiddles[k], twiddles[2 * k], twiddles[2 * k + 1]);
    let (low, high) = block.split_at_mut(block.len() / 2);
    let (x0, x1) = low.split_at_mut(low.len() / 2);
    let (x2, x3) = high.split_at_mut(high.len() / 2);
    for (((x0, x1), x2), x3) in x0.iter_mut().zip(x1).zip(x2).zip(x3) {
        let (a, c) = first_butterfly::<L, FIRST>(*x0, *x2, &outer);
        let (b, d) = first_butterfly::<L, FIRST>(*x1, *x3, &outer);
        (*x0, *x1) = L::butterfly(a, b, &left);
        (*x2, *x3) = L::butterfly(c, d, &right);
    }
}

#[inline(always)]
fn first_butterfly<L: FrLanes, const FIRST: bool>(a: L, b: L, w: &L::Factor) -> (L, L) {
    if FIRST {
        L::butterfly_one(a, b)
    } else {
        L::butterfly(a, b, w)
    }
}

/// Replaces x, in bit-reversed order, by its transform. The operands must be reduced; the results are loose.
///
/// `ONE`: the twiddle of the first layer is one. For the layout of the twiddles, which may be those of a coset, see
/// [`super::domain::layered_twiddles`].
#[inline(always)]
pub(super) fn reversed_to_natural<L: FrLanes, const ONE: bool>(
    x: &mut [L],
    twiddles: &[L::Factor],
) {
    if x.len() < 2 {
        return;
    }
    let odd = x.len().ilog2() % 2 == 1;
    let first = if odd { 2 } else { 4 };
    let near = x.len().min(first * NEAR / 4);
    for part in x.chunks_exact_mut(near) {
        if odd {
            for pair in part.chunks_exact_mut(2) {
                (pair[0], pair[1]) = first_butterfly::<L, ONE>(pair[0], pair[1], &twiddles[0]);
            }
        } else {
            for block in part.chunks_exact_mut(4) {
                join::<L, ONE>(block, twiddles);
            }
        }
        join_layers(part, first, twiddles);
    }
    join_layers(x, near, twiddles);
}

/// The layers that join parts of `half` elements and wider ones, up to all of x.
#[inline(always)]
fn join_layers<L: FrLanes>(x: &mut [L], half: usize, twiddles: &[L::Factor]) {
    let mut len = 4 * half;
    while len <= x.len() {
        for block in x.chunks_exact_mut(len) {
            join::<L, false>(block, twiddles);
        }
        len *= 4;
    }
}

/// Two layers: four parts to one block. `ONE`: the twiddle of the inner layer is one, and the operands are reduced.
#[inline(always)]
fn join<L: FrLanes, const ONE: bool>(block: &mut [L], twiddles: &[L::Factor]) {
    let quarter = block.len() / 4;
    let inner = &twiddles[quarter - 1..2 * quarter - 1];
    let (outer_low, outer_high) = twiddles[2 * quarter - 1..4 * quarter - 1].split_at(quarter);
    let (low, high) = block.split_at_mut(2 * quarter);
    let (x0, x1) = low.split_at_mut(quarter);
    let (x2, x3) = high.split_at_mut(quarter);
    for j in 0..quarter {
        let (a, b) = first_butterfly::<L, ONE>(x0[j], x1[j], &inner[j]);
        let (c, d) = first_butterfly::<L, ONE>(x2[j], x3[j], &inner[j]);
        (x0[j], x2[j]) = L::butterfly(a, c, &outer_low[j]);
        (x1[j], x3[j]) = L::butterfly(b, d, &outer_high[j]);
    }
}
