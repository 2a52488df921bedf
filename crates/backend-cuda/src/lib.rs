//! The CUDA backend: everything after the witness on a device.
//!
//! A [`CudaBackend`] is a lane of one device that its caller names: it works on a stream of its own, and shares keys and
//! matrices with the device's other lanes. Vectors, matrices, witnesses and points live in the device's memory. Each operation queues kernels of `kernels/`; only results come back.
#![allow(unsafe_code)]

mod backend;
mod error;
mod fit;
mod fixed_base;
mod footprint;
mod lanes;
mod mat_vec;
mod memory;
pub mod msm;
mod ntt;
mod residency;

pub use backend::CudaBackend;
pub use cuzk_gpu::{DeviceInfo, GpuError};
pub use cuzk_kernels::NotBuilt;
pub use cuzk_lease::{DeviceLease, Leases, PciBusId};
pub use error::OpenError;
pub use fit::{Fit, Survey, built, survey};
pub use footprint::{DeviceBytes, device_bytes, device_bytes_of_key};
pub use lanes::open_lanes;
pub use mat_vec::{Matrices, Witness};
pub use memory::Vector;
