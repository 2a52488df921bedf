//! Words of 32 booleans: bellpepper's `Boolean` and `UInt32`, all bits of a word at once.
//!
//! A `Boolean` is a constant, a variable or the negation of a variable, and operations on it allocate nothing where a
//! constant decides. A [`Word`] holds these three cases as masks, so that an operation is some bitwise instructions,
//! and what it allocates is one run of bits.

use crate::Writer;

/// 32 booleans, the least significant first.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The values.
    value: u32,
    /// Which are constants.
    constant: u32,
    /// Which are negations of variables; none that is constant.
    negated: u32,
}

impl Word {
    /// Constants.
    pub const fn constant(value: u32) -> Self {
        Self::new(value, u32::MAX, 0)
    }

    /// Variables, which the caller has allocated.
    pub const fn variables(value: u32) -> Self {
        Self::new(value, 0, 0)
    }

    /// Booleans with these values, of which some are constants and some of the others negations of variables.
    pub const fn new(value: u32, constant: u32, negated: u32) -> Self {
        Self {
            value,
            constant,
            negated: negated & !constant,
        }
    }

    /// The values.
    pub const fn value(self) -> u32 {
        self.value
    }

    /// The negations, which allocate nothing.
    pub const fn not(self) -> Self {
        Self::new(!self.value, self.constant, !self.negated)
    }

    /// Rotation by `count` bits towards the least significant.
    pub const fn rotate_right(self, count: u32) -> Self {
        Self {
            value: self.value.rotate_right(count),
            constant: self.constant.rotate_right(count),
            negated: self.negated.rotate_right(count),
        }
    }

    /// Shift by `count` bits, fewer than 32, towards the least significant, with constant zeros behind.
    pub const fn shift_right(self, count: u32) -> Self {
        Self {
            value: self.value >> count,
            constant: self.constant >> count | !(u32::MAX >> count),
            negated: self.negated >> count,
        }
    }

    /// Which bits are variables or their negations.
    const fn allocated(self) -> u32 {
        !self.constant
    }

    /// `self` where `mask` is set, `other` elsewhere.
    const fn blend(self, other: Self, mask: u32) -> Self {
        Self {
            value: self.value & mask | other.value & !mask,
            constant: self.constant & mask | other.constant & !mask,
            negated: self.negated & mask | other.negated & !mask,
        }
    }

    /// `a` XOR `b`: a variable where both are none, negated where one of them is.
    pub fn xor(writer: &mut Writer, a: Self, b: Self) -> Self {
        let value = a.value ^ b.value;
        let allocated = a.allocated() & b.allocated();
        write(writer, value ^ a.negated ^ b.negated, allocated);
        let flipped = a.value & a.constant ^ b.value & b.constant;
        let negated = a.negated ^ b.negated ^ flipped;
        Self::new(value, a.constant & b.constant, negated)
    }

    /// `a` AND `b`: a variable where neither is constant.
    pub fn and(writer: &mut Writer, a: Self, b: Self) -> Self {
        write(writer, a.value & b.value, a.allocated() & b.allocated());
        Self::and_written(a, b)
    }

    /// What [`Word::and`] yields once its variables are written.
    const fn and_written(a: Self, b: Self) -> Self {
        let zero = a.constant & !a.value | b.constant & !b.value;
        let negated = a.negated & b.constant | b.negated & a.constant;
        Self::new(
            a.value & b.value,
            zero | a.constant & b.constant,
            negated & !zero,
        )
    }

    /// SHA-256's choice: `b` where `a`, `c` elsewhere.
    pub fn choose(writer: &mut Writer, a: Self, b: Self, c: Self) -> Self {
        let value = a.value & b.value | !a.value & c.value;
        if (a.constant | b.constant | c.constant) == 0 {
            writer.bits(u64::from(value), 32);
            return Self::variables(value);
        }
        // The cases in the order in which the gadget tries them: the first that fits a bit decides.
        let mut rest = u32::MAX;
        let mut case = |mask: u32| {
            let mask = mask & rest;
            rest &= !mask;
            mask
        };
        let a_zero = case(a.constant & !a.value);
        let b_zero = case(b.constant & !b.value);
        let c_zero = case(c.constant & !c.value);
        let c_one = case(c.constant & c.value);
        let b_one = case(b.constant & b.value);
        // In four of them it is an AND of two operands, negated where the third is one.
        let left = a.blend(a.not(), c_zero | c_one);
        let right = c
            .blend(c.not(), b_zero)
            .blend(b.blend(b.not(), c_zero), b_zero | b_one);
        let negated = c_one | b_one;
        let and = Self::and_written(left, right);
        let ands = b_zero | c_zero | negated;
        let allocated = left.allocated() & right.allocated() & ands | rest;
        write(writer, and.value & ands | value & rest, allocated);
        let and = and.not().blend(and, negated);
        c.blend(and.blend(Self::variables(value), ands), a_zero)
    }

