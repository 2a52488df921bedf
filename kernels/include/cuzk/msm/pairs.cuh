// Halving sorted lists by batched-affine additions: within a bucket's list, items 2 i and 2 i + 1 become their sum, and
// a last odd item is copied. Sums of 5 M + 1 S instead of the 8 M + 2 S of an XYZZ addition.
//
// A round is five kernels. Sizes: how long each bucket's new list is; its sums give where the lists start. Map: which
// items make each pair, and which are copied. Slopes: a thread multiplies the denominators of a batch of pairs and keeps
// the products before each. After the threads' products are inverted, Add walks back and writes the sums. Copy.
#pragma once
#include "../ec/batched_affine.cuh"
#include "../memory.cuh"
#include "entry.cuh"

#ifdef __CUDACC__
namespace cuzk {

// The items of the first round: digits, by the points that they name.
template <class F> struct DigitItems {
    const Affine<F> *points;
    __device__ __forceinline__ F x(uint32_t item) const { return load(&points[item & ~Entry::NEGATIVE].x); }
    __device__ __forceinline__ Affine<F> point(uint32_t item) const {
        return load(points + (item & ~Entry::NEGATIVE)).negated_if(item & Entry::NEGATIVE);
    }
};

// The items of later rounds: the sums of the round before.
template <class F> struct SumItems {
    const Affine<F> *sums;
    __device__ __forceinline__ F x(uint32_t item) const { return load(&sums[item].x); }
    __device__ __forceinline__ Affine<F> point(uint32_t item) const { return load(sums + item); }
};

// The pairs of a round, as many as the round takes away of its items.
struct ListedPairs {
    const uint2 *listed;
    const uint32_t *sums;
    const uint32_t *count, *new_count;
    __device__ __forceinline__ uint32_t number() const { return *count - *new_count; }
    __device__ __forceinline__ uint2 items(uint32_t pair) const { return listed[pair]; }
    __device__ __forceinline__ uint32_t sum(uint32_t pair) const { return sums[pair]; }
    __device__ __forceinline__ bool keeps_second(uint32_t, uint32_t &) const { return false; }
};

// The pairs of neighbours in an array. The second items of the first `halves` pairs are kept, behind the sums.
struct Neighbours {
    uint32_t count, halves;
    __device__ __forceinline__ uint32_t number() const { return count; }
    __device__ __forceinline__ uint2 items(uint32_t pair) const { return make_uint2(2 * pair, 2 * pair + 1); }
    __device__ __forceinline__ uint32_t sum(uint32_t pair) const { return pair; }
    __device__ __forceinline__ bool keeps_second(uint32_t pair, uint32_t &place) const {
        place = count + pair;
        return pair < halves;
    }
};

// before[p] = product of the thread's denominators before pair p; products[thread] = product of all. Thread t takes the
// pairs t, t + threads, ... What the next pair needs is asked for before this one's product.
template <class F, class Items, class Pairs>
__device__ __forceinline__ void slopes(const Items &items, const Pairs &pairs, uint32_t threads, F *before,
                                       F *products) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, number = pairs.number();
    if (thread >= threads) return;
    F product = F::one();
    if (thread < number) {
        uint32_t last = number - 1;
        uint2 pair = pairs.items(thread), next = pairs.items(min(thread + threads, last));
        F xp = items.x(pair.x), xq = items.x(pair.y);
        for (uint32_t p = thread; p < number; p += threads) {
            F denominator = xq - xp;
            if (denominator.is_zero() || xp.is_zero() || xq.is_zero())
                denominator = slope_denominator(items.point(pair.x), items.point(pair.y));
            pair = next;
            xp = items.x(pair.x), xq = items.x(pair.y);
            next = pairs.items(min(p + 2 * threads, last));
            store(before + p, product);
            product = product * denominator;
        }
    }
    store(products + thread, product);
}

// values[i] = 1 / values[i], none of which is zero; thread t takes t, t + threads, ...
template <class F>
__device__ __forceinline__ void invert(F *values, uint32_t count, uint32_t threads, F *before) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= threads || thread >= count) return;
    F product = F::one();
    uint32_t last = thread;
    for (uint32_t i = thread; i < count; i += threads) {
        store(before + i, product);
        product = product * load(values + i);
        last = i;
    }
    F inverse = product.inverse();
    for (uint32_t i = last;; i -= threads) {
        F value = load(values + i);
        store(values + i, inverse * load(before + i));
        inverse = inverse * value;
        if (i == thread) break;
    }
}

