// sppark's multi-scalar multiplication in G2: points and scalars lie in the host's memory, in Montgomery form.
#include <ff/bls12-381-fp2.hpp>
#include <ec/jacobian_t.hpp>
#include <ec/xyzz_t.hpp>

typedef jacobian_t<fp2_t> point_t;
typedef xyzz_t<fp2_t> bucket_t;
typedef bucket_t::affine_t affine_t;
typedef fr_t scalar_t;

#include <msm/pippenger.cuh>

#ifndef __CUDA_ARCH__
extern "C" int peer_msm_g2(point_t* out, const affine_t* points, size_t count, const scalar_t* scalars)
{
    return mult_pippenger<bucket_t>(out, points, count, scalars, true).code;
}
#endif
