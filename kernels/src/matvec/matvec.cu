// The sparse matrix-vector product over a packed witness.
#include "cuzk/memory.cuh"

using namespace cuzk;

namespace {

// A non-zero of a matrix.
struct alignas(8) Term {
    static constexpr uint32_t BIT = 1u << 31;
    uint32_t column; // a slot, or BIT and an aux variable whose value is a bit
    uint32_t coefficient;
};

// The value of an aux variable that should have been a bit and is not; false where it is one.
__device__ __noinline__ bool find_escape(const uint32_t *escaped, const Fr *values, uint32_t count,
                                         uint32_t aux, Fr &value) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (escaped[middle] < aux) low = middle + 1;
        else high = middle;
    }
    if (low == count || escaped[low] != aux) return false;
    value = load(values + low);
    return true;
}

} // namespace

// out[row] = sum of coefficients[t.coefficient] * value of t.column over terms[starts[row] .. starts[row + 1]].
// The escaped aux variables are in ascending order.
extern "C" __global__ __launch_bounds__(256) void matvec_rows(
    const uint32_t *starts, const Term *terms, uint32_t rows, const Fr *coefficients, const Fr *slots,
    const uint32_t *bits, const uint32_t *escaped, const Fr *escapes, uint32_t escape_count, Fr *out) {
    uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Fr sum = Fr::zero();
    uint32_t end = starts[row + 1];
    for (uint32_t i = starts[row]; i < end; i++) {
        Term term = terms[i];
        Fr product = load(coefficients + term.coefficient);
        if (term.column & Term::BIT) {
            uint32_t aux = term.column & ~Term::BIT;
            Fr value;
            if (escape_count != 0 && find_escape(escaped, escapes, escape_count, aux, value))
                product = product * value;
            else if ((bits[aux / 32] >> (aux % 32) & 1) == 0)
                continue;
        } else {
            product = product * load(slots + term.column);
        }
        sum = sum + product;
    }
    store(out + row, sum);
}
