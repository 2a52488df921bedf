// Carry chains on the device: each function is one chain, or a link that takes and leaves the carry flag.
#pragma once
#include "platform.cuh"

#ifdef __CUDA_ARCH__
namespace cuzk {
namespace chain {

#define CUZK_OP2(name, ptx)                                                                   \
    __device__ __forceinline__ uint32_t name(uint32_t a, uint32_t b) {                        \
        uint32_t out;                                                                         \
        asm volatile(ptx ".u32 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));                    \
        return out;                                                                           \
    }
#define CUZK_OP3(name, ptx)                                                                   \
    __device__ __forceinline__ uint32_t name(uint32_t a, uint32_t b, uint32_t c) {            \
        uint32_t out;                                                                         \
        asm volatile(ptx ".u32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(c));        \
        return out;                                                                           \
    }

CUZK_OP2(add_out, "add.cc")
CUZK_OP2(add_through, "addc.cc")
CUZK_OP2(add_in, "addc")
CUZK_OP2(sub_out, "sub.cc")
CUZK_OP2(sub_through, "subc.cc")
CUZK_OP2(sub_in, "subc")
CUZK_OP3(mad_low_out, "mad.lo.cc")
CUZK_OP3(mad_low_through, "madc.lo.cc")
CUZK_OP3(mad_high_through, "madc.hi.cc")
CUZK_OP3(mad_high_in, "madc.hi")
#undef CUZK_OP2
#undef CUZK_OP3

// acc += b * (a[0] + a[2] 2^64 + a[4] 2^128 + ...); leaves the carry.
template <int N>
__device__ __forceinline__ void accumulate(uint32_t *acc, const uint32_t *a, uint32_t b) {
    acc[0] = mad_low_out(a[0], b, acc[0]);
    acc[1] = mad_high_through(a[0], b, acc[1]);
#pragma unroll
    for (int j = 2; j < N; j += 2) {
        acc[j] = mad_low_through(a[j], b, acc[j]);
        acc[j + 1] = mad_high_through(a[j], b, acc[j + 1]);
    }
}

// acc[0 .. 2 COUNT) += b * (a[0] + a[2] 2^64 + ...), and the carry to acc[2 COUNT].
template <int COUNT>
__device__ __forceinline__ void accumulate_through(uint32_t *acc, const uint32_t *a, uint32_t b) {
    accumulate<2 * COUNT>(acc, a, b);
    acc[2 * COUNT] = add_in(acc[2 * COUNT], 0);
}

// `accumulate` where a[0] is one and acc[0] + b is zero modulo 2^32: the lowest product needs no multiplier.
template <int N>
__device__ __forceinline__ void accumulate_unit(uint32_t *acc, const uint32_t *a, uint32_t b) {
    acc[0] = add_out(acc[0], b);
    acc[1] = add_through(acc[1], 0);
#pragma unroll
    for (int j = 2; j < N; j += 2) {
        acc[j] = mad_low_through(a[j], b, acc[j]);
        acc[j + 1] = mad_high_through(a[j], b, acc[j + 1]);
    }
}

// -a, in such a way that ptxas does not know: it fuses no low and high products of what it knows to be a negative.
__device__ __forceinline__ uint32_t negate(uint32_t a) {
    uint32_t out;
    asm volatile("not.b32 %0, %1;\n\tadd.u32 %0, %0, 1;" : "=&r"(out) : "r"(a));
    return out;
}

// acc = acc / 2^64 + b * (a[0] + a[2] 2^64 + ...) + the carry that is set; the result fits.
template <int N>
__device__ __forceinline__ void shift_accumulate(uint32_t *acc, const uint32_t *a, uint32_t b) {
#pragma unroll
    for (int j = 0; j < N - 2; j += 2) {
        acc[j] = mad_low_through(a[j], b, acc[j + 2]);
        acc[j + 1] = mad_high_through(a[j], b, acc[j + 3]);
    }
    acc[N - 2] = mad_low_through(a[N - 2], b, 0);
    acc[N - 1] = mad_high_in(a[N - 2], b, 0);
}

} // namespace chain
} // namespace cuzk
#endif
