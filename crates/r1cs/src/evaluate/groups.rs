//! The rows of decoded groups.
//!
//! A row with small coefficients comes to a small integer where its variables are bits. Eight rows of a plain group are
//! summed at a time, a byte each.

use std::ops::Range;

use cuzk_curve::Fr;
use ff::Field;

use super::kernel::{Kernel, Sum};
use super::operands::{MARK, View};
use crate::matrices::{Decoded, Group, GroupKind, NARROW, Part};

/// The byte of a row that comes to 0; the rows' sums are added to it.
const ZERO: u8 = 0x40;
/// The byte of a row whose value is not a small integer.
const OTHER: u8 = 0xff;
const ONES: u64 = 0x0101_0101_0101_0101;
const MARKS: u64 = ONES * MARK as u64;

/// What rows come to.
#[derive(Default)]
pub(super) struct Values {
    /// A byte a row, and room for a group that ends in the middle of eight rows.
    bytes: Vec<u8>,
    /// Where the byte is [`OTHER`], the value.
    others: Vec<Fr>,
}

impl Values {
    /// The value of a row.
    #[inline(always)]
    pub(super) fn get<'a>(&'a self, kernel: &'a Kernel<'_>, row: usize) -> &'a Fr {
        let small = usize::from(self.bytes[row]).wrapping_sub(usize::from(ZERO) - NARROW as usize);
        match kernel.table.get(small) {
            Some(value) => value,
            None => &self.others[row],
        }
    }

    /// Evaluates the rows `rows` of a run.
    pub(super) fn evaluate(
        &mut self,
        kernel: &Kernel<'_>,
        decoded: &Decoded,
        run: u32,
        rows: &Range<u32>,
        view: View<'_>,
    ) {
        self.bytes.resize(rows.len() + 8, 0);
        if self.others.len() < rows.len() {
            self.others.resize(rows.len(), Fr::ZERO);
        }
        // A plain group may write past its end, so other groups come after all of them.
        let mut rest = false;
        for index in decoded.groups(run) {
            let (group, parts) = decoded.group(index);
            if group.kind == GroupKind::Plain {
                let k = group.within(rows);
                if k.is_empty() {
                    continue;
                }
                let first = (group.first_row + k.start - rows.start) as usize;
                rest |= !self.plain(kernel, parts, k, first, view);
            } else {
                rest = true;
            }
        }
        if rest {
            self.remaining(kernel, decoded, run, rows, view);
        }
    }

    /// The rows `k` of a plain group, from byte `first` on; `false` where a variable is not a bit.
    #[inline]
    fn plain(
        &mut self,
        kernel: &Kernel<'_>,
        parts: &[Part],
        k: Range<u32>,
        first: usize,
        view: View<'_>,
    ) -> bool {
        if view.marked && has_marks(parts, &k, view) {
            return false;
        }
        let count = k.len();
        for start in (0..count).step_by(8) {
            let mut sums = u64::from(ZERO) * ONES;
            for part in parts {
                let bytes = view.bytes(part.place);
                let place = part.place.index() as usize;
                let bits = if part.step == 0 {
                    u64::from(bytes[place]) * ONES
                } else {
                    eight(bytes, place + k.start as usize + start)
                };
                // Each byte is 0 or 1, and no sum leaves a byte: coefficients sum up to at most NARROW.
                let small = kernel.coefficients.small[part.coefficient as usize];
                sums = sums.wrapping_add(bits.wrapping_mul(small as u64));
            }
            if let Some(out) = self.bytes[first + start..].first_chunk_mut() {
                *out = sums.to_le_bytes();
            }
        }
        true
    }

    /// The groups that [`Values::plain`] does not evaluate.
    fn remaining(
        &mut self,
        kernel: &Kernel<'_>,
        decoded: &Decoded,
        run: u32,
        rows: &Range<u32>,
        view: View<'_>,
    ) {
        for index in decoded.groups(run) {
            let (group, parts) = decoded.group(index);
            let k = group.within(rows);
            if k.is_empty() {
                continue;
            }
            let marked = view.marked && has_marks(parts, &k, view);
            match group.kind {
                GroupKind::Plain if !marked => {}
                GroupKind::Strided if !marked => self.strided(kernel, group, parts, k, rows, view),
                _ => {
                    for k in k {
                        let row = group.first_row + k * u32::from(group.row_step) - rows.start;
                        self.bytes[row as usize] = OTHER;
                        self.others[row as usize] = value(kernel, parts, k, view);
                    }
                }
            }
        }
    }

    /// The rows `k` of a group whose variables are bits.
    fn strided(
        &mut self,
        kernel: &Kernel<'_>,
        group: &Group,
        parts: &[Part],
        k: Range<u32>,
        rows: &Range<u32>,
        view: View<'_>,
    ) {
        let step = usize::from(group.row_step);
        let first = group.first_row + k.start * u32::from(group.row_step) - rows.start;
        let bytes = &mut self.bytes[first as usize..rows.len()];
        let each = |sum: &mut u8| *sum = ZERO;
        bytes.iter_mut().step_by(step).take(k.len()).for_each(each);
        for part in parts {
            let bits = view.bytes(part.place);
            let small = kernel.coefficients.small[part.coefficient as usize] as u8;
            let mut place = part.place.moved(k.start, part.step);
            for sum in bytes.iter_mut().step_by(step).take(k.len()) {
                let bit = bits[place.index() as usize];
                *sum = sum.wrapping_add(small & bit.wrapping_neg());
                place = place.moved(1, part.step);
            }
        }
    }
}

