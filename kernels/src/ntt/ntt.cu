// Number-theoretic transforms over Fr, and the steps between them in the quotient.
#include "cuzk/memory.cuh"
#include "cuzk/ntt/pass.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t THREADS = 256;
constexpr uint32_t TILE = 1u << NttRoots::LOG_TILE;

// A tile, either where it lies or in shared memory, the halves of a value apart there, so that neighbours' 16-byte
// accesses have no bank conflicts. The twiddles between passes are applied on the way out in frequency, on the way in in
// time.
template <bool TIME> struct TileMemory {
    bool in_place;
    Fr *data;
    uint4 *words;
    const NttTile &tile;
    const NttRoots &roots;
    __device__ __forceinline__ Fr get(uint32_t slot) const {
        if (!in_place) return join(words[slot], words[TILE + slot]);
        Fr value = load(data + tile.place(slot));
        return TIME && !tile.whole_blocks ? value * tile.twiddle(roots, slot) : value;
    }
    __device__ __forceinline__ void set(uint32_t slot, const Fr &value) const {
        if (!in_place) return split(value, words[slot], words[TILE + slot]);
        store(data + tile.place(slot), TIME || tile.whole_blocks ? value : value * tile.twiddle(roots, slot));
    }
};

template <int E, bool TIME>
__device__ __forceinline__ void round(const TileMemory<TIME> &from, const TileMemory<TIME> &to, uint32_t log_length) {
    const NttTile &tile = from.tile;
    uint32_t items = 1u << (tile.log_rows + tile.log_columns - E);
    for (uint32_t item = threadIdx.x; item < items; item += THREADS)
        tile_round<E, TIME>(from, to, tile, log_length, item, from.roots);
    __syncthreads();
}

// A pass over one tile. The widest round reads or writes the tile where it lies, for the rows of its items are far apart
// and neighbouring threads have neighbouring columns. So does the narrowest one, unless neighbouring rows lie side by
// side: then the tile goes through shared memory.
template <bool TIME>
__device__ __forceinline__ void pass(Fr *data, uint32_t log_size, NttPass shape, const NttRoots &roots) {
    extern __shared__ uint4 words[];
    NttTile tile = NttTile::at(log_size, shape, blockIdx.x);
    TileMemory<TIME> place = {true, data, words, tile, roots}, shared = {false, data, words, tile, roots};
    uint32_t slots = 1u << (tile.log_rows + tile.log_columns), radix = shape.log_radix;
    if (TIME && tile.whole_blocks) {
        for (uint32_t slot = threadIdx.x; slot < slots; slot += THREADS) shared.set(slot, place.get(slot));
        __syncthreads();
    }
    for (uint32_t done = 0, levels; done < radix; done += levels) {
        uint32_t rest = radix - done;
        // The narrowest round has the levels that are left over of threes.
        levels = TIME ? (rest + 2) % 3 + 1 : min(rest, 3u);
        uint32_t length = TIME ? done + levels : rest;
        bool first = done == 0, last = done + levels == radix;
        TileMemory<TIME> from = first && !(TIME && tile.whole_blocks) ? place : shared;
        TileMemory<TIME> to = last && (TIME || !tile.whole_blocks) ? place : shared;
        if (levels == 1) round<1, TIME>(from, to, length);
        else if (levels == 2) round<2, TIME>(from, to, length);
        else round<3, TIME>(from, to, length);
    }
    if (!TIME && tile.whole_blocks)
        for (uint32_t slot = threadIdx.x; slot < slots; slot += THREADS) place.set(slot, shared.get(slot));
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
