//! How far the engine is with a key that somebody wants loaded.

use cuzk_engine::{CircuitStatus, DeviceStatus, Status};

/// A circuit by its name.
pub fn find<'a>(status: &'a Status, name: &str) -> Option<&'a CircuitStatus> {
    let mut circuits = status.circuits.iter();
    circuits.find(|circuit| *circuit.name == *name)
}

/// Whether the host and every device in service have a circuit.
pub fn is_everywhere(status: &Status, name: &str) -> bool {
    let circuit = find(status, name).filter(|circuit| circuit.on_host);
    circuit.is_some_and(|circuit| lacking(status, circuit).next().is_none())
}

/// How loading a circuit ended, seen from the state before it and the one now; none while it may go on.
///
/// Errors: the circuit cannot be had, a device has no room for it or had a fault.
pub fn end(before: &Status, now: &Status, name: &str) -> Option<Result<(), String>> {
    let circuit = find(now, name).filter(|circuit| !circuit.preparing)?;
    if let Some(error) = &circuit.error {
        return Some(Err(error.clone()));
    }
    if !circuit.on_host {
        return None;
    }
    let faults = |device: &DeviceStatus| {
        let mut devices = before.devices.iter();
        let earlier = devices.find(|earlier| earlier.ordinal == device.ordinal);
        earlier.map_or(0, |earlier| earlier.faults)
    };
    let mut complete = true;
    for device in lacking(now, circuit) {
        complete = false;
        if device.faults > faults(device) {
            return Some(Err(format!(
                "{} had a fault while the key was loaded to it; the log says which",
                device.name
            )));
        }
        if let Some(free) = no_room(now, device, circuit) {
            return Some(Err(format!(
                "no room on {} for the key of {name}: {} bytes wanted, {free} free; evict another",
                device.name, circuit.device_bytes
            )));
        }
    }
    complete.then_some(Ok(()))
}

/// The devices in service that do not hold a circuit.
fn lacking<'a>(
    status: &'a Status,
    circuit: &'a CircuitStatus,
) -> impl Iterator<Item = &'a DeviceStatus> {
    let devices = status.devices.iter();
    devices.filter(|device| {
        device.in_service && !device.lost && !circuit.devices.contains(&device.ordinal)
    })
}

/// What is free of a device, where that is too little for a circuit that is not on its way there.
fn no_room(status: &Status, device: &DeviceStatus, circuit: &CircuitStatus) -> Option<u64> {
    let wanted = circuit.device_bytes;
    let free = device.memory_bytes.saturating_sub(device.reserved_bytes);
    let there = status.circuits.iter();
    let there = there.filter(|circuit| circuit.devices.contains(&device.ordinal));
    let keys: u64 = there.map(|circuit| circuit.device_bytes).sum();
    // A circuit on its way has its bytes reserved already, beside those of the ones that are there.
    let on_its_way = device.reserved_bytes.saturating_sub(keys) >= wanted;
    (free < wanted && !on_its_way).then_some(free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuzk_engine::PciBusId;

    fn device(ordinal: usize, reserved_bytes: u64) -> DeviceStatus {
        DeviceStatus {
            ordinal,
            name: format!("device {ordinal}").into(),
            pci: PciBusId {
                domain: 0,
                bus: 0,
                device: ordinal as u8,
                function: 0,
            },
            in_service: true,
            lost: false,
            memory_bytes: 100,
            reserved_bytes,
            lanes: Vec::new(),
            resident: Vec::new(),
            proofs: 0,
            faults: 0,
            worked: std::time::Duration::ZERO,
            witness_bytes: 0,
        }
    }

    fn circuit(name: &str, on_host: bool, devices: &[usize]) -> CircuitStatus {
        CircuitStatus {
            name: name.into(),
            on_host,
            preparing: false,
            host_bytes: 10,
            device_bytes: 60,
            devices: devices.to_vec(),
            users: 0,
            error: None,
        }
    }

    fn status(devices: Vec<DeviceStatus>, circuits: Vec<CircuitStatus>) -> Status {
        Status {
            devices,
            circuits,
            ..Status::default()
        }
    }

    fn seen(now: &Status) -> Option<Result<(), String>> {
        end(&status(vec![device(0, 0), device(1, 0)], vec![]), now, "a")
    }

    #[test]
    fn it_ends_when_the_host_and_every_device_in_service_have_it() {
        let at = |on_host, devices: &[usize]| {
            let circuits = vec![circuit("a", on_host, devices)];
            status(vec![device(0, 60), device(1, 60)], circuits)
        };
        assert_eq!(seen(&status(vec![device(0, 0)], vec![])), None);
        for (on_host, devices) in [(false, vec![]), (true, vec![]), (true, vec![1])] {
            let now = at(on_host, &devices);
            assert_eq!(seen(&now), None, "{devices:?}");
            assert!(!is_everywhere(&now, "a"));
        }
        let mut now = at(true, &[0, 1]);
        assert_eq!(seen(&now), Some(Ok(())));
        assert!(is_everywhere(&now, "a") && !is_everywhere(&now, "b"));
        now = at(true, &[1]);
        now.devices[0].in_service = false;
        assert_eq!(seen(&now), Some(Ok(())));
        now.devices[0].in_service = true;
        now.devices[0].lost = true;
        assert_eq!(seen(&now), Some(Ok(())));
    }

    #[test]
    fn what_is_in_the_way_is_said() {
        let told = |now: &Status| seen(now).and_then(Result::err).unwrap_or_default();
        // Another key is there, and this one does not fit beside it.
        let circuits = vec![circuit("a", true, &[1]), circuit("b", true, &[0])];
        let mut now = status(vec![device(0, 60), device(1, 60)], circuits);
        let wanted =
            "no room on device 0 for the key of a: 60 bytes wanted, 40 free; evict another";
        assert_eq!(told(&now), wanted);
        // Nothing else is there: what is reserved is for this one.
        now.circuits.truncate(1);
        assert_eq!(seen(&now), None);
        now.devices[0].faults = 1;
        assert!(told(&now).starts_with("device 0 had a fault"));
        now.circuits[0].error = Some("the key is missing".to_owned());
        assert_eq!(told(&now), "the key is missing");
        now.circuits[0].preparing = true;
        assert_eq!(seen(&now), None);
    }
}
