// The logic of multi-scalar multiplication on the host: digits, a sort, and sums in chunks.
#pragma once
#include <algorithm>
#include <stdlib.h>
#include <vector>

#include "cuzk/msm/accumulate.cuh"
#include "cuzk/ec/batched_affine.cuh"
#include "cuzk/msm/digits.cuh"
#include "cuzk/msm/levels.cuh"
#include "cuzk/msm/reduce.cuh"

namespace host {

using namespace cuzk;

// Digits as points with their buckets, but for those that are single.
template <class F> struct Digits {
    std::vector<uint32_t> keys;
    std::vector<Affine<F>> items;
    std::vector<uint32_t> starts;
    uint32_t kept;

    // Of entries in the order of their buckets.
    Digits(const std::vector<Entry> &entries, const std::vector<Affine<F>> &points, uint32_t buckets, uint32_t kept)
        : starts(buckets + 1), kept(kept) {
        for (const Entry &entry : entries) {
            keys.push_back(entry.bucket);
            items.push_back(points[entry.point & ~Entry::NEGATIVE].negated_if(entry.point & Entry::NEGATIVE));
            starts[entry.bucket + 1]++;
        }
        for (uint32_t b = 0; b < buckets; b++) starts[b + 1] += starts[b];
    }
    uint32_t bucket(uint32_t i) const { return keys[i]; }
    void add_to(Xyzz<F> &sum, uint32_t i) const {
        if (!is_single(starts.data(), kept, keys[i])) sum.add(items[i]);
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

// The points of the next level.
template <class F> std::vector<Affine<F>> next_level(const std::vector<Affine<F>> &points, uint32_t blocks) {
    std::vector<Affine<F>> next;
    for (size_t i = 0; i < points.size(); i += 2) {
        F inverse = slope_denominator(points[i], points[i + 1]).inverse();
        next.push_back(add_with_inverse(points[i], points[i + 1], inverse));
    }
    for (size_t i = 1; i < blocks; i += 2) next.push_back(points[i]);
    return next;
}

// The sum of (i + 1) buckets[i], by so many levels and then in two runs.
template <class F> Xyzz<F> reduce_by_levels(const Buckets<F> &buckets, uint32_t size, uint32_t levels) {
    std::vector<Affine<F>> points;
    for (uint32_t bucket = 0; bucket < size; bucket++) points.push_back(bucket_point(buckets, bucket));
    for (uint32_t level = 0; level < levels; level++) points = next_level(points, size >> level);
    uint32_t blocks = size >> levels, each = (blocks + 1) / 2;
    std::vector<Element<F>> elements;
    for (uint32_t block = 0; block < blocks; block++)
        elements.push_back(level_element(points.data(), levels, blocks, block));
    return join_sums(join_run(elements.data(), 0, each, each), join_run(elements.data(), each, blocks, each));
}

// The sum of (i + 1) buckets[i], in runs of `length` by blocks of four threads.
template <class F> Xyzz<F> reduce(const Buckets<F> &buckets, uint32_t size, uint32_t length) {
    std::vector<Element<F>> blocks;
    for (uint32_t begin = 0; begin < size;) {
        std::vector<Element<F>> block;
        for (uint32_t thread = 0; thread < 4; thread++) {
            uint32_t end = std::min(begin + length, size);
            block.push_back(add_run(buckets, begin, end, length));
            begin = end;
        }
        for (; block.size() > 1; block.resize(block.size() / 2))
            for (size_t k = 0; 2 * k < block.size(); k++)
                block[k] = {join_sums(block[2 * k], block[2 * k + 1]), join_steps(block[2 * k], block[2 * k + 1])};
        blocks.push_back(block[0]);
    }
    uint32_t each = ((uint32_t)blocks.size() + 1) / 2;
    return join_sums(join_run(blocks.data(), 0, each, each),
                     join_run(blocks.data(), each, (uint32_t)blocks.size(), each));
}

// The sum of scalars times points with digits of `width` bits. With odd widths single items are left to the reduction, which
// of all windows but every fifth is by levels then.
template <class F>
Xyzz<F> multiply(const std::vector<Fr> &scalars, const std::vector<Affine<F>> &points, uint32_t width) {
    uint32_t windows = (255 + width) / width;
    // Of some widths as many windows are narrow as may be.
    Windows at = {width, windows, width % 4 == 3 ? windows : 256 - windows * (width - 1)};
    Fr offset = Fr::zero();
    for (uint32_t w = 0; w + 1 < windows; w++) {
        uint32_t position = at.position(w + 1) - 1;
        offset.limbs[position / 32] |= 1u << (position % 32);
    }
    std::vector<Entry> entries;
    for (uint32_t i = 0; i < scalars.size(); i++) {
        SignedDigits digits = SignedDigits::of(scalars[i], offset, at);
        for (uint32_t w = 0; w < windows; w++) {
            int32_t digit = digits.digit(w);
            uint32_t bucket = (w << (width - 1)) + (uint32_t)abs(digit) - 1;
            if (digit != 0) entries.push_back({bucket, i | (digit < 0 ? Entry::NEGATIVE : 0)});
        }
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry &a, const Entry &b) { return a.bucket < b.bucket; });
    uint32_t log_buckets = width - 1, all = windows << log_buckets;
    std::vector<Xyzz<F>> buckets(all, Xyzz<F>::infinity());
    bool keep = width % 2 == 1;
    Digits<F> digits(entries, points, all, keep ? all : 0);
    if (!entries.empty()) {
        Partials<F> partials = level<F>(digits, 16, (uint32_t)entries.size(), buckets);
        while (partials.keys.size() > 2)
            partials = level<F>(partials, 8, (uint32_t)partials.keys.size(), buckets);
    }
    Xyzz<F> total = Xyzz<F>::infinity();
    for (uint32_t w = windows; w-- > 0;) {
        for (uint32_t i = 0; i < at.bits(w); i++) total = total.twice();
        uint32_t first = w << log_buckets;
        const uint32_t *starts = keep ? digits.starts.data() + first : nullptr;
        Buckets<F> own = {buckets.data() + first, starts, digits.items.data()};
        if (keep && w % 5 != 0)
            total.add(reduce_by_levels(own, 1u << log_buckets, std::min(w % 5 - 1, log_buckets)));
        else
            total.add(reduce(own, 1u << log_buckets, w % 5 + 1));
    }
    return total;
}

} // namespace host
