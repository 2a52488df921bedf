// Points that bits select, in clusters of 1, 2 or 4 neighbours. Of a cluster the sums over all its subsets but the empty
// one are kept, so that the bits of a cluster select one point.
//
// A query's points are those of inputs and of variables of the field class first, then the clusters: subset m of
// cluster k is at first + k (2^size - 1) + m - 1.
#pragma once
#include "../memory.cuh"

namespace cuzk {

struct Clusters {
    uint32_t size; // points of a cluster
    uint32_t count; // points of all
    uint32_t first; // the place of the first subset

    CUZK_FN uint32_t number() const { return (count + size - 1) / size; }
    CUZK_FN uint32_t subset(uint32_t cluster, uint32_t members) const {
        return first + cluster * ((1u << size) - 1) + members - 1;
    }
    // The place of a point alone.
    CUZK_FN uint32_t alone(uint32_t i) const { return subset(i / size, 1u << i % size); }
};

// The aux variables of a query in words of 32.
struct QueryWords {
    const uint32_t *bits, *fields; // which have a point, by the class of their values
    const uint32_t *bits_before, *fields_before; // points before each word, the inputs' apart
    uint32_t first_word, inputs;

    // places[p]: where the query's point p goes. variables[i]: the aux variable of the i-th point of bits.
    CUZK_FN void place(uint32_t word, const Clusters &clusters, uint32_t *places, uint32_t *variables) const {
        uint32_t bit = bits_before[word], field = fields_before[word], rest = bits[word] | fields[word];
        while (rest != 0) {
            uint32_t lowest = rest & (0u - rest);
            rest ^= lowest;
            uint32_t point = inputs + bit + field;
            if (fields[word] & lowest) {
                places[point] = inputs + field++;
            } else {
                variables[bit] = 32 * (first_word + word) + count_ones(lowest - 1);
                places[point] = clusters.alone(bit++);
            }
        }
    }
};

// The members of a cluster whose bit is one.
CUZK_FN uint32_t members(const Clusters &clusters, const uint32_t *variables, const uint32_t *bits, uint32_t cluster) {
    uint32_t out = 0;
    for (uint32_t j = 0; j < clusters.size; j++) {
        uint32_t i = cluster * clusters.size + j;
        if (i >= clusters.count) break;
        uint32_t variable = variables[i];
        out |= (bits[variable / 32] >> variable % 32 & 1) << j;
    }
    return out;
}

// The sums over a cluster's subsets of two and more points, from the points alone; they share an inversion. Subsets with
// members past the last point are never selected and are left as they are.
template <class F> CUZK_FN void add_subsets(const Clusters &clusters, Affine<F> *points, uint32_t cluster) {
    uint32_t left = clusters.count - cluster * clusters.size;
    uint32_t end = 1u << (left < clusters.size ? left : clusters.size);
    Affine<F> *at = points + clusters.subset(cluster, 1);
    Xyzz<F> sums[15];
    F products[15], product = F::one();
    for (uint32_t m = 1; m < end; m++) {
        uint32_t lowest = m & (0u - m);
        Xyzz<F> &sum = sums[m - 1];
        sum = m == lowest ? Xyzz<F>::infinity() : sums[(m ^ lowest) - 1];
        sum.add(load(at + lowest - 1));
        products[m - 1] = product;
        if (!sum.is_infinity()) product = product * (sum.zz * sum.zzz);
    }
    F inverse = product.inverse();
    for (uint32_t m = end - 1; m > 0; m--) {
        const Xyzz<F> &sum = sums[m - 1];
        Affine<F> point = Affine<F>::infinity();
        if (!sum.is_infinity()) {
            point = sum.to_affine(inverse * products[m - 1]);
            inverse = inverse * (sum.zz * sum.zzz);
        }
        store(at + m - 1, point);
    }
}

} // namespace cuzk
