//! CUDA devices through the driver's interface, which is loaded when the first device is asked for.
//!
//! A [`Device`] is opened by its ordinal, and nothing here chooses one. A [`Stream`] belongs to a device; memory,
//! copies and launches belong to a stream and happen in the order in which they are asked for. The default stream is
//! not used, and nothing waits for a whole device.
#![allow(unsafe_code)]

mod buffer;
mod device;
mod error;
mod launch;
mod stream;
mod timer;

pub use buffer::{Buffer, Plain};
pub use device::{Device, DeviceInfo, devices};
pub use error::GpuError;
pub use launch::{Argument, Grid};
pub use stream::Stream;
pub use timer::Timer;
