// Points that bits select: where they are kept, and which they are.
#include "cuzk/block_sum.cuh"
#include "cuzk/msm/entry.cuh"
#include "cuzk/msm/subsets.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t THREADS = 256;
constexpr uint32_t ITEMS = 8;

// The subsets that a thread's clusters select, and how many they are.
struct Selected {
    uint32_t subsets[ITEMS], number;

    __device__ __forceinline__ static uint32_t cluster(uint32_t j) {
        return (blockIdx.x * ITEMS + j) * THREADS + threadIdx.x;
    }
    __device__ __forceinline__ static Selected of(const Clusters &clusters, const uint32_t *variables,
                                                  const uint32_t *bits) {
        Selected out;
        out.number = 0;
#pragma unroll
        for (uint32_t j = 0; j < ITEMS; j++) {
            out.subsets[j] = cluster(j) < clusters.number() ? members(clusters, variables, bits, cluster(j)) : 0;
            out.number += out.subsets[j] != 0;
        }
        return out;
    }
};

} // namespace

extern "C" {

// The place of each of a query's points, and the variable of each point of a bit.
__global__ __launch_bounds__(256) void msm_places(const uint32_t *bits, const uint32_t *fields,
                                                  const uint32_t *bits_before, const uint32_t *fields_before,
                                                  uint32_t words, uint32_t first_word, uint32_t inputs, uint32_t size,
                                                  uint32_t count, uint32_t first, uint32_t *places,
                                                  uint32_t *variables) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < inputs) places[i] = i;
    if (i >= words) return;
    QueryWords query = {bits, fields, bits_before, fields_before, first_word, inputs};
    query.place(i, Clusters{size, count, first}, places, variables);
}

// The number of subsets that each block's 2048 clusters select.
__global__ __launch_bounds__(256) void msm_count_bits(const uint32_t *variables, const uint32_t *bits, uint32_t size,
                                                      uint32_t count, uint32_t first, uint32_t *counts) {
    uint32_t total;
    sum_before<THREADS>(Selected::of(Clusters{size, count, first}, variables, bits).number, total);
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// These subsets as entries of one bucket.
__global__ __launch_bounds__(256) void msm_select_bits(const uint32_t *variables, const uint32_t *bits, uint32_t size,
                                                       uint32_t count, uint32_t first, uint32_t bucket,
                                                       const uint32_t *places, Entry *entries) {
    Clusters clusters = {size, count, first};
    Selected selected = Selected::of(clusters, variables, bits);
    uint32_t total, place = places[blockIdx.x] + sum_before<THREADS>(selected.number, total);
#pragma unroll
    for (uint32_t j = 0; j < ITEMS; j++) {
        if (selected.subsets[j] == 0) continue;
        entries[place++] = {bucket, clusters.subset(Selected::cluster(j), selected.subsets[j])};
    }
}

} // extern "C"
