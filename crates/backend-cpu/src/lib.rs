//! The CPU backend: naive reference and tuned NTT, MSM and matrix-vector product.

pub mod fixed_base;
pub mod msm;
