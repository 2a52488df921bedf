//! Time on a stream, by events.

use std::sync::Arc;

use cudarc::driver::{result, sys};

use crate::error::Named;
use crate::{GpuError, Stream};

/// Measures what a stream does between two places in its queue.
#[derive(Debug)]
pub struct Timer {
    stream: Arc<Stream>,
    start: sys::CUevent,
    end: sys::CUevent,
}

impl Timer {
    /// Starts measuring at the end of the stream's queue.
    pub fn start(stream: &Arc<Stream>) -> Result<Self, GpuError> {
        let ordinal = stream.device().ordinal();
        stream.device().bind()?;
        let event = || {
            let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
            result::event::create(flags).named(ordinal, "cuEventCreate")
        };
        let timer = Self {
            stream: Arc::clone(stream),
            start: event()?,
            end: event()?,
        };
        // SAFETY: both handles are valid.
        unsafe { result::event::record(timer.start, stream.raw()) }
            .named(ordinal, "cuEventRecord")?;
        Ok(timer)
    }

    /// Milliseconds from the start to the end of what is queued now; waits for it.
    pub fn stop(self) -> Result<f32, GpuError> {
        let ordinal = self.stream.device().ordinal();
        self.stream.device().bind()?;
        // SAFETY: both handles are valid.
        unsafe { result::event::record(self.end, self.stream.raw()) }
            .named(ordinal, "cuEventRecord")?;
        self.stream.synchronize()?;
        // SAFETY: both events were recorded and are done.
        unsafe { result::event::elapsed(self.start, self.end) }.named(ordinal, "cuEventElapsedTime")
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if self.stream.device().bind().is_ok() {
            for event in [self.start, self.end] {
                // SAFETY: created in `start`, destroyed once. A failure leaves nothing to do.
                let _ = unsafe { result::event::destroy(event) };
            }
        }
    }
}
