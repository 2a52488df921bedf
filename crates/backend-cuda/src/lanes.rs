//! Devices with several lanes, and the right to run on one of them.

use std::num::NonZeroU32;

use cuzk_lease::Leases;

use crate::{CudaBackend, OpenError};

/// Opens devices by their ordinals, each once, with so many lanes a device.
///
/// A lease is the right to a lane and the lane itself: its stream, and through it the device's context, memory and
/// kernels. It names the device by its place on the PCI bus. What is made resident on one lane of a device, every lane of
/// that device reads. `memory_bytes` bounds what is allocated on each device.
pub fn open_lanes(
    ordinals: &[usize],
    memory_bytes: Option<usize>,
    lanes: NonZeroU32,
) -> Result<Leases<CudaBackend>, OpenError> {
    let open = |&ordinal: &usize| {
        let first = CudaBackend::open_within(ordinal, memory_bytes)?;
        let id = first.device().info().pci_bus_id;
        let more = (1..lanes.get()).map(|_| first.another_lane());
        let more = more.collect::<Result<Vec<_>, _>>()?;
        Ok((id, std::iter::once(first).chain(more).collect()))
    };
    let devices: Vec<_> = ordinals
        .iter()
        .map(open)
        .collect::<Result<_, OpenError>>()?;
    Leases::new(devices).map_err(OpenError::Lanes)
}