    /// SHA-256's majority: what two of the three are. Where none is constant it allocates its result and then `b` AND
    /// `c`.
    pub fn majority(writer: &mut Writer, a: Self, b: Self, c: Self) -> Self {
        let value = a.value & b.value ^ a.value & c.value ^ b.value & c.value;
        if (a.constant | b.constant | c.constant) == 0 {
            writer.bits(spread(value) | spread(b.value & c.value) << 1, 64);
            return Self::variables(value);
        }
        // The cases in the order in which the gadget tries them: the first that fits a bit decides.
        let mut rest = u32::MAX;
        let mut case = |mask: u32| {
            let mask = mask & rest;
            rest &= !mask;
            mask
        };
        let a_zero = case(a.constant & !a.value);
        case(b.constant & !b.value);
        let c_zero = case(c.constant & !c.value);
        let c_one = case(c.constant & c.value);
        let b_one = case(b.constant & b.value);
        let a_one = case(a.constant & a.value);
        // A constant leaves an AND of the other two, or of their negations, negated.
        let left = b.blend(a, a_zero | a_one);
        let right = b.blend(c, c_zero | c_one);
        let negated = a_one | b_one | c_one;
        let and = Self::and_written(
            left.not().blend(left, negated),
            right.not().blend(right, negated),
        );
        let ands = left.allocated() & right.allocated() & !rest;
        let (bits, count) = compact(
            spread(and.value & !rest | value & rest) | spread(b.value & c.value & rest) << 1,
            spread(ands | rest) | spread(rest) << 1,
        );
        writer.bits(bits, count);
        Self::variables(value).blend(and.not().blend(and, negated), rest)
    }

    /// The sum modulo 2^32. Constants alone make a constant; otherwise the bits that the sum of so many words can have
    /// are allocated, and those past 32 dropped.
    pub fn sum(writer: &mut Writer, operands: &[Self]) -> Self {
        let sum: u64 = operands.iter().map(|word| u64::from(word.value)).sum();
        let constant = operands
            .iter()
            .fold(u32::MAX, |constant, word| constant & word.constant);
        if constant == u32::MAX {
            return Self::constant(sum as u32);
        }
        let largest = operands.len() as u64 * u64::from(u32::MAX);
        writer.bits(sum, (u64::BITS - largest.leading_zeros()) as usize);
        Self::variables(sum as u32)
    }
}

/// Allocates the bits of `value` at which `mask` is set.
#[inline]
fn write(writer: &mut Writer, value: u32, mask: u32) {
    if mask == u32::MAX {
        writer.bits(u64::from(value), 32);
    } else {
        let (bits, count) = compact(u64::from(value), u64::from(mask));
        writer.bits(bits, count);
    }
}

/// The bits of `value` at which `mask` is set, moved together, and their number. Quick where they form few runs.
fn compact(value: u64, mut mask: u64) -> (u64, usize) {
    let (mut bits, mut count, mut position) = (0, 0, 0);
    while mask != 0 {
        let gap = mask.trailing_zeros();
        mask >>= gap;
        position += gap;
        let run = mask.trailing_ones();
        bits |= (value >> position & u64::MAX >> (u64::BITS - run)) << count;
        count += run;
        position += run;
        mask = mask.checked_shr(run).unwrap_or(0);
    }
    (bits, count as usize)
}

/// Bit i of `word` at bit 2i.
const fn spread(word: u32) -> u64 {
    let mut bits = word as u64;
    bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
    bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & 0x5555_5555_5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_and_spreading_equal_bit_by_bit() {
        let value = 0x9e37_79b9_7f4a_7c15u64;
        for mask in [0, 1, 1 << 63, u64::MAX, u64::MAX >> 1, value.rotate_left(7)] {
            let mut wanted = (0, 0);
            for i in (0..64).filter(|i| mask >> i & 1 == 1) {
                wanted.0 |= (value >> i & 1) << wanted.1;
                wanted.1 += 1;
            }
            assert_eq!(compact(value, mask), wanted, "{mask:x}");
        }
        let word = value as u32;
        assert_eq!(
            spread(word),
            (0..32).map(|i| u64::from(word >> i & 1) << (2 * i)).sum()
        );
    }
}
