// Sorting the digits of scalars by bucket, in two steps: into partitions of 2^low buckets, then within each.
//
// Scalar i is scalars[slots[i]]; without such a list, scalars[i]. Window w = t groups + g of a plan belongs to group g
// of buckets and to table t of points. A digit d of it goes to bucket g 2^(c-1) + |d| - 1; zero digits go nowhere.
// Buckets are counted from the first group of the part that is sorted.
#include "cuzk/block_sum.cuh"
#include "cuzk/memory.cuh"
#include "cuzk/msm/digits.cuh"
#include "cuzk/msm/entry.cuh"

using namespace cuzk;

namespace {

// Few large blocks: what all running blocks write to then stays in the L2 cache until whole lines are written.
constexpr uint32_t THREADS = 1024;
constexpr uint32_t SELECT_THREADS = 256;
constexpr uint32_t MAX_LOW = 11;
constexpr uint32_t NEGATIVE = Entry::NEGATIVE;

// What a block of `msm_count` and `msm_scatter` takes: a tile of the digits of one window.
struct DigitTile {
    uint32_t window, table, begin, end;
    uint64_t row, stride; // of the tile's counts: partition p's is counts[row + p stride]
    uint32_t first_bucket; // of the window's group, within the part

    __device__ __forceinline__ static DigitTile of(uint32_t count, uint32_t first_window, uint32_t first_group,
                                                   uint32_t groups, uint32_t tables, uint32_t log_buckets,
                                                   uint32_t low, uint32_t tile, uint32_t tiles) {
        DigitTile out;
        uint32_t index = blockIdx.x % tiles;
        out.window = blockIdx.x / tiles;
        uint32_t window = first_window + out.window, group = window % groups - first_group;
        out.table = window / groups;
        out.begin = min(index * tile, count);
        out.end = min(out.begin + tile, count);
        out.stride = (uint64_t)tables * tiles;
        out.row = ((uint64_t)group << (log_buckets - low)) * out.stride + out.table * tiles + index;
        out.first_bucket = group << log_buckets;
        return out;
    }
};

// counters[index] += 1; returns what it was. One addition for a warp whose threads all have the same index.
__device__ __forceinline__ uint32_t next_place(uint32_t *counters, uint32_t index) {
    uint32_t warp = __activemask(), lane = threadIdx.x % 32, leader = __ffs(warp) - 1, first = 0;
    if (!__all_sync(warp, __shfl_sync(warp, index, leader) == index)) return atomicAdd(counters + index, 1);
    if (lane == leader) first = atomicAdd(counters + index, __popc(warp));
    return __shfl_sync(warp, first, leader) + __popc(warp & ((1u << lane) - 1));
}

} // namespace

extern "C" {

// digits[w count + i]: the digit of window first_window + w of scalar i as the number of its bucket in the group, plus
// one, and NEGATIVE; zero where it is zero.
__global__ __launch_bounds__(256) void msm_digits(const Fr *scalars, const uint32_t *slots, uint32_t count,
                                                  Fr offset, uint32_t width, uint32_t windows,
                                                  uint32_t first_window, uint32_t part, uint32_t *digits) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    SignedDigits all = SignedDigits::of(load(scalars + (slots ? slots[i] : i)), offset, width, windows);
    for (uint32_t w = 0; w < part; w++) {
        int32_t digit = all.digit(first_window + w);
        digits[(uint64_t)w * count + i] = digit < 0 ? (uint32_t)-digit | NEGATIVE : (uint32_t)digit;
    }
}

// The number of digits of each tile in each partition.
__global__ __launch_bounds__(1024) void msm_count(const uint32_t *digits, uint32_t count, uint32_t first_window,
                                                 uint32_t first_group, uint32_t groups, uint32_t tables,
                                                 uint32_t log_buckets, uint32_t low, uint32_t tile, uint32_t tiles,
                                                 uint32_t *counts) {
    extern __shared__ uint32_t counters[];
    uint32_t partitions = 1u << (log_buckets - low);
    DigitTile at = DigitTile::of(count, first_window, first_group, groups, tables, log_buckets, low, tile, tiles);
    for (uint32_t p = threadIdx.x; p < partitions; p += THREADS) counters[p] = 0;
    __syncthreads();
    const uint32_t *own = digits + (uint64_t)at.window * count;
    for (uint32_t i = at.begin + threadIdx.x; i < at.end; i += THREADS) {
        uint32_t digit = own[i] & ~NEGATIVE;
        if (digit != 0) next_place(counters, (digit - 1) >> low);
    }
    __syncthreads();
    for (uint32_t p = threadIdx.x; p < partitions; p += THREADS) counts[at.row + p * at.stride] = counters[p];
}

