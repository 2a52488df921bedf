//! Lanes and the right to them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::pci::PciBusId;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard};

/// One of a device's lanes, counted from 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub u32);

/// What a lease was wanted of is not there, or is there twice.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LeaseError {
    /// A device stands in the list twice.
    Duplicate {
        /// The device.
        device: PciBusId,
    },
    /// A device has no lanes.
    NoLanes {
        /// The device.
        device: PciBusId,
    },
    /// There is no such device.
    UnknownDevice {
        /// What was wanted.
        device: PciBusId,
    },
    /// The device has fewer lanes.
    UnknownLane {
        /// The device.
        device: PciBusId,
        /// What was wanted.
        lane: Lane,
        /// How many it has.
        lanes: u32,
    },
}

/// The lanes of all devices. `T` is what a lane has to itself.
#[derive(Debug)]
pub struct Leases<T> {
    devices: BTreeMap<PciBusId, Arc<Lanes<T>>>,
}

/// The lanes of one device.
#[derive(Debug)]
struct Lanes<T> {
    device: PciBusId,
    count: u32,
    /// What is not leased.
    free: Mutex<Vec<Option<T>>>,
    /// Told to all when a lane is given back: they may wait for different ones.
    given_back: Condvar,
}

/// The right to run on a lane of a device, and access to what the lane has to itself. Given back on drop.
pub struct DeviceLease<T> {
    lanes: Arc<Lanes<T>>,
    lane: Lane,
    /// There until the drop.
    value: Option<T>,
}

impl<T> Leases<T> {
    /// Takes over the lanes of each device.
    ///
    /// # Errors
    ///
    /// A device that occurs twice or has no lanes.
    pub fn new(devices: impl IntoIterator<Item = (PciBusId, Vec<T>)>) -> Result<Self, LeaseError> {
        let mut map = BTreeMap::new();
        for (device, lanes) in devices {
            if lanes.is_empty() {
                return Err(LeaseError::NoLanes { device });
            }
            let lanes = Arc::new(Lanes {
                device,
                count: lanes.len() as u32,
                free: Mutex::new(lanes.into_iter().map(Some).collect()),
                given_back: Condvar::new(),
            });
            if map.insert(device, lanes).is_some() {
                return Err(LeaseError::Duplicate { device });
            }
        }
        Ok(Self { devices: map })
    }

    /// The devices and how many lanes each has.
    pub fn devices(&self) -> impl Iterator<Item = (PciBusId, u32)> + '_ {
        self.devices
            .values()
            .map(|lanes| (lanes.device, lanes.count))
    }

    /// The first free lane of a device, if there is one.
    ///
    /// # Errors
    ///
    /// There is no such device.
    pub fn try_acquire(&self, device: PciBusId) -> Result<Option<DeviceLease<T>>, LeaseError> {
        let lanes = self.lanes(device)?;
        let found = take_first(&mut lanes.lock());
        Ok(found.map(|(lane, value)| DeviceLease::new(lanes, lane, value)))
    }

    /// The first free lane of a device; waits until there is one.
    ///
    /// # Errors
    ///
    /// There is no such device.
    pub fn acquire(&self, device: PciBusId) -> Result<DeviceLease<T>, LeaseError> {
        let lanes = self.lanes(device)?;
        let (lane, value) = lanes.wait_for(take_first);
        Ok(DeviceLease::new(lanes, lane, value))
    }

    /// One lane of a device, if it is free.
    ///
    /// # Errors
    ///
    /// There is no such device or lane.
    pub fn try_acquire_lane(
        &self,
        device: PciBusId,
        lane: Lane,
    ) -> Result<Option<DeviceLease<T>>, LeaseError> {
        let lanes = self.lanes_with(device, lane)?;
        let value = take(&mut lanes.lock(), lane);
        Ok(value.map(|value| DeviceLease::new(lanes, lane, value)))
    }

    /// One lane of a device; waits until it is free.
    ///
    /// # Errors
    ///
    /// There is no such device or lane.
    pub fn acquire_lane(&self, device: PciBusId, lane: Lane) -> Result<DeviceLease<T>, LeaseError> {
        let lanes = self.lanes_with(device, lane)?;
        let value = lanes.wait_for(|free| take(free, lane));
        Ok(DeviceLease::new(lanes, lane, value))
    }

    fn lanes(&self, device: PciBusId) -> Result<&Arc<Lanes<T>>, LeaseError> {
        let lanes = self.devices.get(&device);
        lanes.ok_or(LeaseError::UnknownDevice { device })
    }

    fn lanes_with(&self, device: PciBusId, lane: Lane) -> Result<&Arc<Lanes<T>>, LeaseError> {
        let found = self.lanes(device)?;
        let lanes = found.count;
        if lane.0 >= lanes {
            return Err(LeaseError::UnknownLane {
                device,
                lane,
                lanes,
            });
        }
        Ok(found)
    }
}

fn take_first<T>(free: &mut [Option<T>]) -> Option<(Lane, T)> {
    let mut lanes = free.iter_mut().enumerate();
    lanes.find_map(|(lane, value)| Some((Lane(lane as u32), value.take()?)))
}

fn take<T>(free: &mut [Option<T>], lane: Lane) -> Option<T> {
    free.get_mut(lane.0 as usize)?.take()
}

impl<T> Lanes<T> {
    /// Each change is one assignment, so what a panicking thread leaves behind is whole.
    fn lock(&self) -> MutexGuard<'_, Vec<Option<T>>> {
        self.free
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn wait_for<R>(&self, mut take: impl FnMut(&mut [Option<T>]) -> Option<R>) -> R {
        let mut free = self.lock();
        loop {
            if let Some(found) = take(&mut free[..]) {
                return found;
            }
            let woken = self.given_back.wait(free);
            free = woken.unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl<T> DeviceLease<T> {
    fn new(lanes: &Arc<Lanes<T>>, lane: Lane, value: T) -> Self {
        Self {
            lanes: Arc::clone(lanes),
            lane,
            value: Some(value),
        }
    }

    /// The device.
    pub fn device(&self) -> PciBusId {
        self.lanes.device
    }

    /// The lane.
    pub fn lane(&self) -> Lane {
        self.lane
    }
}

impl<T> Deref for DeviceLease<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
            .as_ref()
            .expect("the value is there until the drop")
    }
}

impl<T> DerefMut for DeviceLease<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
            .as_mut()
            .expect("the value is there until the drop")
    }
}

impl<T> Drop for DeviceLease<T> {
    fn drop(&mut self) {
        let value = self.value.take();
        self.lanes.lock()[self.lane.0 as usize] = value;
        self.lanes.given_back.notify_all();
    }
}

impl<T> fmt::Debug for DeviceLease<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, lane) = (self.device(), self.lane.0);
        write!(formatter, "DeviceLease({device}, lane {lane})")
    }
}

impl fmt::Display for LeaseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { device } => write!(formatter, "{device}: the device is listed twice"),
            Self::NoLanes { device } => write!(formatter, "{device}: wanted lanes, found none"),
            Self::UnknownDevice { device } => {
                write!(formatter, "{device}: there is no such device")
            }
            Self::UnknownLane {
                device,
                lane,
                lanes,
            } => write!(
                formatter,
                "{device}: wanted lane {}, found {lanes} lanes",
                lane.0
            ),
        }
    }
}

impl std::error::Error for LeaseError {}
