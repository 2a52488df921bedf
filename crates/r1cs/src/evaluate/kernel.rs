//! Values of variables, and sums of them.

use cuzk_curve::Fr;
use ff::Field;

use crate::matrices::{CoefficientTable, NARROW};
use crate::{CompactR1cs, PackedWitness};

/// A variable's value: 0 and 1 are the bits, 2 + i is slot i of the witness or, after the slots, an escape.
pub(super) type Operand = u32;
pub(super) const WIDE: Operand = 2;

/// Coefficients of less than this size are summed as integers.
const SMALL_BITS: u32 = 40;

/// What the rows of all matrices are evaluated with.
pub(super) struct Kernel<'a> {
    pub(super) r1cs: &'a CompactR1cs,
    pub(super) witness: &'a PackedWitness,
    pub(super) inputs: u32,
    /// The words of the field class, and of the witness's bits: as many.
    pub(super) class: &'a [u64],
    pub(super) bits: &'a [u64],
    /// What is known of the coefficients, and each of them as an integer below the modulus.
    pub(super) coefficients: &'a CoefficientTable,
    residues: Vec<[u64; 4]>,
    /// The integers from `-NARROW` to `NARROW`.
    pub(super) table: Vec<Fr>,
}

impl<'a> Kernel<'a> {
    /// The witness must have the circuit's counts.
    pub(super) fn new(r1cs: &'a CompactR1cs, witness: &'a PackedWitness) -> Self {
        Self {
            r1cs,
            witness,
            inputs: r1cs.shape.inputs as u32,
            class: r1cs.field_class.bits().words(),
            bits: witness.bits().words(),
            coefficients: r1cs.matrices.coefficients(),
            residues: r1cs.coefficients.iter().map(residue).collect(),
            table: (-NARROW..=NARROW)
                .map(|small| integer(small.into()))
                .collect(),
        }
    }

    /// The value of a variable, inputs first.
    pub(super) fn operand(&self, variable: u32) -> Operand {
        match variable.checked_sub(self.inputs) {
            Some(aux) => self.aux_operand(aux),
            None => self.slot_operand(variable),
        }
    }

    fn aux_operand(&self, aux: u32) -> Operand {
        let (word, bit) = (aux as usize / 64, aux % 64);
        if self.class[word] >> bit & 1 == 1 {
            let rank = self.r1cs.field_class.rank(aux as usize);
            return self.slot_operand(self.inputs + rank as u32);
        }
        let escapes = self.witness.escapes();
        if !escapes.is_empty()
            && let Ok(found) = escapes.binary_search_by_key(&aux, |escape| escape.aux)
        {
            return WIDE + (self.witness.slots().len() + found) as u32;
        }
        (self.bits[word] >> bit & 1) as Operand
    }

    /// Many variables that the constraints do not show to be bits are bits.
    #[inline]
    pub(super) fn slot_operand(&self, slot: u32) -> Operand {
        let value = &self.witness.slots()[slot as usize];
        if *value == self.table[NARROW as usize + 1] {
            1
        } else if *value == self.table[NARROW as usize] {
            0
        } else {
            WIDE + slot
        }
    }

    /// The value behind an operand that is not a bit.
    #[inline]
    fn wide(&self, operand: Operand) -> &Fr {
        let index = (operand - WIDE) as usize;
        let slots = self.witness.slots();
        match slots.get(index) {
            Some(value) => value,
            None => &self.witness.escapes()[index - slots.len()].value,
        }
    }

    /// Adds a coefficient times an operand.
    #[inline]
    pub(super) fn add(&self, sum: &mut Sum, operand: Operand, coefficient: u32) {
        if operand >= WIDE {
            let value = self.wide(operand);
            return match coefficient {
                CompactR1cs::ONE => sum.add_wide(value),
                CompactR1cs::MINUS_ONE => sum.add_wide(&-value),
                other => sum.add_wide(&(self.r1cs.coefficients[other as usize] * value)),
            };
        }
        match self.coefficients.small[coefficient as usize] {
            CoefficientTable::LARGE if operand == 0 => {}
            CoefficientTable::LARGE => sum.add_wide(&self.r1cs.coefficients[coefficient as usize]),
            small => sum.small += i128::from(small & -i64::from(operand)),
        }
    }

    /// The coefficient that is the double of one whose double is in the table.
    pub(super) fn doubled(&self, coefficient: u32) -> u32 {
        self.coefficients.doubled[coefficient as usize]
    }

    /// Adds a coefficient times an integer.
    #[inline]
    pub(super) fn add_word(&self, sum: &mut Sum, word: u64, coefficient: u32) {
        let mut carry = 0u128;
        let residue = &self.residues[coefficient as usize];
        for (limb, factor) in sum.words.iter_mut().zip(residue) {
            carry += u128::from(*limb) + u128::from(*factor) * u128::from(word);
            *limb = carry as u64;
            carry >>= 64;
        }
        for limb in &mut sum.words[4..] {
            carry += u128::from(*limb);
            *limb = carry as u64;
            carry >>= 64;
        }
        sum.any_word = true;
    }

    /// What a sum comes to.
    #[inline]
    pub(super) fn value(&self, sum: &Sum) -> Fr {
        let mut value = match (sum.wide, sum.small) {
            (None, small) => integer(small),
            (Some(wide), 0) => wide,
            (Some(wide), small) => wide + integer(small),
        };
        if sum.any_word {
            let shift = integer(1 << 64);
            let words = sum.words.iter().rev();
            value += words.fold(Fr::ZERO, |high, &word| high * shift + Fr::from(word));
        }
        value
    }
}

/// A row's sum so far: integers, and a field element where one was needed.
#[derive(Default)]
pub(super) struct Sum {
    small: i128,
    wide: Option<Fr>,
    /// A sum of elements as integers times words. Fewer than 2^64 of them do not reach 2^384.
    words: [u64; 6],
    any_word: bool,
}

impl Sum {
    #[inline]
    fn add_wide(&mut self, value: &Fr) {
        self.wide = Some(match self.wide {
            None => *value,
            Some(sum) => sum + value,
        });
    }
}

/// The integer below the modulus that an element is.
fn residue(value: &Fr) -> [u64; 4] {
    let bytes = value.to_bytes_le();
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *limb = u64::from_le_bytes(*bytes);
    }
    limbs
}

/// An integer as a field element. Fewer than 2^32 terms of `SMALL_BITS` bits do not reach 2^96.
fn integer(value: i128) -> Fr {
    let magnitude = value.unsigned_abs();
    let magnitude = match u64::try_from(magnitude) {
        Ok(small) => Fr::from(small),
        Err(_) => {
            let high = Fr::from((magnitude >> 32) as u64) * Fr::from(1 << 32);
            high + Fr::from(magnitude as u64 & 0xffff_ffff)
        }
    };
    if value < 0 { -magnitude } else { magnitude }
}

/// The integer that an element is, where it has at most 40 bits.
pub fn small_integer(value: &Fr) -> Option<i64> {
    let magnitude = |value: &Fr| {
        let [low, high @ ..] = residue(value);
        (high == [0; 3] && low >> SMALL_BITS == 0).then_some(low as i64)
    };
    magnitude(value).or_else(|| magnitude(&-value).map(|m| -m))
}