/// Eight bytes, zeros past the end.
#[inline]
fn eight(bytes: &[u8], first: usize) -> u64 {
    match bytes.get(first..).map(|bytes| bytes.split_first_chunk()) {
        Some(Some((eight, _))) => u64::from_le_bytes(*eight),
        _ => (0..8)
            .filter_map(|i| Some(u64::from(*bytes.get(first + i)?) << (8 * i)))
            .fold(0, |eight, byte| eight | byte),
    }
}

/// Whether a variable of the rows `k` of a group is not a bit.
fn has_marks(parts: &[Part], k: &Range<u32>, view: View<'_>) -> bool {
    parts.iter().any(|part| {
        let bytes = view.bytes(part.place);
        // A part is a term of each row, or several terms of one row.
        let (first, count) = match part.length {
            1 => (part.place.moved(k.start, part.step), k.len()),
            length => (part.place, length as usize),
        };
        let first_index = first.index() as usize;
        match part.step {
            0 => bytes[first_index] == MARK,
            1 => {
                let (eights, rest) = bytes[first_index..first_index + count].as_chunks::<8>();
                let marks = eights.iter().map(|eight| u64::from_le_bytes(*eight));
                marks.fold(0, |all, eight| all | eight) & MARKS != 0 || rest.contains(&MARK)
            }
            step => (0..count as u32).any(|i| bytes[first.moved(i, step).index() as usize] == MARK),
        }
    })
}

/// What row `k` of a group comes to, whatever its variables are.
fn value(kernel: &Kernel<'_>, parts: &[Part], k: u32, view: View<'_>) -> Fr {
    let mut sum = Sum::default();
    for part in parts {
        if part.length == 1 {
            let operand = view.operand(part.place.moved(k, part.step));
            kernel.add(&mut sum, operand, part.coefficient);
            continue;
        }
        match view.word(part.place, part.step, part.length) {
            Some(word) => kernel.add_word(&mut sum, word, part.coefficient),
            None => {
                let mut coefficient = part.coefficient;
                for i in 0..part.length {
                    let operand = view.operand(part.place.moved(i, part.step));
                    kernel.add(&mut sum, operand, coefficient);
                    coefficient = kernel.doubled(coefficient);
                }
            }
        }
    }
    kernel.value(&sum)
}
