//! Why a device cannot be used, and what to do about it.

use cuzk_backend::BackendError;
use cuzk_gpu::GpuError;

/// A device that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// This program was built without kernels.
    #[error(transparent)]
    NoKernels(#[from] cuzk_kernels::NotBuilt),
    /// The device lacks what the kernels use, whatever they are built for.
    #[error(
        "device {device} ({name}) has architecture sm_{architecture}, which is not supported: sm_80 or newer is needed"
    )]
    Unsupported {
        /// The device's ordinal.
        device: usize,
        /// The device's name.
        name: String,
        /// The device's compute capability as a number, such as 75.
        architecture: u32,
    },
    /// The driver is older than what built the kernels.
    #[error(
        "the NVIDIA driver knows CUDA {}.{}, and this program's kernels are of CUDA {wanted}: update the driver",
        found / 1000, found % 1000 / 10
    )]
    Driver {
        /// The driver's newest version of CUDA, such as 12040 for 12.4.
        found: u32,
        /// The compiler's major version of CUDA.
        wanted: u32,
    },
    /// The kernels' machine code is for other architectures.
    #[error(
        "device {device} ({name}) has architecture sm_{architecture}, and this program's kernels are built for {built}: \
         run `cargo xtask build-kernels --arch {architecture}`, then build it again"
    )]
    Architecture {
        /// The device's ordinal.
        device: usize,
        /// The device's name.
        name: String,
        /// The device's compute capability as a number, such as 90.
        architecture: u32,
        /// The architectures of the kernels, such as `sm_80, sm_90`.
        built: String,
    },
    /// A device that is named twice.
    #[error("lanes: {0}")]
    Lanes(cuzk_lease::LeaseError),
    /// The driver, its devices, or a call.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

impl From<OpenError> for BackendError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Gpu(error) => failure(error),
            error => Self::Device {
                device: "CUDA".to_owned(),
                call: "load the kernels",
                message: error.to_string(),
            },
        }
    }
}

/// A device's failure as the backend's.
pub(crate) fn failure(error: GpuError) -> BackendError {
    let message = error.to_string();
    let named = |device: usize| format!("device {device}");
    let (device, call) = match error {
        GpuError::Memory { device, .. } => {
            return BackendError::OutOfMemory {
                device: named(device),
                call: "allocate",
                message,
            };
        }
        GpuError::OutOfMemory { device, call } => {
            return BackendError::OutOfMemory {
                device: named(device),
                call,
                message: "out of memory".to_owned(),
            };
        }
        GpuError::Call { device, call, .. } => (named(device), call),
        GpuError::NoKernel { device, name } => (named(device), name),
        _ => ("CUDA".to_owned(), "open"),
    };
    BackendError::Device {
        device,
        call,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortages_of_memory_are_no_faults() {
        let budget = GpuError::Memory {
            device: 2,
            wanted: 5,
            used: 3,
            limit: 7,
        };
        let call = "cuMemAllocFromPoolAsync";
        for short in [budget, GpuError::OutOfMemory { device: 2, call }] {
            let error = failure(short);
            assert!(
                matches!(&error, BackendError::OutOfMemory { device, .. } if device == "device 2"),
                "{error}"
            );
        }
        let broken = GpuError::Call {
            device: 2,
            call,
            message: "an illegal memory access".to_owned(),
        };
        assert!(matches!(failure(broken), BackendError::Device { .. }));
    }
}
