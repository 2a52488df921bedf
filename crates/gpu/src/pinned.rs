//! Pinned host memory: a bounded ring of blocks through which large uploads pass at the bus's speed.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{result, sys};

use crate::error::Named;
use crate::{Device, GpuError, event};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 8 << 20;
/// Blocks of a device at most.
const BLOCKS: usize = 8;
/// Threads that fill a block: one alone copies slower than the bus.
const THREADS: usize = 4;
/// Bytes below which one thread fills a block.
const PARALLEL: usize = 1 << 20;

/// The blocks of a device.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    ring: Mutex<Ring>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Ring {
    /// Blocks that nobody fills, the longest unused first.
    free: VecDeque<Block>,
    /// Blocks that exist.
    count: usize,
}

/// A block, and the event after which the device has read it.
#[derive(Debug)]
struct Block {
    memory: *mut u8,
    read: sys::CUevent,
}

// SAFETY: a block is owned by whoever took it from the ring; the driver lets any thread use both handles.
unsafe impl Send for Block {}

impl Staging {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies `bytes`, at most a block's, to the device. They have been read when this returns.
    ///
    /// # Safety
    /// The destination has as many bytes, and belongs to what the stream does next. The device's context is current.
    pub(crate) unsafe fn upload(
        &self,
        device: &Device,
        bytes: &[u8],
        destination: sys::CUdeviceptr,
        stream: sys::CUstream,
    ) -> Result<(), GpuError> {
        let block = self.take(device)?;
        // SAFETY: the block is this call's own, and its last upload is over.
        let staged =
            unsafe { std::slice::from_raw_parts_mut(block.memory, bytes.len().min(BLOCK)) };
        fill(staged, bytes);
        // SAFETY: the caller answers for the destination; the block stays as it is until the event has passed.
        let copied = unsafe { result::memcpy_htod_async(destination, staged, stream) };
        let copied = copied.named(device.ordinal(), "cuMemcpyHtoDAsync");
        // SAFETY: both handles are open.
        let recorded = unsafe { result::event::record(block.read, stream) };
        self.ring().free.push_back(block);
        self.returned.notify_one();
        copied.and(recorded.named(device.ordinal(), "cuEventRecord"))
    }

    /// A block that the device has read, or a new one.
    fn take(&self, device: &Device) -> Result<Block, GpuError> {
        let mut ring = self.ring();
        loop {
            if ring.count < BLOCKS {
                let block = Block::new(device)?;
                ring.count += 1;
                return Ok(block);
            }
            if let Some(block) = ring.free.pop_front() {
                drop(ring);
                // SAFETY: the event was recorded when the block was given back.
                let read = unsafe { result::event::synchronize(block.read) };
                if let Err(error) = read.named(device.ordinal(), "cuEventSynchronize") {
                    self.ring().free.push_back(block);
                    return Err(error);
                }
                return Ok(block);
            }
            let waited = self.returned.wait(ring);
            ring = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Frees all blocks. The device's streams are closed, so nothing reads them.
    pub(crate) fn clear(&mut self) {
        for block in self.ring().free.drain(..) {
            // SAFETY: made in `Block::new`, freed once. Failures leave nothing to do.
            let _ = unsafe { result::event::destroy(block.read) };
            // SAFETY: as above.
            let _ = unsafe { result::free_host(block.memory.cast()) };
        }
    }
}

impl Block {
    fn new(device: &Device) -> Result<Self, GpuError> {
        let read = event::create(device.ordinal())?;
        // SAFETY: the memory is written before it is read.
        let memory = unsafe { result::malloc_host(BLOCK, sys::CU_MEMHOSTALLOC_PORTABLE) };
        Ok(Self {
            memory: memory.named(device.ordinal(), "cuMemHostAlloc")?.cast(),
            read,
        })
    }
}

/// Copies on several threads where it pays.
fn fill(to: &mut [u8], from: &[u8]) {
    if from.len() < PARALLEL {
        to.copy_from_slice(&from[..to.len()]);
        return;
    }
    let part = to.len().div_ceil(THREADS);
    std::thread::scope(|scope| {
        for (to, from) in to.chunks_mut(part).zip(from.chunks(part)) {
            scope.spawn(|| to.copy_from_slice(from));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_filled_whole() {
        for length in [0, 1, PARALLEL - 1, PARALLEL, PARALLEL + 5, BLOCK - 1, BLOCK] {
            let from: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
            let mut to = vec![0; length];
            fill(&mut to, &from);
            assert!(to == from, "{length}");
        }
    }
}
