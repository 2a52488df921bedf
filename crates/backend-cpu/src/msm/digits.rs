//! Signed-digit recoding of scalars.
//!
//! A scalar k is taken as the residue of least magnitude, so -1 has one digit like 1, and written in base 2^c with
//! digits from -2^(c-1) to 2^(c-1) - 1. Buckets are then half as many as with unsigned digits.

use cuzk_curve::{Fr, Wipe, large_pages};
use ff::PrimeField;
use rayon::prelude::*;

/// Bits of the largest magnitude, (r-1)/2, and one for the sign.
const SIGNED_BITS: u32 = 255;
/// Scalars whose digits lie together; one block holds each window's digits in a row.
const BLOCK: usize = 1024;
/// The narrowest window: below it the top digit may not fit.
pub(crate) const MIN_WINDOW: u32 = 4;
/// The widest window: its digits fill an `i16`.
pub(crate) const MAX_WINDOW: u32 = 16;

/// The order r of the group, little-endian 64-bit words.
const ORDER: [u64; 4] = [
    0xffff_ffff_0000_0001,
    0x53bd_a402_fffe_5bfe,
    0x3339_d808_09a1_d805,
    0x73ed_a753_299d_7d48,
];
/// (r - 1) / 2.
const HALF: [u64; 4] = [
    0x7fff_ffff_8000_0000,
    0xa9de_d201_7fff_2dff,
    0x199c_ec04_04d0_ec02,
    0x39f6_d3a9_94ce_bea4,
];

/// Digits of a scalar in windows of `window` bits.
pub(crate) fn windows(window: u32) -> usize {
    SIGNED_BITS.div_ceil(window) as usize
}

/// Buckets of a window: the magnitudes 1 to 2^(window-1).
pub(crate) fn buckets(window: u32) -> usize {
    1 << (window - 1)
}

/// The digits of many scalars, readable window by window.
pub(crate) struct Digits {
    window: u32,
    len: usize,
    /// Blocks of `windows * BLOCK` digits, window-major; the last block is padded with zeros.
    blocks: Vec<i16>,
}

impl Digits {
    /// Recodes `scalars` in windows of `window` bits, from [`MIN_WINDOW`] to [`MAX_WINDOW`].
    pub(crate) fn new(scalars: &[Fr], window: u32) -> Self {
        debug_assert!((MIN_WINDOW..=MAX_WINDOW).contains(&window));
        let row = windows(window) * BLOCK;
        let mut blocks = large_pages(scalars.len().div_ceil(BLOCK) * row, 0i16);
        blocks
            .par_chunks_mut(row)
            .zip(scalars.par_chunks(BLOCK))
            .for_each(|(block, scalars)| {
                for (i, scalar) in scalars.iter().enumerate() {
                    recode(scalar, window, |w, digit| block[w * BLOCK + i] = digit);
                }
            });
        Self {
            window,
            len: scalars.len(),
            blocks,
        }
    }

    /// Number of scalars.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Number of windows.
    pub(crate) fn windows(&self) -> usize {
        windows(self.window)
    }

    /// Number of buckets a window has.
    pub(crate) fn buckets(&self) -> usize {
        buckets(self.window)
    }

    /// One digit of one scalar.
    pub(crate) fn get(&self, scalar: usize, window: usize) -> i16 {
        let row = scalar / BLOCK * self.windows() + window;
        self.blocks[row * BLOCK + scalar % BLOCK]
    }

    /// The digits of a window in the order of the scalars, a block at a time.
    pub(crate) fn window(&self, window: usize) -> impl DoubleEndedIterator<Item = &[i16]> {
        let row = self.windows() * BLOCK;
        self.blocks.chunks(row).enumerate().map(move |(b, block)| {
            let len = BLOCK.min(self.len - b * BLOCK);
            &block[window * BLOCK..window * BLOCK + len]
        })
    }
}

