// Kernels of multi-scalar multiplication over a group whose coordinates are F. A unit names its group by a suffix and
// instantiates them with CUZK_MSM_KERNELS.
#pragma once
#include "../memory.cuh"
#include "accumulate.cuh"
#include "digits.cuh"
#include "levels.cuh"
#include "reduce.cuh"
#include "subsets.cuh"

#ifdef __CUDACC__
namespace cuzk {

__device__ __forceinline__ uint32_t thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A list of entries and the points that they name.
template <class F> struct EntryList {
    const Entry *entries;
    const Affine<F> *points;
    __device__ __forceinline__ uint32_t bucket(uint32_t i) const { return entries[i].bucket; }
    __device__ __forceinline__ void add_to(Xyzz<F> &sum, uint32_t i) const {
        uint32_t point = entries[i].point;
        sum.add(load(points + (point & ~Entry::NEGATIVE)).negated_if(point & Entry::NEGATIVE));
    }
};

// A list of affine points with their buckets, but for those that are single.
template <class F> struct AffineList {
    const uint32_t *keys;
    const Affine<F> *points;
    const uint32_t *starts;
    uint32_t kept;
    __device__ __forceinline__ uint32_t bucket(uint32_t i) const { return keys[i]; }
    __device__ __forceinline__ void add_to(Xyzz<F> &sum, uint32_t i) const {
        if (!is_single(starts, kept, keys[i])) sum.add(load(points + i));
    }
};

// A list of partial sums.
template <class F> struct PartialList {
    const uint32_t *keys;
    const Xyzz<F> *sums;
    __device__ __forceinline__ uint32_t bucket(uint32_t i) const { return keys[i]; }
    __device__ __forceinline__ void add_to(Xyzz<F> &sum, uint32_t i) const { sum.add(load(sums + i)); }
};

// Where sums go. A bucket is done once a level; parts of a multiplication share buckets.
template <class F> struct BucketSink {
    Xyzz<F> *buckets;
    uint32_t *keys;
    Xyzz<F> *sums;
    uint32_t chunk;
    __device__ __noinline__ void done(uint32_t bucket, const Xyzz<F> &sum) {
        if (sum.is_infinity()) return;
        Xyzz<F> before = load(buckets + bucket);
        before.add(sum);
        store(buckets + bucket, before);
    }
    __device__ __forceinline__ void partial(uint32_t which, uint32_t bucket, const Xyzz<F> &sum) {
        keys[2 * chunk + which] = bucket;
        store(sums + 2 * chunk + which, sum);
    }
};

template <class F, class Source>
__device__ __forceinline__ void accumulate(const Source &source, uint32_t length, uint32_t count,
                                           Xyzz<F> *buckets, uint32_t *keys, Xyzz<F> *sums) {
    Chunk chunk = Chunk::at(thread_number(), length, count);
    if (chunk.is_empty()) return;
    BucketSink<F> sink = {buckets, keys, sums, thread_number()};
    add_chunk<F>(chunk, source, sink);
}

// `accumulate` of partial sums by the threads of a block together, a sum a thread: each adds what lies 1, 2, 4, ... behind
// its own while it is of the same bucket, so that a bucket's first has their sum. More additions than in chunks, and
// fewer after each other: for short lists.
template <class F, int THREADS>
__device__ __forceinline__ void combine(const uint32_t *keys_in, const Xyzz<F> *sums_in, uint32_t count,
                                        Xyzz<F> *buckets, uint32_t *keys, Xyzz<F> *sums) {
    __shared__ Xyzz<F> shared[THREADS];
    uint32_t begin = blockIdx.x * THREADS, t = threadIdx.x;
    uint32_t length = min(count - begin, (uint32_t)THREADS), last = begin + length - 1;
    bool mine = t < length;
    uint32_t key = mine ? keys_in[begin + t] : 0;
    Xyzz<F> sum = mine ? load(sums_in + begin + t) : Xyzz<F>::infinity();
    for (uint32_t gap = 1; gap < length; gap *= 2) {
        shared[t] = sum;
        __syncthreads();
        if (t + gap < length && keys_in[begin + t + gap] == key) sum.merge(shared[t + gap]);
        __syncthreads();
    }
    if (!mine || (t != 0 && keys_in[begin + t - 1] == key)) return;
    // A bucket's first. It is open where it goes on before or after the block.
    bool from_before = t == 0 && begin > 0 && keys_in[begin - 1] == key;
    bool at_end = keys_in[last] == key, goes_on = at_end && last + 1 < count && keys_in[last + 1] == key;
    BucketSink<F> sink = {buckets, keys, sums, blockIdx.x};
    if (!from_before && !goes_on) sink.done(key, sum);
    if (t == 0) sink.partial(0, key, from_before ? sum : Xyzz<F>::infinity());
    if (at_end) sink.partial(1, key, goes_on && !from_before ? sum : Xyzz<F>::infinity());
}

// out = the elements of a block's threads as one.
template <class F, int THREADS>
__device__ __forceinline__ void join_block(const Element<F> &own, Element<F> *out) {
    __shared__ Element<F> shared[THREADS];
    shared[threadIdx.x] = own;
    // One half of the threads makes sums, the other steps.
    bool steps = threadIdx.x >= THREADS / 2;
    uint32_t k = threadIdx.x % (THREADS / 2);
    Xyzz<F> joined = Xyzz<F>::infinity();
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (k < half) {
            const Element<F> &a = shared[2 * k], &b = shared[2 * k + 1];
            joined = steps ? join_steps(a, b) : join_sums(a, b);
        }
        __syncthreads();
        if (k < half) (steps ? shared[k].step : shared[k].sum) = joined;
    }
    if (k == 0) store(steps ? &out->step : &out->sum, joined);
}

