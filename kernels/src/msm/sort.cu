// Sorting the digits of scalars by bucket, in two steps: into partitions of 2^low buckets, then within each. In both a
// block first puts what it writes in order in shared memory.
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

constexpr uint32_t THREADS = 1024;
// Entries that a block puts in order in shared memory, so that it then writes runs of neighbours: eight a thread.
constexpr uint32_t ITEMS = 8;
constexpr uint32_t LOG_STAGED = 13;
constexpr uint32_t STAGED = 1u << LOG_STAGED;
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

// Each key's value becomes the sum of those before it, and values[keys] that of all; a block's threads together.
__device__ __forceinline__ void sum_keys(uint32_t *values, uint32_t keys, uint32_t base) {
    // Thread t sums up the keys t items .. (t + 1) items.
    uint32_t items = (keys + THREADS - 1) / THREADS, first = threadIdx.x * items, sum = 0, total;
    for (uint32_t k = first; k < first + items && k < keys; k++) sum += values[k];
    uint32_t before = base + sum_before<THREADS>(sum, total);
    for (uint32_t k = first; k < first + items && k < keys; k++) {
        uint32_t value = values[k];
        values[k] = before;
        before += value;
    }
    if (threadIdx.x == 0) values[keys] = base + total;
    __syncthreads();
}

// What a block writes by key: places[k] is where the next entry of key k goes.
struct Staging {
    uint32_t keys;
    uint32_t *places, *offsets; // keys + 1 of the latter
    Entry *staged;

    // In shared memory that begins with the places.
    __device__ __forceinline__ static Staging at(uint64_t *shared, uint32_t keys) {
        Entry *staged = reinterpret_cast<Entry *>(shared);
        uint32_t *places = reinterpret_cast<uint32_t *>(staged + STAGED);
        return {keys, places, places + keys, staged};
    }

    // Writes the entries begin .. end of a source. Source: bool read(i, key, rest), which says whether there is an
    // entry, Entry entry(i, key, rest), and uint32_t key(entry).
    template <class Source>
    __device__ __forceinline__ void write(const Source &source, uint32_t begin, uint32_t end, Entry *out) {
        for (uint32_t start = begin; start < end; start += STAGED) {
            for (uint32_t k = threadIdx.x; k < keys; k += THREADS) offsets[k] = 0;
            __syncthreads();
            uint32_t ranks[ITEMS], rests[ITEMS];
#pragma unroll
            for (uint32_t j = 0; j < ITEMS; j++) {
                uint32_t i = start + j * THREADS + threadIdx.x, key;
                ranks[j] = NONE;
                if (i < end && source.read(i, key, rests[j])) ranks[j] = key << LOG_STAGED;
            }
#pragma unroll
            for (uint32_t j = 0; j < ITEMS; j++)
                if (ranks[j] != NONE) ranks[j] |= next_place(offsets, ranks[j] >> LOG_STAGED);
            __syncthreads();
            sum_keys(offsets, keys, 0);
#pragma unroll
            for (uint32_t j = 0; j < ITEMS; j++) {
                if (ranks[j] == NONE) continue;
                uint32_t key = ranks[j] >> LOG_STAGED, slot = offsets[key] + (ranks[j] & (STAGED - 1));
                staged[slot] = source.entry(start + j * THREADS + threadIdx.x, key, rests[j]);
            }
            __syncthreads();
            for (uint32_t slot = threadIdx.x; slot < offsets[keys]; slot += THREADS) {
                Entry entry = staged[slot];
                uint32_t key = source.key(entry);
                out[places[key] + slot - offsets[key]] = entry;
            }
            __syncthreads();
            for (uint32_t k = threadIdx.x; k < keys; k += THREADS) places[k] += offsets[k + 1] - offsets[k];
            __syncthreads();
        }
    }

  private:
    static constexpr uint32_t NONE = 0xffffffff;
};

// The digits of a tile by partition.
struct TileDigits {
    DigitTile at;
    const uint32_t *digits, *points;
    uint32_t low, first_point; // of the tile's table

