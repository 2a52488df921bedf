//! A device's memory: a stream-ordered pool and the budget that it keeps.

use std::sync::atomic::{AtomicUsize, Ordering};

use cudarc::driver::{result, sys};

use crate::GpuError;
use crate::error::Named;

/// The driver's allocations are multiples of this.
const GRANULARITY: usize = 2 << 20;
/// Bytes that a pool may hold above a given limit: what buffers leave unused of the driver's granules.
const SLACK: usize = 128 << 20;

/// Memory of one device.
#[derive(Debug)]
pub(crate) struct Pool {
    ordinal: usize,
    raw: sys::CUmemoryPool,
    budget: Budget,
}

/// Bytes in use, how many may be, and the most that ever were.
#[derive(Debug, Default)]
struct Budget {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl Budget {
    /// Counts bytes as used; without room for them, what is in use now.
    fn reserve(&self, bytes: usize) -> Result<(), usize> {
        let grow = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        let order = Ordering::Relaxed;
        let before = self.used.fetch_update(order, order, grow)?;
        self.peak.fetch_max(before + bytes, order);
        Ok(())
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Pool {
    /// A pool of the current context's device, for `limit` bytes of buffers. Freed memory stays with it; where the pool is
    /// `capped`, the driver holds its size to the limit too.
    pub(crate) fn new(ordinal: usize, limit: usize, capped: bool) -> Result<Self, GpuError> {
        // SAFETY: numbers, handles and a null pointer, of all of which zero is a value.
        let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType = sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = ordinal as i32;
        if capped {
            properties.maxSize = limit.next_multiple_of(GRANULARITY) + SLACK;
        }
        // SAFETY: the properties are complete.
        let raw = unsafe { result::mem_pool::create(&raw const properties) };
        let pool = Self {
            ordinal,
            raw: raw.named(ordinal, "cuMemPoolCreate")?,
            budget: Budget {
                limit,
                ..Budget::default()
            },
        };
        let mut threshold = u64::MAX;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let value = (&raw mut threshold).cast();
        // SAFETY: this attribute is a 64-bit number.
        unsafe { result::mem_pool::set_attribute(pool.raw, attribute, value) }
            .named(ordinal, "cuMemPoolSetAttribute")?;
        Ok(pool)
    }

    pub(crate) fn limit(&self) -> usize {
        self.budget.limit
    }

    pub(crate) fn available(&self) -> usize {
        let used = self.budget.used.load(Ordering::Relaxed);
        self.budget.limit.saturating_sub(used)
    }

    pub(crate) fn peak(&self) -> usize {
        self.budget.peak.load(Ordering::Relaxed)
    }

    /// Counts bytes against the budget.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), GpuError> {
        let reserved = self.budget.reserve(bytes);
        reserved.map_err(|used| GpuError::Memory {
            device: self.ordinal,
            wanted: bytes,
            used,
            limit: self.budget.limit,
        })
    }

    /// Counts bytes no longer.
    pub(crate) fn release(&self, bytes: usize) {
        self.budget.release(bytes);
    }

    /// Memory for what the stream does next. Its contents are not defined.
    pub(crate) fn allocate(
        &self,
        bytes: usize,
        stream: sys::CUstream,
    ) -> Result<sys::CUdeviceptr, GpuError> {
        // SAFETY: pool and stream are open; what is done with the memory is ordered by the stream.
        unsafe { result::mem_pool::alloc_async(self.raw, bytes, stream) }
            .named(self.ordinal, "cuMemAllocFromPoolAsync")
    }

    /// Gives the driver back what no buffer uses.
    pub(crate) fn trim(&self) -> Result<(), GpuError> {
        // SAFETY: the pool is open.
        unsafe { result::mem_pool::trim_to(self.raw, 0) }.named(self.ordinal, "cuMemPoolTrimTo")
    }

    /// Closes the pool. No buffer is left.
    pub(crate) fn destroy(&mut self) {
        // SAFETY: the pool was made in `new` and is closed once, by its device. A failure leaves nothing to do.
        let _ = unsafe { result::mem_pool::destroy(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_exceeded_and_can_be_used_again() {
        let budget = Budget {
            limit: 100,
            ..Budget::default()
        };
        assert_eq!(budget.reserve(60), Ok(()));
        assert_eq!(budget.reserve(41), Err(60));
        assert_eq!(budget.reserve(usize::MAX), Err(60));
        assert_eq!(budget.reserve(40), Ok(()));
        assert_eq!(budget.reserve(0), Ok(()));
        budget.release(60);
        assert_eq!(budget.reserve(60), Ok(()));
        assert_eq!(budget.reserve(1), Err(100));
        budget.release(90);
        assert_eq!(budget.reserve(20), Ok(()));
        assert_eq!(budget.peak.into_inner(), 100);
    }

    #[test]
    fn threads_share_a_budget() {
        let budget = Budget {
            limit: 1000,
            ..Budget::default()
        };
        let taken: usize = std::thread::scope(|scope| {
            let take = || (0..500).filter(|_| budget.reserve(1).is_ok()).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            let counts = threads.into_iter().map(|thread| thread.join().unwrap());
            counts.sum()
        });
        assert_eq!(taken, 1000);
    }
}
