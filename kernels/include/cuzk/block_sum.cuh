// Sums over the threads of a block.
#pragma once
#include "ff/platform.cuh"

#ifdef __CUDACC__
namespace cuzk {

// The sum of `value` over the threads before this one; `total` over all of the block's THREADS.
template <uint32_t THREADS> __device__ __forceinline__ uint32_t sum_before(uint32_t value, uint32_t &total) {
    __shared__ uint32_t warps[THREADS / 32];
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = value;
    for (uint32_t gap = 1; gap < 32; gap *= 2) {
        uint32_t below = __shfl_up_sync(0xffffffffu, sum, gap);
        if (lane >= gap) sum += below;
    }
    __syncthreads();
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    uint32_t before = 0;
    total = 0;
    for (uint32_t i = 0; i < THREADS / 32; i++) {
        if (i < warp) before += warps[i];
        total += warps[i];
    }
    return before + sum - value;
}

} // namespace cuzk
#endif
