// Field elements and points in device memory, moved 16 bytes at a time.
#pragma once
#include "ec/points.cuh"

namespace cuzk {

CUZK_FN uint32_t count_ones(uint32_t value) {
#ifdef __CUDA_ARCH__
    return __popc(value);
#else
    return (uint32_t)__builtin_popcount(value);
#endif
}

} // namespace cuzk

#ifdef __CUDACC__
namespace cuzk {

__device__ __forceinline__ Fr join(const uint4 &low, const uint4 &high) {
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

__device__ __forceinline__ void split(const Fr &value, uint4 &low, uint4 &high) {
    const uint32_t *limbs = value.limbs;
    low = make_uint4(limbs[0], limbs[1], limbs[2], limbs[3]);
    high = make_uint4(limbs[4], limbs[5], limbs[6], limbs[7]);
}

// A value whose size is a multiple of 16 bytes.
template <class T> CUZK_FN T load(const T *place) {
    static_assert(sizeof(T) % 16 == 0, "whole words");
    T value;
    const uint4 *from = reinterpret_cast<const uint4 *>(place);
    uint4 *to = reinterpret_cast<uint4 *>(&value);
#pragma unroll
    for (int i = 0; i < (int)(sizeof(T) / 16); i++) to[i] = from[i];
    return value;
}

template <class T> CUZK_FN void store(T *place, const T &value) {
    static_assert(sizeof(T) % 16 == 0, "whole words");
    const uint4 *from = reinterpret_cast<const uint4 *>(&value);
    uint4 *to = reinterpret_cast<uint4 *>(place);
#pragma unroll
    for (int i = 0; i < (int)(sizeof(T) / 16); i++) to[i] = from[i];
}

} // namespace cuzk
#endif

#ifndef __CUDACC__
namespace cuzk {

template <class T> inline T load(const T *place) { return *place; }
template <class T> inline void store(T *place, const T &value) { *place = value; }

} // namespace cuzk
#endif