template <class F, class Items, class Pairs>
__device__ __forceinline__ void add_pairs(const Items &items, const Pairs &pairs, uint32_t threads, const F *before,
                                          const F *inverses, Affine<F> *out) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, number = pairs.number();
    if (thread >= threads || thread >= number) return;
    F inverse = load(inverses + thread);
    uint32_t index = thread + (number - 1 - thread) / threads * threads;
    uint2 pair = pairs.items(index);
    for (;; index -= threads) {
        Affine<F> p = items.point(pair.x), q = items.point(pair.y);
        uint32_t sum = pairs.sum(index), second;
        if (pairs.keeps_second(index, second)) store(out + second, q);
        if (index != thread) pair = pairs.items(index - threads);
        F dx = q.x - p.x, own = inverse * load(before + index);
        if (dx.is_zero() || p.x.is_zero() || q.x.is_zero()) {
            inverse = inverse * slope_denominator(p, q);
            p = add_with_inverse(p, q, own);
        } else {
            inverse = inverse * dx;
            p = add_with_slope(p, q.x, (q.y - p.y) * own);
        }
        store(out + sum, p);
        if (index == thread) break;
    }
}

// The last odd items: copies[i] is an item and its place. There are 2 *new_count - *count.
template <class F, class Items>
__device__ __forceinline__ void copy_items(const Items &items, const uint2 *copies, const uint32_t *count,
                                           const uint32_t *new_count, Affine<F> *out) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 2 * *new_count - *count) return;
    store(out + copies[i].y, items.point(copies[i].x));
}

} // namespace cuzk

#define CUZK_PAIR_ITEMS(KIND, ITEMS, G, F, BLOCKS)                                                            \
    extern "C" __global__ __launch_bounds__(128, BLOCKS) void pairs_slopes_##KIND##_##G(                      \
        const cuzk::Affine<F> *items, const uint2 *pairs, const uint32_t *sums, const uint32_t *count,        \
        const uint32_t *new_count, uint32_t threads, F *before, F *products) {                                \
        cuzk::slopes<F>(cuzk::ITEMS<F>{items}, cuzk::ListedPairs{pairs, sums, count, new_count}, threads, before,   \
                        products);                                                                            \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128, BLOCKS) void pairs_add_##KIND##_##G(                         \
        const cuzk::Affine<F> *items, const uint2 *pairs, const uint32_t *sums, const uint32_t *count,        \
        const uint32_t *new_count, uint32_t threads, const F *before, const F *inverses,                      \
        cuzk::Affine<F> *out) {                                                                               \
        cuzk::add_pairs<F>(cuzk::ITEMS<F>{items}, cuzk::ListedPairs{pairs, sums, count, new_count}, threads,        \
                           before, inverses, out);                                                            \
    }                                                                                                         \
    extern "C" __global__ void pairs_copy_##KIND##_##G(const cuzk::Affine<F> *items, const uint2 *copies,     \
                                                       const uint32_t *count, const uint32_t *new_count,      \
                                                       cuzk::Affine<F> *out) {                                \
        cuzk::copy_items<F>(cuzk::ITEMS<F>{items}, copies, count, new_count, out);                            \
    }

#define CUZK_PAIR_KERNELS(G, F, BLOCKS)                                                                       \
    CUZK_PAIR_ITEMS(digits, DigitItems, G, F, BLOCKS)                                                         \
    CUZK_PAIR_ITEMS(sums, SumItems, G, F, BLOCKS)                                                             \
    extern "C" __global__ __launch_bounds__(64) void pairs_invert_##G(F *values, uint32_t count,              \
                                                                      uint32_t threads, F *before) {          \
        cuzk::invert<F>(values, count, threads, before);                                                      \
    }

// The pairs of neighbours of a level: `pairs` of them, and `halves` points of the list that is new.
#define CUZK_LEVEL_PAIR_KERNELS(G, F, BLOCKS)                                                                 \
    extern "C" __global__ __launch_bounds__(128, BLOCKS) void levels_slopes_##G(                              \
        const cuzk::Affine<F> *points, uint32_t pairs, uint32_t threads, F *before, F *products) {            \
        cuzk::slopes<F>(cuzk::SumItems<F>{points}, cuzk::Neighbours{pairs, 0}, threads, before, products);    \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128, BLOCKS) void levels_add_##G(                                 \
        const cuzk::Affine<F> *points, uint32_t pairs, uint32_t threads, const F *before, const F *inverses,  \
        uint32_t halves, cuzk::Affine<F> *out) {                                                              \
        cuzk::add_pairs<F>(cuzk::SumItems<F>{points}, cuzk::Neighbours{pairs, halves}, threads, before,       \
                           inverses, out);                                                                    \
    }
#endif
