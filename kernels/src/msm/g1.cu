// Multi-scalar multiplication in G1.
#include "cuzk/msm/kernels.cuh"

CUZK_MSM_KERNELS(g1, cuzk::Fq, 128)
CUZK_LEVEL_KERNELS(g1, cuzk::Fq, 128)
