//! Places in a stream's queue, for other streams and threads to wait for.

use std::sync::Arc;

use cudarc::driver::{result, sys};

use crate::error::Named;
use crate::{Device, GpuError, Stream};

/// The end of a stream's queue at the time when it was recorded.
#[derive(Debug)]
pub struct Event {
    device: Arc<Device>,
    raw: sys::CUevent,
}

// SAFETY: the driver lets any thread use an event's handle.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

/// An event that measures no time. The current context is its own.
pub(crate) fn create(ordinal: usize) -> Result<sys::CUevent, GpuError> {
    let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
    result::event::create(flags).named(ordinal, "cuEventCreate")
}

impl Event {
    /// Records the end of what is queued on a stream now.
    pub fn record(stream: &Stream) -> Result<Self, GpuError> {
        let device = Arc::clone(stream.device());
        device.bind()?;
        let event = Self {
            raw: create(device.ordinal())?,
            device,
        };
        // SAFETY: both handles are open.
        unsafe { result::event::record(event.raw, stream.raw()) }
            .named(event.device.ordinal(), "cuEventRecord")?;
        Ok(event)
    }

    /// Waits on the host until all before the event is done.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.device.bind()?;
        // SAFETY: the event was recorded.
        unsafe { result::event::synchronize(self.raw) }
            .named(self.device.ordinal(), "cuEventSynchronize")
    }

    pub(crate) fn raw(&self) -> sys::CUevent {
        self.raw
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: made in `record`, destroyed once; the driver keeps what still waits for it. A failure leaves
            // nothing to do.
            let _ = unsafe { result::event::destroy(self.raw) };
        }
    }
}
