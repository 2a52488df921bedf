//! Arithmetic modulo p on N limbs of 52 bits, for any N and p: what Fr and Fq share.
//!
//! Montgomery's factor is 2^(52N). *Carried* limbs are below 2^52 each; uncarried ones are signed words whose weighted sum
//! is the value.

use super::Ifma;
use super::ops::V;

/// The low 52 bits.
pub(super) const MASK: u64 = (1 << 52) - 1;

/// A modulus and what follows from it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Modulus<const N: usize> {
    /// p.
    pub p: [u64; N],
    /// 2^(52N) - p.
    pub complement: [u64; N],
    /// -1/p modulo 2^52.
    pub inverse: u64,
    /// 2^52 over one more than the highest limb of p, rounded down: an estimate of quotients.
    pub reciprocal: u64,
}

impl<const N: usize> Modulus<N> {
    pub(super) const fn new(p: [u64; N]) -> Self {
        let mut complement = [0; N];
        let mut borrow = 0;
        let mut i = 0;
        while i < N {
            // 0 - p[i] - borrow, modulo 2^52.
            complement[i] = (1u64 << 52).wrapping_sub(p[i] + borrow) & MASK;
            borrow = if p[i] + borrow == 0 { 0 } else { 1 };
            i += 1;
        }
        // Newton's iteration doubles the number of right bits, three at first.
        let mut inverse = p[0];
        let mut round = 0;
        while round < 5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(p[0].wrapping_mul(inverse)));
            round += 1;
        }
        Self {
            p,
            complement,
            inverse: inverse.wrapping_neg() & MASK,
            reciprocal: (1 << 52) / (p[N - 1] + 1),
        }
    }

    /// 2^exponent modulo p.
    pub(super) const fn power_of_two(&self, exponent: u32) -> [u64; N] {
        let mut value = [0; N];
        value[0] = 1;
        let mut step = 0;
        while step < exponent {
            value = self.double_once(value);
            step += 1;
        }
        value
    }

    /// 2p.
    const fn double_carried(&self) -> [u64; N] {
        let mut doubled = self.p;
        let mut carry = 0;
        let mut i = 0;
        while i < N {
            let limb = self.p[i] * 2 + carry;
            carry = limb >> 52;
            doubled[i] = limb & MASK;
            i += 1;
        }
        doubled
    }

    const fn double_once(&self, value: [u64; N]) -> [u64; N] {
        let mut doubled = value;
        let mut reduced = value;
        let (mut carry, mut borrow) = (0, 0);
        let mut i = 0;
        while i < N {
            let limb = value[i] * 2 + carry;
            carry = limb >> 52;
            doubled[i] = limb & MASK;
            let difference = doubled[i].wrapping_sub(self.p[i] + borrow);
            borrow = difference >> 63;
            reduced[i] = difference & MASK;
            i += 1;
        }
        if borrow == 1 { doubled } else { reduced }
    }

    /// A multiple of p, `times` p, with limbs from which carried limbs can be taken without a sign: all but the highest are
    /// at least 2^52.
    pub(super) const fn spread_multiple(&self, times: u64) -> [u64; N] {
        let mut out = [0; N];
        let mut carry: i128 = 0;
        let mut i = 0;
        while i < N {
            let limb = self.p[i] as i128 * times as i128 + carry;
            if i + 1 < N {
                out[i] = (limb as u64 & MASK) + (1 << 52);
                // The 2^52 that was added comes off the next limb.
                carry = (limb >> 52) - 1;
            } else {
                out[i] = limb as u64;
            }
            i += 1;
        }
        out
    }
}

impl Ifma {
    /// Every limb in every lane.
    #[inline(always)]
    pub(super) fn words<const N: usize>(self, limbs: &[u64; N]) -> [V; N] {
        let mut out = [self.zero(); N];
        for i in 0..N {
            out[i] = self.word(limbs[i]);
        }
        out
    }

    /// Limb by limb, uncarried.
    #[inline(always)]
    pub(super) fn add_limbs<const N: usize>(self, a: &[V; N], b: &[V; N]) -> [V; N] {
        let mut out = *a;
        for i in 0..N {
            out[i] = self.add(a[i], b[i]);
        }
        out
    }

    /// Limb by limb, uncarried: `a + bias - b`.
    #[inline(always)]
    pub(super) fn sub_limbs<const N: usize>(
        self,
        a: &[V; N],
        b: &[V; N],
        bias: &[u64; N],
    ) -> [V; N] {
        let mut out = *a;
        for i in 0..N {
            out[i] = self.add(a[i], self.sub(self.word(bias[i]), b[i]));
        }
        out
    }

    /// Carried limbs of the same value. It must lie in [0, 2^(52N)): what overflows the highest limb is dropped.
    #[inline(always)]
    pub(super) fn carried<const N: usize>(self, limbs: &[V; N]) -> [V; N] {
        let mask = self.word(MASK);
        let mut out = *limbs;
        for i in 0..N - 1 {
            out[i + 1] = self.add(out[i + 1], self.signed_carry(out[i]));
            out[i] = self.and(out[i], mask);
        }
        out[N - 1] = self.and(out[N - 1], mask);
        out
    }

