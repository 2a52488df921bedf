// The logic of multi-scalar multiplication on the host: digits, a sort, and sums in chunks.
#pragma once
#include <algorithm>
#include <stdlib.h>
#include <vector>

#include "cuzk/msm/accumulate.cuh"
#include "cuzk/msm/digits.cuh"

namespace host {

using namespace cuzk;

template <class F> struct Digits {
    const std::vector<Entry> &entries;
    const std::vector<Affine<F>> &points;
    uint32_t bucket(uint32_t i) const { return entries[i].bucket; }
    void add_to(Xyzz<F> &sum, uint32_t i) const {
        uint32_t point = entries[i].point;
        sum.add(points[point & ~Entry::NEGATIVE].negated_if(point & Entry::NEGATIVE));
    }
};

template <class F> struct Partials {
    std::vector<uint32_t> keys;
    std::vector<Xyzz<F>> sums;
    uint32_t bucket(uint32_t i) const { return keys[i]; }
    void add_to(Xyzz<F> &sum, uint32_t i) const { sum.add(sums[i]); }
};

template <class F> struct Sink {
    std::vector<Xyzz<F>> &buckets;
    Partials<F> &partials;
    uint32_t chunk;
    void done(uint32_t bucket, const Xyzz<F> &sum) { buckets[bucket].add(sum); }
    void partial(uint32_t which, uint32_t bucket, const Xyzz<F> &sum) {
        partials.keys[2 * chunk + which] = bucket;
        partials.sums[2 * chunk + which] = sum;
    }
};

template <class F, class Source>
Partials<F> level(const Source &source, uint32_t length, uint32_t count, std::vector<Xyzz<F>> &buckets) {
    uint32_t chunks = (count + length - 1) / length;
    Partials<F> partials = {std::vector<uint32_t>(2 * chunks), std::vector<Xyzz<F>>(2 * chunks)};
    for (uint32_t index = 0; index < chunks; index++) {
        Sink<F> sink = {buckets, partials, index};
        add_chunk<F>(Chunk::at(index, length, count), source, sink);
    }
    return partials;
}

// The sum of scalars times points with digits of `width` bits.
template <class F>
Xyzz<F> multiply(const std::vector<Fr> &scalars, const std::vector<Affine<F>> &points, uint32_t width) {
    uint32_t windows = (255 + width) / width;
    Fr offset = Fr::zero();
    for (uint32_t w = 0; w + 1 < windows; w++) {
        uint32_t position = w * width + width - 1;
        offset.limbs[position / 32] |= 1u << (position % 32);
    }
    std::vector<Entry> entries;
    for (uint32_t i = 0; i < scalars.size(); i++) {
        SignedDigits digits = SignedDigits::of(scalars[i], offset, width, windows);
        for (uint32_t w = 0; w < windows; w++) {
            int32_t digit = digits.digit(w);
            uint32_t bucket = (w << (width - 1)) + (uint32_t)abs(digit) - 1;
            if (digit != 0) entries.push_back({bucket, i | (digit < 0 ? Entry::NEGATIVE : 0)});
        }
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry &a, const Entry &b) { return a.bucket < b.bucket; });
    std::vector<Xyzz<F>> buckets((size_t)windows << (width - 1), Xyzz<F>::infinity());
    if (!entries.empty()) {
        Digits<F> digits = {entries, points};
        Partials<F> partials = level<F>(digits, 16, (uint32_t)entries.size(), buckets);
        while (partials.keys.size() > 2)
            partials = level<F>(partials, 8, (uint32_t)partials.keys.size(), buckets);
    }
    Xyzz<F> total = Xyzz<F>::infinity();
    for (uint32_t w = windows; w-- > 0;) {
        for (uint32_t i = 0; i < width; i++) total = total.twice();
        Xyzz<F> sum = Xyzz<F>::infinity();
        for (uint32_t b = 1u << (width - 1); b-- > 0;) {
            sum.add(buckets[((size_t)w << (width - 1)) + b]);
            total.add(sum);
        }
    }
    return total;
}

} // namespace host
