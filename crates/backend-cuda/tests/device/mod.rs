//! Which tests a system without a device passes over.

use cuzk_backend_cuda::OpenError;
use cuzk_gpu::GpuError;

/// What was opened, or `None` where there is no driver, no device, or no kernels to run on one.
///
/// # Panics
/// Where there is a device that cannot be opened.
pub fn usable<T>(opened: Result<T, OpenError>) -> Option<T> {
    match opened {
        Ok(opened) => Some(opened),
        Err(
            OpenError::NoKernels(_)
            | OpenError::Gpu(
                GpuError::NoDriver
                | GpuError::NoDevice {
                    wanted: 0,
                    found: 0,
                },
            ),
        ) => None,
        Err(error) => panic!("{error}"),
    }
}
