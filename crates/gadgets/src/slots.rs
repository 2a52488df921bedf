//! Witnesses whose layout is known before their values: computed where they will lie, in parallel and without a copy.

use cuzk_curve::Fr;
use cuzk_r1cs::{Assignment, Bitmap, R1csError};
use ff::Field;

use crate::Sink;

/// What a part of an assignment holds besides its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    inputs: Vec<Fr>,
    /// Which aux values are numbers.
    wide: Bitmap,
    /// The others.
    bits: Bitmap,
}

impl Part {
    /// Appends what `other` holds.
    pub fn append(&mut self, other: &Self) {
        self.inputs.extend_from_slice(&other.inputs);
        self.wide.extend(&other.wide);
        self.bits.extend(&other.bits);
    }
}

/// The assignment of parts whose numbers are `numbers`, ONE before their inputs.
///
/// Errors: [`R1csError::Count`] where there are more numbers than the parts have, or fewer.
pub fn join<'a>(
    parts: impl IntoIterator<Item = &'a Part>,
    numbers: Vec<Fr>,
) -> Result<Assignment, R1csError> {
    let parts: Vec<&Part> = parts.into_iter().collect();
    let inputs = parts.iter().flat_map(|part| &part.inputs);
    let bits = |of: fn(&Part) -> &Bitmap| {
        let parts: Vec<&Bitmap> = parts.iter().map(|part| of(part)).collect();
        Bitmap::concat(&parts)
    };
    Assignment::from_parts(
        [Fr::ONE].iter().chain(inputs).copied().collect(),
        bits(|part| &part.wide),
        bits(|part| &part.bits),
        numbers,
    )
}

/// Room for the numbers of a part. What is allocated as a number stays one, even 0 and 1.
#[derive(Debug)]
pub struct Slots<'a> {
    numbers: &'a mut [Fr],
    filled: usize,
    part: Part,
}

impl<'a> Slots<'a> {
    /// A part whose numbers go to `numbers`.
    pub fn new(numbers: &'a mut [Fr]) -> Self {
        Self {
            numbers,
            filled: 0,
            part: Part::default(),
        }
    }

    /// What was allocated besides numbers.
    ///
    /// # Panics
    /// Where there is room left.
    pub fn finish(self) -> Part {
        assert_eq!(self.filled, self.numbers.len(), "room for numbers is left");
        self.part
    }
}

/// # Panics
/// Where there is no room for a number.
impl Sink for Slots<'_> {
    #[inline]
    fn bits(&mut self, word: u64, count: usize) {
        self.part.wide.push_bits(0, count);
        self.part.bits.push_bits(word, count);
    }

    fn numbers(&mut self, values: &[Fr]) {
        let end = self.filled + values.len();
        self.numbers[self.filled..end].copy_from_slice(values);
        self.filled = end;
        for values in values.chunks(64) {
            self.part.wide.push_bits(u64::MAX, values.len());
            self.part.bits.push_bits(0, values.len());
        }
    }

    #[inline]
    fn number(&mut self, value: Fr) {
        self.numbers(&[value]);
    }

    fn input(&mut self, value: Fr) {
        self.part.inputs.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;

    fn write(sink: &mut impl Sink, first: u64) {
        let numbers: Vec<Fr> = (first..first + 70).map(Fr::from).collect();
        sink.bits(first, 3);
        sink.numbers(&numbers);
        sink.bit(true);
        sink.number(Fr::from(first));
        sink.input(Fr::from(first));
    }

    /// With numbers that are 0 and 1, and without.
    #[test]
    fn slots_equal_a_writer() {
        for firsts in [[2, 100], [0, 100], [100, 1]] {
            let mut writer = Writer::default();
            writer.input(Fr::ONE);
            let mut numbers = cuzk_curve::zeros(2 * 71);
            let mut parts = Vec::new();
            for (first, numbers) in firsts.into_iter().zip(numbers.chunks_mut(71)) {
                write(&mut writer, first);
                let mut slots = Slots::new(numbers);
                write(&mut slots, first);
                parts.push(slots.finish());
            }
            assert_eq!(join(&parts, numbers.clone()).unwrap(), writer.finish());
            assert!(join(&parts[..1], numbers).is_err());
        }
    }
}
