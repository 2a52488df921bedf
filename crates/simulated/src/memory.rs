//! A device's memory: a count of bytes with a bound.

use std::sync::{Arc, Mutex};

use super::{Fault, Shared, Step, lock};

#[derive(Debug)]
pub(super) struct Memory {
    total: u64,
    /// Bytes in use, and the most that ever were.
    used: Mutex<(u64, u64)>,
}

impl Memory {
    pub(super) fn new(total: u64) -> Self {
        Self {
            total,
            used: Mutex::default(),
        }
    }

    pub(super) fn used_and_peak(&self) -> (u64, u64) {
        *lock(&self.used)
    }
}

/// Bytes of a device's memory, given back on drop.
#[derive(Debug)]
pub(super) struct Allocation {
    device: Arc<Shared>,
    bytes: u64,
}

impl Allocation {
    /// Takes bytes, or says how many are free.
    pub(super) fn new(device: &Arc<Shared>, bytes: u64) -> Result<Self, u64> {
        let memory = &device.memory;
        let mut used = lock(&memory.used);
        let free = memory.total - used.0;
        if bytes > free {
            return Err(free);
        }
        used.0 += bytes;
        used.1 = used.1.max(used.0);
        Ok(Self {
            device: Arc::clone(device),
            bytes,
        })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        match self.device.injections.take(Step::Free) {
            Some(Fault::Hang) => self.device.hang(),
            Some(Fault::Slow(time)) => std::thread::sleep(time),
            Some(Fault::Error | Fault::OutOfMemory | Fault::WrongResult) | None => {}
        }
        lock(&self.device.memory.used).0 -= self.bytes;
    }
}
