// A query's points by class, and the sum of those that bits select, on the host.
#pragma once
#include <stdio.h>
#include <vector>

#include "cuzk/msm/subsets.cuh"

namespace host {

using namespace cuzk;

template <class T> static bool read_values(std::vector<T> &values) {
    return fread(values.data(), sizeof(T), values.size(), stdin) == values.size();
}

// The size of a cluster, the numbers of words, of a first word, of inputs and of points of the field class, the words of
// the boolean class, those of the field class, the witness's bits, and the points -> the sum of the points that are
// selected, and the sum of i + 1 times point i over inputs and field class.
template <class F> void selections() {
    uint32_t head[5];
    while (fread(head, sizeof(head), 1, stdin) == 1) {
        uint32_t size = head[0], words = head[1], first_word = head[2], inputs = head[3], field_points = head[4];
        std::vector<uint32_t> bits(words), fields(words), witness(first_word + words), bits_before, fields_before;
        if (!read_values(bits) || !read_values(fields) || !read_values(witness)) return;
        uint32_t bit = 0, field = 0;
        for (uint32_t w = 0; w < words; w++) {
            bits_before.push_back(bit);
            fields_before.push_back(field);
            bit += count_ones(bits[w]);
            field += count_ones(fields[w]);
        }
        Clusters clusters = {size, bit, inputs + field_points};
        std::vector<Affine<F>> points(inputs + bit + field), placed(clusters.subset(clusters.number(), 1));
        if (!read_values(points)) return;
        std::vector<uint32_t> places(points.size()), variables(bit);
        QueryWords query = {bits.data(), fields.data(), bits_before.data(), fields_before.data(), first_word, inputs};
        for (uint32_t i = 0; i < inputs; i++) places[i] = i;
        for (uint32_t w = 0; w < words; w++) query.place(w, clusters, places.data(), variables.data());
        for (size_t i = 0; i < points.size(); i++) placed[places[i]] = points[i];
        Xyzz<F> selected = Xyzz<F>::infinity(), weighted = Xyzz<F>::infinity(), sum = Xyzz<F>::infinity();
        for (uint32_t cluster = 0; cluster < clusters.number(); cluster++) {
            if (size > 1) add_subsets<F>(clusters, placed.data(), cluster);
            uint32_t chosen = members(clusters, variables.data(), witness.data(), cluster);
            if (chosen != 0) selected.add(placed[clusters.subset(cluster, chosen)]);
        }
        for (uint32_t i = clusters.first; i > 0; i--) {
            sum.add(placed[i - 1]);
            weighted.add(sum);
        }
        for (const Xyzz<F> &out : {selected, weighted}) {
            Jacobian<F> value = out.to_jacobian();
            fwrite(&value, sizeof(value), 1, stdout);
        }
    }
}

} // namespace host
