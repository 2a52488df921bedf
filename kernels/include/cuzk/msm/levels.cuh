// Sums of buckets times their numbers, by batched-affine additions of neighbours.
//
// At level l the buckets lie in blocks of 2^l neighbours, and of each block there are l + 1 points: the sum of its buckets,
// and for each j < l the sum of those whose number has bit j. These, times 2^j, are the sum of buckets times numbers in the
// block, counted from zero. The points of the next level are sums of neighbours, but for one list: the buckets with bit l of
// a block of 2^(l + 1) are its second half. So a bucket takes two affine additions in all, of 5 M + 1 S each, and running
// sums two in XYZZ coordinates.
//
// A level is l + 1 lists after each other, with a point a block: first the blocks' sums, then those of bits 0, 1, ...
#pragma once
#include "reduce.cuh"

namespace cuzk {

// A bucket in affine coordinates; one whose list has one item is that item.
template <class F> CUZK_FN Affine<F> bucket_point(const Buckets<F> &buckets, uint32_t bucket) {
    uint32_t first = buckets.starts[bucket], count = buckets.starts[bucket + 1] - first;
    if (count == 0) return Affine<F>::infinity();
    if (count == 1) return load(buckets.items + first);
    Xyzz<F> sum = load(buckets.sums + bucket);
    return sum.to_affine((sum.zz * sum.zzz).inverse());
}

// A block of a level that has `blocks` of them, as an element.
template <class F>
CUZK_FN Element<F> level_element(const Affine<F> *points, uint32_t level, uint32_t blocks, uint32_t block) {
    Xyzz<F> sum = Xyzz<F>::infinity(), step = Xyzz<F>::from(load(points + block));
    for (uint32_t bit = level; bit-- > 0;) {
        sum = sum.twice();
        sum.add(load(points + (uint64_t)(bit + 1) * blocks + block));
        step = step.twice();
    }
    // Numbers count from one.
    sum.add(load(points + block));
    return {sum, step};
}

} // namespace cuzk
