// One pass of a transform: log_radix levels at once, on tiles that lie in fast memory.
//
// A transform of n = 2^log_size values is a few passes. A pass works on blocks of L = 2^log_block values. Seen as
// R = 2^log_radix rows of S = L / R columns, it transforms every column and, in decimation in frequency, leaves the
// value k of column c, times w_L^(c k), in the row that has k's bits reversed. The next pass has blocks of S. After
// the last pass (S = 1) the values are in bit-reversed order. Decimation in time is the mirror: bit-reversed order
// in, the passes backwards, natural order out. So nothing is ever permuted.
#pragma once
#include "../ff/bls12_381.cuh"

namespace cuzk {

struct NttPass {
    uint32_t log_block, log_radix;
};

// Powers of the root of unity w of order 2^28, of a transform's direction.
struct NttRoots {
    static constexpr uint32_t LOG_ORDER = 28;
    static constexpr uint32_t LOG_TILE = 11;
    static constexpr uint32_t LOG_SPLIT = 10;
    const Fr *tile; // of the root of order 2^LOG_TILE, 2^LOG_TILE of them
    const Fr *low;  // w^i, i < 2^LOG_SPLIT
    const Fr *high; // w^(i 2^LOG_SPLIT), i < 2^(LOG_ORDER - LOG_SPLIT)

    // A power of the root of order 2^log_order, log_order <= LOG_TILE.
    CUZK_FN Fr of_tile(uint32_t log_order, uint32_t exponent) const {
        return tile[exponent << (LOG_TILE - log_order)];
    }
    // A power of the root of order 2^log_order; the exponent is below the order.
    CUZK_FN Fr of_block(uint32_t log_order, uint32_t exponent) const {
        uint32_t scaled = exponent << (LOG_ORDER - log_order);
        Fr power = high[scaled >> LOG_SPLIT];
        // Short blocks need multiples only.
        if (log_order + LOG_SPLIT <= LOG_ORDER) return power;
        return low[scaled & ((1u << LOG_SPLIT) - 1)] * power;
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

// Where the values of a tile lie: 2^LOG_TILE of them, or fewer in a smaller transform. A tile has all rows of a few
// adjacent columns, or, where blocks have one column, a few whole blocks.
struct NttTile {
    uint32_t log_rows, log_columns, log_stride; // log_stride = log2 S
    bool whole_blocks;
    uint32_t start;         // place of the first value
    uint32_t column_offset; // of the first column within its block

    static CUZK_FN NttTile at(uint32_t log_size, NttPass pass, uint32_t index) {
        NttTile tile;
        uint32_t log_tile = log_size < NttRoots::LOG_TILE ? log_size : NttRoots::LOG_TILE;
        tile.log_rows = pass.log_radix;
        tile.log_columns = log_tile - pass.log_radix;
        tile.log_stride = pass.log_block - pass.log_radix;
        tile.whole_blocks = tile.log_stride == 0;
        if (tile.whole_blocks) {
            tile.start = index << log_tile;
            tile.column_offset = 0;
        } else {
            uint32_t log_groups = tile.log_stride - tile.log_columns;
            uint32_t group = index & ((1u << log_groups) - 1);
            tile.column_offset = group << tile.log_columns;
            tile.start = (index >> log_groups << pass.log_block) + tile.column_offset;
        }
        return tile;
    }
    CUZK_FN uint32_t row(uint32_t slot) const {
        return whole_blocks ? slot & ((1u << log_rows) - 1) : slot >> log_columns;
    }
    CUZK_FN uint32_t column(uint32_t slot) const {
        return whole_blocks ? slot >> log_rows : slot & ((1u << log_columns) - 1);
    }
    CUZK_FN uint32_t slot(uint32_t row, uint32_t column) const {
        return whole_blocks ? (column << log_rows) + row : (row << log_columns) + column;
    }
    CUZK_FN uint32_t place(uint32_t slot) const {
        return whole_blocks ? start + slot : start + (row(slot) << log_stride) + column(slot);
    }
    // The twiddle between this pass and the next one for the value in a slot. None with whole blocks.
    CUZK_FN Fr twiddle(const NttRoots &roots, uint32_t slot) const {
        uint32_t k = reverse_bits(row(slot), log_rows);
        return roots.of_block(log_rows + log_stride, k * (column_offset + column(slot)));
    }
};

// A transform of 2^E values in registers. Frequency: natural to bit-reversed order; time: the reverse.
template <int E, bool TIME> CUZK_FN void small_transform(Fr *a, const NttRoots &roots) {
    CUZK_UNROLL
    for (int step = 0; step < E; step++) {
        int log_half = TIME ? step : E - 1 - step;
        CUZK_UNROLL
        for (int i = 0; i < 1 << (E - 1); i++) {
            int t = i & ((1 << log_half) - 1);
            int low = ((i >> log_half) << (log_half + 1)) + t, high = low + (1 << log_half);
            Fr x = a[low], y = a[high];
            if (TIME && t != 0) y = y * roots.of_tile(log_half + 1, t);
            a[low] = x + y;
            y = x - y;
            if (!TIME && t != 0) y = y * roots.of_tile(log_half + 1, t);
            a[high] = y;
        }
    }
}

// Levels log_length .. log_length - E + 1 of the columns of a tile; there are 2^(log tile - E) items. `Memory` has
// get(slot) and set(slot, value).
template <int E, bool TIME, class Memory>
CUZK_FN void tile_round(Memory &memory, const NttTile &tile, uint32_t log_length, uint32_t item,
                        const NttRoots &roots) {
    uint32_t log_items = tile.log_rows - E, column, rest;
    if (tile.whole_blocks) {
        column = item >> log_items, rest = item & ((1u << log_items) - 1);
    } else {
        column = item & ((1u << tile.log_columns) - 1), rest = item >> tile.log_columns;
    }
    uint32_t log_gap = log_length - E;
    uint32_t t = rest & ((1u << log_gap) - 1);
    uint32_t row = (rest >> log_gap << log_length) + t;
    Fr a[1 << E];
    CUZK_UNROLL
    for (int q = 0; q < 1 << E; q++) {
        a[q] = memory.get(tile.slot(row + (q << log_gap), column));
        if (TIME && q != 0 && log_gap != 0) a[q] = a[q] * roots.of_tile(log_length, t * reverse_bits(q, E));
    }
    small_transform<E, TIME>(a, roots);
    CUZK_UNROLL
    for (int q = 0; q < 1 << E; q++) {
        if (!TIME && q != 0 && log_gap != 0) a[q] = a[q] * roots.of_tile(log_length, t * reverse_bits(q, E));
        memory.set(tile.slot(row + (q << log_gap), column), a[q]);
    }
}

} // namespace cuzk
