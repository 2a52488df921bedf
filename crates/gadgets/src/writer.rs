//! Where gadgets put the values that they allocate.

use cuzk_curve::Fr;
use cuzk_r1cs::Assignment;

/// What gadgets that are the same everywhere allocate in: a [`Writer`], or [`crate::Slots`].
pub trait Sink {
    /// Allocates the lowest `count` bits of `word`, at most 64, least significant first; the others are ignored.
    fn bits(&mut self, word: u64, count: usize);
    /// Allocates numbers, in order.
    fn numbers(&mut self, values: &[Fr]);
    /// Allocates a number.
    fn number(&mut self, value: Fr);
    /// Allocates an input.
    fn input(&mut self, value: Fr);

    /// Allocates a bit.
    #[inline]
    fn bit(&mut self, bit: bool) {
        self.bits(u64::from(bit), 1);
    }
}

impl Sink for Writer {
    #[inline]
    fn bits(&mut self, word: u64, count: usize) {
        Writer::bits(self, word, count);
    }

    fn numbers(&mut self, values: &[Fr]) {
        Writer::numbers(self, values);
    }

    #[inline]
    fn number(&mut self, value: Fr) {
        Writer::number(self, value);
    }

    fn input(&mut self, value: Fr) {
        Writer::input(self, value);
    }
}

/// An assignment that grows in the order of allocation.
///
/// Parts that do not depend on one another are written in parallel, each to its own writer, and put together in order.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    assignment: Assignment,
}

impl Writer {
    /// Allocates a bit.
    #[inline]
    pub fn bit(&mut self, bit: bool) {
        self.bits(u64::from(bit), 1);
    }

    /// Allocates the lowest `count` bits of `word`, at most 64, least significant first; the others are ignored.
    ///
    /// # Panics
    /// Where `count` is over 64.
    #[inline]
    pub fn bits(&mut self, word: u64, count: usize) {
        self.assignment.push_bits(word, count);
    }

    /// Allocates a number. One that is 0 or 1 is stored as a bit.
    #[inline]
    pub fn number(&mut self, value: Fr) {
        self.assignment.push_aux(value);
    }

    /// Allocates numbers, in order.
    pub fn numbers(&mut self, values: &[Fr]) {
        self.assignment.push_all_aux(values);
    }

    /// Allocates an input. The root's first is ONE, a part has none.
    #[inline]
    pub fn input(&mut self, value: Fr) {
        self.assignment.inputs.push(value);
    }

    /// Number of aux values so far.
    pub fn aux_len(&self) -> usize {
        self.assignment.aux_len()
    }

    /// The assignment.
    pub fn finish(self) -> Assignment {
        self.assignment
    }

    /// The assignment of everything that the parts allocated, one after the other, put together in parallel.
    pub fn concat(parts: impl IntoIterator<Item = Self>) -> Assignment {
        Assignment::concat(parts.into_iter().map(Self::finish).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_what_one_writer_does() {
        let write = |writer: &mut Writer, first: u64| {
            for value in first..first + 5 {
                writer.number(Fr::from(value));
                writer.bits(value, 3);
                writer.input(Fr::from(value));
            }
        };
        let mut whole = Writer::default();
        let mut parts = [Writer::default(), Writer::default()];
        for (part, first) in parts.iter_mut().zip([0, 7]) {
            write(&mut whole, first);
            write(part, first);
        }
        assert_eq!(whole.aux_len(), 40);
        assert_eq!(Writer::concat(parts), whole.finish());
    }

    #[test]
    fn bits_equal_numbers() {
        let word = 0b1011_0101;
        let mut bits = Writer::default();
        bits.bits(word, 8);
        let numbers = (0..8).map(|i| Fr::from(word >> i & 1));
        assert_eq!(bits.finish(), Assignment::new(vec![], numbers));
    }
}