    /// Takes off as many p as the highest limb shows, and carries. The limbs may be uncarried, and the value must not be
    /// negative; see the callers for the bounds.
    #[inline(always)]
    pub(super) fn reduced<const N: usize>(self, limbs: &[V; N], m: &Modulus<N>) -> [V; N] {
        let quotient = self.hi(self.zero(), limbs[N - 1], self.word(m.reciprocal));
        let mut out = *limbs;
        for i in 0..N {
            let complement = self.word(m.complement[i]);
            out[i] = self.lo(out[i], quotient, complement);
            if i + 1 < N {
                out[i + 1] = self.hi(out[i + 1], quotient, complement);
            }
        }
        self.carried(&out)
    }

    /// The canonical representative of a carried value below 2p.
    #[inline(always)]
    pub(super) fn canonical<const N: usize>(self, limbs: &[V; N], m: &Modulus<N>) -> [V; N] {
        let mask = self.word(MASK);
        let mut difference = *limbs;
        let mut borrow = self.zero();
        for (limb, p) in difference.iter_mut().zip(&m.p) {
            let signed = self.add(self.sub(*limb, self.word(*p)), borrow);
            borrow = self.signed_carry(signed);
            *limb = self.and(signed, mask);
        }
        let below = self.negatives(borrow);
        self.select_limbs(below, limbs, &difference)
    }

    /// The lanes whose carried value is 0, p or 2p.
    #[inline(always)]
    pub(super) fn zero_lanes<const N: usize>(self, limbs: &[V; N], m: &Modulus<N>) -> u8 {
        let twice = m.double_carried();
        let candidates = self.zeros(limbs[0])
            | self.equal(limbs[0], self.word(m.p[0]))
            | self.equal(limbs[0], self.word(twice[0]));
        if candidates == 0 {
            return 0;
        }
        let mut differences = [self.zero(); 3];
        for i in 0..N {
            let (p, twice) = (self.word(m.p[i]), self.word(twice[i]));
            differences[0] = self.or(differences[0], limbs[i]);
            differences[1] = self.or(differences[1], self.xor(limbs[i], p));
            differences[2] = self.or(differences[2], self.xor(limbs[i], twice));
        }
        self.zeros(differences[0]) | self.zeros(differences[1]) | self.zeros(differences[2])
    }

    #[inline(always)]
    pub(super) fn select_limbs<const N: usize>(
        self,
        mask: u8,
        on_true: &[V; N],
        on_false: &[V; N],
    ) -> [V; N] {
        let mut out = *on_false;
        for i in 0..N {
            out[i] = self.blend(mask, on_false[i], on_true[i]);
        }
        out
    }

    /// Montgomery's product of carried limbs: below a·b / 2^(52N) + p.
    ///
    /// One row of b at a time. What the next row's quotient waits for, the lowest column, is summed apart.
    #[inline(always)]
    pub(super) fn montgomery<const N: usize>(
        self,
        a: &[V; N],
        b: &[V; N],
        m: &Modulus<N>,
    ) -> [V; N] {
        let zero = self.zero();
        let inverse = self.word(m.inverse);
        let mut t = [zero; N];
        for &bi in b {
            let mut top = self.hi(zero, a[N - 1], bi);
            for j in (1..N).rev() {
                t[j] = self.hi(t[j], a[j - 1], bi);
                t[j] = self.lo(t[j], a[j], bi);
            }
            t[0] = self.lo(t[0], a[0], bi);
            let quotient = self.lo(zero, t[0], inverse);
            top = self.reduce_row(&mut t, top, quotient, m);
            t[N - 1] = top;
        }
        self.carried_unsigned(&t)
    }

    /// Adds `quotient`·p to the columns `t`, `top`, and shifts them down by one. Returns the new highest column.
    #[inline(always)]
    fn reduce_row<const N: usize>(self, t: &mut [V; N], top: V, quotient: V, m: &Modulus<N>) -> V {
        let zero = self.zero();
        let p0 = self.word(m.p[0]);
        let carry = self.carry(self.lo(t[0], quotient, p0));
        let low = self.add(carry, self.hi(zero, quotient, p0));
        t[0] = self.add(low, self.lo(t[1], quotient, self.word(m.p[1])));
        for j in 2..N {
            t[j - 1] = self.lo(t[j], quotient, self.word(m.p[j]));
            t[j - 1] = self.hi(t[j - 1], quotient, self.word(m.p[j - 1]));
        }
        self.hi(top, quotient, self.word(m.p[N - 1]))
    }

    /// The 2N uncarried columns of the product of carried limbs.
    #[inline(always)]
    pub(super) fn product<const N: usize, const W: usize>(self, a: &[V; N], b: &[V; N]) -> [V; W] {
        let mut t = [self.zero(); W];
        self.add_product(&mut t, a, b);
        t
    }

