// Sums of buckets times their numbers.
//
// They are sums over elements k of w + k t, where a w and a t belong to each element. Buckets are such elements with both
// the bucket, one after the other; so are runs of them, and so are two neighbours together, until one element is left.
#pragma once
#include "../memory.cuh"

namespace cuzk {

// Whether a bucket's list has one item, and is left to the reduction.
CUZK_FN bool is_single(const uint32_t *starts, uint32_t kept, uint32_t bucket) {
    return bucket < kept && starts[bucket + 1] - starts[bucket] == 1;
}

// Buckets in XYZZ coordinates. With `starts` those are elsewhere whose list has one item: they are that item.
template <class F> struct Buckets {
    const Xyzz<F> *sums;
    const uint32_t *starts;
    const Affine<F> *items;

    CUZK_FN void add_to(Xyzz<F> &sum, uint32_t bucket) const {
        if (starts) {
            uint32_t first = starts[bucket], count = starts[bucket + 1] - first;
            if (count == 0) return;
            if (count == 1) {
                sum.add(load(items + first));
                return;
            }
        }
        sum.merge(load(sums + bucket));
    }
};

template <class F> struct Element {
    Xyzz<F> sum, step; // w and t

    static CUZK_FN Element none() { return {Xyzz<F>::infinity(), Xyzz<F>::infinity()}; }
};

// A run of buckets begin .. end of runs of `length`.
template <class F>
CUZK_FN Element<F> add_run(const Buckets<F> &buckets, uint32_t begin, uint32_t end, uint32_t length) {
    Xyzz<F> sum = Xyzz<F>::infinity(), weighted = Xyzz<F>::infinity();
    for (uint32_t i = end; i > begin; i--) {
        buckets.add_to(sum, i - 1);
        weighted.add(sum);
    }
    return {weighted, sum.times(length)};
}

// Elements begin .. end of runs of `length` as one.
template <class F>
CUZK_FN Element<F> join_run(const Element<F> *elements, uint32_t begin, uint32_t end, uint32_t length) {
    Element<F> out = Element<F>::none();
    for (uint32_t i = end; i > begin; i--) {
        out.sum.merge(out.step);
        out.sum.merge(load(&elements[i - 1].sum));
        out.step.merge(load(&elements[i - 1].step));
    }
    return {out.sum, out.step.times(length)};
}

// Two neighbours as one, since 2 k t + (2 k + 1) t' = k 2 (t + t') + t': its sum, and its step.
template <class F> CUZK_FN Xyzz<F> join_sums(const Element<F> &a, const Element<F> &b) {
    Xyzz<F> out = a.sum;
    out.merge(b.sum);
    out.merge(b.step);
    return out;
}
template <class F> CUZK_FN Xyzz<F> join_steps(const Element<F> &a, const Element<F> &b) {
    Xyzz<F> out = a.step;
    out.merge(b.step);
    return out.twice();
}

} // namespace cuzk
