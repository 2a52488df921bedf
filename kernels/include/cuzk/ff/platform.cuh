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

// The extension field's products are calls, since a point addition has a dozen of them; a unit whose kernels have few
// defines CUZK_INLINE_EXTENSION and saves the calls.
#ifdef CUZK_INLINE_EXTENSION
#define CUZK_EXTENSION CUZK_FN
#else
#define CUZK_EXTENSION CUZK_CALL
#endif
