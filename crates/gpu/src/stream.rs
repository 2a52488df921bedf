//! Streams: what happens on a device, in order.

use std::sync::Arc;

use cudarc::driver::{result, sys};

use crate::error::Named;
use crate::{Argument, Buffer, Device, Event, GpuError, Grid, Plain, event, pinned};

/// Bytes up to which an upload is left to the driver, which stages it itself.
const SMALL: usize = 64 << 10;
/// How often an allocation that fails waits for what the device's streams have freed. Other threads free and allocate
/// meanwhile, and what they free is counted as free before their streams come to it.
const RECLAIMS: usize = 8;

/// A stream's handle, which is closed when the last who holds it is done.
#[derive(Debug)]
pub(crate) struct Handle(sys::CUstream);

// SAFETY: the driver lets any thread use a stream's handle, and the calls made here are thread-safe.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the handle. Who did held the device too, whose context is still there. A failure
        // leaves nothing to do.
        let _ = unsafe { result::stream::destroy(self.0) };
    }
}

/// A queue of work on a device.
#[derive(Debug)]
pub struct Stream {
    // Dropped before the device.
    handle: Arc<Handle>,
    device: Arc<Device>,
    /// Whether other streams read this one's buffers.
    resident: bool,
}

impl Stream {
    /// A new stream, independent of the default one. Its buffers are its own.
    pub fn new(device: Arc<Device>) -> Result<Arc<Self>, GpuError> {
        Self::open(device, false)
    }

    /// A stream whose buffers the device's other streams read, once [`Stream::synchronize`] has returned. A buffer is
    /// freed after all that was queued on any of the device's streams when it was dropped.
    pub fn resident(device: Arc<Device>) -> Result<Arc<Self>, GpuError> {
        Self::open(device, true)
    }

    fn open(device: Arc<Device>, resident: bool) -> Result<Arc<Self>, GpuError> {
        device.bind()?;
        let raw = result::stream::create(result::stream::StreamKind::NonBlocking);
        let handle = Arc::new(Handle(raw.named(device.ordinal(), "cuStreamCreate")?));
        device.streams().push(Arc::clone(&handle));
        Ok(Arc::new(Self {
            handle,
            device,
            resident,
        }))
    }