// out[b] = the sum of (i + 1) buckets[i] over the runs of block b, as an element of its group, which has `blocks`.
template <class F, int THREADS>
__device__ __forceinline__ void reduce(const Xyzz<F> *sums, const uint32_t *starts, const Affine<F> *items,
                                       uint32_t log_buckets, uint32_t length, uint32_t blocks, Element<F> *out) {
    uint32_t group = blockIdx.x / blocks, run = blockIdx.x % blocks * THREADS + threadIdx.x;
    uint32_t first = group << log_buckets, size = 1u << log_buckets;
    uint32_t begin = min(run * length, size), end = min(begin + length, size);
    Buckets<F> buckets = {sums + first, starts ? starts + first : nullptr, items};
    join_block<F, THREADS>(add_run(buckets, begin, end, length), out + blockIdx.x);
}

// Buckets in affine coordinates.
template <class F>
__device__ __forceinline__ void bucket_points(const Buckets<F> &buckets, uint32_t count, Affine<F> *out) {
    uint32_t i = thread_number();
    if (i < count) store(out + i, bucket_point(buckets, i));
}

// `reduce` of a level, whose groups have 2^log_size blocks each.
template <class F, int THREADS>
__device__ __forceinline__ void reduce_level(const Affine<F> *points, uint32_t level, uint32_t all, uint32_t log_size,
                                             uint32_t blocks, Element<F> *out) {
    uint32_t group = blockIdx.x / blocks, index = blockIdx.x % blocks * THREADS + threadIdx.x;
    bool mine = index < 1u << log_size;
    Element<F> own = Element<F>::none();
    if (mine) own = level_element(points, level, all, (group << log_size) + index);
    join_block<F, THREADS>(own, out + blockIdx.x);
}

// out[b] = row b of `length` elements as one.
template <class F, int THREADS>
__device__ __forceinline__ void fold(const Element<F> *elements, uint32_t length, Element<F> *out) {
    uint32_t each = (length + THREADS - 1) / THREADS;
    uint32_t begin = min(threadIdx.x * each, length), end = min(begin + each, length);
    const Element<F> *row = elements + (uint64_t)blockIdx.x * length;
    join_block<F, THREADS>(join_run(row, begin, end, each), out + blockIdx.x);
}

// A coordinate from 48 big-endian bytes, the flag bits left out; reduced once, as a value below 2^381 needs.
__device__ __forceinline__ Fq decode_coordinate(const uint32_t *bytes) {
    Fq integer;
#pragma unroll
    for (int i = 0; i < 12; i++) integer.limbs[i] = __byte_perm(bytes[11 - i], 0, 0x0123);
    integer.limbs[11] &= 0x1fffffff;
    return Fq::from_integer(Fq::reduce_once(integer));
}
__device__ __forceinline__ void decode(const uint32_t *bytes, Fq &out) { out = decode_coordinate(bytes); }
__device__ __forceinline__ void decode(const uint32_t *bytes, Fq2 &out) {
    out.c1 = decode_coordinate(bytes);
    out.c0 = decode_coordinate(bytes + 12);
}

// Points from Zcash's uncompressed encoding. Nothing is checked. Point i goes to places[i], or to i without such a list.
template <class F>
__device__ __forceinline__ void decode_points(const uint32_t *bytes, const uint32_t *places, uint32_t count,
                                              Affine<F> *out) {
    uint32_t i = thread_number();
    if (i >= count) return;
    constexpr uint32_t WORDS = sizeof(Affine<F>) / 4;
    const uint32_t *at = bytes + (uint64_t)i * WORDS;
    Affine<F> point = Affine<F>::infinity();
    if ((at[0] & 0x40) == 0) {
        decode(at, point.x);
        decode(at + WORDS / 2, point.y);
    }
    store(out + (places ? places[i] : i), point);
}

