//! What circuits take of a GPU, for an engine.

use cuzk_backend_cuda::{CudaBackend, device_bytes, device_bytes_of_key};
use cuzk_engine::{Device, Footprint, Footprints};

/// The footprints on these GPUs, by the smallest of them: a key has as many tables as fit.
pub fn on_gpus(devices: &[Device<CudaBackend>]) -> Footprints {
    let least = devices.iter().map(Device::memory_bytes).min();
    let memory = least.and_then(|bytes| usize::try_from(bytes).ok());
    let memory = memory.unwrap_or(usize::MAX);
    Footprints::new(move |r1cs| {
        let device = device_bytes(r1cs, memory)?;
        Ok(Footprint {
            device_resident: device.resident as u64,
            device_work: device.work as u64,
            ..Footprint::plain(r1cs)?
        })
    })
    .with_keys(move |key| {
        let points = [
            key.h().len(),
            key.l().len(),
            key.a().len(),
            key.b_g1().len(),
        ];
        let device = device_bytes_of_key(points, key.vk().ic.len(), memory);
        Footprint {
            device_resident: device.resident as u64,
            device_work: device.work as u64,
            ..Footprint::plain_of_key(key)
        }
    })
}
