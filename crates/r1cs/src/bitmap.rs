//! Bit vectors, with and without ranks.

use cuzk_curve::{large_pages, zero_words};
use rayon::prelude::*;

/// Words that are put together at a time: few enough to stay in a cache.
const CONCAT_WORDS: usize = 1 << 13;

/// A growable bit vector in 64-bit words, least significant bit first. Bits past the length are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` zero bits.
    pub fn zeros(len: usize) -> Self {
        Self {
            words: zero_words(len.div_ceil(64)),
            len,
        }
    }

    /// `len` one bits.
    pub fn ones(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if let (Some(last), 1..) = (words.last_mut(), len % 64) {
            *last = (1 << (len % 64)) - 1;
        }
        Self { words, len }
    }

    /// Takes words as bits, or `None` where their number does not fit `len` or a bit past the end is set.
    pub fn from_words(words: Vec<u64>, len: usize) -> Option<Self> {
        let tail_clear =
            len.is_multiple_of(64) || words.last().is_some_and(|w| w >> (len % 64) == 0);
        (words.len() == len.div_ceil(64) && tail_clear).then_some(Self { words, len })
    }

    /// Takes words as bits whose number and tail were checked.
    pub(crate) fn from_checked_words(words: Vec<u64>, len: usize) -> Self {
        debug_assert_eq!(words.len(), len.div_ceil(64));
        Self { words, len }
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words that hold the bits.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Bit `index`; `false` past the end.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        self.words
            .get(index / 64)
            .is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Sets bit `index`.
    ///
    /// # Panics
    /// Where `index` is past the end.
    #[inline]
    pub fn set(&mut self, index: usize) {
        assert!(index < self.len, "bit {index} of {}", self.len);
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// Clears bit `index`.
    ///
    /// # Panics
    /// Where `index` is past the end.
    pub fn clear(&mut self, index: usize) {
        assert!(index < self.len, "bit {index} of {}", self.len);
        self.words[index / 64] &= !(1 << (index % 64));
    }

    /// Appends a bit.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        let offset = self.len % 64;
        if offset == 0 {
            self.words.push(u64::from(bit));
        } else if let Some(last) = self.words.last_mut() {
            *last |= u64::from(bit) << offset;
        }
        self.len += 1;
    }

    /// Appends the lowest `count` bits of `word`, least significant first; the others are ignored.
    ///
    /// # Panics
    /// Where `count` is over 64.
    #[inline]
    pub fn push_bits(&mut self, word: u64, count: usize) {
        assert!(count <= 64, "{count} bits of a word of 64");
        if count == 0 {
            return;
        }
        let word = word & (u64::MAX >> (64 - count));
        let offset = self.len % 64;
        match self.words.last_mut() {
            Some(last) if offset > 0 => {
                *last |= word << offset;
                if offset + count > 64 {
                    self.words.push(word >> (64 - offset));
                }
            }
            _ => self.words.push(word),
        }
        self.len += count;
    }

    /// Appends all bits of `other`.
    pub fn extend(&mut self, other: &Self) {
        let first = self.len;
        self.len += other.len;
        self.words.resize(self.len.div_ceil(64), 0);
        or_at(&mut self.words, 0, first, &other.words);
    }

    /// All bits of the parts, one after the other, copied in parallel.
    pub fn concat(parts: &[&Self]) -> Self {
        let starts: Vec<usize> = parts
            .iter()
            .scan(0, |next, part| {
                let start = *next;
                *next += part.len;
                Some(start)
            })
            .collect();
        let mut whole = Self::zeros(parts.iter().map(|part| part.len).sum());
        let runs = whole.words.par_chunks_mut(CONCAT_WORDS).enumerate();
        runs.for_each(|(run, words)| {
            let first_word = run * CONCAT_WORDS;
            let end = (first_word + words.len()) * 64;
            // The last part that begins at the run's first bit or before, and those that begin within the run.
            let first = starts.partition_point(|&start| start <= first_word * 64);
            let reaching = starts.iter().zip(parts).skip(first.saturating_sub(1));
            for (&start, part) in reaching.take_while(|(start, _)| **start < end) {
                or_at(words, first_word, start, &part.words);
            }
        });
        whole
    }

    /// Sets the bits `first + i` for each one bit i of `other`.
    ///
    /// # Panics
    /// Where `other` reaches past the end from there.
    pub fn union_at(&mut self, first: usize, other: &Self) {
        assert!(
            first + other.len <= self.len,
            "{} bits at {first} of {}",
            other.len,
            self.len
        );
        or_at(&mut self.words, 0, first, &other.words);
    }

    /// The bits `first..first + len`.
    ///
    /// # Panics
    /// Where they reach past the end.
    pub fn slice(&self, first: usize, len: usize) -> Self {
        assert!(
            first + len <= self.len,
            "{len} bits at {first} of {}",
            self.len
        );
        let mut bits = Self::zeros(len);
        let (word, shift) = (first / 64, first % 64);
        for (index, bits) in bits.words.iter_mut().enumerate() {
            let low = self.words[word + index] >> shift;
            let next = self.words.get(word + index + 1).filter(|_| shift > 0);
            *bits = low | next.map_or(0, |next| next << (64 - shift));
        }
        if let (Some(last), 1..) = (bits.words.last_mut(), len % 64) {
            *last &= (1 << (len % 64)) - 1;
        }
        bits
    }

    /// Flips the bits that are one in `other`, which is as long.
    ///
    /// # Panics
    /// Where the lengths differ.
    pub fn flip(&mut self, other: &Self) {
        assert_eq!(self.len, other.len, "bitmaps of different lengths");
        self.words
            .iter_mut()
            .zip(&other.words)
            .for_each(|(own, other)| *own ^= other);
    }

    /// Bytes in memory.
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Number of one bits.
    pub fn count_ones(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// The indices of the one bits, ascending.
    pub fn iter_ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            std::iter::successors((word != 0).then_some(word), |w| {
                let rest = w & (w - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |w| i * 64 + w.trailing_zeros() as usize)
        })
    }
}

