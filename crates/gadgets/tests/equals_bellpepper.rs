//! Every gadget against bellpepper's own: the same assignment, bit for bit, and the same result.

use bellpepper::gadgets::multieq::MultiEq;
use bellpepper::gadgets::multipack::pack_bits;
use bellpepper::gadgets::sha256;
use bellpepper::gadgets::uint32::UInt32;
use bellpepper_core::boolean::{AllocatedBit, Boolean};
use bellpepper_core::num::AllocatedNum;
use bellpepper_core::{ConstraintSystem, SynthesisError};
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::Fr;
use cuzk_gadgets::{Word, Writer, number};
use proptest::prelude::*;

/// A word's value, which of its bits are constants, and which of the others are negated.
#[derive(Copy, Clone, Debug)]
struct Bits {
    value: u32,
    constant: u32,
    negated: u32,
}

impl Bits {
    fn word(self) -> Word {
        Word::new(self.value, self.constant, self.negated)
    }

    /// The booleans, allocated in both systems.
    fn allocate(self, cs: &mut WitnessCS, writer: &mut Writer) -> Vec<Boolean> {
        (0..32)
            .map(|i| {
                let [value, constant, negated] =
                    [self.value, self.constant, self.negated].map(|mask| mask >> i & 1 == 1);
                if constant {
                    return Boolean::constant(value);
                }
                writer.bit(value ^ negated);
                let bit = AllocatedBit::alloc(&mut *cs, Some(value ^ negated)).unwrap();
                let bit = Boolean::from(bit);
                if negated { bit.not() } else { bit }
            })
            .collect()
    }
}

/// The word that booleans make, least significant first.
fn word_of(bits: &[Boolean]) -> Word {
    let mask = |is: fn(&Boolean) -> bool| {
        bits.iter()
            .enumerate()
            .fold(0, |mask, (i, bit)| mask | u32::from(is(bit)) << i)
    };
    Word::new(
        mask(|bit| bit.get_value().unwrap()),
        mask(Boolean::is_constant),
        mask(|bit| matches!(bit, Boolean::Not(_))),
    )
}

fn mask() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => Just(0),
        1 => Just(u32::MAX),
        1 => (0..32u32).prop_map(|bit| 1 << bit),
        2 => any::<u32>(),
        2 => (any::<u32>(), any::<u32>()).prop_map(|(a, b)| a & b),
    ]
}

fn bits() -> impl Strategy<Value = Bits> {
    (any::<u32>(), mask(), mask()).prop_map(|(value, constant, negated)| Bits {
        value,
        constant,
        negated,
    })
}

fn scalar() -> impl Strategy<Value = Fr> {
    prop_oneof![
        8 => any::<[u64; 4]>().prop_map(number::pack),
        1 => (0..3u64).prop_map(Fr::from),
        1 => (1..3u64).prop_map(|value| -Fr::from(value)),
    ]
}

/// Runs an operation in both systems on the same operands.
fn both(
    operands: &[Bits],
    theirs: impl FnOnce(&mut WitnessCS, &[UInt32]) -> Result<UInt32, SynthesisError>,
    ours: impl FnOnce(&mut Writer, &[Word]) -> Word,
) -> Result<(), TestCaseError> {
    let (mut cs, mut writer) = (WitnessCS::default(), Writer::default());
    let words: Vec<Word> = operands.iter().map(|operand| operand.word()).collect();
    let integers: Vec<UInt32> = operands
        .iter()
        .map(|operand| UInt32::from_bits(&operand.allocate(&mut cs, &mut writer)))
        .collect();
    let wanted = theirs(&mut cs, &integers).unwrap();
    let found = ours(&mut writer, &words);
    prop_assert_eq!(found, word_of(&wanted.into_bits()));
    prop_assert_eq!(writer.finish(), cs.into_assignment());
    Ok(())
}

