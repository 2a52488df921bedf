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
    let (device, call) = match &error {
        GpuError::Call { device, call, .. } => (format!("device {device}"), *call),
        GpuError::NoKernel { device, name } => (format!("device {device}"), *name),
        GpuError::Memory { device, .. } => (format!("device {device}"), "allocate"),
        _ => ("CUDA".to_owned(), "open"),
    };
    BackendError::Device {
        device,
        call,
        message: error.to_string(),
    }
}
