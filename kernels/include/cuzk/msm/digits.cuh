// Signed digits of scalars: sum of digit_w 2^(c w), each digit in [-2^(c-1), 2^(c-1)].
#pragma once
#include "../ff/bls12_381.cuh"

namespace cuzk {

// The digits of one scalar, low to high. c (2 to 24) times the number of windows is at least 256, so the last carry
// finds room.
struct SignedDigits {
    Fr integer;
    uint32_t width, carry, position;

    static CUZK_FN SignedDigits of(const Fr &scalar, uint32_t width) {
        return {scalar.to_integer(), width, 0, 0};
    }

    CUZK_FN int32_t next() {
        uint32_t limb = position >> 5, shift = position & 31;
        uint32_t bits = limb_at(limb) >> shift;
        if (shift + width > 32) bits |= limb_at(limb + 1) << (32 - shift);
        position += width;
        uint32_t digit = (bits & ((1u << width) - 1)) + carry;
        carry = digit > 1u << (width - 1);
        return (int32_t)digit - (int32_t)(carry << width);
    }

  private:
    // Unrolled, since a register array takes only indices that are known at compile time.
    CUZK_FN uint32_t limb_at(uint32_t index) const {
        uint32_t out = 0;
        CUZK_UNROLL
        for (uint32_t i = 0; i < 8; i++) out = index == i ? integer.limbs[i] : out;
        return out;
    }
};

} // namespace cuzk
