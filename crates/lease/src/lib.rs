//! The right to run on a lane of a physical device, as a value: [`DeviceLease`].
//!
//! [`Leases`] owns what runs on each lane of each device: a stream and what goes with it, a simulated lane, or `()`. The only way to
//! it is a lease, which says whose lane it is and gives it back when it is dropped. So what a type can rule out is
//! ruled out: there is no lock that could be taken for another device than the one that is used, no ordinal that could
//! mean another device later, and no way to reach a lane without the right to it. A device is named by its [`PciBusId`],
//! which no environment variable changes. Make one [`Leases`] when the program starts; a device cannot occur twice in it.
//!
//! ```
//! use cuzk_lease::{DeviceLease, Lane, Leases, PciBusId};
//!
//! let device: PciBusId = "0000:1b:00.0".parse().unwrap();
//! let leases = Leases::new([(device, vec!["stream 0", "stream 1"])]).unwrap();
//!
//! fn launch(lease: &DeviceLease<&str>) -> String {
//!     format!("{} of {}", **lease, lease.device())
//! }
//!
//! let first = leases.acquire_lane(device, Lane(0)).unwrap();
//! assert_eq!(launch(&first), "stream 0 of 0000:1b:00.0");
//! assert!(leases.try_acquire_lane(device, Lane(0)).unwrap().is_none());
//! let second = leases.try_acquire(device).unwrap().unwrap();
//! assert_eq!(second.lane(), Lane(1));
//! drop(first);
//! assert_eq!(leases.acquire(device).unwrap().lane(), Lane(0));
//! ```
//!
//! A lease cannot be made, copied or turned over to another device:
//!
//! ```compile_fail,E0451
//! let lane = cuzk_lease::DeviceLease { value: Some(()) };
//! ```
//!
//! ```compile_fail,E0599
//! fn twice(lease: cuzk_lease::DeviceLease<()>) -> [cuzk_lease::DeviceLease<()>; 2] {
//!     [lease.clone(), lease]
//! }
//! ```
//!
//! Who waits longest is not served first: order is the scheduler's business, and with it no one waits long. A thread that
//! panics gives its leases back as it unwinds.

mod leases;
mod pci;
mod sync;

pub use leases::{DeviceLease, Lane, LeaseError, Leases};
pub use pci::{ParsePciBusIdError, PciBusId};
