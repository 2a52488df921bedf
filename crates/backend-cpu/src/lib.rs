//! The CPU backend: naive reference and tuned NTT, MSM and matrix-vector product.
//!
//! Hot loops are kernels over `cuzk_curve::simd`: on a processor with AVX-512 IFMA they compute eight field elements at
//! a time, elsewhere one at a time with blst. The choice is made at run time, so one binary runs everywhere.

mod backend;
pub mod fixed_base;
mod mat_vec;
pub mod msm;
pub mod ntt;

pub use backend::{CpuBackend, Query};
