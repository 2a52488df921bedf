// Multi-scalar multiplication in G2.
#include "cuzk/msm/kernels.cuh"

CUZK_MSM_KERNELS(g2, cuzk::Fq2, 64)