/// ORs `bits`, the first of them at bit `start`, into words of which the first is word `first_word`. What falls outside the
/// words is left out.
fn or_at(words: &mut [u64], first_word: usize, start: usize, bits: &[u64]) {
    let (place, shift) = (start / 64, start % 64);
    let skipped = first_word.saturating_sub(place);
    // What a word leaves to the next: the bits that the shift moves out of it, of which a shift by 0 has none.
    let moved_out = |word: u64| word >> 1 >> (63 - shift);
    let before = skipped.checked_sub(1).and_then(|index| bits.get(index));
    let mut carry = before.map_or(0, |&word| moved_out(word));
    let mut words = words.iter_mut().skip(place.saturating_sub(first_word));
    let bits = bits.get(skipped..).unwrap_or_default();
    for (&bits, word) in bits.iter().zip(words.by_ref()) {
        *word |= bits << shift | carry;
        carry = moved_out(bits);
    }
    if let Some(word) = words.next() {
        *word |= carry;
    }
}

/// Words whose ranks are counted from a common one.
const RANK_WORDS: usize = 1024;

/// A bitmap that also answers how many ones lie before a position.
#[derive(Clone, Debug, Default)]
pub struct RankedBitmap {
    bits: Bitmap,
    /// Ones before each group of [`RANK_WORDS`] words.
    groups: Vec<u32>,
    /// Ones before each word in its group.
    before: Vec<u16>,
    ones: usize,
}

impl RankedBitmap {
    /// Adds ranks to `bits`, which must hold fewer than 2^32 ones.
    pub fn new(bits: Bitmap) -> Self {
        let words = bits.words();
        let mut before = large_pages(words.len(), 0u16);
        let rank_group = |(group, before): (&[u64], &mut [u16])| {
            let mut rank = 0u32;
            for (word, before) in group.iter().zip(before) {
                // At most 64 * 1023 here, so it fits.
                *before = rank as u16;
                rank += word.count_ones();
            }
            rank
        };
        let pairs = words
            .par_chunks(RANK_WORDS)
            .zip(before.par_chunks_mut(RANK_WORDS));
        let mut groups: Vec<u32> = pairs.map(rank_group).collect();
        let mut total = 0u32;
        for group in &mut groups {
            total += std::mem::replace(group, total);
        }
        let ones = total as usize;
        Self {
            bits,
            groups,
            before,
            ones,
        }
    }

    /// The bits alone.
    pub fn bits(&self) -> &Bitmap {
        &self.bits
    }

    /// Number of one bits.
    pub fn count_ones(&self) -> usize {
        self.ones
    }

    /// Number of ones before `index`.
    #[inline]
    pub fn rank(&self, index: usize) -> usize {
        let (word, bit) = (index / 64, index % 64);
        match (self.before.get(word), self.bits.words().get(word)) {
            (Some(&before), Some(&bits)) => {
                let below = (bits & ((1u64 << bit) - 1)).count_ones();
                (self.groups[word / RANK_WORDS] + u32::from(before) + below) as usize
            }
            _ => self.ones,
        }
    }