    /// Adds the 2N uncarried columns of the product of carried limbs to `t`.
    #[inline(always)]
    pub(super) fn add_product<const N: usize, const W: usize>(
        self,
        t: &mut [V; W],
        a: &[V; N],
        b: &[V; N],
    ) {
        for (i, &bi) in b.iter().enumerate() {
            for (j, &aj) in a.iter().enumerate() {
                t[i + j] = self.lo(t[i + j], aj, bi);
                t[i + j + 1] = self.hi(t[i + j + 1], aj, bi);
            }
        }
    }

    /// As [`Ifma::product`], of a value and itself: products off the diagonal once, and doubled.
    #[inline(always)]
    pub(super) fn square_product<const N: usize, const W: usize>(self, a: &[V; N]) -> [V; W] {
        let mut t = [self.zero(); W];
        for i in 0..N {
            for j in i + 1..N {
                t[i + j] = self.lo(t[i + j], a[i], a[j]);
                t[i + j + 1] = self.hi(t[i + j + 1], a[i], a[j]);
            }
        }
        for (i, &ai) in a.iter().enumerate() {
            let (low, high) = (t[2 * i], t[2 * i + 1]);
            t[2 * i] = self.lo(self.add(low, low), ai, ai);
            t[2 * i + 1] = self.hi(self.add(high, high), ai, ai);
        }
        t
    }

    /// Columns, signed, over 2^(52N) modulo p: below columns / 2^(52N) + p. The value must not be below -p·2^(52N), and p is
    /// added where `BIASED`; without, it must not be negative.
    #[inline(always)]
    pub(super) fn montgomery_reduced<const N: usize, const W: usize, const BIASED: bool>(
        self,
        columns: &[V; W],
        m: &Modulus<N>,
    ) -> [V; N] {
        let zero = self.zero();
        let inverse = self.word(m.inverse);
        let p0 = self.word(m.p[0]);
        let mut t = *columns;
        for i in 0..N {
            let quotient = self.lo(zero, t[i], inverse);
            let carry = self.signed_carry(self.lo(t[i], quotient, p0));
            let low = self.add(carry, self.hi(zero, quotient, p0));
            t[i + 1] = self.add(low, self.lo(t[i + 1], quotient, self.word(m.p[1])));
            for j in 2..N {
                t[i + j] = self.lo(t[i + j], quotient, self.word(m.p[j]));
                t[i + j] = self.hi(t[i + j], quotient, self.word(m.p[j - 1]));
            }
            t[i + N] = self.hi(t[i + N], quotient, self.word(m.p[N - 1]));
        }
        let mut out = [zero; N];
        for (i, limb) in out.iter_mut().enumerate() {
            *limb = t[i + N];
            if BIASED {
                *limb = self.add(*limb, self.word(m.p[i]));
            }
        }
        self.carried(&out)
    }

    /// As [`Ifma::carried`], for limbs without a sign.
    #[inline(always)]
    fn carried_unsigned<const N: usize>(self, limbs: &[V; N]) -> [V; N] {
        let mask = self.word(MASK);
        let mut out = *limbs;
        for i in 0..N - 1 {
            out[i + 1] = self.add(out[i + 1], self.carry(out[i]));
            out[i] = self.and(out[i], mask);
        }
        out
    }
}

/// Words of 64 bits to limbs of 52: the same integers, which must fit.
#[inline(always)]
pub(super) fn words_to_limbs<const W: usize, const N: usize>(arch: Ifma, words: &[V; W]) -> [V; N] {
    let mask = arch.word(MASK);
    let mut limbs = [arch.zero(); N];
    for (k, limb) in limbs.iter_mut().enumerate() {
        let (word, offset) = (52 * k / 64, (52 * k % 64) as u32);
        let mut value = arch.shr(words[word], offset);
        if offset > 12 && word + 1 < W {
            value = arch.or(value, arch.shl(words[word + 1], 64 - offset));
        }
        *limb = arch.and(value, mask);
    }
    limbs
}

/// Carried limbs of 52 bits to words of 64: the same integers, which must fit.
#[inline(always)]
pub(super) fn limbs_to_words<const N: usize, const W: usize>(arch: Ifma, limbs: &[V; N]) -> [V; W] {
    let mut words = [arch.zero(); W];
    for (j, word) in words.iter_mut().enumerate() {
        let (limb, offset) = (64 * j / 52, (64 * j % 52) as u32);
        let mut value = arch.shr(limbs[limb], offset);
        if limb + 1 < N {
            value = arch.or(value, arch.shl(limbs[limb + 1], 52 - offset));
        }
        if offset > 40 && limb + 2 < N {
            value = arch.or(value, arch.shl(limbs[limb + 2], 104 - offset));
        }
        *word = value;
    }
    words
}

/// As [`words_to_limbs`] for one integer.
pub(super) const fn scalar_limbs<const W: usize, const N: usize>(words: &[u64; W]) -> [u64; N] {
    let mut limbs = [0; N];
    let mut k = 0;
    while k < N {
        let (word, offset) = (52 * k / 64, 52 * k % 64);
        let mut value = words[word] >> offset;
        if offset > 12 && word + 1 < W {
            value |= words[word + 1] << (64 - offset);
        }
        limbs[k] = value & MASK;
        k += 1;
    }
    limbs
}