template <class F>
__device__ __forceinline__ void to_jacobian(const Xyzz<F> *values, uint32_t count, Jacobian<F> *out) {
    uint32_t i = thread_number();
    if (i < count) store(out + i, load(values + i).to_jacobian());
}

// Multiples of a base in windows of eight bits: table[256 w + j] = j 2^(8 w) base.
template <class F> __device__ __forceinline__ void multiples(const Affine<F> *base, Affine<F> *table) {
    uint32_t window = blockIdx.x, j = threadIdx.x;
    Xyzz<F> sum = Xyzz<F>::from(load(base));
    for (uint32_t i = 0; i < 8 * window; i++) sum = sum.twice();
    sum = sum.times(j);
    store(table + 256 * window + j, sum.to_affine((sum.zz * sum.zzz).inverse()));
}

// Writes the sums of a thread in affine coordinates: sum k to out[thread + k threads]. products[k] is the product of
// zz zzz over the sums before k that are not at infinity, and `inverse` the inverse of all.
template <class F, int BATCH>
__device__ __forceinline__ void store_affine(const Xyzz<F> *sums, const F *products, F inverse, uint32_t count,
                                             Affine<F> *out) {
    uint32_t stride = gridDim.x * blockDim.x;
#pragma unroll 1
    for (int k = BATCH - 1; k >= 0; k--) {
        uint64_t i = thread_number() + (uint64_t)k * stride;
        if (i >= count) continue;
        Affine<F> point = Affine<F>::infinity();
        if (!sums[k].is_infinity()) {
            point = sums[k].to_affine(inverse * products[k]);
            inverse = inverse * (sums[k].zz * sums[k].zzz);
        }
        store(out + i, point);
    }
}

// out[i] = scalars[i] base, for the BATCH scalars of a thread, which share an inversion.
template <class F, int BATCH>
__device__ __forceinline__ void multiply_base(const Affine<F> *table, const Fr *scalars, uint32_t count,
                                              Affine<F> *out) {
    uint32_t stride = gridDim.x * blockDim.x;
    Xyzz<F> sums[BATCH];
    F products[BATCH], product = F::one();
#pragma unroll 1
    for (int k = 0; k < BATCH; k++) {
        uint64_t i = thread_number() + (uint64_t)k * stride;
        sums[k] = Xyzz<F>::infinity();
        if (i < count) {
            Fr integer = load(scalars + i).to_integer();
#pragma unroll 1
            for (uint32_t limb = 0; limb < 8; limb++) {
#pragma unroll 1
                for (uint32_t byte = 0; byte < 4; byte++) {
                    uint32_t digit = integer.limbs[limb] >> (8 * byte) & 255;
                    sums[k].add(load(table + 256 * (4 * limb + byte) + digit));
                }
            }
        }
        products[k] = product;
        if (!sums[k].is_infinity()) product = product * (sums[k].zz * sums[k].zzz);
    }
    store_affine<F, BATCH>(sums, products, product.inverse(), count, out);
}

// table[i] = 2^doublings points[i], for the BATCH points of a thread, which share an inversion.
template <class F, int BATCH>
__device__ __forceinline__ void double_points(const Affine<F> *points, uint32_t count, uint32_t doublings,
                                              Affine<F> *table) {
    uint32_t stride = gridDim.x * blockDim.x;
    Xyzz<F> sums[BATCH];
    F products[BATCH], product = F::one();
#pragma unroll 1
    for (int k = 0; k < BATCH; k++) {
        uint64_t i = thread_number() + (uint64_t)k * stride;
        sums[k] = Xyzz<F>::infinity();
        if (i < count) {
            sums[k] = Xyzz<F>::from(load(points + i));
            for (uint32_t doubling = 0; doubling < doublings; doubling++) sums[k] = sums[k].twice();
        }
        products[k] = product;
        if (!sums[k].is_infinity()) product = product * (sums[k].zz * sums[k].zzz);
    }
    store_affine<F, BATCH>(sums, products, product.inverse(), count, table);
}

} // namespace cuzk

