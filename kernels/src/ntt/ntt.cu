// Number-theoretic transforms over Fr, and the steps between them in the quotient.
#include "cuzk/memory.cuh"
#include "cuzk/ntt/pass.cuh"

using namespace cuzk;

namespace {

// Small blocks, so that some compute while others read or write.
constexpr uint32_t LOG_TILE = 10;
constexpr uint32_t TILE = 1u << LOG_TILE;
constexpr uint32_t THREADS = 128;
constexpr uint32_t BLOCKS = 4;
// Levels of a round: a thread holds 2^LEVELS values.
constexpr uint32_t LEVELS = 3;

// A tile in shared memory, the halves of a value apart, and both in an order in which neither neighbours nor values 2, 4
// or 8 apart have bank conflicts.
struct SharedTile {
    uint4 *words;
    __device__ __forceinline__ static uint32_t index(uint32_t slot, uint32_t half) {
        return half * TILE + (slot ^ (slot >> 3 & 7) ^ half << 2);
    }
    __device__ __forceinline__ Fr get(uint32_t slot) const {
        return join(words[index(slot, 0)], words[index(slot, 1)]);
    }
    __device__ __forceinline__ void set(uint32_t slot, const Fr &value) {
        split(value, words[index(slot, 0)], words[index(slot, 1)]);
    }
};

// Where a pass reads and writes. Values are multiplied by the factors as they are read, if there are any, or, with
// `shift`, by the powers of a root of twice the transform's order, which makes a coset of its domain.
struct NttData {
    const Fr *from, *factors;
    Fr *to;
    uint32_t shift;
};

template <int E, bool TIME>
__device__ __forceinline__ void round(SharedTile &memory, const NttTile &tile, uint32_t level, const NttRoots &roots) {
    uint32_t items = 1u << (tile.log_rows + tile.log_columns - E);
    for (uint32_t item = threadIdx.x; item < items; item += THREADS)
        tile_round<E, TIME>(memory, tile, level, item, roots);
    __syncthreads();
}

__device__ __forceinline__ void read_tile(SharedTile &memory, const NttTile &tile, uint32_t slots, const NttData &data,
                                          const NttRoots &roots) {
    if (data.factors == nullptr && data.shift == 0) {
        // Half a value a thread, so that neighbours read without gaps.
        for (uint32_t i = threadIdx.x; i < 2 * slots; i += THREADS) {
            const uint4 *from = reinterpret_cast<const uint4 *>(data.from + tile.place(i / 2)) + i % 2;
            uint32_t to = (uint32_t)__cvta_generic_to_shared(memory.words + memory.index(i / 2, i % 2));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        return;
    }
    for (uint32_t slot = threadIdx.x; slot < slots; slot += THREADS) {
        uint32_t place = tile.place(slot);
        Fr factor = data.factors ? load(data.factors + place) : roots.of(place);
        memory.set(slot, Fr::multiply_lazy(factor, load(data.from + place)));
    }
}

template <bool TIME>
__device__ __forceinline__ void pass(const NttData &data, uint32_t log_size, NttPass shape, const NttRoots &roots) {
    extern __shared__ uint4 words[];
    SharedTile memory = {words};
    NttTile tile = NttTile::at(min(log_size, LOG_TILE), shape, blockIdx.x);
    uint32_t slots = 1u << (tile.log_rows + tile.log_columns);
    read_tile(memory, tile, slots, data, roots);
    __syncthreads();
    uint32_t rest = shape.log_radix % LEVELS, whole = shape.log_radix - rest;
    if (TIME) {
        if (rest == 1) round<1, TIME>(memory, tile, whole, roots);
        if (LEVELS == 3 && rest == 2) round<2, TIME>(memory, tile, whole, roots);
        for (uint32_t level = whole; level != 0; level -= LEVELS)
            round<LEVELS, TIME>(memory, tile, level - LEVELS, roots);
    } else {
        for (uint32_t level = 0; level < whole; level += LEVELS)
            round<LEVELS, TIME>(memory, tile, level, roots);
        if (rest == 1) round<1, TIME>(memory, tile, whole, roots);
        if (LEVELS == 3 && rest == 2) round<2, TIME>(memory, tile, whole, roots);
    }
    bool last = TIME ? shape.log_block == log_size : tile.whole_blocks;
    if (last) {
        for (uint32_t slot = threadIdx.x; slot < slots; slot += THREADS)
            memory.set(slot, Fr::reduce_once(memory.get(slot)));
        __syncthreads();
    }
    for (uint32_t i = threadIdx.x; i < 2 * slots; i += THREADS)
        reinterpret_cast<uint4 *>(data.to + tile.place(i / 2))[i % 2] = memory.words[memory.index(i / 2, i % 2)];
}

__device__ __forceinline__ uint64_t thread_index() {
    return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

// base^i from low powers and multiples of them.
__device__ __forceinline__ Fr power(const Fr *low, const Fr *high, uint32_t i) {
    constexpr uint32_t LOG_SPLIT = 10;
    return load(low + (i & ((1u << LOG_SPLIT) - 1))) * load(high + (i >> LOG_SPLIT));
}

} // namespace

extern "C" {

// Natural to bit-reversed order; a block a tile.
__global__ __launch_bounds__(THREADS, BLOCKS) void ntt_frequency(const Fr *from, const Fr *factors, Fr *to,
                                                                 uint32_t shift, uint32_t log_size,
                                                                 uint32_t log_block, uint32_t log_radix,
                                                                 const Fr *low, const Fr *high, uint32_t log_low) {
    pass<false>({from, factors, to, shift}, log_size, {log_block, log_radix}, {low, high, log_low});
}

// Bit-reversed to natural order.
__global__ __launch_bounds__(THREADS, BLOCKS) void ntt_time(const Fr *from, const Fr *factors, Fr *to, uint32_t shift,
                                                            uint32_t log_size, uint32_t log_block, uint32_t log_radix,
                                                            const Fr *low, const Fr *high, uint32_t log_low) {
    pass<true>({from, factors, to, shift}, log_size, {log_block, log_radix}, {low, high, log_low});
}

// out[b] = T[b 2^shift]; bits[k] is T[2^k].
__global__ void ntt_roots(Fr *out, uint32_t count, uint32_t shift, const Fr *bits) {
    uint32_t b = (uint32_t)thread_index();
    if (b >= count) return;
    Fr value = Fr::one();
    for (uint32_t k = 0; b >> k != 0; k++)
        if (b >> k & 1) value = value * load(bits + k + shift);
    store(out + b, value);
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

// data[i] *= factor * base^i.
__global__ void fr_scale_powers(Fr *data, uint64_t count, const Fr *low, const Fr *high, Fr factor) {
    uint64_t i = thread_index();
    if (i < count) store(data + i, load(data + i) * power(low, high, (uint32_t)i) * factor);
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

// out[j] = factor * (q[i] T[i] weight - c[i]), j being i with its bits reversed: the quotient's coefficients in order.
__global__ void quotient_combine(Fr *out, const Fr *q, const Fr *c, uint32_t log_size, const Fr *low, const Fr *high,
                                 uint32_t log_low, Fr weight, Fr factor) {
    uint64_t i = thread_index();
    if (i >> log_size != 0) return;
    NttRoots roots = {low, high, log_low};
    Fr shifted = load(q + i) * roots.of((uint32_t)i) * weight;
    store(out + reverse_bits((uint32_t)i, log_size), (shifted - load(c + i)) * factor);
}

} // extern "C"
