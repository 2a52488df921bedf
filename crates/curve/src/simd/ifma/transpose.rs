//! Rows in memory to lanes and back.

use super::Ifma;
use super::ops::V;

/// Words of four vectors, pairs of rows interleaved: 0 1 from the first, 0 1 from the second, and so on.
const MERGE_LOW: [i64; 8] = [0, 1, 8, 9, 4, 5, 12, 13];
/// As [`MERGE_LOW`], for words 2 3.
const MERGE_HIGH: [i64; 8] = [2, 3, 10, 11, 6, 7, 14, 15];
/// The first two pairs of each operand, in turn.
const FRONT_PAIRS: [i64; 8] = [0, 1, 8, 9, 2, 3, 10, 11];
/// The last two pairs of each operand, in turn.
const BACK_PAIRS: [i64; 8] = [4, 5, 12, 13, 6, 7, 14, 15];
/// The first halves of two vectors.
const FRONT_HALVES: [i64; 8] = [0, 1, 2, 3, 8, 9, 10, 11];
/// The second halves of two vectors.
const BACK_HALVES: [i64; 8] = [4, 5, 6, 7, 12, 13, 14, 15];

impl Ifma {
    /// Eight rows of four words to four vectors. `rows[i]` holds row `i`, then row `i + 4`.
    #[inline(always)]
    pub(super) fn rows_to_lanes_4(self, rows: [V; 4]) -> [V; 4] {
        let [a, b, c, d] = rows;
        let (even_ab, odd_ab) = (self.unpack_low(a, b), self.unpack_high(a, b));
        let (even_cd, odd_cd) = (self.unpack_low(c, d), self.unpack_high(c, d));
        [
            self.pick(even_ab, MERGE_LOW, even_cd),
            self.pick(odd_ab, MERGE_LOW, odd_cd),
            self.pick(even_ab, MERGE_HIGH, even_cd),
            self.pick(odd_ab, MERGE_HIGH, odd_cd),
        ]
    }

    /// Four vectors to eight rows of four words: the result holds the rows (0, 2), (4, 6), (1, 3), (5, 7).
    #[inline(always)]
    pub(super) fn lanes_to_rows_4(self, words: [V; 4]) -> [V; 4] {
        let [a, b, c, d] = words;
        let (even_ab, odd_ab) = (self.unpack_low(a, b), self.unpack_high(a, b));
        let (even_cd, odd_cd) = (self.unpack_low(c, d), self.unpack_high(c, d));
        [
            self.pick(even_ab, FRONT_PAIRS, even_cd),
            self.pick(even_ab, BACK_PAIRS, even_cd),
            self.pick(odd_ab, FRONT_PAIRS, odd_cd),
            self.pick(odd_ab, BACK_PAIRS, odd_cd),
        ]
    }

    /// The transpose of eight rows of eight words; its own inverse.
    #[inline(always)]
    pub(super) fn transpose_8(self, rows: [V; 8]) -> [V; 8] {
        let mut pairs = rows;
        for i in 0..4 {
            pairs[2 * i] = self.unpack_low(rows[2 * i], rows[2 * i + 1]);
            pairs[2 * i + 1] = self.unpack_high(rows[2 * i], rows[2 * i + 1]);
        }
        // pairs[2i + k] holds words k, 2 + k, 4 + k, 6 + k of the rows 2i and 2i + 1.
        let mut quads = rows;
        for i in 0..2 {
            for k in 0..2 {
                let (first, second) = (pairs[4 * i + k], pairs[4 * i + 2 + k]);
                quads[4 * i + k] = self.pick(first, FRONT_PAIRS, second);
                quads[4 * i + 2 + k] = self.pick(first, BACK_PAIRS, second);
            }
        }
        // quads[4i + k] holds words k and 2 + k of the rows 4i .. 4i + 4, quads[4i + 2 + k] words 4 + k and 6 + k.
        let mut out = rows;
        for half in 0..2 {
            for k in 0..2 {
                let (first, second) = (quads[2 * half + k], quads[4 + 2 * half + k]);
                out[4 * half + k] = self.pick(first, FRONT_HALVES, second);
                out[4 * half + 2 + k] = self.pick(first, BACK_HALVES, second);
            }
        }
        out
    }
}
