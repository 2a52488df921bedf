//! Devices with faults on demand: simulated on the CPU with bounded memory, latency and lanes, or around a real
//! backend. A watch sees who works where.
//!
//! A [`SimulatedDevice`] stands for one physical device. [`SimulatedDevice::lane`] is a backend that works in one of its
//! lanes, and computes right results with the CPU backend; [`SimulatedDevice::lane_on`] does the same with another
//! backend, so that a GPU can be made to fail. As on a real device, kernels of all lanes share the device's time, memory is
//! one pool, and two works in one lane at once spoil each other's results: the device counts that as a violation.
//!
//! A *work* begins when a witness is brought to the device and ends when it is dropped there.

mod backend;
mod faults;
mod memory;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;

pub use backend::{Matrices, SimulatedBackend, SimulatedBases, SimulatedQuery, Vector, Witness};
pub use faults::{Fault, Step};

use faults::Injections;
use memory::Memory;

/// What a simulated device is like.
#[derive(Copy, Clone, Debug)]
pub struct Settings {
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// How long each operation occupies the device, loading aside. A proof has seven such operations.
    pub latency: Duration,
}

impl Default for Settings {
    /// A GiB and no latency.
    fn default() -> Self {
        Self {
            memory_bytes: 1 << 30,
            latency: Duration::ZERO,
        }
    }
}

/// A simulated device. Clones are the same device.
#[derive(Clone, Debug)]
pub struct SimulatedDevice {
    shared: Arc<Shared>,
}

/// What a device did so far and does now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Bytes in use.
    pub used_bytes: u64,
    /// The most bytes that were ever in use.
    pub peak_bytes: u64,
    /// Works that began.
    pub started: u64,
    /// Works that are in flight now.
    pub in_flight: usize,
    /// The most works that were ever in flight.
    pub peak_in_flight: usize,
    /// How often a work began in a lane that was taken.
    pub violations: u64,
    /// Operations that hang now.
    pub hanging: usize,
    /// How long operations occupied the device.
    pub busy: Duration,
}

#[derive(Debug)]
pub(crate) struct Shared {
    name: String,
    settings: Settings,
    memory: Memory,
    injections: Injections,
    watch: Mutex<Watch>,
    released: Condvar,
    /// Held while an operation occupies the device; holds how long that was so far.
    time: Mutex<Duration>,
}

/// Who works where.
#[derive(Debug, Default)]
struct Watch {
    lanes: HashMap<usize, LaneWatch>,
    started: u64,
    in_flight: usize,
    peak_in_flight: usize,
    violations: u64,
    hanging: usize,
    releases: u64,
}

#[derive(Debug, Default)]
struct LaneWatch {
    works: usize,
    /// Set by the second work in the lane, until the lane is empty.
    spoilt: bool,
}

impl SimulatedDevice {
    /// A device of this name.
    pub fn new(name: impl Into<String>, settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                name: name.into(),
                settings,
                memory: Memory::new(settings.memory_bytes),
                injections: Injections::default(),
                watch: Mutex::default(),
                released: Condvar::new(),
                time: Mutex::default(),
            }),
        }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Bytes of the device's memory.
    pub fn memory_bytes(&self) -> u64 {
        self.shared.settings.memory_bytes
    }

    /// A backend that works in a lane. Two backends of one lane are one lane.
    pub fn lane(&self, lane: usize) -> SimulatedBackend {
        self.lane_on(lane, CpuBackend)
    }

    /// A lane that computes with this backend, which must be of one device with those of the other lanes.
    pub fn lane_on<B: Backend>(&self, lane: usize, backend: B) -> SimulatedBackend<B> {
        SimulatedBackend::new(Arc::clone(&self.shared), lane, backend)
    }

    /// Makes the next `times` operations of this kind go wrong. Injections of one kind queue up.
    pub fn inject(&self, step: Step, fault: Fault, times: usize) {
        self.shared.injections.push(step, fault, times);
    }

    /// Forgets the injections that have not happened, and lets every operation that hangs go on.
    pub fn heal(&self) {
        self.shared.injections.clear();
        self.shared.watch().releases += 1;
        self.shared.released.notify_all();
    }

    /// What the device did and does.
    pub fn report(&self) -> Report {
        let (used_bytes, peak_bytes) = self.shared.memory.used_and_peak();
        let busy = *lock(&self.shared.time);
        let watch = self.shared.watch();
        Report {
            used_bytes,
            peak_bytes,
            started: watch.started,
            in_flight: watch.in_flight,
            peak_in_flight: watch.peak_in_flight,
            violations: watch.violations,
            hanging: watch.hanging,
            busy,
        }
    }
}

impl Shared {
    fn watch(&self) -> MutexGuard<'_, Watch> {
        lock(&self.watch)
    }

    /// Counts a work that begins in a lane.
    fn begin(&self, lane: usize) {
        let mut watch = self.watch();
        watch.started += 1;
        watch.in_flight += 1;
        watch.peak_in_flight = watch.peak_in_flight.max(watch.in_flight);
        let own = watch.lanes.entry(lane).or_default();
        own.works += 1;
        if own.works > 1 {
            own.spoilt = true;
            watch.violations += 1;
        }
    }

    /// Counts a work that ends.
    fn end(&self, lane: usize) {
        let mut watch = self.watch();
        watch.in_flight -= 1;
        let own = watch.lanes.entry(lane).or_default();
        own.works -= 1;
        if own.works == 0 {
            own.spoilt = false;
        }
    }

    /// Whether two works met in the lane.
    fn spoilt(&self, lane: usize) -> bool {
        self.watch().lanes.get(&lane).is_some_and(|l| l.spoilt)
    }

    /// Blocks until [`SimulatedDevice::heal`].
    fn hang(&self) {
        let mut watch = self.watch();
        watch.hanging += 1;
        let before = watch.releases;
        let wait = self.released.wait_while(watch, |w| w.releases == before);
        wait.unwrap_or_else(PoisonError::into_inner).hanging -= 1;
    }

    /// Occupies the device alone for the latency of an operation.
    fn occupy(&self) {
        let latency = self.settings.latency;
        if latency.is_zero() {
            return;
        }
        let mut busy = lock(&self.time);
        let start = Instant::now();
        std::thread::sleep(latency);
        *busy += start.elapsed();
    }
}

/// A panic of a test's thread must not hide what the device saw.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