    /// Bytes in memory: a bit and a quarter for each.
    pub fn size_bytes(&self) -> usize {
        self.bits.size_bytes()
            + size_of_val(self.groups.as_slice())
            + size_of_val(self.before.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extend_equals_pushes_at_every_offset() {
        for left in 0..130 {
            for right in [0, 1, 63, 64, 65, 129] {
                let bit = |i: usize| i.is_multiple_of(3) ^ i.is_multiple_of(7);
                let make = |from: usize, n: usize| {
                    let mut map = Bitmap::default();
                    (from..from + n).for_each(|i| map.push(bit(i)));
                    map
                };
                let mut joined = make(0, left);
                joined.extend(&make(left, right));
                assert_eq!(joined, make(0, left + right), "{left} + {right}");
            }
        }
    }

    /// Parts of all lengths around a word's and over several runs, empty ones among them.
    #[test]
    fn concatenation_equals_extending() {
        let run = 64 * CONCAT_WORDS;
        let lens = [0, 1, 63, 64, 65, 0, 2 * run + 5, 129, run - 70, 7, 0];
        for rotation in 0..lens.len() {
            let mut lens = lens;
            lens.rotate_left(rotation);
            let parts = lens.map(|len| {
                let mut part = Bitmap::ones(len);
                (0..len).step_by(5).for_each(|i| part.clear(i));
                part
            });
            let mut wanted = Bitmap::default();
            parts.iter().for_each(|part| wanted.extend(part));
            let found = Bitmap::concat(&parts.each_ref());
            assert_eq!(found, wanted, "{lens:?}");
        }
        assert_eq!(Bitmap::concat(&[]), Bitmap::default());
    }

    #[test]
    fn words_of_bits_equal_pushes_at_every_offset() {
        let word = 0x9e37_79b9_7f4a_7c15u64;
        for left in 0..130 {
            for count in [0, 1, 31, 32, 63, 64] {
                let mut wanted = Bitmap::default();
                (0..left).for_each(|i| wanted.push(i % 3 == 0));
                let mut found = wanted.clone();
                found.push_bits(word, count);
                (0..count).for_each(|i| wanted.push(word >> i & 1 == 1));
                assert_eq!(found, wanted, "{left} + {count}");
            }
        }
    }

    #[test]
    fn union_equals_setting_bit_by_bit() {
        for first in [0, 1, 63, 64, 65, 100] {
            for len in [0, 1, 63, 64, 65, 129] {
                let mut other = Bitmap::zeros(len);
                (0..len).step_by(3).for_each(|i| other.set(i));
                let mut found = Bitmap::zeros(first + len);
                let mut wanted = found.clone();
                other.iter_ones().for_each(|i| wanted.set(first + i));
                found.union_at(first, &other);
                assert_eq!(found, wanted, "{len} at {first}");
                assert_eq!(found.slice(first, len), other, "{len} at {first}");
                found.flip(&wanted);
                assert_eq!(found.count_ones(), 0);
            }
        }
    }

    #[test]
    fn ranks_and_ones_agree_with_a_scan() {
        let mut map = Bitmap::zeros(200);
        for i in [0, 1, 63, 64, 127, 128, 199] {
            map.set(i);
        }
        let ranked = RankedBitmap::new(map.clone());
        assert_eq!(
            map.iter_ones().collect::<Vec<_>>(),
            [0, 1, 63, 64, 127, 128, 199]
        );
        for i in 0..=200 {
            assert_eq!(
                ranked.rank(i),
                (0..i).filter(|&j| map.get(j)).count(),
                "{i}"
            );
        }
        // Past a group of words, and with all of them ones.
        let len = 64 * RANK_WORDS + 130;
        let ranked = RankedBitmap::new(Bitmap::ones(len));
        for i in [
            0,
            63,
            64,
            len - 131,
            len - 130,
            len - 129,
            len - 64,
            len,
            len + 1,
        ] {
            assert_eq!(ranked.rank(i), i.min(len), "{i}");
        }
        assert_eq!(ranked.count_ones(), len);
    }

    #[test]
    fn words_past_the_end_are_refused() {
        assert!(Bitmap::from_words(vec![0b111], 2).is_none());
        assert!(Bitmap::from_words(vec![0b11], 2).is_some());
        assert!(Bitmap::from_words(vec![0, 0], 64).is_none());
        assert_eq!(Bitmap::ones(65).count_ones(), 65);
    }
}
