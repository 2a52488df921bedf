// Sorting the digits of scalars by bucket: count, sum up, scatter.
//
// Scalar i is scalars[slots[i]] and belongs to point points[i]; without such a list, to i itself. Digit d of window w
// goes to bucket w 2^(c-1) + |d| - 1; zero digits go nowhere.
#include "cuzk/memory.cuh"
#include "cuzk/msm/digits.cuh"
#include "cuzk/msm/entry.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t SCAN_THREADS = 256;
constexpr uint32_t SCAN_ITEMS = 16;

// The sum of `value` over the threads before this one; `total` over all of the block's.
__device__ __forceinline__ uint32_t sum_before(uint32_t value, uint32_t &total) {
    __shared__ uint32_t warps[SCAN_THREADS / 32];
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
    for (uint32_t i = 0; i < SCAN_THREADS / 32; i++) {
        if (i < warp) before += warps[i];
        total += warps[i];
    }
    return before + sum - value;
}

} // namespace

extern "C" {

// counts[bucket] += number of digits that go there.
__global__ __launch_bounds__(256) void msm_count(const Fr *scalars, const uint32_t *slots, uint32_t count,
                                                 uint32_t width, uint32_t windows, uint32_t *counts) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    SignedDigits digits = SignedDigits::of(load(scalars + (slots ? slots[i] : i)), width);
    for (uint32_t w = 0; w < windows; w++) {
        int32_t digit = digits.next();
        if (digit != 0) atomicAdd(counts + (w << (width - 1)) + abs(digit) - 1, 1);
    }
}

// entries: the digits in the order of their buckets. `next` holds each bucket's first place, and its end afterwards.
__global__ __launch_bounds__(256) void msm_scatter(const Fr *scalars, const uint32_t *slots,
                                                   const uint32_t *points, uint32_t count,
                                                   uint32_t width, uint32_t windows, uint32_t *next,
                                                   Entry *entries) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    SignedDigits digits = SignedDigits::of(load(scalars + (slots ? slots[i] : i)), width);
    uint32_t point = points ? points[i] : i;
    for (uint32_t w = 0; w < windows; w++) {
        int32_t digit = digits.next();
        if (digit == 0) continue;
        uint32_t bucket = (w << (width - 1)) + abs(digit) - 1;
        uint32_t place = atomicAdd(next + bucket, 1);
        entries[place] = {bucket, point | (digit < 0 ? Entry::NEGATIVE : 0)};
    }
}

// The sizes of the buckets' lists after a round of pairs; bucket b's list is starts[b] .. starts[b + 1] before it.
// sizes[buckets] becomes zero, so that the sums of those before give the total there.
__global__ __launch_bounds__(256) void pairs_sizes(const uint32_t *starts, uint32_t buckets, uint32_t *sizes) {
    uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b > buckets) return;
    sizes[b] = b == buckets ? 0 : (starts[b + 1] - starts[b] + 1) / 2;
}

// For each sum of a round its bucket, its first item, and the top bit where there is a second. The items' buckets are
// keys[stride i]; *count of them there are, in 31 bits.
__global__ __launch_bounds__(256) void pairs_map(const uint32_t *keys, uint32_t stride, const uint32_t *count,
                                                 const uint32_t *starts, const uint32_t *new_starts,
                                                 uint32_t *new_keys, uint32_t *sources) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= *count) return;
    uint32_t bucket = keys[(uint64_t)stride * i], rank = i - starts[bucket];
    if (rank & 1) return;
    uint32_t sum = new_starts[bucket] + rank / 2;
    new_keys[sum] = bucket;
    sources[sum] = i | (i + 1 < starts[bucket + 1] ? 1u << 31 : 0);
}

// Each block's 4096 values become the sums of those before them in the block, and sums[block] their total.
__global__ __launch_bounds__(256) void scan_blocks(uint32_t *values, uint32_t count, uint32_t *sums) {
    uint32_t start = (blockIdx.x * SCAN_THREADS + threadIdx.x) * SCAN_ITEMS;
    uint32_t local[SCAN_ITEMS], sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < SCAN_ITEMS; i++) {
        local[i] = start + i < count ? values[start + i] : 0;
        sum += local[i];
    }
    uint32_t total, before = sum_before(sum, total);
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
        uint32_t inside = sum_before(i < count ? sums[i] : 0, total);
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