#define CUZK_MSM_KERNELS(G, F, FOLD_THREADS)                                                                  \
    extern "C" __global__ __launch_bounds__(128) void msm_accumulate_##G(                                     \
        const cuzk::Entry *entries, const cuzk::Affine<F> *points, uint32_t length, uint32_t count,           \
        cuzk::Xyzz<F> *buckets, uint32_t *keys, cuzk::Xyzz<F> *sums) {                                        \
        cuzk::accumulate<F>(cuzk::EntryList<F>{entries, points}, length, count, buckets, keys, sums);   \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128) void msm_accumulate_affine_##G(                              \
        const uint32_t *keys_in, const cuzk::Affine<F> *points, const uint32_t *starts, uint32_t kept,        \
        uint32_t length, uint32_t count, cuzk::Xyzz<F> *buckets, uint32_t *keys, cuzk::Xyzz<F> *sums) {       \
        cuzk::AffineList<F> list = {keys_in, points, starts, kept};                                           \
        cuzk::accumulate<F>(list, length, count, buckets, keys, sums);                                        \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128) void msm_accumulate_partial_##G(                             \
        const uint32_t *keys_in, const cuzk::Xyzz<F> *sums_in, uint32_t length, uint32_t count,               \
        cuzk::Xyzz<F> *buckets, uint32_t *keys, cuzk::Xyzz<F> *sums) {                                        \
        cuzk::accumulate<F>(cuzk::PartialList<F>{keys_in, sums_in}, length, count, buckets, keys,      \
                                   sums);                                                                     \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(FOLD_THREADS) void msm_combine_##G(                               \
        const uint32_t *keys_in, const cuzk::Xyzz<F> *sums_in, uint32_t count, cuzk::Xyzz<F> *buckets,        \
        uint32_t *keys, cuzk::Xyzz<F> *sums) {                                                                \
        cuzk::combine<F, FOLD_THREADS>(keys_in, sums_in, count, buckets, keys, sums);                         \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(FOLD_THREADS) void msm_reduce_##G(                                \
        const cuzk::Xyzz<F> *buckets, const uint32_t *starts, const cuzk::Affine<F> *items,                   \
        uint32_t log_buckets, uint32_t length, uint32_t blocks, cuzk::Element<F> *out) {                      \
        cuzk::reduce<F, FOLD_THREADS>(buckets, starts, items, log_buckets, length, blocks, out);              \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(FOLD_THREADS) void msm_fold_##G(                                  \
        const cuzk::Element<F> *elements, uint32_t length, cuzk::Element<F> *out) {                           \
        cuzk::fold<F, FOLD_THREADS>(elements, length, out);                                                   \
    }                                                                                                         \
    extern "C" __global__ void msm_decode_##G(const uint32_t *bytes, const uint32_t *places, uint32_t count,  \
                                              cuzk::Affine<F> *out) {                                         \
        cuzk::decode_points<F>(bytes, places, count, out);                                                    \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128) void msm_subsets_##G(                                        \
        uint32_t size, uint32_t count, uint32_t first, cuzk::Affine<F> *points) {                             \
        cuzk::Clusters clusters = {size, count, first};                                                       \
        if (cuzk::thread_number() < clusters.number())                                                        \
            cuzk::add_subsets<F>(clusters, points, cuzk::thread_number());                                    \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128) void msm_double_##G(                                         \
        const cuzk::Affine<F> *points, uint32_t count, uint32_t doublings, cuzk::Affine<F> *table) {          \
        cuzk::double_points<F, 8>(points, count, doublings, table);                                           \
    }                                                                                                         \
    extern "C" __global__ void msm_jacobian_##G(const cuzk::Xyzz<F> *values, uint32_t count,                  \
                                                cuzk::Jacobian<F> *out) {                                     \
        cuzk::to_jacobian<F>(values, count, out);                                                             \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(256) void fixed_base_multiples_##G(const cuzk::Affine<F> *base,   \
                                                                              cuzk::Affine<F> *table) {       \
        cuzk::multiples<F>(base, table);                                                                      \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128) void fixed_base_multiply_##G(                                \
        const cuzk::Affine<F> *table, const cuzk::Fr *scalars, uint32_t count, cuzk::Affine<F> *out) {        \
        cuzk::multiply_base<F, 8>(table, scalars, count, out);                                                \
    }

#define CUZK_LEVEL_KERNELS(G, F, FOLD_THREADS)                                                                \
    extern "C" __global__ __launch_bounds__(128) void msm_bucket_points_##G(                                  \
        const cuzk::Xyzz<F> *buckets, const uint32_t *starts, const cuzk::Affine<F> *items, uint32_t count,   \
        cuzk::Affine<F> *out) {                                                                               \
        cuzk::bucket_points<F>(cuzk::Buckets<F>{buckets, starts, items}, count, out);                         \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(FOLD_THREADS) void msm_reduce_level_##G(                          \
        const cuzk::Affine<F> *points, uint32_t level, uint32_t all, uint32_t log_size, uint32_t blocks,      \
        cuzk::Element<F> *out) {                                                                              \
        cuzk::reduce_level<F, FOLD_THREADS>(points, level, all, log_size, blocks, out);                       \
    }
#endif
