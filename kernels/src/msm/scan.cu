// Sums of the values before each.
#include "cuzk/block_sum.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t SCAN_THREADS = 256;
constexpr uint32_t SCAN_ITEMS = 16;

} // namespace

extern "C" {

// Each block's 4096 values become the sums of those before them in the block, and sums[block] their total.
__global__ __launch_bounds__(256) void scan_blocks(uint32_t *values, uint32_t count, uint32_t *sums) {
    uint32_t start = (blockIdx.x * SCAN_THREADS + threadIdx.x) * SCAN_ITEMS;
    uint32_t local[SCAN_ITEMS], sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < SCAN_ITEMS; i++) {
        local[i] = start + i < count ? values[start + i] : 0;
        sum += local[i];
    }
    uint32_t total, before = sum_before<SCAN_THREADS>(sum, total);
#pragma unroll
    for (uint32_t i = 0; i < SCAN_ITEMS; i++) {
        if (start + i < count) values[start + i] = before;
        before += local[i];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// One block: sums[i] becomes the sum of those before it, and sums[count] that of all.
__global__ __launch_bounds__(256) void scan_sums(uint32_t *sums, uint32_t count) {
    uint32_t before = 0;
    for (uint32_t start = 0; start < count; start += SCAN_THREADS) {
        uint32_t i = start + threadIdx.x, total;
        uint32_t inside = sum_before<SCAN_THREADS>(i < count ? sums[i] : 0, total);
        if (i < count) sums[i] = before + inside;
        before += total;
    }
    if (threadIdx.x == 0) sums[count] = before;
}

// values[i] += sums[i / 4096].
__global__ __launch_bounds__(256) void scan_add(uint32_t *values, uint32_t count, const uint32_t *sums) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += sums[i / (SCAN_THREADS * SCAN_ITEMS)];
}

} // extern "C"
