//! What can go wrong, with the driver's call and the device.

use cudarc::driver::{DriverError, sys};

/// A failure of a device, of the driver, or of a program's kernels.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The driver's library is not on this system.
    #[error("no NVIDIA driver: its library libcuda.so.1 was not found")]
    NoDriver,
    /// There is no device of that number.
    #[error("no CUDA device {wanted}: the driver sees {found}")]
    NoDevice {
        /// The ordinal that was asked for.
        wanted: usize,
        /// Number of devices.
        found: usize,
    },
    /// A call to the driver failed.
    #[error("device {device}: {call}: {message}")]
    Call {
        /// The device's ordinal.
        device: usize,
        /// The driver's function.
        call: &'static str,
        /// The driver's own words.
        message: String,
    },
    /// The driver has no memory, on the device or on the host, for what a call wants.
    #[error("device {device}: {call}: out of memory")]
    OutOfMemory {
        /// The device's ordinal.
        device: usize,
        /// The driver's function, or the kernel.
        call: &'static str,
    },
    /// The kernels do not hold a function.
    #[error("device {device}: no kernel {name}")]
    NoKernel {
        /// The device's ordinal.
        device: usize,
        /// The kernel's name.
        name: &'static str,
    },
    /// A buffer that does not fit what is left of the device's budget.
    #[error("device {device}: a buffer of {wanted} bytes, with {used} of {limit} bytes in use")]
    Memory {
        /// The device's ordinal.
        device: usize,
        /// Bytes that were asked for.
        wanted: usize,
        /// Bytes in use.
        used: usize,
        /// Bytes that may be in use.
        limit: usize,
    },
    /// A copy whose ends differ in length.
    #[error("a copy of {found} bytes to or from a buffer of {wanted}")]
    Length {
        /// Bytes of the buffer.
        wanted: usize,
        /// Bytes on the host.
        found: usize,
    },
}

/// Names the call and the device of a driver's result.
pub(crate) trait Named<T> {
    fn named(self, device: usize, call: &'static str) -> Result<T, GpuError>;
}

impl<T> Named<T> for Result<T, DriverError> {
    fn named(self, device: usize, call: &'static str) -> Result<T, GpuError> {
        self.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => GpuError::OutOfMemory { device, call },
            code => GpuError::Call {
                device,
                call,
                message: if poisons(code) {
                    format!("{error}; this process can use the device no more, a new one can")
                } else {
                    error.to_string()
                },
            },
        })
    }
}

/// Whether every later call of the process for the device will fail the same way.
fn poisons(code: sys::CUresult) -> bool {
    use sys::CUresult as Code;
    matches!(
        code,
        Code::CUDA_ERROR_ILLEGAL_ADDRESS
            | Code::CUDA_ERROR_MISALIGNED_ADDRESS
            | Code::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | Code::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | Code::CUDA_ERROR_INVALID_PC
            | Code::CUDA_ERROR_HARDWARE_STACK_ERROR
            | Code::CUDA_ERROR_LAUNCH_FAILED
            | Code::CUDA_ERROR_LAUNCH_TIMEOUT
            | Code::CUDA_ERROR_ECC_UNCORRECTABLE
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_of_memory_is_told_from_a_fault() {
        let code = sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        let short = Err::<(), _>(DriverError(code)).named(3, "cuLaunchKernel");
        assert!(matches!(
            short,
            Err(GpuError::OutOfMemory {
                device: 3,
                call: "cuLaunchKernel"
            })
        ));
    }

    /// The driver's words of an error are its library's, which tests may not have.
    #[test]
    fn errors_that_outlast_a_call_are_known() {
        assert!(poisons(sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
        assert!(poisons(sys::CUresult::CUDA_ERROR_ECC_UNCORRECTABLE));
        assert!(!poisons(sys::CUresult::CUDA_ERROR_INVALID_HANDLE));
        assert!(!poisons(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    }
}
