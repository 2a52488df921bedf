// The sparse matrix-vector product over a packed witness.
#include "cuzk/matvec/rows.cuh"

using namespace cuzk;

// out[row] = the value of each row; a thread a row.
extern "C" __global__ __launch_bounds__(256) void matvec_rows(
    const uint32_t *tiles, const Instance *instances, const uint32_t *variables, const uint32_t *starts,
    const Term *terms, uint32_t rows, const Fr *coefficients, const ClassWord *classes, const Fr *slots,
    const uint32_t *bits, const uint32_t *escaped, const Fr *escapes, uint32_t escape_count, Fr *out) {
    uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    BlockMatrix matrix = {tiles, instances, variables, starts, terms, coefficients};
    PackedWitness witness = {classes, slots, bits, escaped, escapes, escape_count};
    store(out + row, evaluate_row(matrix, witness, row));
}
