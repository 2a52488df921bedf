// Batched-affine additions in G1.
#include "cuzk/msm/pairs.cuh"

CUZK_PAIR_KERNELS(g1, cuzk::Fq, 4)
CUZK_LEVEL_PAIR_KERNELS(g1, cuzk::Fq, 4)