    /// The stream's device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    pub(crate) fn raw(&self) -> sys::CUstream {
        self.handle.0
    }

    /// Waits until everything that was queued is done.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.device.bind()?;
        // SAFETY: the stream lives as long as this value.
        let done = unsafe { result::stream::synchronize(self.raw()) };
        done.named(self.device.ordinal(), "cuStreamSynchronize")
    }

    /// Lets what is queued from now on wait for an event, of whichever stream.
    pub fn wait(&self, event: &Event) -> Result<(), GpuError> {
        self.device.bind()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both handles are open.
        unsafe { result::stream::wait_event(self.raw(), event.raw(), flags) }
            .named(self.device.ordinal(), "cuStreamWaitEvent")
    }

    /// Memory for what this stream does next.
    pub(crate) fn take(&self, bytes: usize) -> Result<sys::CUdeviceptr, GpuError> {
        self.device.bind()?;
        let pool = self.device.pool();
        pool.reserve(bytes)?;
        // The driver has no empty allocations.
        let size = bytes.max(1);
        let mut taken = pool.allocate(size, self.raw());
        for _ in 0..RECLAIMS {
            if taken.is_ok() {
                break;
            }
            taken = self
                .reclaim()
                .and_then(|()| pool.allocate(size, self.raw()));
        }
        taken.inspect_err(|_| pool.release(bytes))
    }

    /// Gives the driver back what no buffer uses. Memory that other streams have freed is theirs until they come to that
    /// place in their queues.
    fn reclaim(&self) -> Result<(), GpuError> {
        // The list is not locked meanwhile: who frees memory needs it, and one of the streams may hang.
        let streams = self.device.streams().clone();
        for stream in &streams {
            // SAFETY: the handle is open as long as it is held.
            unsafe { result::stream::synchronize(stream.0) }
                .named(self.device.ordinal(), "cuStreamSynchronize")?;
        }
        self.device.pool().trim()
    }

    /// Whether other streams read this one's buffers.
    pub(crate) fn is_resident(&self) -> bool {
        self.resident
    }

    /// Frees memory that [`Stream::take`] gave, after what the device's other streams do with it where it is `shared`.
    /// Failures leave nothing to do.
    pub(crate) fn give_back(&self, address: sys::CUdeviceptr, bytes: usize, shared: bool) {
        if self.device.bind().is_err() {
            return;
        }
        if shared && self.join().is_err() {
            // Memory that another stream may still read is not freed.
            return;
        }
        // SAFETY: the address was allocated by `take` and is freed once, after what the streams still do with it.
        if unsafe { result::free_async(address, self.raw()) }.is_ok() {
            self.device.pool().release(bytes);
        }
    }

    /// Waits, in this stream's queue, for what is queued on the device's other streams.
    fn join(&self) -> Result<(), GpuError> {
        let ordinal = self.device.ordinal();
        let streams = self.device.streams();
        for other in streams.iter().filter(|other| other.0 != self.raw()) {
            let event = event::create(ordinal)?;
            // SAFETY: the handle is open as long as it is held.
            let recorded = unsafe { result::event::record(event, other.0) };
            let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            // SAFETY: as above.
            let waited = recorded
                .and_then(|()| unsafe { result::stream::wait_event(self.raw(), event, flags) });
            // SAFETY: the driver keeps an event that is still waited for.
            let _ = unsafe { result::event::destroy(event) };
            waited.named(ordinal, "cuStreamWaitEvent")?;
        }
        Ok(())
    }

    /// `len` elements whose values are not defined.
    pub fn alloc<T: Plain>(self: &Arc<Self>, len: usize) -> Result<Buffer<T>, GpuError> {
        Buffer::new(Arc::clone(self), len)
    }

    /// `len` elements, all bits zero.
    pub fn zeros<T: Plain>(self: &Arc<Self>, len: usize) -> Result<Buffer<T>, GpuError> {
        let mut buffer = self.alloc(len)?;
        self.fill(&mut buffer, 0)?;
        Ok(buffer)
    }

    /// Sets every byte of a buffer.
    pub fn fill<T: Plain>(&self, buffer: &mut Buffer<T>, byte: u8) -> Result<(), GpuError> {
        if buffer.is_empty() {
            return Ok(());
        }
        self.device.bind()?;
        // SAFETY: the buffer owns that many bytes.
        let set =
            unsafe { result::memset_d8_async(buffer.address(), byte, buffer.bytes(), self.raw()) };
        set.named(self.device.ordinal(), "cuMemsetD8Async")
    }

    /// Brings values to the device, through pinned memory where they are many. They have been read when this returns.
    pub fn upload<T: Plain>(self: &Arc<Self>, values: &[T]) -> Result<Buffer<T>, GpuError> {
        let buffer = self.alloc(values.len())?;
        if values.is_empty() {
            return Ok(buffer);
        }
        if size_of_val(values) <= SMALL {
            // SAFETY: source and destination hold as many elements. A copy from memory that is not pinned is staged
            // before the call returns, so `values` may go.
            let copied = unsafe { result::memcpy_htod_async(buffer.address(), values, self.raw()) };
            copied.named(self.device.ordinal(), "cuMemcpyHtoDAsync")?;
            return Ok(buffer);
        }
        // SAFETY: values of a plain type are bytes without padding.
        let bytes = unsafe {
            std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values))
        };
        let (staging, mut to) = (self.device.staging(), buffer.address());
        for part in bytes.chunks(pinned::BLOCK) {
            // SAFETY: the parts lie one after the other in a buffer of as many bytes, which is this stream's.
            unsafe { staging.upload(&self.device, part, to, self.raw()) }?;
            to += part.len() as u64;
        }
        Ok(buffer)
    }

    /// Waits for the stream and brings a buffer's values back.
    pub fn download<T: Plain>(&self, buffer: &Buffer<T>, out: &mut [T]) -> Result<(), GpuError> {
        if out.len() != buffer.len() {
            return Err(GpuError::Length {
                wanted: buffer.bytes(),
                found: size_of_val(out),
            });
        }
        if !out.is_empty() {
            self.device.bind()?;
            // SAFETY: both ends hold as many elements, and any bytes are a value of `T`.
            let copied = unsafe { result::memcpy_dtoh_async(out, buffer.address(), self.raw()) };
            copied.named(self.device.ordinal(), "cuMemcpyDtoHAsync")?;
        }
        self.synchronize()
    }

    /// Copies `count` elements from one place of a device's memory to another.
    pub fn copy<T: Plain>(
        &self,
        from: &Buffer<T>,
        from_index: usize,
        to: &Buffer<T>,
        to_index: usize,
        count: usize,
    ) -> Result<(), GpuError> {
        for (buffer, index) in [(from, from_index), (to, to_index)] {
            if index
                .checked_add(count)
                .is_none_or(|end| end > buffer.len())
            {
                return Err(GpuError::Length {
                    wanted: buffer.bytes(),
                    found: index.saturating_add(count).saturating_mul(size_of::<T>()),
                });
            }
        }
        if count == 0 {
            return Ok(());
        }
        self.device.bind()?;
        let offset = |index: usize| (index * size_of::<T>()) as u64;
        let (to, from) = (
            to.address() + offset(to_index),
            from.address() + offset(from_index),
        );
        // SAFETY: both ranges lie within their buffers.
        let copied =
            unsafe { result::memcpy_dtod_async(to, from, count * size_of::<T>(), self.raw()) };
        copied.named(self.device.ordinal(), "cuMemcpyDtoDAsync")
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// The arguments are those of the kernel in number, order and type, and each access of the kernel lies within the
    /// buffers given. Buffers of other streams are not written here without their streams' waiting.
    pub unsafe fn launch(
        &self,
        kernel: &'static str,
        grid: Grid,
        arguments: &[Argument<'_>],
    ) -> Result<(), GpuError> {
        if grid.blocks == 0 {
            return Ok(());
        }
        self.device.bind()?;
        let function = self.device.kernel(kernel, grid.shared)?;
        let mut pointers: Vec<_> = arguments.iter().map(Argument::pointer).collect();
        let (blocks, threads) = ((grid.blocks, 1, 1), (grid.threads, 1, 1));
        let mut queue = || {
            // SAFETY: the caller answers for the arguments; the driver copies them before it returns.
            unsafe {
                result::launch_kernel(
                    function.0,
                    blocks,
                    threads,
                    grid.shared,
                    self.raw(),
                    &mut pointers,
                )
            }
        };
        let mut launched = queue();
        if matches!(&launched, Err(error) if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
            // The kernel's stack takes more memory than the driver has left, which the pool may hold unused.
            self.reclaim()?;
            launched = queue();
        }
        launched.named(self.device.ordinal(), kernel)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: the handle is open. Every buffer holds its stream, so nothing refers to it after this. A failure
            // leaves nothing to do.
            let _ = unsafe { result::stream::synchronize(self.raw()) };
        }
        // Until its work is done the stream is one that others wait for before they free what it reads.
        let own = Arc::as_ptr(&self.handle);
        let mut streams = self.device.streams();
        streams.retain(|other| Arc::as_ptr(other) != own);
    }
}
