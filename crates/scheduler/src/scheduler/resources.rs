//! Resources on their way in and out of the memories.

use crate::event::{Action, Cause, Fault, Outcome};
use crate::job::Stage;
use crate::pool::Residency;
use crate::types::{Circuit, CircuitId, DeviceId, Place, UnitId};

use super::Scheduler;

impl Scheduler {
    /// Lets a unit use its resource on the host, which is loaded if it is not there. Its bytes are known to be free.
    pub(super) fn hold_on_host(&mut self, unit: UnitId, circuit: Circuit) {
        let id = circuit.id;
        if self.host.residency(id).is_none() {
            self.host.begin_load(id, circuit.host, self.now);
            let place = Place::Host;
            self.tell(Action::Load { circuit: id, place });
        }
        self.host.acquire(id);
        if self.host.residency(id) == Some(Residency::Loading) {
            self.awaiting.entry(id).or_default().insert(unit);
        }
    }

    /// Whether a unit waits for its resource on the host.
    pub(super) fn awaits(&self, unit: UnitId, circuit: CircuitId) -> bool {
        let units = self.awaiting.get(&circuit);
        units.is_some_and(|units| units.contains(&unit))
    }

    /// Tells the caller to load a resource, whose bytes are reserved, to a device. The host's copy stays meanwhile.
    pub(super) fn tell_device_load(&mut self, circuit: CircuitId, device: DeviceId) {
        self.host.acquire(circuit);
        let place = Place::Device(device);
        self.tell(Action::Load { circuit, place });
    }

    /// Units that have a lane and its memory and wait for a resource on a device.
    fn waiting_on_device(&self, circuit: CircuitId, device: DeviceId) -> Vec<UnitId> {
        let lanes = self.fleet.get(device).map_or(&[][..], |d| &d.lanes);
        let units = lanes.iter().flatten().copied();
        let waits = |unit: &UnitId| {
            let seated = self.unit(*unit).is_some_and(|unit| {
                unit.stage == Stage::Assigned && unit.seat.is_some_and(|seat| seat.seated)
            });
            seated && self.circuit_of(*unit) == Some(circuit)
        };
        units.filter(waits).collect()
    }

    pub(super) fn loaded(&mut self, circuit: CircuitId, place: Place) -> bool {
        match place {
            Place::Host => self.loaded_on_host(circuit),
            Place::Device(device) => self.loaded_on_device(circuit, device),
        }
    }

    fn loaded_on_host(&mut self, circuit: CircuitId) -> bool {
        if !self.host.loaded(circuit, self.now) {
            return false;
        }
        for unit in self.awaiting.remove(&circuit).unwrap_or_default() {
            let ready = self.unit(unit).is_some_and(|u| u.stage == Stage::Ready);
            if let Some((position, circuit)) = self.position(unit).filter(|_| ready) {
                self.ready.insert(position, circuit);
            }
        }
        self.go_on_preloading(|wanted, _| wanted == circuit);
        true
    }

    fn loaded_on_device(&mut self, circuit: CircuitId, id: DeviceId) -> bool {
        let now = self.now;
        let device = self.fleet.get_mut(id);
        if !device.is_some_and(|device| device.pool.loaded(circuit, now)) {
            return false;
        }
        self.host.let_go(circuit, now);
        for unit in self.waiting_on_device(circuit, id) {
            self.start(unit);
        }
        self.device_changed(id);
        true
    }

    pub(super) fn load_failed(&mut self, circuit: CircuitId, place: Place) -> bool {
        match place {
            Place::Host => self.load_failed_on_host(circuit),
            Place::Device(device) => self.load_failed_on_device(circuit, device),
        }
    }

    fn load_failed_on_host(&mut self, circuit: CircuitId) -> bool {
        if !self.host.gone(circuit, Residency::Loading) {
            return false;
        }
        self.preloads.retain(|&(wanted, _), _| wanted != circuit);
        let units = self.awaiting.remove(&circuit).unwrap_or_default();
        for &id in &units {
            if let Some(unit) = self.unit_mut(id) {
                unit.holds_host = false;
            }
        }
        for unit in units {
            let cause = Cause::Resource;
            self.end_job(unit.job, Outcome::Failed { unit, cause });
        }
        true
    }

