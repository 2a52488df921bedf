// Prime fields in Montgomery form, in 32-bit limbs, least significant first: the memory form of blst.
//
// A field is a `Prime<P>`; P gives the limb count N, the modulus, -1/modulus mod 2^32, one and R^2. Every value is
// kept below the modulus, which must leave the top bit of its N limbs free.
#pragma once
#include "wide.cuh"

namespace cuzk {

template <class P> struct alignas(16) Prime {
    static constexpr int N = P::N;
    typedef P Params;
    uint32_t limbs[N];

    static CUZK_FN Prime zero() {
        Prime out;
        CUZK_UNROLL
        for (int i = 0; i < N; i++) out.limbs[i] = 0;
        return out;
    }
    static CUZK_FN Prime one() {
        Prime out;
        CUZK_UNROLL
        for (int i = 0; i < N; i++) out.limbs[i] = P::one(i);
        return out;
    }
    CUZK_FN bool is_zero() const {
        uint32_t any = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; i++) any |= limbs[i];
        return any == 0;
    }
    CUZK_FN bool operator==(const Prime &rhs) const {
        uint32_t any = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; i++) any |= limbs[i] ^ rhs.limbs[i];
        return any == 0;
    }

    // A value below twice the modulus, brought below it.
    static CUZK_FN Prime reduce_once(const Prime &a) {
        Prime less;
        uint32_t borrow = subtract_modulus(less, a);
        Prime out;
        CUZK_UNROLL
        for (int i = 0; i < N; i++) out.limbs[i] = borrow ? a.limbs[i] : less.limbs[i];
        return out;
    }

    CUZK_FN Prime operator+(const Prime &rhs) const { return reduce_once(sum_unreduced(*this, rhs)); }

    CUZK_FN Prime operator-(const Prime &rhs) const {
        return subtract_modulo(*this, rhs, [](int i) { return P::modulus(i); });
    }

    // Sum and difference of values below twice the modulus, which must fit: below twice the modulus too.
    static CUZK_FN Prime add_lazy(const Prime &a, const Prime &b) {
        Prime out, less;
#ifdef __CUDA_ARCH__
        out.limbs[0] = chain::add_out(a.limbs[0], b.limbs[0]);
        CUZK_UNROLL
        for (int i = 1; i < N; i++) out.limbs[i] = chain::add_through(a.limbs[i], b.limbs[i]);
        uint32_t carry = chain::add_in(0, 0);
        less.limbs[0] = chain::sub_out(out.limbs[0], twice_modulus(0));
        CUZK_UNROLL
        for (int i = 1; i < N; i++) less.limbs[i] = chain::sub_through(out.limbs[i], twice_modulus(i));
        uint32_t borrow = chain::sub_in(carry, 0);
#else
        uint64_t carry = 0;
        for (int i = 0; i < N; i++) {
            carry += (uint64_t)a.limbs[i] + b.limbs[i];
            out.limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
        int64_t borrow = 0;
        for (int i = 0; i < N; i++) {
            borrow += (int64_t)out.limbs[i] - twice_modulus(i);
            less.limbs[i] = (uint32_t)borrow;
            borrow >>= 32;
        }
        borrow += (int64_t)carry;
#endif
        CUZK_UNROLL
        for (int i = 0; i < N; i++) out.limbs[i] = (int32_t)borrow < 0 ? out.limbs[i] : less.limbs[i];
        return out;
    }
    static CUZK_FN Prime subtract_lazy(const Prime &a, const Prime &b) {
        return subtract_modulo(a, b, [](int i) { return twice_modulus(i); });
    }
    static CUZK_FN constexpr uint32_t twice_modulus(int i) {
        return P::modulus(i) << 1 | (i == 0 ? 0 : P::modulus(i - 1) >> 31);
    }

    CUZK_FN Prime operator-() const { return zero() - *this; }
    CUZK_FN Prime twice() const { return *this + *this; }
    CUZK_FN Prime square() const { return reduce(Wide<N>::square(limbs)); }

    // Their sum, which must fit, unreduced: for a product.
    static CUZK_FN Prime sum_unreduced(const Prime &a, const Prime &b) {
        Prime out;
#ifdef __CUDA_ARCH__
        out.limbs[0] = chain::add_out(a.limbs[0], b.limbs[0]);
        CUZK_UNROLL
        for (int i = 1; i < N - 1; i++) out.limbs[i] = chain::add_through(a.limbs[i], b.limbs[i]);
        out.limbs[N - 1] = chain::add_in(a.limbs[N - 1], b.limbs[N - 1]);
#else
        uint64_t carry = 0;
        for (int i = 0; i < N; i++) {
            carry += (uint64_t)a.limbs[i] + b.limbs[i];
            out.limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
#endif
        return out;
    }

    // wide / 2^(32 N) modulo the modulus, for a number below the modulus times 2^(32 N).
    static CUZK_FN Prime reduce(const Wide<N> &wide) {
#ifdef __CUDA_ARCH__
        return reduce_once(reduce_device(wide.limbs));
#else
        return reduce_once(reduce_host(wide));
#endif
    }

    CUZK_FN Prime operator*(const Prime &rhs) const { return reduce_once(multiply_lazy(*this, rhs)); }

    // A product below twice the modulus. a is below the modulus and b any number of N limbs, or the modulus leaves two
    // bits free.
    static CUZK_FN Prime multiply_lazy(const Prime &a, const Prime &b) {
#ifdef __CUDA_ARCH__
        return multiply_device(a, b);
#else
        return multiply_host(a, b);
#endif
    }

    // The integer behind the Montgomery form, and back.
    CUZK_FN Prime to_integer() const {
        Prime unit = zero();
        unit.limbs[0] = 1;
        return *this * unit;
    }
    static CUZK_FN Prime from_integer(const Prime &integer) {
        Prime r2;
        CUZK_UNROLL
        for (int i = 0; i < N; i++) r2.limbs[i] = P::r2(i);
        return integer * r2;
    }

    // 1 / *this, zero for zero; in inverse.cuh.
    CUZK_CALL Prime inverse() const;

  private:
    // a - b, plus the modulus that is given where that is negative.
    template <class Modulus> static CUZK_FN Prime subtract_modulo(const Prime &a, const Prime &b, Modulus modulus) {
        Prime out;
#ifdef __CUDA_ARCH__
        out.limbs[0] = chain::sub_out(a.limbs[0], b.limbs[0]);
        CUZK_UNROLL
        for (int i = 1; i < N; i++) out.limbs[i] = chain::sub_through(a.limbs[i], b.limbs[i]);
        uint32_t mask = chain::sub_in(0, 0);
        out.limbs[0] = chain::add_out(out.limbs[0], modulus(0) & mask);
        CUZK_UNROLL
        for (int i = 1; i < N - 1; i++) out.limbs[i] = chain::add_through(out.limbs[i], modulus(i) & mask);
        out.limbs[N - 1] = chain::add_in(out.limbs[N - 1], modulus(N - 1) & mask);
#else
        int64_t borrow = 0;
        for (int i = 0; i < N; i++) {
            borrow += (int64_t)a.limbs[i] - b.limbs[i];
            out.limbs[i] = (uint32_t)borrow;
            borrow >>= 32;
        }
        uint64_t carry = 0;
        for (int i = 0; i < N; i++) {
            carry += (uint64_t)out.limbs[i] + (modulus(i) & (uint32_t)borrow);
            out.limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
#endif
        return out;
    }
    static CUZK_FN uint32_t subtract_modulus(Prime &out, const Prime &a) {
#ifdef __CUDA_ARCH__
        out.limbs[0] = chain::sub_out(a.limbs[0], P::modulus(0));
        CUZK_UNROLL
        for (int i = 1; i < N; i++) out.limbs[i] = chain::sub_through(a.limbs[i], P::modulus(i));
        return chain::sub_in(0, 0);
#else
        int64_t borrow = 0;
        for (int i = 0; i < N; i++) {
            borrow += (int64_t)a.limbs[i] - P::modulus(i);
            out.limbs[i] = (uint32_t)borrow;
            borrow >>= 32;
        }
        return (uint32_t)borrow;
#endif
    }

#ifdef __CUDA_ARCH__
    // The multiplier has a 64-bit accumulator, so products of even and of odd limbs are summed apart: `even` has
    // weight 1 and `odd` weight 2^32. After a row is reduced, even[0] is zero, and the two change places.
    static __device__ __forceinline__ Prime multiply_device(const Prime &a, const Prime &b) {
        uint32_t even[N], odd[N], modulus[N];
        CUZK_UNROLL
        for (int j = 0; j < N; j++) modulus[j] = P::modulus(j);
        CUZK_UNROLL
        for (int j = 0; j < N; j += 2) {
            uint64_t low = (uint64_t)a.limbs[j] * b.limbs[0];
            uint64_t high = (uint64_t)a.limbs[j + 1] * b.limbs[0];
            even[j] = (uint32_t)low, even[j + 1] = (uint32_t)(low >> 32);
            odd[j] = (uint32_t)high, odd[j + 1] = (uint32_t)(high >> 32);
        }
        reduce_row(even, odd, modulus);
        CUZK_UNROLL
        for (int i = 1; i < N; i += 2) {
            add_row(odd, even, a.limbs, b.limbs[i]);
            reduce_row(odd, even, modulus);
            if (i + 1 < N) {
                add_row(even, odd, a.limbs, b.limbs[i + 1]);
                reduce_row(even, odd, modulus);
            }
        }
        // N is even, so `odd` held the even products of the last row.
        Prime sum;
        sum.limbs[0] = chain::add_out(even[0], odd[1]);
        CUZK_UNROLL
        for (int i = 1; i < N - 1; i++) sum.limbs[i] = chain::add_through(even[i], odd[i + 1]);
        sum.limbs[N - 1] = chain::add_in(even[N - 1], 0);
        return sum;
    }
    // Half of the wide number is divided away as in a multiplication, its rows taking the place of products, and then the
    // other half is added.
    static __device__ __forceinline__ Prime reduce_device(const uint32_t *wide) {
        uint32_t even[N], odd[N], modulus[N];
        CUZK_UNROLL
        for (int j = 0; j < N; j++) modulus[j] = P::modulus(j), even[j] = wide[j], odd[j] = 0;
        reduce_row(even, odd, modulus);
        CUZK_UNROLL
        for (int i = 1; i < N; i += 2) {
            shift_row(odd, even, modulus);
            if (i + 1 < N) shift_row(even, odd, modulus);
        }
        Prime low, sum;
        low.limbs[0] = chain::add_out(even[0], odd[1]);
        CUZK_UNROLL
        for (int i = 1; i < N - 1; i++) low.limbs[i] = chain::add_through(even[i], odd[i + 1]);
        low.limbs[N - 1] = chain::add_in(even[N - 1], 0);
        sum.limbs[0] = chain::add_out(low.limbs[0], wide[N]);
        CUZK_UNROLL
        for (int i = 1; i < N - 1; i++) sum.limbs[i] = chain::add_through(low.limbs[i], wide[N + i]);
        sum.limbs[N - 1] = chain::add_in(low.limbs[N - 1], wide[2 * N - 1]);
        return sum;
    }
    static __device__ __forceinline__ void shift_row(uint32_t *even, uint32_t *odd, const uint32_t *modulus) {
        even[0] = chain::add_out(even[0], odd[1]);
        uint32_t m = quotient(even[0]);
        chain::shift_accumulate<N>(odd, modulus + 1, m);
        accumulate_modulus(even, modulus, m);
        odd[N - 1] = chain::add_in(odd[N - 1], 0);
    }
    static __device__ __forceinline__ void add_row(uint32_t *even, uint32_t *odd, const uint32_t *a,
                                                   uint32_t b) {
        even[0] = chain::add_out(even[0], odd[1]);
        chain::shift_accumulate<N>(odd, a + 1, b);
        chain::accumulate<N>(even, a, b);
        odd[N - 1] = chain::add_in(odd[N - 1], 0);
    }
    static __device__ __forceinline__ void accumulate_modulus(uint32_t *even, const uint32_t *modulus, uint32_t m) {
        if (P::modulus(0) == 1)
            chain::accumulate_unit<N>(even, modulus, m);
        else
            chain::accumulate<N>(even, modulus, m);
    }
    // What the lowest limb is multiplied by to make a multiple of the modulus that takes it away.
    static __device__ __forceinline__ uint32_t quotient(uint32_t limb) {
        return P::INV == 0xffffffff ? chain::negate(limb) : limb * P::INV;
    }
    static __device__ __forceinline__ void reduce_row(uint32_t *even, uint32_t *odd,
                                                      const uint32_t *modulus) {
        uint32_t m = quotient(even[0]);
        chain::accumulate<N>(odd, modulus + 1, m);
        accumulate_modulus(even, modulus, m);
        odd[N - 1] = chain::add_in(odd[N - 1], 0);
    }
#else
    static inline Prime reduce_host(const Wide<N> &wide) {
        uint32_t t[2 * N];
        for (int i = 0; i < 2 * N; i++) t[i] = wide.limbs[i];
        uint32_t top = 0;
        for (int i = 0; i < N; i++) {
            uint32_t m = t[i] * P::INV;
            uint64_t carry = 0;
            for (int j = 0; j < N; j++) {
                carry += (uint64_t)m * P::modulus(j) + t[i + j];
                t[i + j] = (uint32_t)carry;
                carry >>= 32;
            }
            carry += (uint64_t)t[i + N] + top;
            t[i + N] = (uint32_t)carry;
            top = (uint32_t)(carry >> 32);
        }
        Prime out;
        for (int i = 0; i < N; i++) out.limbs[i] = t[N + i];
        return out;
    }
    // Row by row: t += a b_i, then t = (t + m modulus) / 2^32.
    static inline Prime multiply_host(const Prime &a, const Prime &b) {
        uint32_t t[N + 1] = {0};
        for (int i = 0; i < N; i++) {
            uint64_t carry = 0;
            for (int j = 0; j < N; j++) {
                carry += (uint64_t)a.limbs[j] * b.limbs[i] + t[j];
                t[j] = (uint32_t)carry;
                carry >>= 32;
            }
            uint64_t top = (uint64_t)t[N] + carry;
            uint32_t m = t[0] * P::INV;
            carry = ((uint64_t)m * P::modulus(0) + t[0]) >> 32;
            for (int j = 1; j < N; j++) {
                carry += (uint64_t)m * P::modulus(j) + t[j];
                t[j - 1] = (uint32_t)carry;
                carry >>= 32;
            }
            top += carry;
            t[N - 1] = (uint32_t)top;
            t[N] = (uint32_t)(top >> 32);
        }
        Prime sum;
        for (int i = 0; i < N; i++) sum.limbs[i] = t[i];
        return sum;
    }
#endif
};

} // namespace cuzk
