//! Device memory, freed in its stream's order.

use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::sys;

use crate::{GpuError, Stream};

/// Values that are plain bytes on the host and on a device.
///
/// # Safety
/// Any bytes are a value of the type, it has no padding and no pointers.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

// SAFETY: integers.
unsafe impl Plain for u8 {}
// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: arrays of such values.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Elements in a device's memory.
#[derive(Debug)]
pub struct Buffer<T: Plain> {
    stream: Arc<Stream>,
    address: sys::CUdeviceptr,
    len: usize,
    /// Whether other streams may still read it when it is dropped.
    shared: bool,
    element: PhantomData<T>,
}

impl<T: Plain> Buffer<T> {
    pub(crate) fn new(stream: Arc<Stream>, len: usize) -> Result<Self, GpuError> {
        let bytes = len.saturating_mul(size_of::<T>());
        let address = stream.take(bytes)?;
        Ok(Self {
            shared: stream.is_resident(),
            stream,
            address,
            len,
            element: PhantomData,
        })
    }

    /// Says that no other stream reads it, though its stream be a resident one: it is freed without regard to them.
    pub fn scratch(mut self) -> Self {
        self.shared = false;
        self
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    pub(crate) fn address(&self) -> sys::CUdeviceptr {
        self.address
    }
}

impl<T: Plain> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.stream
            .give_back(self.address, self.bytes(), self.shared);
    }
}