// places: the counts' sums. entries: the digits by partition. The point of scalar i is points[i], or first_scalar + i
// without such a list, or in table t its multiple at first_multiple + (t - 1) scalars + first_scalar + i.
__global__ __launch_bounds__(1024) void msm_scatter(const uint32_t *digits, const uint32_t *points, uint32_t count,
                                                   uint32_t first_scalar, uint32_t scalars, uint32_t first_multiple,
                                                   uint32_t first_window, uint32_t first_group, uint32_t groups,
                                                   uint32_t tables, uint32_t log_buckets, uint32_t low,
                                                   uint32_t tile, uint32_t tiles, const uint32_t *places,
                                                   Entry *entries) {
    extern __shared__ uint32_t counters[];
    uint32_t partitions = 1u << (log_buckets - low);
    DigitTile at = DigitTile::of(count, first_window, first_group, groups, tables, log_buckets, low, tile, tiles);
    for (uint32_t p = threadIdx.x; p < partitions; p += THREADS) counters[p] = places[at.row + p * at.stride];
    __syncthreads();
    const uint32_t *own = digits + (uint64_t)at.window * count;
    for (uint32_t i = at.begin + threadIdx.x; i < at.end; i += THREADS) {
        uint32_t digit = own[i], magnitude = digit & ~NEGATIVE;
        if (magnitude == 0) continue;
        uint32_t point = first_scalar + i;
        if (at.table != 0) point += first_multiple + (at.table - 1) * scalars;
        else if (points) point = points[i];
        uint32_t place = next_place(counters, (magnitude - 1) >> low);
        entries[place] = {at.first_bucket + magnitude - 1, point | (digit & NEGATIVE)};
    }
}

// Sorts each partition; partition p's first entry is at places[p stride]. A block a partition; starts[b] is where
// bucket b's entries start.
__global__ __launch_bounds__(1024) void msm_sort(const Entry *parted, const uint32_t *places, uint32_t stride,
                                                uint32_t low, Entry *entries, uint32_t *starts) {
    __shared__ uint32_t counters[1u << MAX_LOW];
    uint32_t begin = places[(uint64_t)blockIdx.x * stride], end = places[(uint64_t)(blockIdx.x + 1) * stride];
    uint32_t buckets = 1u << low, first = blockIdx.x << low;
    for (uint32_t b = threadIdx.x; b < buckets; b += THREADS) counters[b] = 0;
    __syncthreads();
    for (uint32_t i = begin + threadIdx.x; i < end; i += THREADS) next_place(counters, parted[i].bucket - first);
    __syncthreads();
    // Thread t sums up the buckets t items .. (t + 1) items.
    uint32_t items = (buckets + THREADS - 1) / THREADS, own = threadIdx.x * items, sum = 0, total;
    for (uint32_t b = own; b < own + items && b < buckets; b++) sum += counters[b];
    uint32_t place = begin + sum_before<THREADS>(sum, total);
    for (uint32_t b = own; b < own + items && b < buckets; b++) {
        uint32_t size = counters[b];
        counters[b] = place;
        starts[first + b] = place;
        place += size;
    }
    __syncthreads();
    for (uint32_t i = begin + threadIdx.x; i < end; i += THREADS) {
        Entry entry = parted[i];
        entries[next_place(counters, entry.bucket - first)] = entry;
    }
}

// The number of variables in each block's 256 words that are in `variables` and whose bit is one.
__global__ __launch_bounds__(256) void msm_count_bits(const uint32_t *variables, const uint32_t *bits,
                                                      uint32_t words, uint32_t *counts) {
    uint32_t w = blockIdx.x * SELECT_THREADS + threadIdx.x, total;
    sum_before<SELECT_THREADS>(w < words ? __popc(variables[w] & bits[w]) : 0, total);
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// Their points as entries of one bucket; before[w] is the point of word w's first variable.
__global__ __launch_bounds__(256) void msm_select_bits(const uint32_t *variables, const uint32_t *bits,
                                                       const uint32_t *before, uint32_t words, uint32_t bucket,
                                                       const uint32_t *places, Entry *entries) {
    uint32_t w = blockIdx.x * SELECT_THREADS + threadIdx.x, total;
    uint32_t in_query = w < words ? variables[w] : 0, rest = w < words ? in_query & bits[w] : 0;
    uint32_t place = places[blockIdx.x] + sum_before<SELECT_THREADS>(__popc(rest), total);
    uint32_t first = w < words ? before[w] : 0;
    while (rest != 0) {
        uint32_t bit = rest & (0u - rest);
        rest ^= bit;
        entries[place++] = {bucket, first + __popc(in_query & (bit - 1))};
    }
}

} // extern "C"
