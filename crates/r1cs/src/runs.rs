//! Bit vectors of few runs.

use crate::Bitmap;

/// A bit vector as runs of its 64-bit words. It answers nothing: whoever needs the bits makes a [`Bitmap`] of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunBitmap {
    runs: Vec<(RunKind, u32)>,
    /// The words of all literal runs, one after the other.
    literals: Vec<u64>,
    words: usize,
    len: usize,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum RunKind {
    Zeros,
    Ones,
    Literal,
}

/// Consecutive words of a bitmap.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum WordRun<'a> {
    /// So many words of zeros.
    Zeros(usize),
    /// So many words of ones.
    Ones(usize),
    /// These words.
    Literal(&'a [u64]),
}

impl RunBitmap {
    /// Appends words.
    pub fn push(&mut self, run: WordRun<'_>) {
        let (kind, words) = match run {
            WordRun::Zeros(words) => (RunKind::Zeros, words),
            WordRun::Ones(words) => (RunKind::Ones, words),
            WordRun::Literal(words) => {
                self.literals.extend_from_slice(words);
                (RunKind::Literal, words.len())
            }
        };
        self.words += words;
        self.len = 64 * self.words;
        let mut left = words;
        while left > 0 {
            let part = u32::try_from(left).unwrap_or(u32::MAX);
            self.runs.push((kind, part));
            left -= part as usize;
        }
    }

    /// Number of words so far.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The bitmap of `len` bits that the words are, or `None` where their number does not fit or a bit past the end is
    /// set.
    pub fn finish(mut self, len: usize) -> Option<Self> {
        self.runs.shrink_to_fit();
        self.literals.shrink_to_fit();
        let last = match self.runs.last() {
            Some((RunKind::Ones, _)) => u64::MAX,
            Some((RunKind::Literal, _)) => self.literals.last().copied().unwrap_or(0),
            _ => 0,
        };
        let clear = len.is_multiple_of(64) || last >> (len % 64) == 0;
        (self.words == len.div_ceil(64) && clear).then_some(Self { len, ..self })
    }

    /// The words as runs.
    pub fn runs(&self) -> impl Iterator<Item = WordRun<'_>> {
        let mut literals = self.literals.as_slice();
        self.runs.iter().map(move |&(kind, words)| {
            let words = words as usize;
            match kind {
                RunKind::Zeros => WordRun::Zeros(words),
                RunKind::Ones => WordRun::Ones(words),
                RunKind::Literal => {
                    let (run, rest) = literals.split_at(words);
                    literals = rest;
                    WordRun::Literal(run)
                }
            }
        })
    }

    /// The bits.
    pub fn to_bitmap(&self) -> Bitmap {
        let mut words = Vec::with_capacity(self.words);
        for run in self.runs() {
            match run {
                WordRun::Zeros(run) => words.resize(words.len() + run, 0),
                WordRun::Ones(run) => words.resize(words.len() + run, u64::MAX),
                WordRun::Literal(run) => words.extend_from_slice(run),
            }
        }
        Bitmap::from_checked_words(words, self.len)
    }

    /// Flips the bits of `bits` that are one here; it is as long.
    ///
    /// # Panics
    /// Where the lengths differ.
    pub fn flip(&self, bits: &mut Bitmap) {
        assert_eq!(self.len, bits.len(), "bitmaps of different lengths");
        let mut words = bits.words_mut();
        for run in self.runs() {
            let (flipped, rest) = words.split_at_mut(match run {
                WordRun::Zeros(run) | WordRun::Ones(run) => run,
                WordRun::Literal(run) => run.len(),
            });
            match run {
                WordRun::Zeros(_) => {}
                WordRun::Ones(_) => flipped.iter_mut().for_each(|word| *word = !*word),
                WordRun::Literal(run) => {
                    let pairs = flipped.iter_mut().zip(run);
                    pairs.for_each(|(word, other)| *word ^= other);
                }
            }
            words = rest;
        }
    }

    /// Bytes in memory.
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.runs.as_slice()) + size_of_val(self.literals.as_slice())
    }
}

impl From<&Bitmap> for RunBitmap {
    fn from(bits: &Bitmap) -> Self {
        let kind = |word: u64| match word {
            0 => RunKind::Zeros,
            u64::MAX => RunKind::Ones,
            _ => RunKind::Literal,
        };
        let mut runs = Self::default();
        for run in bits.words().chunk_by(|a, b| kind(*a) == kind(*b)) {
            runs.push(match kind(run[0]) {
                RunKind::Zeros => WordRun::Zeros(run.len()),
                RunKind::Ones => WordRun::Ones(run.len()),
                RunKind::Literal => WordRun::Literal(run),
            });
        }
        runs.len = bits.len();
        runs.runs.shrink_to_fit();
        runs.literals.shrink_to_fit();
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back() {
        for len in [0, 1, 63, 64, 65, 640, 1000] {
            for choose in [
                |_| false,
                |_| true,
                |i| i % 3 == 0,
                |i| i < 500,
                |i: usize| !(128..=700).contains(&i),
            ] {
                let mut bits = Bitmap::default();
                (0..len).for_each(|i| bits.push(choose(i)));
                let runs = RunBitmap::from(&bits);
                assert_eq!(runs.to_bitmap(), bits, "{len}");
                let other = RunBitmap::from(&{
                    let mut other = Bitmap::default();
                    (0..len).for_each(|i| other.push(i % 5 == 0 || i > 700));
                    other
                });
                let (mut found, mut wanted) = (bits.clone(), bits.clone());
                other.flip(&mut found);
                wanted.flip(&other.to_bitmap());
                assert_eq!(found, wanted, "{len}");
                assert_eq!(runs.clone().finish(len), Some(runs.clone()));
                assert_eq!(runs.finish(len + 64), None);
            }
        }
        assert!(RunBitmap::from(&Bitmap::ones(1 << 20)).size_bytes() < 64);
    }

    #[test]
    fn a_bit_past_the_end_is_refused() {
        let mut runs = RunBitmap::default();
        runs.push(WordRun::Zeros(1));
        runs.push(WordRun::Literal(&[0b100]));
        assert!(runs.clone().finish(64 + 3).is_some());
        assert!(runs.finish(64 + 2).is_none());
    }
}
