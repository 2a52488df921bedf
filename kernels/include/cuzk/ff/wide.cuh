// Products of two numbers before their reduction, and the reduction of such products: what a square saves, and sums of
// products that share a reduction.
#pragma once
#include "carry.cuh"

namespace cuzk {

// A number of 2 N limbs.
template <int N> struct Wide {
    uint32_t limbs[2 * N];

    CUZK_FN Wide operator-(const Wide &rhs) const {
        Wide out;
        subtract(out, rhs);
        return out;
    }

    // This less rhs, plus the modulus times 2^(32 N) where that is negative.
    template <class P> CUZK_FN Wide minus(const Wide &rhs) const {
        Wide out;
        uint32_t mask = subtract(out, rhs);
#ifdef __CUDA_ARCH__
        out.limbs[N] = chain::add_out(out.limbs[N], P::modulus(0) & mask);
        CUZK_UNROLL
        for (int i = 1; i < N - 1; i++)
            out.limbs[N + i] = chain::add_through(out.limbs[N + i], P::modulus(i) & mask);
        out.limbs[2 * N - 1] = chain::add_in(out.limbs[2 * N - 1], P::modulus(N - 1) & mask);
#else
        uint64_t carry = 0;
        for (int i = 0; i < N; i++) {
            carry += (uint64_t)out.limbs[N + i] + (P::modulus(i) & mask);
            out.limbs[N + i] = (uint32_t)carry;
            carry >>= 32;
        }
#endif
        return out;
    }

    static CUZK_FN Wide product(const uint32_t *a, const uint32_t *b) {
        Wide out;
#ifdef __CUDA_ARCH__
        // As in a multiplication with its reduction, products at even and at odd places are summed apart.
        uint32_t even[2 * N + 2] = {0}, odd[2 * N + 2] = {0};
        CUZK_UNROLL
        for (int i = 0; i < N; i += 2) {
            chain::accumulate_through<N / 2>(even + i, a, b[i]);
            chain::accumulate_through<N / 2>(odd + i, a + 1, b[i]);
            chain::accumulate_through<N / 2>(odd + i, a, b[i + 1]);
            chain::accumulate_through<N / 2>(even + i + 2, a + 1, b[i + 1]);
        }
        join(out, even, odd);
#else
        for (int i = 0; i < 2 * N; i++) out.limbs[i] = 0;
        for (int i = 0; i < N; i++) {
            uint64_t carry = 0;
            for (int j = 0; j < N; j++) {
                carry += (uint64_t)a[j] * b[i] + out.limbs[i + j];
                out.limbs[i + j] = (uint32_t)carry;
                carry >>= 32;
            }
            out.limbs[i + N] = (uint32_t)carry;
        }
#endif
        return out;
    }

    // a^2, for a below 2^(32 N - 1).
    static CUZK_FN Wide square(const uint32_t *a) {
#ifdef __CUDA_ARCH__
        Wide out;
        uint32_t even[2 * N + 2] = {0}, odd[2 * N + 2] = {0};
        square_rows<0>(even, odd, a);
        join(out, even, odd);
        CUZK_UNROLL
        for (int i = 2 * N - 1; i > 0; i--) out.limbs[i] = __funnelshift_l(out.limbs[i - 1], out.limbs[i], 1);
        out.limbs[0] = chain::mad_low_out(a[0], a[0], 0);
        out.limbs[1] = chain::mad_high_through(a[0], a[0], out.limbs[1]);
        CUZK_UNROLL
        for (int i = 1; i < N - 1; i++) {
            out.limbs[2 * i] = chain::mad_low_through(a[i], a[i], out.limbs[2 * i]);
            out.limbs[2 * i + 1] = chain::mad_high_through(a[i], a[i], out.limbs[2 * i + 1]);
        }
        out.limbs[2 * N - 2] = chain::mad_low_through(a[N - 1], a[N - 1], out.limbs[2 * N - 2]);
        out.limbs[2 * N - 1] = chain::mad_high_in(a[N - 1], a[N - 1], out.limbs[2 * N - 1]);
        return out;
#else
        return product(a, a);
#endif
    }

  private:
    // out = this - rhs; all ones where that is negative.
    CUZK_FN uint32_t subtract(Wide &out, const Wide &rhs) const {
#ifdef __CUDA_ARCH__
        out.limbs[0] = chain::sub_out(limbs[0], rhs.limbs[0]);
        CUZK_UNROLL
        for (int i = 1; i < 2 * N; i++) out.limbs[i] = chain::sub_through(limbs[i], rhs.limbs[i]);
        return chain::sub_in(0, 0);
#else
        int64_t borrow = 0;
        for (int i = 0; i < 2 * N; i++) {
            borrow += (int64_t)limbs[i] - rhs.limbs[i];
            out.limbs[i] = (uint32_t)borrow;
            borrow >>= 32;
        }
        return (uint32_t)borrow;
#endif
    }

#ifdef __CUDA_ARCH__
    // out = even + odd 2^32.
    static __device__ __forceinline__ void join(Wide &out, const uint32_t *even, const uint32_t *odd) {
        out.limbs[0] = even[0];
        out.limbs[1] = chain::add_out(even[1], odd[0]);
        CUZK_UNROLL
        for (int i = 2; i < 2 * N - 1; i++) out.limbs[i] = chain::add_through(even[i], odd[i - 1]);
        out.limbs[2 * N - 1] = chain::add_in(even[2 * N - 1], odd[2 * N - 2]);
    }

    // The products of a[I] and the limbs after it, then those of the rows that follow.
    template <int I>
    static __device__ __forceinline__ void square_rows(uint32_t *even, uint32_t *odd, const uint32_t *a) {
        if constexpr (I + 1 < N) {
            constexpr int COUNT = N - 1 - I;
            chain::accumulate_through<(COUNT + 1) / 2>(odd + 2 * I, a + I + 1, a[I]);
            if constexpr (COUNT > 1) chain::accumulate_through<COUNT / 2>(even + 2 * I + 2, a + I + 2, a[I]);
            square_rows<I + 1>(even, odd, a);
        }
    }
#endif
};

} // namespace cuzk
