//! The variables of an instance of a template, a byte each.

use super::kernel::{Kernel, Operand, WIDE};
use crate::matrices::Place;

/// Marks a variable whose value is not a bit.
pub(super) const MARK: u8 = 0x80;

/// Variables: a byte that is 0, 1 or [`MARK`], and where it is the last, the operand.
#[derive(Default)]
pub(super) struct Operands {
    pub(super) bytes: Vec<u8>,
    pub(super) wide: Vec<Operand>,
}

impl Operands {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
        self.wide.truncate(len);
    }

    #[inline]
    pub(super) fn push(&mut self, operand: Operand) {
        self.bytes.push(byte(operand));
        self.wide.push(operand);
    }

    /// Appends what other variables are.
    #[inline]
    pub(super) fn push_raw(&mut self, byte: u8, operand: Operand) {
        self.bytes.push(byte);
        self.wide.push(operand);
    }

    /// Takes the aux variables `first..first + len` in place of all, and returns whether one of them is not a bit.
    pub(super) fn load(&mut self, kernel: &Kernel<'_>, first: u32, len: u32) -> bool {
        let (first, len) = (first as usize, len as usize);
        self.bytes.clear();
        self.wide.resize(len, 0);
        let mut marked = false;
        let mut slot = None;
        for start in (0..len).step_by(64) {
            let bits = window(kernel.bits, first + start);
            (0..64).step_by(8).for_each(|shift| {
                self.bytes.extend(spread((bits >> shift) as u8));
            });
            let mut class = window(kernel.class, first + start);
            if start + 64 > len {
                class &= (1 << (len - start)) - 1;
            }
            while class != 0 {
                let local = start + class.trailing_zeros() as usize;
                class &= class - 1;
                let rank = || kernel.r1cs.field_class.rank(first + local) as u32;
                let next: u32 = slot.unwrap_or_else(|| kernel.inputs + rank());
                slot = Some(next + 1);
                marked |= self.set(local, kernel.slot_operand(next));
            }
        }
        self.bytes.truncate(len);
        let escapes = kernel.witness.escapes();
        if !escapes.is_empty() {
            let from = escapes.partition_point(|escape| (escape.aux as usize) < first);
            let to = escapes.partition_point(|escape| (escape.aux as usize) < first + len);
            for (index, escape) in escapes.iter().enumerate().take(to).skip(from) {
                let operand = WIDE + (kernel.witness.slots().len() + index) as u32;
                marked |= self.set(escape.aux as usize - first, operand);
            }
        }
        marked
    }

    fn set(&mut self, index: usize, operand: Operand) -> bool {
        self.bytes[index] = byte(operand);
        self.wide[index] = operand;
        operand >= WIDE
    }
}

fn byte(operand: Operand) -> u8 {
    if operand < WIDE { operand as u8 } else { MARK }
}

/// The 64 bits from bit `first` on; zeros past the end.
fn window(words: &[u64], first: usize) -> u64 {
    let (word, shift) = (first / 64, first % 64);
    let low = words.get(word).map_or(0, |word| word >> shift);
    match words.get(word + 1) {
        Some(next) if shift > 0 => low | (next << (64 - shift)),
        _ => low,
    }
}

/// Eight bits as bytes.
#[inline]
fn spread(bits: u8) -> [u8; 8] {
    let chosen = (u64::from(bits) * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    // A byte of one bit reaches 0x80 with the rest of the sum and nothing of it goes over.
    let ones = ((chosen + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101;
    ones.to_le_bytes()
}

/// The variables that the rows of an instance name.
#[derive(Copy, Clone)]
pub(super) struct View<'a> {
    /// Slots, then aux variables.
    pub(super) bytes: [&'a [u8]; 2],
    pub(super) wide: [&'a [Operand]; 2],
    /// Whether a variable may be other than a bit.
    pub(super) marked: bool,
}

impl<'a> View<'a> {
    /// The bytes of the variables of a place's kind.
    #[inline]
    pub(super) fn bytes(&self, place: Place) -> &'a [u8] {
        self.bytes[usize::from(!place.is_slot())]
    }

    #[inline]
    pub(super) fn operand(&self, place: Place) -> Operand {
        let (kind, index) = (usize::from(!place.is_slot()), place.index() as usize);
        match self.bytes[kind][index] {
            MARK => self.wide[kind][index],
            bit => Operand::from(bit),
        }
    }

    /// The bits of `len` variables, at most 64, from a place on, or `None` where one of them is not a bit.
    #[inline]
    pub(super) fn word(&self, place: Place, step: i32, len: u32) -> Option<u64> {
        let bytes = self.bytes(place);
        let first = place.index() as usize;
        let (mut word, mut seen) = (0u64, 0u8);
        if step != 1 {
            for i in 0..len {
                let byte = bytes[place.moved(i, step).index() as usize];
                word |= u64::from(byte & 1) << i;
                seen |= byte;
            }
            return (seen < MARK).then_some(word);
        }
        let (eights, rest) = bytes[first..first + len as usize].as_chunks::<8>();
        let mut marks = 0;
        for (i, eight) in eights.iter().enumerate() {
            let eight = u64::from_le_bytes(*eight);
            marks |= eight;
            // Moves bit 8 i to bit 56 + i; nothing else reaches the highest byte.
            word |= (eight.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
        }
        for (i, &byte) in rest.iter().enumerate() {
            word |= u64::from(byte & 1) << (8 * eights.len() + i);
            seen |= byte;
        }
        (seen < MARK && marks & 0x8080_8080_8080_8080 == 0).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_spread_and_windows_move() {
        for bits in 0..=255u8 {
            let wanted: Vec<u8> = (0..8).map(|i| bits >> i & 1).collect();
            assert_eq!(spread(bits).to_vec(), wanted);
        }
        let words = [0x8000_0000_0000_0001, 0b101];
        assert_eq!(window(&words, 0), words[0]);
        assert_eq!(window(&words, 63), 0b1011);
        assert_eq!(window(&words, 64), 0b101);
        assert_eq!(window(&words, 66), 1);
        assert_eq!(window(&words, 128), 0);
    }

    #[test]
    fn words_are_the_bits_of_their_variables() {
        use crate::Column::Sparse;
        let bytes: Vec<u8> = (0..200).map(|i| u8::from(i * i % 7 < 3)).collect();
        let wide = vec![0; 200];
        let mut view = View {
            bytes: [&[], &bytes],
            wide: [&[], &wide],
            marked: false,
        };
        for (first, step, len) in [(0, 1, 64), (5, 1, 33), (9, 1, 3), (3, 2, 32), (90, -1, 40)] {
            let bit = |i: u32| u64::from(bytes[(first + i as i32 * step) as usize]) << i;
            let wanted = (0..len).map(bit).fold(0, |word, bit| word | bit);
            let place = Place::new(Sparse(first as u32));
            assert_eq!(view.word(place, step, len), Some(wanted));
        }
        let mut marked = bytes.clone();
        marked[37] = MARK;
        view.bytes[1] = &marked;
        for (first, step, len) in [(0, 1, 64), (37, 1, 1), (35, 1, 7), (33, 2, 4), (38, -1, 2)] {
            assert_eq!(view.word(Place::new(Sparse(first)), step, len), None);
        }
        assert!(view.word(Place::new(Sparse(38)), 1, 64).is_some());
    }
}