proptest! {
    #[test]
    fn xor(a in bits(), b in bits()) {
        both(&[a, b], |cs, w| w[0].xor(cs, &w[1]), |writer, w| Word::xor(writer, w[0], w[1]))?;
    }

    #[test]
    fn and(a in bits(), b in bits()) {
        both(
            &[a, b],
            |cs, w| {
                let [a, b] = [&w[0], &w[1]].map(|word| word.clone().into_bits());
                let bits = a.iter().zip(&b).map(|(a, b)| Boolean::and(&mut *cs, a, b));
                Ok(UInt32::from_bits(&bits.collect::<Result<Vec<_>, _>>()?))
            },
            |writer, w| Word::and(writer, w[0], w[1]),
        )?;
    }

    #[test]
    fn choose(a in bits(), b in bits(), c in bits()) {
        both(
            &[a, b, c],
            |cs, w| UInt32::sha256_ch(cs, &w[0], &w[1], &w[2]),
            |writer, w| Word::choose(writer, w[0], w[1], w[2]),
        )?;
    }

    #[test]
    fn majority(a in bits(), b in bits(), c in bits()) {
        both(
            &[a, b, c],
            |cs, w| UInt32::sha256_maj(cs, &w[0], &w[1], &w[2]),
            |writer, w| Word::majority(writer, w[0], w[1], w[2]),
        )?;
    }

    #[test]
    fn sum(operands in prop::collection::vec(bits(), 2..=10)) {
        both(
            &operands,
            |cs, w| UInt32::addmany(MultiEq::new(cs).namespace(|| "sum"), w),
            Word::sum,
        )?;
    }

    #[test]
    fn rotations_and_shifts(a in bits(), count in 0..32u32) {
        both(&[a], |_, w| Ok(w[0].rotr(count as usize)), |_, w| w[0].rotate_right(count))?;
        both(&[a], |_, w| Ok(w[0].shr(count as usize)), |_, w| w[0].shift_right(count))?;
        both(
            &[a],
            |_, w| {
                let bits: Vec<_> = w[0].clone().into_bits().iter().map(Boolean::not).collect();
                Ok(UInt32::from_bits(&bits))
            },
            |_, w| w[0].not(),
        )?;
    }

    #[test]
    fn bits_of_numbers(value in scalar()) {
        let (mut cs, mut writer) = (WitnessCS::default(), Writer::default());
        let num = AllocatedNum::alloc(&mut cs, || Ok(value)).unwrap();
        let bits = num.to_bits_le(&mut cs).unwrap();
        writer.number(value);
        number::unpack(&mut writer, value);
        prop_assert_eq!(writer.finish(), cs.into_assignment());
        prop_assert_eq!(number::pack(number::limbs(value)), value);
        // Filecoin's order: the bits of each byte reversed, one constant zero filling the last.
        let mut bits = bits;
        bits.push(Boolean::constant(false));
        let bytes: Vec<_> = bits.chunks(8).flat_map(|byte| byte.iter().rev().cloned()).collect();
        let words = cuzk_gadgets::sha256::number_words(value);
        for (bits, word) in bytes.chunks(32).zip(words) {
            prop_assert_eq!(word_of(&UInt32::from_bits_be(bits).into_bits()), word);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.div_ceil(8), ..Default::default() })]

    #[test]
    fn sha256_of_words(message in prop::collection::vec(bits(), 0..40)) {
        let (mut cs, mut writer) = (WitnessCS::default(), Writer::default());
        let bits: Vec<Boolean> = message
            .iter()
            .flat_map(|word| UInt32::from_bits(&word.allocate(&mut cs, &mut writer)).into_bits_be())
            .collect();
        let words: Vec<Word> = message.iter().map(|word| word.word()).collect();
        let wanted = sha256::sha256(&mut cs, &bits).unwrap();
        let found = cuzk_gadgets::sha256::sha256(&mut writer, &words);
        for (bits, word) in wanted.chunks(32).zip(found) {
            prop_assert_eq!(word_of(&UInt32::from_bits_be(bits).into_bits()), word);
        }
        let bits: Vec<Boolean> = wanted.chunks(8).flat_map(|byte| byte.iter().rev().cloned()).collect();
        let packed = pack_bits(&mut cs, &bits[..254]).unwrap();
        let found = cuzk_gadgets::sha256::pack_hash(&mut writer, &found);
        prop_assert_eq!(Some(found), packed.get_value());
        prop_assert_eq!(writer.finish(), cs.into_assignment());
    }
}
