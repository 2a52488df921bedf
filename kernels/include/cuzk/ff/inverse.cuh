// Inversion in a prime field by the division steps of Bernstein and Yang ("Fast constant-time gcd computation and
// modular inversion"), thirty at a time: the steps of a batch depend on the lowest bits alone, and make a matrix that is
// then applied to the whole numbers. One sixth of the work of a power, and more of it independent.
#pragma once
#include "montgomery.cuh"

namespace cuzk {

// A signed number of DIGITS digits of 30 bits; only the last one may be negative.
template <int DIGITS> struct Signed30 {
    static constexpr int32_t MASK = (1 << 30) - 1;
    int32_t digits[DIGITS];

    CUZK_FN bool is_negative() const { return digits[DIGITS - 1] < 0; }
    CUZK_FN bool is_zero() const {
        int32_t any = 0;
        CUZK_UNROLL
        for (int i = 0; i < DIGITS; i++) any |= digits[i];
        return any == 0;
    }
    // Digits of any sign, brought into range.
    CUZK_FN void carry() {
        CUZK_UNROLL
        for (int i = 0; i + 1 < DIGITS; i++) {
            digits[i + 1] += digits[i] >> 30;
            digits[i] &= MASK;
        }
    }
};

// 2^30 times the effect of thirty steps: (f, g) becomes (u f + v g, q f + r g) / 2^30.
struct StepMatrix {
    int32_t u, v, q, r;
};

template <class P> struct Inversion {
    static constexpr int DIGITS = (32 * P::N + 29) / 30;
    // Batches after which g is zero, whatever the input, for moduli that fill all but a few bits of their limbs.
    static constexpr int BATCHES = 5 * P::N / 2;
    typedef Signed30<DIGITS> Number;

    // Thirty bits of a number in limbs of 32, from a function of the limb's index.
    template <class Limb> static CUZK_FN Number from_limbs(const Limb &limb) {
        Number out;
        CUZK_UNROLL
        for (int i = 0; i < DIGITS; i++) {
            int word = 30 * i / 32, shift = 30 * i % 32;
            uint32_t bits = limb(word) >> shift;
            if (shift > 2 && word + 1 < P::N) bits |= limb(word + 1) << (32 - shift);
            out.digits[i] = (int32_t)(bits & Number::MASK);
        }
        return out;
    }
    static CUZK_FN Number modulus() {
        return from_limbs([](int i) { return P::modulus(i); });
    }

    // Steps on the lowest bits. `delta` is the paper's, less one half, negated.
    static CUZK_FN StepMatrix steps(int32_t &delta, uint32_t f, uint32_t g) {
        uint32_t u = 1, v = 0, q = 0, r = 1;
        for (int i = 0; i < 30; i++) {
            uint32_t swap = (uint32_t)(delta >> 31), odd = 0u - (g & 1);
            g += ((f ^ swap) - swap) & odd;
            q += ((u ^ swap) - swap) & odd;
            r += ((v ^ swap) - swap) & odd;
            swap &= odd;
            delta = (int32_t)((uint32_t)delta ^ swap) - 1;
            f += g & swap;
            u += q & swap;
            v += r & swap;
            g >>= 1;
            u <<= 1;
            v <<= 1;
        }
        return {(int32_t)u, (int32_t)v, (int32_t)q, (int32_t)r};
    }

    // f and g after the steps; the division is exact.
    static CUZK_FN void apply(const StepMatrix &m, Number &f, Number &g) {
        int64_t first = 0, second = 0;
        CUZK_UNROLL
        for (int i = 0; i < DIGITS; i++) {
            first += (int64_t)m.u * f.digits[i] + (int64_t)m.v * g.digits[i];
            second += (int64_t)m.q * f.digits[i] + (int64_t)m.r * g.digits[i];
            if (i > 0) {
                f.digits[i - 1] = (int32_t)first & Number::MASK;
                g.digits[i - 1] = (int32_t)second & Number::MASK;
            }
            first >>= 30;
            second >>= 30;
        }
        f.digits[DIGITS - 1] = (int32_t)first;
        g.digits[DIGITS - 1] = (int32_t)second;
    }

    // d and e after the steps, modulo the modulus: multiples of it make the division exact. Both stay above minus two
    // times the modulus and below the modulus.
    static CUZK_FN void apply_modular(const StepMatrix &m, Number &d, Number &e, const Number &p) {
        constexpr uint32_t INVERSE = 0u - P::INV;
        int32_t d_sign = d.digits[DIGITS - 1] >> 31, e_sign = e.digits[DIGITS - 1] >> 31;
        int32_t first_p = (m.u & d_sign) + (m.v & e_sign), second_p = (m.q & d_sign) + (m.r & e_sign);
        int64_t first = (int64_t)m.u * d.digits[0] + (int64_t)m.v * e.digits[0];
        int64_t second = (int64_t)m.q * d.digits[0] + (int64_t)m.r * e.digits[0];
        first_p -= (int32_t)((INVERSE * (uint32_t)first + (uint32_t)first_p) & Number::MASK);
        second_p -= (int32_t)((INVERSE * (uint32_t)second + (uint32_t)second_p) & Number::MASK);
        first = (first + (int64_t)p.digits[0] * first_p) >> 30;
        second = (second + (int64_t)p.digits[0] * second_p) >> 30;
        CUZK_UNROLL
        for (int i = 1; i < DIGITS; i++) {
            first += (int64_t)m.u * d.digits[i] + (int64_t)m.v * e.digits[i] + (int64_t)p.digits[i] * first_p;
            second += (int64_t)m.q * d.digits[i] + (int64_t)m.r * e.digits[i] + (int64_t)p.digits[i] * second_p;
            d.digits[i - 1] = (int32_t)first & Number::MASK;
            e.digits[i - 1] = (int32_t)second & Number::MASK;
            first >>= 30;
            second >>= 30;
        }
        d.digits[DIGITS - 1] = (int32_t)first;
        e.digits[DIGITS - 1] = (int32_t)second;
    }

    // `value` or its negative, brought from above minus two times the modulus into [0, modulus).
    static CUZK_FN Number normalized(Number value, bool negate, const Number &p) {
        int32_t add = value.is_negative() ? -1 : 0, sign = negate ? -1 : 0;
        CUZK_UNROLL
        for (int i = 0; i < DIGITS; i++) value.digits[i] = ((value.digits[i] + (p.digits[i] & add)) ^ sign) - sign;
        value.carry();
        add = value.is_negative() ? -1 : 0;
        CUZK_UNROLL
        for (int i = 0; i < DIGITS; i++) value.digits[i] += p.digits[i] & add;
        value.carry();
        return value;
    }

    // 1 / value as an integer, zero for zero.
    static CUZK_FN Prime<P> of_integer(const Prime<P> &value) {
        Number p = modulus(), f = p, g = from_limbs([&](int i) { return value.limbs[i]; });
        Number d = {}, e = {};
        e.digits[0] = 1;
        int32_t delta = -1;
        for (int batch = 0; batch < BATCHES && !g.is_zero(); batch++) {
            uint32_t f_low = (uint32_t)f.digits[0] | (uint32_t)f.digits[1] << 30;
            uint32_t g_low = (uint32_t)g.digits[0] | (uint32_t)g.digits[1] << 30;
            StepMatrix matrix = steps(delta, f_low, g_low);
            apply_modular(matrix, d, e, p);
            apply(matrix, f, g);
        }
        // f is 1 or -1 now, or the modulus where the value is zero, and then d is zero.
        d = normalized(d, f.is_negative(), p);
        Prime<P> out;
        CUZK_UNROLL
        for (int i = 0; i < P::N; i++) {
            int digit = 32 * i / 30, shift = 32 * i % 30;
            uint32_t bits = (uint32_t)d.digits[digit] >> shift;
            if (digit + 1 < DIGITS) bits |= (uint32_t)d.digits[digit + 1] << (30 - shift);
            out.limbs[i] = bits;
        }
        return out;
    }
};

// The integer behind the memory form of a is a R, whose inverse times R^2 is the memory form of 1 / a.
template <class P> CUZK_CALL Prime<P> Prime<P>::inverse() const {
    Prime r2;
    CUZK_UNROLL
    for (int i = 0; i < N; i++) r2.limbs[i] = P::r2(i);
    return Inversion<P>::of_integer(*this) * (r2 * r2);
}

} // namespace cuzk
