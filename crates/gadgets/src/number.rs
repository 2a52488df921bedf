//! Numbers and their bits.

use cuzk_curve::Fr;

use crate::Writer;

/// Bits of a field element.
pub const BITS: usize = 255;

/// Bits that fit a field element whatever their values.
pub const CAPACITY: usize = 254;

/// The integer below the modulus that a field element stands for, the least significant limb first.
pub fn limbs(value: Fr) -> [u64; 4] {
    let bytes = value.to_bytes_le();
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *limb = u64::from_le_bytes(*bytes);
    }
    limbs
}

/// The field element that an integer stands for, modulo the field's order.
pub fn pack(limbs: [u64; 4]) -> Fr {
    let radix = Fr::from(u64::MAX) + Fr::from(1);
    limbs
        .iter()
        .rev()
        .fold(Fr::from(0), |value, &limb| value * radix + Fr::from(limb))
}

/// Allocates the [`BITS`] bits of a number, least significant first: `AllocatedNum::to_bits_le`.
pub fn unpack(writer: &mut Writer, value: Fr) {
    let limbs = limbs(value);
    for limb in &limbs[..3] {
        writer.bits(*limb, 64);
    }
    writer.bits(limbs[3], BITS - 192);
}