    __device__ __forceinline__ bool read(uint32_t i, uint32_t &key, uint32_t &digit) const {
        digit = digits[i];
        uint32_t magnitude = digit & ~NEGATIVE;
        key = (magnitude - 1) >> low;
        return magnitude != 0;
    }
    __device__ __forceinline__ Entry entry(uint32_t i, uint32_t, uint32_t digit) const {
        uint32_t point = points ? points[i] : first_point + i;
        return {at.first_bucket + (digit & ~NEGATIVE) - 1, point | (digit & NEGATIVE)};
    }
    __device__ __forceinline__ uint32_t key(const Entry &entry) const {
        return (entry.bucket - at.first_bucket) >> low;
    }
};

// The entries of a partition by bucket.
struct PartitionEntries {
    const Entry *entries;
    uint32_t first;

    __device__ __forceinline__ bool read(uint32_t i, uint32_t &key, uint32_t &point) const {
        Entry entry = entries[i];
        key = entry.bucket - first;
        point = entry.point;
        return true;
    }
    __device__ __forceinline__ Entry entry(uint32_t, uint32_t key, uint32_t point) const {
        return {first + key, point};
    }
    __device__ __forceinline__ uint32_t key(const Entry &entry) const { return entry.bucket - first; }
};

} // namespace

extern "C" {

// digits[w count + i]: the digit of window first_window + w of scalar i as the number of its bucket in the group, plus
// one, and NEGATIVE; zero where it is zero.
__global__ __launch_bounds__(256) void msm_digits(const Fr *scalars, const uint32_t *slots, uint32_t count,
                                                  Fr offset, uint32_t width, uint32_t windows, uint32_t wide,
                                                  uint32_t first_window, uint32_t part, uint32_t *digits) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    SignedDigits all = SignedDigits::of(load(scalars + (slots ? slots[i] : i)), offset, Windows{width, windows, wide});
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
    extern __shared__ uint64_t shared[];
    uint32_t partitions = 1u << (log_buckets - low);
    DigitTile at = DigitTile::of(count, first_window, first_group, groups, tables, log_buckets, low, tile, tiles);
    Staging staging = Staging::at(shared, partitions);
    for (uint32_t p = threadIdx.x; p < partitions; p += THREADS) staging.places[p] = places[at.row + p * at.stride];
    uint32_t first_point = first_scalar;
    if (at.table != 0) first_point += first_multiple + (at.table - 1) * scalars;
    TileDigits source = {at, digits + (uint64_t)at.window * count, at.table == 0 ? points : nullptr, low, first_point};
    staging.write(source, at.begin, at.end, entries);
}

// Sorts each partition; partition p's first entry is at places[p stride]. A block a partition; starts[b] is where
// bucket b's entries start.
__global__ __launch_bounds__(1024) void msm_sort(const Entry *parted, const uint32_t *places, uint32_t stride,
                                                uint32_t low, Entry *entries, uint32_t *starts) {
    extern __shared__ uint64_t shared[];
    uint32_t begin = places[(uint64_t)blockIdx.x * stride], end = places[(uint64_t)(blockIdx.x + 1) * stride];
    uint32_t buckets = 1u << low, first = blockIdx.x << low;
    Staging staging = Staging::at(shared, buckets);
    for (uint32_t b = threadIdx.x; b < buckets; b += THREADS) staging.offsets[b] = 0;
    __syncthreads();
    for (uint32_t i = begin + threadIdx.x; i < end; i += THREADS)
        next_place(staging.offsets, parted[i].bucket - first);
    __syncthreads();
    sum_keys(staging.offsets, buckets, begin);
    for (uint32_t b = threadIdx.x; b < buckets; b += THREADS)
        starts[first + b] = staging.places[b] = staging.offsets[b];
    __syncthreads();
    staging.write(PartitionEntries{parted, first}, begin, end, entries);
}

} // extern "C"
