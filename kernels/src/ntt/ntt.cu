// Number-theoretic transforms over Fr, and the steps between them in the quotient.
#include "cuzk/memory.cuh"
#include "cuzk/ntt/pass.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t THREADS = 256;
constexpr uint32_t TILE = 1u << NttRoots::LOG_TILE;

// A tile in shared memory, the halves of a value apart, so that neighbours' 16-byte accesses have no bank conflicts.
struct SharedTile {
    uint4 *words;
    __device__ __forceinline__ Fr get(uint32_t slot) const {
        return join(words[slot], words[TILE + slot]);
    }
    __device__ __forceinline__ void set(uint32_t slot, const Fr &value) {
        split(value, words[slot], words[TILE + slot]);
    }
};

template <int E, bool TIME>
__device__ __forceinline__ void round(SharedTile &memory, const NttTile &tile, uint32_t log_length,
                                      const NttRoots &roots) {
    uint32_t items = 1u << (tile.log_rows + tile.log_columns - E);
    for (uint32_t item = threadIdx.x; item < items; item += THREADS)
        tile_round<E, TIME>(memory, tile, log_length, item, roots);
    __syncthreads();
}

template <bool TIME>
__device__ __forceinline__ void pass(Fr *data, uint32_t log_size, NttPass shape, const NttRoots &roots) {
    extern __shared__ uint4 words[];
    SharedTile memory = {words};
    NttTile tile = NttTile::at(log_size, shape, blockIdx.x);
    uint32_t slots = 1u << (tile.log_rows + tile.log_columns);
    for (uint32_t slot = threadIdx.x; slot < slots; slot += THREADS) {
        Fr value = load(data + tile.place(slot));
        if (TIME && !tile.whole_blocks) value = value * tile.twiddle(roots, slot);
        memory.set(slot, value);
    }
    __syncthreads();
    uint32_t rest = shape.log_radix % 3;
    if (TIME) {
        if (rest == 1) round<1, TIME>(memory, tile, 1, roots);
        if (rest == 2) round<2, TIME>(memory, tile, 2, roots);
        for (uint32_t length = rest + 3; length <= shape.log_radix; length += 3)
            round<3, TIME>(memory, tile, length, roots);
    } else {
        for (uint32_t length = shape.log_radix; length >= 3; length -= 3)
            round<3, TIME>(memory, tile, length, roots);
        if (rest == 1) round<1, TIME>(memory, tile, 1, roots);
        if (rest == 2) round<2, TIME>(memory, tile, 2, roots);
    }
    for (uint32_t slot = threadIdx.x; slot < slots; slot += THREADS) {
        Fr value = memory.get(slot);
        if (!TIME && !tile.whole_blocks) value = value * tile.twiddle(roots, slot);
        store(data + tile.place(slot), value);
    }
}

__device__ __forceinline__ uint64_t thread_index() {
    return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

// base^i from low powers and multiples, split as the roots are.
__device__ __forceinline__ Fr power(const Fr *low, const Fr *high, uint32_t i) {
    uint32_t mask = (1u << NttRoots::LOG_SPLIT) - 1;
    return load(low + (i & mask)) * load(high + (i >> NttRoots::LOG_SPLIT));
}

} // namespace

extern "C" {

// Natural to bit-reversed order; a block a tile.
__global__ __launch_bounds__(256, 2) void ntt_frequency(Fr *data, uint32_t log_size, uint32_t log_block,
                                                        uint32_t log_radix, const Fr *tile,
                                                        const Fr *low, const Fr *high) {
    pass<false>(data, log_size, {log_block, log_radix}, {tile, low, high});
}

// Bit-reversed to natural order.
__global__ __launch_bounds__(256, 2) void ntt_time(Fr *data, uint32_t log_size, uint32_t log_block,
                                                   uint32_t log_radix, const Fr *tile, const Fr *low,
                                                   const Fr *high) {
    pass<true>(data, log_size, {log_block, log_radix}, {tile, low, high});
}

// out[i] = base^i.
__global__ void fr_powers(Fr *out, uint32_t count, Fr base) {
    uint64_t i = thread_index();
    if (i >= count) return;
    Fr value = Fr::one(), square = base;
    for (uint32_t rest = (uint32_t)i; rest != 0; rest >>= 1) {
        if (rest & 1) value = value * square;
        square = square.square();
    }
    store(out + i, value);
}

// data[i] *= factor.
__global__ void fr_scale(Fr *data, uint64_t count, Fr factor) {
    uint64_t i = thread_index();
    if (i < count) store(data + i, load(data + i) * factor);
}

// data[i] *= factor * base^j, where j is i, or i with its log_size bits reversed.
__global__ void fr_scale_powers(Fr *data, uint32_t log_size, uint32_t reversed, const Fr *low,
                                const Fr *high, Fr factor) {
    uint64_t i = thread_index();
    if (i >> log_size != 0) return;
    uint32_t j = reversed ? reverse_bits((uint32_t)i, log_size) : (uint32_t)i;
    store(data + i, load(data + i) * power(low, high, j) * factor);
}

// out[i] = a[i] * b[i].
__global__ void fr_multiply(Fr *out, const Fr *a, const Fr *b, uint64_t count) {
    uint64_t i = thread_index();
    if (i < count) store(out + i, load(a + i) * load(b + i));
}

// Exchanges the values whose indices are each other's bits reversed.
__global__ void fr_reverse(Fr *data, uint32_t log_size) {
    uint64_t i = thread_index();
    if (i >> log_size != 0) return;
    uint32_t j = reverse_bits((uint32_t)i, log_size);
    if (i >= j) return;
    Fr a = load(data + i), b = load(data + j);
    store(data + i, b);
    store(data + j, a);
}

// out[i] = factor * (q[j] / g^i - c[j]), j being i with its bits reversed: the quotient's coefficients in order.
__global__ void quotient_combine(Fr *out, const Fr *q, const Fr *c, uint32_t log_size, const Fr *low,
                                 const Fr *high, Fr factor) {
    uint64_t i = thread_index();
    if (i >> log_size != 0) return;
    uint32_t j = reverse_bits((uint32_t)i, log_size);
    Fr shifted = load(q + j) * power(low, high, (uint32_t)i);
    store(out + i, (shifted - load(c + j)) * factor);
}

} // extern "C"
