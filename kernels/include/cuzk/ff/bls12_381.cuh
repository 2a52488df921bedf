// The fields of BLS12-381: Fr (R = 2^256), Fq (R = 2^384) and Fq2 = Fq[u] / (u^2 + 1).
#pragma once
#include "inverse.cuh"

namespace cuzk {

// The scalar field.
struct FrParams {
    static constexpr int N = 8;
    // -1 / modulus mod 2^32.
    static constexpr uint32_t INV = 0xffffffff;
    // The modulus.
    static constexpr CUZK_FN uint32_t modulus(int i) {
        constexpr uint32_t limbs[N] = {
            0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402, 0x09a1d805, 0x3339d808,
            0x299d7d48, 0x73eda753,
        };
        return limbs[i];
    }
    // R modulo the modulus.
    static constexpr CUZK_FN uint32_t one(int i) {
        constexpr uint32_t limbs[N] = {
            0xfffffffe, 0x00000001, 0x00034802, 0x5884b7fa, 0xecbc4ff5, 0x998c4fef,
            0xacc5056f, 0x1824b159,
        };
        return limbs[i];
    }
    // R^2 modulo the modulus.
    static constexpr CUZK_FN uint32_t r2(int i) {
        constexpr uint32_t limbs[N] = {
            0xf3f29c6d, 0xc999e990, 0x87925c23, 0x2b6cedcb, 0x7254398f, 0x05d31496,
            0x9f59ff11, 0x0748d9d9,
        };
        return limbs[i];
    }
};

// The base field.
struct FqParams {
    static constexpr int N = 12;
    // -1 / modulus mod 2^32.
    static constexpr uint32_t INV = 0xfffcfffd;
    // The modulus.
    static constexpr CUZK_FN uint32_t modulus(int i) {
        constexpr uint32_t limbs[N] = {
            0xffffaaab, 0xb9feffff, 0xb153ffff, 0x1eabfffe, 0xf6b0f624, 0x6730d2a0,
            0xf38512bf, 0x64774b84, 0x434bacd7, 0x4b1ba7b6, 0x397fe69a, 0x1a0111ea,
        };
        return limbs[i];
    }
    // R modulo the modulus.
    static constexpr CUZK_FN uint32_t one(int i) {
        constexpr uint32_t limbs[N] = {
            0x0002fffd, 0x76090000, 0xc40c0002, 0xebf4000b, 0x53c758ba, 0x5f489857,
            0x70525745, 0x77ce5853, 0xa256ec6d, 0x5c071a97, 0xfa80e493, 0x15f65ec3,
        };
        return limbs[i];
    }
    // R^2 modulo the modulus.
    static constexpr CUZK_FN uint32_t r2(int i) {
        constexpr uint32_t limbs[N] = {
            0x1c341746, 0xf4df1f34, 0x09d104f1, 0x0a76e6a6, 0x4c95b6d5, 0x8de5476c,
            0x939d83c0, 0x67eb88a9, 0xb519952d, 0x9a793e85, 0x92cae3aa, 0x11988fe5,
        };
        return limbs[i];
    }
};

typedef Prime<FrParams> Fr;
typedef Prime<FqParams> Fq;

struct Fq2 {
    Fq c0, c1;

    static CUZK_FN Fq2 zero() { return {Fq::zero(), Fq::zero()}; }
    static CUZK_FN Fq2 one() { return {Fq::one(), Fq::zero()}; }
    CUZK_FN bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
    CUZK_FN bool operator==(const Fq2 &rhs) const { return c0 == rhs.c0 && c1 == rhs.c1; }
    CUZK_FN Fq2 operator+(const Fq2 &rhs) const { return {c0 + rhs.c0, c1 + rhs.c1}; }
    CUZK_FN Fq2 operator-(const Fq2 &rhs) const { return {c0 - rhs.c0, c1 - rhs.c1}; }
    CUZK_FN Fq2 operator-() const { return {-c0, -c1}; }
    CUZK_FN Fq2 twice() const { return {c0.twice(), c1.twice()}; }
    // Three products, after Karatsuba, and two reductions: the modulus leaves three bits free.
    CUZK_EXTENSION Fq2 operator*(const Fq2 &rhs) const {
        // Copies, since ptxas fuses low and high products of values that lie in registers only.
        Fq2 a = *this, b = rhs;
        return multiply(a, b);
    }
    // (c0 + c1)(c0 - c1) + 2 c0 c1 u.
    CUZK_EXTENSION Fq2 square() const {
        Fq cross = c0 * c1;
        return {(c0 + c1) * (c0 - c1), cross.twice()};
    }
    // (c0 - c1 u) / (c0^2 + c1^2), zero for zero.
    CUZK_CALL Fq2 inverse() const {
        Fq norm = (c0.square() + c1.square()).inverse();
        return {c0 * norm, -(c1 * norm)};
    }

  private:
    static CUZK_FN Fq2 multiply(const Fq2 &a, const Fq2 &b) {
        typedef Wide<Fq::N> Product;
        Product low = Product::product(a.c0.limbs, b.c0.limbs), high = Product::product(a.c1.limbs, b.c1.limbs);
        Fq left = Fq::sum_unreduced(a.c0, a.c1), right = Fq::sum_unreduced(b.c0, b.c1);
        Product cross = Product::product(left.limbs, right.limbs) - low - high;
        return {Fq::reduce(low.minus<FqParams>(high)), Fq::reduce(cross)};
    }
};

} // namespace cuzk
