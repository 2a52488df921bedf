//! CUDA devices through the driver's interface, which is loaded when the first device is asked for.
//!
//! A [`Device`] is opened by its ordinal, and nothing here chooses one. A [`Stream`] belongs to a device; memory,
//! copies and launches belong to a stream and happen in the order in which they are asked for. The default stream is
//! not used, and nothing waits for a whole device.
//!
//! Memory comes from a stream-ordered pool of the device's own, up to a budget, and goes back to it. Large uploads pass
//! through a bounded ring of pinned memory. What several streams read belongs to a resident stream
//! ([`Stream::resident`]): it is freed when every stream has done what was queued before.
#![allow(unsafe_code)]

mod buffer;
mod device;
mod error;
mod event;
mod launch;
mod pinned;
mod pool;
mod stream;
mod timer;

pub use buffer::{Buffer, Plain};
pub use device::{Device, DeviceInfo, device, devices, driver_version, free_memory};
pub use error::GpuError;
pub use event::Event;
pub use launch::{Argument, Grid};
pub use stream::Stream;
pub use timer::Timer;
