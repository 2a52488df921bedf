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
pub(crate) struct Staging(Ring<Block>);

/// Blocks that whoever fills one borrows.
#[derive(Debug)]
struct Ring<T> {
    blocks: Mutex<Blocks<T>>,
    returned: Condvar,
}

#[derive(Debug)]
struct Blocks<T> {
    /// Blocks that nobody fills, the longest unused first.
    free: VecDeque<T>,
    /// Blocks that exist.
    count: usize,
}

/// A block that goes back to its ring, whatever becomes of its use.
struct Borrowed<'a, T: Copy> {
    ring: &'a Ring<T>,
    block: T,
}

/// A block, and the event after which the device has read it.
#[derive(Copy, Clone, Debug)]
struct Block {
    memory: *mut u8,
    read: sys::CUevent,
}

// SAFETY: a block is owned by whoever took it from the ring; the driver lets any thread use both handles.
unsafe impl Send for Block {}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self {
            blocks: Mutex::new(Blocks {
                free: VecDeque::new(),
                count: 0,
            }),
            returned: Condvar::new(),
        }
    }
}

impl<T: Copy> Ring<T> {
    fn lock(&self) -> MutexGuard<'_, Blocks<T>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The longest unused block where it is `ready`, else a new one, and where there may be none, or none can be made, the
    /// longest unused as it is, for which this waits.
    ///
    /// Errors: that of `create`, where no block exists.
    fn take<E>(
        &self,
        ready: impl Fn(&T) -> bool,
        create: impl Fn() -> Result<T, E>,
    ) -> Result<Borrowed<'_, T>, E> {
        let mut blocks = self.lock();
        let mut most = BLOCKS;
        loop {
            let grows = blocks.count < most;
            let block = match blocks.free.front() {
                Some(first) if !grows || ready(first) => blocks.free.pop_front(),
                _ if grows => match create() {
                    Ok(block) => {
                        blocks.count += 1;
                        Some(block)
                    }
                    Err(error) if blocks.count == 0 => return Err(error),
                    Err(_) => {
                        most = 0;
                        continue;
                    }
                },
                _ => None,
            };
            if let Some(block) = block {
                return Ok(Borrowed { ring: self, block });
            }
            let waited = self.returned.wait(blocks);
            blocks = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T: Copy> Drop for Borrowed<'_, T> {
    fn drop(&mut self) {
        self.ring.lock().free.push_back(self.block);
        self.ring.returned.notify_one();
    }
}

impl Staging {
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
        // SAFETY: the event is open, and was recorded when the block was given back.
        let ready = |block: &Block| unsafe { result::event::query(block.read) }.is_ok();
        let borrowed = self.0.take(ready, || Block::new(device))?;
        let block = borrowed.block;
        // SAFETY: as above; the event of a new block, which was never recorded, has passed.
        unsafe { result::event::synchronize(block.read) }
            .named(device.ordinal(), "cuEventSynchronize")?;
        // SAFETY: the block is this call's own, and its last upload is over.
        let staged =
            unsafe { std::slice::from_raw_parts_mut(block.memory, bytes.len().min(BLOCK)) };
        fill(staged, bytes);
        // SAFETY: the caller answers for the destination; the block stays as it is until the event has passed.
        let copied = unsafe { result::memcpy_htod_async(destination, staged, stream) };
        let copied = copied.named(device.ordinal(), "cuMemcpyHtoDAsync");
        // SAFETY: both handles are open.
        let recorded = unsafe { result::event::record(block.read, stream) };
        copied.and(recorded.named(device.ordinal(), "cuEventRecord"))
    }

    /// Frees all blocks. The device's streams are closed, so nothing reads them, and its context is current.
    pub(crate) fn clear(&mut self) {
        for block in self.0.lock().free.drain(..) {
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
        match memory.named(device.ordinal(), "cuMemHostAlloc") {
            Ok(memory) => Ok(Self {
                memory: memory.cast(),
                read,
            }),
            Err(error) => {
                // SAFETY: made just now, and nothing waits for it. A failure leaves nothing to do.
                let _ = unsafe { result::event::destroy(read) };
                Err(error)
            }
        }
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
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;

    type Taken<'a> = Borrowed<'a, u32>;

    /// Blocks that are numbered as they are made, `made` at most.
    fn take<'a>(
        ring: &'a Ring<u32>,
        ready: bool,
        made: &Cell<u32>,
        most: u32,
    ) -> Option<Taken<'a>> {
        let create = || {
            made.set(made.get() + 1);
            (made.get() <= most).then_some(made.get()).ok_or(())
        };
        ring.take(|_| ready, create).ok()
    }

    #[test]
    fn a_block_that_was_read_comes_before_a_new_one() {
        let (ring, made) = (Ring::default(), Cell::new(0));
        for _ in 0..3 {
            assert_eq!(take(&ring, true, &made, 9).unwrap().block, 1);
        }
        // While the device still reads it there is a new one, up to the ring's number.
        let mut all = Vec::new();
        for number in 2..=BLOCKS as u32 {
            let taken = take(&ring, false, &made, 9).unwrap();
            assert_eq!(taken.block, number);
            all.push(taken);
        }
        // Then the one that was used first is waited for.
        assert_eq!(take(&ring, false, &made, 9).unwrap().block, 1);
        assert_eq!(made.get(), BLOCKS as u32);
    }

    #[test]
    fn without_memory_for_another_block_those_that_are_there_do() {
        let (ring, made) = (Ring::default(), Cell::new(0));
        assert!(take(&ring, true, &made, 0).is_none());
        made.set(0);
        drop(take(&ring, true, &made, 1));
        for _ in 0..3 {
            assert_eq!(take(&ring, false, &made, 1).unwrap().block, 1);
        }
        let held = take(&ring, true, &made, 1).unwrap();
        std::thread::scope(|scope| {
            let ring = &ring;
            let waiting = scope.spawn(move || take(ring, true, &Cell::new(1), 1).unwrap().block);
            std::thread::sleep(Duration::from_millis(20));
            drop(held);
            assert_eq!(waiting.join().unwrap(), 1);
        });
    }

    #[test]
    fn a_use_that_panics_gives_its_block_back() {
        let (ring, made) = (Ring::default(), Cell::new(0));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _taken = take(&ring, true, &made, 1);
            panic!("a thread could not be started");
        }));
        assert!(panicked.is_err());
        assert_eq!(take(&ring, true, &made, 1).unwrap().block, 1);
    }

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
