// The transforms' kernel logic on the host: the same passes, rounds and roots, one tile after the other.
#pragma once
#include <vector>

#include "cuzk/ntt/pass.cuh"

namespace host {

using namespace cuzk;

// The logarithm of the largest tile.
constexpr uint32_t LOG_TILE = 10;

struct HostTile {
    Fr values[1 << LOG_TILE];
    Fr get(uint32_t slot) const { return values[slot]; }
    void set(uint32_t slot, const Fr &value) { values[slot] = value; }
};

// The tables up to T[2^29 - 1], from a root of order 2^30; `log_low` is small, so that both have a part.
struct Tables {
    static constexpr uint32_t LOG_LOW = 5, LOG_HIGH = 12;
    std::vector<Fr> low, high;
    explicit Tables(Fr root) {
        // T[2^k] has order 2^(k + 2).
        std::vector<Fr> bits(29);
        for (uint32_t k = 29; k-- > 0; root = root.square()) bits[k] = root;
        low = products(bits, 0, LOG_LOW);
        high = products(bits, LOG_LOW, LOG_HIGH);
    }
    NttRoots roots() const { return {low.data(), high.data(), LOG_LOW}; }

  private:
    static std::vector<Fr> products(const std::vector<Fr> &bits, uint32_t shift, uint32_t log_count) {
        std::vector<Fr> out = {Fr::one()};
        for (uint32_t k = 0; k < log_count; k++)
            for (uint32_t i = 0; i < 1u << k; i++) out.push_back(out[i] * bits[k + shift]);
        return out;
    }
};

template <int E, bool TIME>
void round(HostTile &memory, const NttTile &tile, uint32_t level, const NttRoots &roots) {
    for (uint32_t item = 0; item < 1u << (tile.log_rows + tile.log_columns - E); item++)
        tile_round<E, TIME>(memory, tile, level, item, roots);
}

template <int LEVELS, bool TIME>
void rounds(HostTile &memory, const NttTile &tile, const NttRoots &roots) {
    uint32_t rest = tile.log_rows % LEVELS, whole = tile.log_rows - rest;
    if (TIME && rest == 1) round<1, TIME>(memory, tile, whole, roots);
    if (TIME && rest == 2) round<2, TIME>(memory, tile, whole, roots);
    for (uint32_t i = 0; i < whole; i += LEVELS)
        round<LEVELS, TIME>(memory, tile, TIME ? whole - LEVELS - i : i, roots);
    if (!TIME && rest == 1) round<1, TIME>(memory, tile, whole, roots);
    if (!TIME && rest == 2) round<2, TIME>(memory, tile, whole, roots);
}

template <int LEVELS, bool TIME>
void pass(std::vector<Fr> &data, uint32_t log_size, NttPass shape, const NttRoots &roots) {
    static HostTile memory;
    uint32_t log_tile = log_size < LOG_TILE ? log_size : LOG_TILE;
    for (uint32_t index = 0; index < 1u << (log_size - log_tile); index++) {
        NttTile tile = NttTile::at(log_tile, shape, index);
        for (uint32_t slot = 0; slot < 1u << log_tile; slot++) memory.set(slot, data[tile.place(slot)]);
        rounds<LEVELS, TIME>(memory, tile, roots);
        for (uint32_t slot = 0; slot < 1u << log_tile; slot++) data[tile.place(slot)] = memory.get(slot);
    }
}

} // namespace host
