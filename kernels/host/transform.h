// The transforms' kernel logic on the host: the same passes, rounds and twiddles, one tile after the other.
#pragma once
#include <vector>

#include "cuzk/ntt/pass.cuh"

namespace host {

using namespace cuzk;

struct HostTile {
    Fr values[1 << NttRoots::LOG_TILE];
    Fr get(uint32_t slot) const { return values[slot]; }
    void set(uint32_t slot, const Fr &value) { values[slot] = value; }
};

inline std::vector<Fr> powers(const Fr &base, uint32_t count) {
    std::vector<Fr> out(count, Fr::one());
    for (uint32_t i = 1; i < count; i++) out[i] = out[i - 1] * base;
    return out;
}

inline Fr squared(Fr value, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) value = value.square();
    return value;
}

// The tables for a root of order 2^LOG_ORDER.
struct Tables {
    std::vector<Fr> tile, low, high;
    explicit Tables(const Fr &root)
        : tile(powers(squared(root, NttRoots::LOG_ORDER - NttRoots::LOG_TILE), 1u << NttRoots::LOG_TILE)),
          low(powers(root, 1u << NttRoots::LOG_SPLIT)),
          high(powers(squared(root, NttRoots::LOG_SPLIT), 1u << (NttRoots::LOG_ORDER - NttRoots::LOG_SPLIT))) {}
    NttRoots roots() const { return {tile.data(), low.data(), high.data()}; }
};

template <int E, bool TIME>
void round(HostTile &memory, const NttTile &tile, uint32_t length, const NttRoots &roots) {
    for (uint32_t item = 0; item < 1u << (tile.log_rows + tile.log_columns - E); item++)
        tile_round<E, TIME>(memory, tile, length, item, roots);
}

template <bool TIME>
void pass(std::vector<Fr> &data, uint32_t log_size, NttPass shape, const NttRoots &roots) {
    static HostTile memory;
    for (uint32_t index = 0;; index++) {
        NttTile tile = NttTile::at(log_size, shape, index);
        uint32_t log_slots = tile.log_rows + tile.log_columns;
        if (index >> (log_size - log_slots) != 0) break;
        for (uint32_t slot = 0; slot < 1u << log_slots; slot++) {
            Fr value = data[tile.place(slot)];
            if (TIME && !tile.whole_blocks) value = value * tile.twiddle(roots, slot);
            memory.set(slot, value);
        }
        uint32_t rest = shape.log_radix % 3;
        if (TIME && rest == 1) round<1, TIME>(memory, tile, 1, roots);
        if (TIME && rest == 2) round<2, TIME>(memory, tile, 2, roots);
        for (uint32_t i = 0; i < shape.log_radix / 3; i++)
            round<3, TIME>(memory, tile, TIME ? rest + 3 * (i + 1) : shape.log_radix - 3 * i, roots);
        if (!TIME && rest == 1) round<1, TIME>(memory, tile, 1, roots);
        if (!TIME && rest == 2) round<2, TIME>(memory, tile, 2, roots);
        for (uint32_t slot = 0; slot < 1u << log_slots; slot++) {
            Fr value = memory.get(slot);
            if (!TIME && !tile.whole_blocks) value = value * tile.twiddle(roots, slot);
            data[tile.place(slot)] = value;
        }
    }
}

} // namespace host
