// Halving sorted lists by batched-affine additions: within a bucket's list, items 2 i and 2 i + 1 become their sum, and
// a last odd item is copied. Sums of 5 M + 1 S instead of the 8 M + 2 S of an XYZZ addition.
//
// A round is four kernels. Sizes: how long each bucket's new list is; its sums give where the lists start. Map: which
// items make each sum. Slopes: a thread multiplies the denominators of `batch` sums and keeps the products before each.
// After the threads' products are inverted, Add walks back and writes the sums.
#pragma once
#include "../ec/batched_affine.cuh"
#include "../memory.cuh"
#include "entry.cuh"

#ifdef __CUDACC__
namespace cuzk {

// A sum of a round: the first item, and PAIR where the next one is added to it.
struct Source {
    static constexpr uint32_t PAIR = 1u << 31;
};

// The items of the first round: digits and the points that they name.
template <class F> struct DigitItems {
    const Entry *entries;
    const Affine<F> *points;
    __device__ __forceinline__ F x(uint32_t i) const {
        return load(&points[entries[i].point & ~Entry::NEGATIVE].x);
    }
    __device__ __forceinline__ Affine<F> point(uint32_t i) const {
        uint32_t point = entries[i].point;
        return load(points + (point & ~Entry::NEGATIVE)).negated_if(point & Entry::NEGATIVE);
    }
};

// The items of later rounds: the sums of the round before.
template <class F> struct SumItems {
    const Affine<F> *sums;
    __device__ __forceinline__ F x(uint32_t i) const { return load(&sums[i].x); }
    __device__ __forceinline__ Affine<F> point(uint32_t i) const { return load(sums + i); }
};

// before[sum] = product of the thread's denominators before it; products[thread] = product of all. Thread t takes the
// sums t, t + threads, ...; *count of them there are.
template <class F, class Items>
__device__ __forceinline__ void slopes(const Items &items, const uint32_t *sources, const uint32_t *count,
                                       uint32_t threads, F *before, F *products) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= threads) return;
    F product = F::one();
    for (uint32_t sum = thread; sum < *count; sum += threads) {
        uint32_t source = sources[sum];
        if ((source & Source::PAIR) == 0) continue;
        uint32_t i = source & ~Source::PAIR;
        F xp = items.x(i), xq = items.x(i + 1), denominator = xq - xp;
        if (denominator.is_zero() || xp.is_zero() || xq.is_zero())
            denominator = slope_denominator(items.point(i), items.point(i + 1));
        store(before + sum, product);
        product = product * denominator;
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

template <class F, class Items>
__device__ __forceinline__ void add_pairs(const Items &items, const uint32_t *sources, const uint32_t *count,
                                          uint32_t threads, const F *before, const F *inverses, Affine<F> *out) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, total = *count;
    if (thread >= threads || thread >= total) return;
    F inverse = load(inverses + thread);
    for (uint32_t sum = thread + (total - 1 - thread) / threads * threads;; sum -= threads) {
        uint32_t source = sources[sum], i = source & ~Source::PAIR;
        Affine<F> p = items.point(i);
        if (source & Source::PAIR) {
            Affine<F> q = items.point(i + 1);
            F dx = q.x - p.x, own = inverse * load(before + sum);
            if (dx.is_zero() || p.x.is_zero() || q.x.is_zero()) {
                inverse = inverse * slope_denominator(p, q);
                p = add_with_inverse(p, q, own);
            } else {
                inverse = inverse * dx;
                p = add_with_slope(p, q.x, (q.y - p.y) * own);
            }
        }
        store(out + sum, p);
        if (sum == thread) break;
    }
}

} // namespace cuzk

#define CUZK_PAIR_KERNELS(G, F, BLOCKS)                                                                       \
    extern "C" __global__ __launch_bounds__(128, BLOCKS) void pairs_slopes_digits_##G(                        \
        const cuzk::Entry *entries, const cuzk::Affine<F> *points, const uint32_t *sources,                   \
        const uint32_t *count, uint32_t threads, F *before, F *products) {                                    \
        cuzk::slopes<F>(cuzk::DigitItems<F>{entries, points}, sources, count, threads, before, products);     \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128, BLOCKS) void pairs_slopes_sums_##G(                          \
        const cuzk::Affine<F> *sums, const uint32_t *sources, const uint32_t *count, uint32_t threads,        \
        F *before, F *products) {                                                                             \
        cuzk::slopes<F>(cuzk::SumItems<F>{sums}, sources, count, threads, before, products);                  \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(64) void pairs_invert_##G(F *values, uint32_t count,              \
                                                                      uint32_t threads, F *before) {          \
        cuzk::invert<F>(values, count, threads, before);                                                      \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128, BLOCKS) void pairs_add_digits_##G(                           \
        const cuzk::Entry *entries, const cuzk::Affine<F> *points, const uint32_t *sources,                   \
        const uint32_t *count, uint32_t threads, const F *before, const F *inverses, cuzk::Affine<F> *out) {  \
        cuzk::add_pairs<F>(cuzk::DigitItems<F>{entries, points}, sources, count, threads, before, inverses,   \
                           out);                                                                              \
    }                                                                                                         \
    extern "C" __global__ __launch_bounds__(128, BLOCKS) void pairs_add_sums_##G(                             \
        const cuzk::Affine<F> *sums, const uint32_t *sources, const uint32_t *count, uint32_t threads,        \
        const F *before, const F *inverses, cuzk::Affine<F> *out) {                                           \
        cuzk::add_pairs<F>(cuzk::SumItems<F>{sums}, sources, count, threads, before, inverses, out);          \
    }
#endif