impl Wipe for Digits {
    fn wipe(&mut self) {
        self.blocks.wipe();
    }
}

/// Calls `put` with each window's digit of `scalar`.
#[inline]
fn recode(scalar: &Fr, window: u32, mut put: impl FnMut(usize, i16)) {
    let words = least_residue(scalar);
    let (base, half) = (1i32 << window, 1i32 << (window - 1));
    let mut carry = 0;
    for w in 0..windows(window) {
        let digit = bits(&words, w as u32 * window, window) + carry;
        carry = i32::from(digit >= half);
        put(w, (digit - carry * base) as i16);
    }
}

/// The residue of least magnitude, from -(r-1)/2 to (r-1)/2, in two's complement.
#[inline]
fn least_residue(scalar: &Fr) -> [u64; 4] {
    let repr = scalar.to_repr();
    let mut words = [0u64; 4];
    for (word, bytes) in words.iter_mut().zip(repr.chunks_exact(8)) {
        *word = bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    if words.iter().rev().gt(HALF.iter().rev()) {
        let mut borrow = false;
        for (word, order) in words.iter_mut().zip(ORDER) {
            let (difference, under) = word.overflowing_sub(order);
            let (difference, under_again) = difference.overflowing_sub(u64::from(borrow));
            *word = difference;
            borrow = under | under_again;
        }
    }
    words
}

/// `width` bits from bit `start`; the sign goes on past the last word.
#[inline]
fn bits(words: &[u64; 4], start: u32, width: u32) -> i32 {
    let (word, shift) = ((start / 64) as usize, start % 64);
    let sign = (words[3] as i64 >> 63) as u64;
    let low = words.get(word).copied().unwrap_or(sign);
    let high = words.get(word + 1).copied().unwrap_or(sign);
    let both = u128::from(high) << 64 | u128::from(low);
    (both >> shift) as i32 & ((1 << width) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff::Field;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn digits_sum_to_the_scalar_in_every_window_width() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let half = -Fr::from(2).invert().unwrap();
        let mut scalars = vec![Fr::ZERO, Fr::ONE, -Fr::ONE, half, half + Fr::ONE];
        scalars.extend((0..64).map(|i| Fr::from(2).pow([i * 4])));
        scalars.extend((0..64).map(|i| -Fr::from(2).pow([i * 4 + 1])));
        scalars.extend((0..BLOCK).map(|_| Fr::random(&mut rng)));
        for window in MIN_WINDOW..=MAX_WINDOW {
            let digits = Digits::new(&scalars, window);
            let base = Fr::from(1 << window);
            let limit = 1i32 << (window - 1);
            for (i, scalar) in scalars.iter().enumerate() {
                let mut sum = Fr::ZERO;
                for w in (0..digits.windows()).rev() {
                    let digit = i32::from(digits.get(i, w));
                    assert!((-limit..limit).contains(&digit));
                    let size = Fr::from(u64::from(digit.unsigned_abs()));
                    sum = sum * base + if digit < 0 { -size } else { size };
                }
                assert_eq!(sum, *scalar, "window {window}, scalar {i}");
            }
        }
    }

    #[test]
    fn windows_read_in_the_order_of_the_scalars() {
        let scalars: Vec<Fr> = (0..BLOCK as u64 + 3).map(Fr::from).collect();
        let digits = Digits::new(&scalars, 12);
        for w in 0..digits.windows() {
            let row: Vec<i16> = digits.window(w).flatten().copied().collect();
            let single: Vec<i16> = (0..scalars.len()).map(|i| digits.get(i, w)).collect();
            assert_eq!(row, single);
        }
    }

    #[test]
    fn minus_one_has_one_digit() {
        let digits = Digits::new(&[-Fr::ONE], 8);
        let row: Vec<i16> = (0..digits.windows()).map(|w| digits.get(0, w)).collect();
        assert_eq!(row[0], -1);
        assert!(row[1..].iter().all(|&digit| digit == 0));
    }
}
