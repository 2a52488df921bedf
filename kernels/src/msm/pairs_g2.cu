// Batched-affine additions in G2.
#define CUZK_INLINE_EXTENSION
#include "cuzk/msm/pairs.cuh"

CUZK_PAIR_KERNELS(g2, cuzk::Fq2, 2)
