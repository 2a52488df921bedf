// Signed digits of scalars: a digit of c bits is in [-2^(c-1), 2^(c-1)].
#pragma once
#include "../ff/bls12_381.cuh"

namespace cuzk {

// Windows of a scalar: the first `wide` have `width` bits (2 to 24), and the others one less, so that all digits fill their
// buckets about evenly. All together have 256 bits at least.
struct Windows {
    uint32_t width, number, wide;

    CUZK_FN uint32_t bits(uint32_t window) const { return width - (window >= wide); }
    CUZK_FN uint32_t position(uint32_t window) const {
        return window * width - (window > wide ? window - wide : 0);
    }
};

// With 2^(c-1) added to every window but the last, the windows of the sum are the digits plus 2^(c-1): none depends on
// the others. A scalar has 255 bits, so the last digit is at most 2^(c-1).
struct SignedDigits {
    Fr shifted;
    Windows windows;

    // `offset` is the sum of what is added.
    static CUZK_FN SignedDigits of(const Fr &scalar, const Fr &offset, const Windows &windows) {
        return {add(scalar.to_integer(), offset), windows};
    }

    CUZK_FN int32_t digit(uint32_t window) const {
        uint32_t position = windows.position(window), width = windows.bits(window);
        uint32_t limb = position >> 5, shift = position & 31;
        uint32_t bits = limb_at(limb) >> shift;
        if (shift + width > 32) bits |= limb_at(limb + 1) << (32 - shift);
        bits &= (1u << width) - 1;
        return (int32_t)bits - (window + 1 == windows.number ? 0 : 1 << (width - 1));
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
