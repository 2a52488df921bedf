//! The CUDA backend: everything after the witness on a device.
//!
//! A [`CudaBackend`] works on one device that its caller names, on a stream of its own. Vectors, matrices, witnesses
//! and points live in the device's memory. Each operation queues kernels of `kernels/`; only results come back.
#![allow(unsafe_code)]

mod backend;
mod fixed_base;
mod mat_vec;
mod memory;
pub mod msm;
mod ntt;

pub use backend::CudaBackend;
pub use mat_vec::{Matrices, Witness};
pub use memory::Vector;