    fn load_failed_on_device(&mut self, circuit: CircuitId, id: DeviceId) -> bool {
        let units = self.waiting_on_device(circuit, id);
        let device = self.fleet.get_mut(id);
        if !device.is_some_and(|device| device.pool.gone(circuit, Residency::Loading)) {
            return false;
        }
        self.host.let_go(circuit, self.now);
        for &unit in &units {
            // Who waits there may begin another load, once all of these have left.
            self.release_seat(unit);
        }
        self.device_changed(id);
        self.device_faulted(id);
        for unit_id in units {
            // The failure of one may have ended the job of the next.
            let unit = self.unit_mut(unit_id);
            if let Some(unit) = unit.filter(|unit| unit.stage == Stage::Assigned) {
                unit.last_device = Some(id);
                self.retry_or_fail(unit_id, Fault::Load);
            }
        }
        true
    }

    pub(super) fn evicted(&mut self, circuit: CircuitId, place: Place) -> bool {
        match place {
            Place::Host => self.host.gone(circuit, Residency::Evicting),
            Place::Device(id) => {
                let device = self.fleet.get_mut(id);
                let gone = device.is_some_and(|d| d.pool.gone(circuit, Residency::Evicting));
                if gone {
                    self.device_changed(id);
                    self.go_on_preloading(|_, device| device == id);
                }
                gone
            }
        }
    }

    pub(super) fn preload(&mut self, circuit: Circuit, devices: &[DeviceId]) {
        let id = circuit.id;
        match self.host.residency(id) {
            Some(Residency::Loaded | Residency::Loading) => {}
            None if circuit.host <= self.host.free() => {
                self.host.begin_load(id, circuit.host, self.now);
                let place = Place::Host;
                self.tell(Action::Load { circuit: id, place });
            }
            None | Some(Residency::Evicting) => {
                self.tell(Action::NoRoom { circuit: id });
                return;
            }
        }
        let wanted = devices.iter().map(|&device| ((id, device), circuit));
        self.preloads.extend(wanted);
        self.go_on_preloading(|circuit, _| circuit == id);
    }

    /// Loads what is wanted in advance where that can be done now, and forgets it where it cannot be done soon.
    fn go_on_preloading(&mut self, which: impl Fn(CircuitId, DeviceId) -> bool) {
        let keys = self.preloads.keys();
        let keys: Vec<_> = keys.filter(|(c, d)| which(*c, *d)).copied().collect();
        for key in keys {
            if let Some(circuit) = self.preloads.remove(&key)
                && self.preload_on_device(circuit, key.1)
            {
                self.preloads.insert(key, circuit);
            }
        }
    }

    /// Loads a resource to a device in advance if there is room; whether there may be soon.
    fn preload_on_device(&mut self, circuit: Circuit, id: DeviceId) -> bool {
        let now = self.now;
        match self.host.residency(circuit.id) {
            Some(Residency::Loaded) => {}
            Some(Residency::Loading) => return true,
            Some(Residency::Evicting) | None => return false,
        }
        let Some(device) = self.fleet.get_mut(id) else {
            return false;
        };
        if !device.in_service() || device.waiting.is_some() || device.hold.is_some() {
            return false;
        }
        match device.pool.residency(circuit.id) {
            Some(Residency::Loaded | Residency::Loading) => return false,
            Some(Residency::Evicting) => return true,
            None if circuit.device > device.pool.free() => {
                return circuit.device <= device.pool.free_soon();
            }
            None => {}
        }
        device.pool.begin_load(circuit.id, circuit.device, now);
        self.tell_device_load(circuit.id, id);
        self.device_changed(id);
        false
    }

    pub(super) fn unload(&mut self, circuit: CircuitId) -> bool {
        self.preloads.retain(|&(wanted, _), _| wanted != circuit);
        if self.host.begin_evict(circuit) {
            let place = Place::Host;
            self.tell(Action::Evict { circuit, place });
        }
        let devices: Vec<DeviceId> = self.fleet.iter().map(|(id, _)| id).collect();
        for id in devices {
            let device = self.fleet.get_mut(id);
            if device.is_some_and(|device| device.pool.begin_evict(circuit)) {
                let place = Place::Device(id);
                self.tell(Action::Evict { circuit, place });
                self.device_changed(id);
            }
        }
        true
    }
}
