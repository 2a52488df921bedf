// A digit in its bucket's list.
#pragma once
#include "../ff/platform.cuh"

namespace cuzk {

struct alignas(8) Entry {
    static constexpr uint32_t NEGATIVE = 1u << 31;
    uint32_t bucket;
    uint32_t point; // and NEGATIVE
};

} // namespace cuzk
