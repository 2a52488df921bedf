//! Devices that can be made to fail: simulated ones, and real ones behind the same faults.

use std::time::Duration;

use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_engine::{Device, PciBusId};
use cuzk_simulated::{Settings, SimulatedBackend, SimulatedDevice};

/// A device, and the hand on its faults.
pub struct Member<B: Backend> {
    /// The name in results.
    pub name: String,
    /// Where faults are injected.
    pub faults: SimulatedDevice,
    /// As the engine takes it.
    pub device: Device<SimulatedBackend<B>>,
}

/// So many devices on the processor, each of whose operations takes this long.
pub fn simulated(count: usize, lanes: usize, latency: Duration) -> Vec<Member<CpuBackend>> {
    let settings = Settings {
        latency,
        ..Settings::default()
    };
    let one = |ordinal: usize| {
        let name = format!("simulated {ordinal}");
        let faults = SimulatedDevice::new(name.clone(), settings);
        let pci = PciBusId {
            domain: ordinal as u32,
            bus: 0,
            device: 0,
            function: 0,
        };
        let loader = faults.lane(lanes);
        let lanes = (0..lanes).map(|lane| faults.lane(lane)).collect();
        let device = Device::new(name.clone(), pci, settings.memory_bytes, loader, lanes);
        Member {
            name,
            faults,
            device,
        }
    };
    (0..count).map(one).collect()
}

/// Real devices, behind faults that do not happen until they are injected.
pub fn wrapped<B: Backend + Clone>(devices: Vec<Device<B>>) -> Vec<Member<B>> {
    let one = |device: Device<B>| {
        let name = format!("{} at {}", device.name(), device.pci());
        let settings = Settings {
            memory_bytes: u64::MAX,
            latency: Duration::ZERO,
        };
        let faults = SimulatedDevice::new(name.clone(), settings);
        let device = device.map(|lane, backend| {
            let lane = lane.unwrap_or(usize::MAX);
            faults.lane_on(lane, backend)
        });
        Member {
            name,
            faults,
            device,
        }
    };
    devices.into_iter().map(one).collect()
}
