// The matrix-vector product's kernel logic on the host.
#pragma once
#include <stdio.h>
#include <vector>

#include "cuzk/matvec/rows.cuh"

namespace host {

using namespace cuzk;

// A 32-bit count and as many values from standard input.
template <class T> std::vector<T> read_list() {
    uint32_t count = 0;
    if (fread(&count, sizeof count, 1, stdin) != 1) return {};
    std::vector<T> values(count);
    if (fread(values.data(), sizeof(T), count, stdin) != count) values.clear();
    return values;
}

// The lists of a matrix, then those of a witness, each list with its count, and at last the rows that are wanted -> the
// values of these rows.
inline void rows() {
    auto tiles = read_list<uint32_t>();
    auto instances = read_list<Instance>();
    auto variables = read_list<uint32_t>();
    auto starts = read_list<uint32_t>();
    auto terms = read_list<Term>();
    auto coefficients = read_list<Fr>();
    auto classes = read_list<ClassWord>();
    auto slots = read_list<Fr>();
    auto bits = read_list<uint32_t>();
    auto escaped = read_list<uint32_t>();
    auto escapes = read_list<Fr>();
    auto wanted = read_list<uint32_t>();
    BlockMatrix matrix = {tiles.data(), instances.data(), variables.data(),
                          starts.data(), terms.data(), coefficients.data()};
    PackedWitness witness = {classes.data(), slots.data(), bits.data(),
                             escaped.data(), escapes.data(), (uint32_t)escaped.size()};
    for (uint32_t row : wanted) {
        Fr value = evaluate_row(matrix, witness, row);
        fwrite(&value, sizeof value, 1, stdout);
    }
}

} // namespace host
