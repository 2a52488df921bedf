//! SHA-256 (FIPS 180-4) as bellpepper's gadget computes it.

use cuzk_curve::Fr;

use crate::{Word, Writer, number};

/// The round constants: the fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip]
const ROUND_CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// The first state: the fractional parts of the square roots of the first 8 primes.
#[rustfmt::skip]
const FIRST_STATE: [u32; 8] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];

/// The hash of a message of whole words, each the big-endian reading of four bytes.
pub fn sha256(writer: &mut Writer, message: &[Word]) -> [Word; 8] {
    let mut state = FIRST_STATE.map(Word::constant);
    let (blocks, rest) = message.as_chunks::<16>();
    for block in blocks {
        state = compress(writer, &state, block);
    }
    // A one bit, zeros, and the length in bits in the last two words.
    let zero = Word::constant(0);
    let mut last = [zero; 16];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = Word::constant(1 << 31);
    if rest.len() > 13 {
        state = compress(writer, &state, &last);
        last = [zero; 16];
    }
    let bits = message.len() as u64 * 32;
    last[14] = Word::constant((bits >> 32) as u32);
    last[15] = Word::constant(bits as u32);
    compress(writer, &state, &last)
}

/// The compression function.
pub fn compress(writer: &mut Writer, state: &[Word; 8], block: &[Word; 16]) -> [Word; 8] {
    let schedule = schedule(writer, block);
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    // What the next a and e are the sums of. The gadget adds when it needs them, so that the last two sums take in the
    // state as well.
    let mut sums: Option<([Word; 7], [Word; 6])> = None;
    for (&word, &constant) in schedule.iter().zip(&ROUND_CONSTANTS) {
        if let Some((_, terms)) = &sums {
            e = Word::sum(writer, terms);
        }
        let s1 = xor3(
            writer,
            e.rotate_right(6),
            e.rotate_right(11),
            e.rotate_right(25),
        );
        let chosen = Word::choose(writer, e, f, g);
        if let Some((terms, _)) = &sums {
            a = Word::sum(writer, terms);
        }
        let s0 = xor3(
            writer,
            a.rotate_right(2),
            a.rotate_right(13),
            a.rotate_right(22),
        );
        let majority = Word::majority(writer, a, b, c);
        let constant = Word::constant(constant);
        sums = Some((
            [h, s1, chosen, constant, word, s0, majority],
            [h, s1, chosen, constant, word, d],
        ));
        (h, g, f, d, c, b) = (g, f, e, c, b, a);
    }
    let zero = Word::constant(0);
    let (to_a, to_e) = sums.unwrap_or(([zero; 7], [zero; 6]));
    let mut terms = [state[0]; 8];
    terms[..7].copy_from_slice(&to_a);
    let first = Word::sum(writer, &terms);
    let [b, c, d] = [(1, b), (2, c), (3, d)].map(|(i, word)| Word::sum(writer, &[state[i], word]));
    let mut terms = [state[4]; 7];
    terms[..6].copy_from_slice(&to_e);
    let fifth = Word::sum(writer, &terms);
    let [f, g, h] = [(5, f), (6, g), (7, h)].map(|(i, word)| Word::sum(writer, &[state[i], word]));
    [first, b, c, d, fifth, f, g, h]
}

/// The message schedule.
fn schedule(writer: &mut Writer, block: &[Word; 16]) -> [Word; 64] {
    let mut words = [Word::constant(0); 64];
    words[..16].copy_from_slice(block);
    for i in 16..64 {
        let early = words[i - 15];
        let s0 = xor3(
            writer,
            early.rotate_right(7),
            early.rotate_right(18),
            early.shift_right(3),
        );
        let late = words[i - 2];
        let s1 = xor3(
            writer,
            late.rotate_right(17),
            late.rotate_right(19),
            late.shift_right(10),
        );
        words[i] = Word::sum(writer, &[words[i - 16], s0, words[i - 7], s1]);
    }
    words
}

fn xor3(writer: &mut Writer, a: Word, b: Word, c: Word) -> Word {
    let first = Word::xor(writer, a, b);
    Word::xor(writer, first, c)
}

/// The words of a number of which [`number::unpack`] has allocated the bits: 32 bytes, the least significant first,
/// with a constant zero as the last byte's highest bit.
pub fn number_words(value: Fr) -> [Word; 8] {
    let mut words = [Word::constant(0); 8];
    for (i, (pair, limb)) in words
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .zip(number::limbs(value))
        .enumerate()
    {
        let last = if i == 3 { 1 << 7 } else { 0 };
        *pair = [
            Word::variables((limb as u32).swap_bytes()),
            Word::new(((limb >> 32) as u32).swap_bytes(), last, 0),
        ];
    }
    words
}

/// Packs a hash into a number and allocates it: the hash's bytes, the least significant first, without the two highest
/// bits.
pub fn pack_hash(writer: &mut Writer, hash: &[Word; 8]) -> Fr {
    let mut limbs = [0; 4];
    for (limb, pair) in limbs.iter_mut().zip(hash.as_chunks::<2>().0) {
        let [low, high] = pair.map(|word| u64::from(word.value().swap_bytes()));
        *limb = low | high << 32;
    }
    limbs[3] &= u64::MAX >> 2;
    let value = number::pack(limbs);
    writer.number(value);
    value
}

/// A node of Filecoin's binary SHA-256 trees from its two children: both unpacked, hashed, and the hash packed.
pub fn hash_numbers(writer: &mut Writer, left: Fr, right: Fr) -> Fr {
    let mut message = [Word::constant(0); 16];
    for (half, value) in message.as_chunks_mut::<8>().0.iter_mut().zip([left, right]) {
        number::unpack(writer, value);
        *half = number_words(value);
    }
    let hash = sha256(writer, &message);
    pack_hash(writer, &hash)
}
