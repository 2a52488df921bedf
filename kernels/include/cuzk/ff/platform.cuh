// What differs between the device's compiler and the host's.
#pragma once
#include <stdint.h>

#ifdef __CUDACC__
#define CUZK_FN __host__ __device__ __forceinline__
#define CUZK_UNROLL _Pragma("unroll")
#else
#define CUZK_FN inline
#define CUZK_UNROLL
#endif

// A function that is called and not inlined: rare paths, and long ones that many places use.
#ifdef __CUDACC__
#define CUZK_CALL __host__ __device__ __noinline__
#else
#define CUZK_CALL inline
#endif
