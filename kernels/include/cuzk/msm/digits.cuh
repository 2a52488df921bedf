// Signed digits of scalars: sum of digit_w 2^(c w), each digit in [-2^(c-1), 2^(c-1)].
#pragma once
#include "../ff/bls12_381.cuh"

namespace cuzk {

// With 2^(c-1) added to every window but the last, the windows of the sum are the digits plus 2^(c-1): none depends on
// the others. c (2 to 24) times the number of windows is at least 256, so the last digit is at most 2^(c-1).
struct SignedDigits {
    Fr shifted;
    uint32_t width, windows;

    // `offset` is the sum of 2^(c-1) 2^(c w) over all windows but the last.
    static CUZK_FN SignedDigits of(const Fr &scalar, const Fr &offset, uint32_t width, uint32_t windows) {
        return {add(scalar.to_integer(), offset), width, windows};
    }

    CUZK_FN int32_t digit(uint32_t window) const {
        uint32_t position = window * width, limb = position >> 5, shift = position & 31;
        uint32_t bits = limb_at(limb) >> shift;
        if (shift + width > 32) bits |= limb_at(limb + 1) << (32 - shift);
        bits &= (1u << width) - 1;
        return (int32_t)bits - (window + 1 == windows ? 0 : 1 << (width - 1));
    }

  private:
    static CUZK_FN Fr add(const Fr &a, const Fr &b) {
        Fr out;
        uint64_t carry = 0;
        CUZK_UNROLL
        for (int i = 0; i < 8; i++) {
            carry += (uint64_t)a.limbs[i] + b.limbs[i];
            out.limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
        return out;
    }
    // Unrolled, since a register array takes only indices that are known at compile time.
    CUZK_FN uint32_t limb_at(uint32_t index) const {
        uint32_t out = 0;
        CUZK_UNROLL
        for (uint32_t i = 0; i < 8; i++) out = index == i ? shifted.limbs[i] : out;
        return out;
    }
};

} // namespace cuzk
