// One pass of a transform: a few levels at once, on tiles that lie in fast memory.
//
// A transform of n = 2^log_size values is a few passes over the data. Decimation in frequency takes natural to
// bit-reversed order: level l has 2^l blocks, and in block b the values x and y of its halves become x + T[b] y and
// x - T[b] y. T[b] depends on the block alone, not on the place in it, and not on the level: it is the root whose part
// of the circle is half of b's bits read backwards after the point. So the levels of a pass need no twiddles between
// them and those of the next. Decimation in time is the transpose, bit-reversed to natural order: levels backwards, x
// and y become x + y and (x - y) T[b]. Nothing is ever permuted.
//
// A pass works on blocks of L = 2^log_block values. Seen as R = 2^log_radix rows of S = L / R columns, its levels
// combine rows. The next pass has blocks of S.
//
// Between levels values are below twice the modulus.
#pragma once
#include "../memory.cuh"

namespace cuzk {

struct NttPass {
    uint32_t log_block, log_radix;
};

// T of a transform's direction: T[b] = low[b mod 2^log_low] high[b >> log_low].
struct NttRoots {
    const Fr *low, *high;
    uint32_t log_low;

    CUZK_FN Fr of(uint32_t block) const {
        if (block >> log_low == 0) return load(low + block);
        return load(low + (block & ((1u << log_low) - 1))) * load(high + (block >> log_low));
    }
};

CUZK_FN uint32_t reverse_bits(uint32_t value, uint32_t bits) {
    uint32_t out = 0;
#ifdef __CUDA_ARCH__
    out = bits == 0 ? 0 : __brev(value) >> (32 - bits);
#else
    for (uint32_t i = 0; i < bits; i++) out |= (value >> i & 1) << (bits - 1 - i);
#endif
    return out;
}

// Where the values of a tile lie: 2^log_tile of them. A tile has all rows of a few adjacent columns, or, where blocks
// have one column, a few whole blocks.
struct NttTile {
    uint32_t log_rows, log_columns, log_stride; // log_stride = log2 S
    bool whole_blocks;
    uint32_t start; // place of the first value
    uint32_t block; // of the first value

    static CUZK_FN NttTile at(uint32_t log_tile, NttPass pass, uint32_t index) {
        NttTile tile;
        tile.log_rows = pass.log_radix;
        tile.log_columns = log_tile - pass.log_radix;
        tile.log_stride = pass.log_block - pass.log_radix;
        tile.whole_blocks = tile.log_stride == 0;
        if (tile.whole_blocks) {
            tile.start = index << log_tile;
            tile.block = index << tile.log_columns;
        } else {
            uint32_t log_groups = tile.log_stride - tile.log_columns;
            tile.block = index >> log_groups;
            tile.start = (tile.block << pass.log_block) + ((index & ((1u << log_groups) - 1)) << tile.log_columns);
        }
        return tile;
    }
    CUZK_FN uint32_t slot(uint32_t row, uint32_t column) const {
        return whole_blocks ? (column << log_rows) + row : (row << log_columns) + column;
    }
    CUZK_FN uint32_t place(uint32_t slot) const {
        if (whole_blocks) return start + slot;
        return start + (slot >> log_columns << log_stride) + (slot & ((1u << log_columns) - 1));
    }
};

// The pair of a level.
template <bool TIME> CUZK_FN void butterfly(Fr &x, Fr &y, const Fr &root) {
    if (TIME) {
        Fr difference = Fr::subtract_lazy(x, y);
        x = Fr::add_lazy(x, y);
        y = Fr::multiply_lazy(root, difference);
    } else {
        Fr product = Fr::multiply_lazy(root, y);
        y = Fr::subtract_lazy(x, product);
        x = Fr::add_lazy(x, product);
    }
}

// E levels of 2^E values in registers, rows at equal distances in a block. FIRST: the block is the level's first, and
// its root is one.
template <int E, bool TIME, bool FIRST> CUZK_FN void small_transform(Fr *a, const NttRoots &roots, uint32_t block) {
    CUZK_UNROLL
    for (int step = 0; step < E; step++) {
        int level = TIME ? E - 1 - step : step, half = 1 << (E - 1 - level);
        CUZK_UNROLL
        for (int b = 0; b < 1 << level; b++) {
            if (FIRST && b == 0) {
                CUZK_UNROLL
                for (int i = 0; i < half; i++) {
                    Fr x = a[i], y = a[i + half];
                    a[i] = Fr::add_lazy(x, y);
                    a[i + half] = Fr::subtract_lazy(x, y);
                }
            } else {
                Fr root = roots.of((block << level) + b);
                CUZK_UNROLL
                for (int i = 0; i < half; i++) butterfly<TIME>(a[2 * half * b + i], a[2 * half * b + half + i], root);
            }
        }
    }
}

// The pass's levels `level` .. `level` + E - 1 for an item, of which a tile has 2^(log_tile - E). `Memory` has
// get(slot) and set(slot, value).
template <int E, bool TIME, class Memory>
CUZK_FN void tile_round(Memory &memory, const NttTile &tile, uint32_t level, uint32_t item, const NttRoots &roots) {
    uint32_t log_items = tile.log_rows - E, column, rest;
    if (tile.whole_blocks) {
        column = item >> log_items, rest = item & ((1u << log_items) - 1);
    } else {
        column = item & ((1u << tile.log_columns) - 1), rest = item >> tile.log_columns;
    }
    uint32_t log_gap = log_items - level, part = rest >> log_gap;
    uint32_t slot = tile.slot((part << (log_gap + E)) + (rest & ((1u << log_gap) - 1)), column);
    uint32_t step = (tile.whole_blocks ? 1u : 1u << tile.log_columns) << log_gap;
    uint32_t block = ((tile.block + (tile.whole_blocks ? column : 0)) << level) + part;
    Fr a[1 << E];
    CUZK_UNROLL
    for (int q = 0; q < 1 << E; q++) a[q] = memory.get(slot + q * step);
    if (tile.block == 0 && level == 0 && !tile.whole_blocks)
        small_transform<E, TIME, true>(a, roots, 0);
    else
        small_transform<E, TIME, false>(a, roots, block);
    CUZK_UNROLL
    for (int q = 0; q < 1 << E; q++) memory.set(slot + q * step, a[q]);
}

} // namespace cuzk
