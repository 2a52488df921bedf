// Which items make the sums of a round of pairs.
#include "cuzk/msm/entry.cuh"

using namespace cuzk;

extern "C" {

// The sizes of the buckets' lists after a round of pairs; bucket b's list is starts[b] .. starts[b + 1] before it.
// sizes[buckets] becomes zero, so that the sums of those before give the total there.
__global__ __launch_bounds__(256) void pairs_sizes(const uint32_t *starts, uint32_t buckets, uint32_t *sizes) {
    uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b > buckets) return;
    sizes[b] = b == buckets ? 0 : (starts[b + 1] - starts[b] + 1) / 2;
}

// For each sum of a round its bucket; for each pair its two items and its sum; for each last odd item it and its sum.
// Items are the entries' points where there are entries, else numbers of items, whose buckets are keys[i]. *count of
// them there are, in 31 bits.
__global__ __launch_bounds__(256) void pairs_map(const Entry *entries, const uint32_t *keys, const uint32_t *count,
                                                 const uint32_t *starts, const uint32_t *new_starts,
                                                 uint32_t *new_keys, uint2 *pairs, uint32_t *sums, uint2 *copies) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= *count) return;
    uint32_t bucket = entries ? entries[i].bucket : keys[i];
    uint32_t start = starts[bucket], new_start = new_starts[bucket], rank = i - start;
    if (rank & 1) return;
    uint32_t sum = new_start + rank / 2;
    new_keys[sum] = bucket;
    uint32_t first = entries ? entries[i].point : i;
    if (i + 1 < starts[bucket + 1]) {
        // A list of n items makes n - ceil(n / 2) pairs.
        uint32_t pair = start - new_start + rank / 2;
        pairs[pair] = make_uint2(first, entries ? entries[i + 1].point : i + 1);
        sums[pair] = sum;
    } else {
        copies[2 * new_start - start] = make_uint2(first, sum);
    }
}

} // extern "C"
