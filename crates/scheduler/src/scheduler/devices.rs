//! Devices coming and going, their faults and probes.

use crate::event::{Action, Fault};
use crate::fleet::{Device, Health};
use crate::job::Stage;
use crate::pool::{Pool, Residency};
use crate::types::{Bytes, CircuitId, DeviceId, UnitId};

use super::{Scheduler, Timer};

/// The longest time between probes, as a power of two of the first.
const MAX_BACKOFF_SHIFT: u32 = 6;

impl Scheduler {
    pub(super) fn device_up(&mut self, id: DeviceId, memory: Bytes) -> bool {
        let known = self.fleet.get(id).map(Device::in_service);
        if known == Some(true) {
            return false;
        }
        if known.is_some() {
            self.lose_contents(id);
            self.stop_probing(id);
            self.fleet.remove(id);
            self.tell(Action::BackInService { device: id });
        }
        let device = Device::new(memory, self.config.lanes as usize);
        self.fleet.insert(id, device, self.config.max_probes);
        self.end_unavailable();
        true
    }

    pub(super) fn device_down(&mut self, id: DeviceId) -> bool {
        if self.fleet.get(id).is_none() {
            return false;
        }
        self.take_out_of_service(id);
        self.lose_contents(id);
        true
    }

    pub(super) fn device_removed(&mut self, id: DeviceId) -> bool {
        if self.fleet.get(id).is_none() {
            return false;
        }
        self.take_out_of_service(id);
        self.lose_contents(id);
        self.stop_probing(id);
        self.fleet.remove(id);
        self.end_unavailable();
        true
    }

    /// Counts a fault; enough of them in a row take the device out of service.
    pub(super) fn device_faulted(&mut self, id: DeviceId) {
        let max = self.config.max_faults;
        let Some(device) = self.fleet.get_mut(id) else {
            return;
        };
        device.faults = device.faults.saturating_add(1);
        if device.faults >= max {
            self.take_out_of_service(id);
        }
    }

    pub(super) fn device_succeeded(&mut self, id: DeviceId) {
        if let Some(device) = self.fleet.get_mut(id) {
            device.faults = 0;
        }
    }

    /// Lets a device take no more work: what runs goes on, what was only assigned waits for another.
    fn take_out_of_service(&mut self, id: DeviceId) {
        let at = self.now.after(self.config.probe_after_us);
        let device = self.fleet.get_mut(id).filter(|device| device.in_service());
        let Some(device) = device else {
            return;
        };
        device.health = Health::Resting(at);
        // Nothing is evicted or loaded for it any more.
        device.waiting = None;
        let units: Vec<UnitId> = device.lanes.iter().flatten().copied().collect();
        let holder = device.hold;
        self.timers.insert((at, Timer::Probe(id)));
        self.tell(Action::OutOfService { device: id });
        if let Some(holder) = holder {
            self.drop_hold(holder);
        }
        self.fleet.update_health(id, self.config.max_probes);
        for unit in units {
            if self.unit(unit).is_some_and(|u| u.stage == Stage::Assigned) {
                self.unassign(unit);
            }
        }
        // A unit that was to avoid the device kept free for it may have no other now.
        self.touched.extend(self.holds.keys());
    }

    fn stop_probing(&mut self, id: DeviceId) {
        if let Some(Health::Resting(at)) = self.fleet.get(id).map(|device| device.health) {
            self.timers.remove(&(at, Timer::Probe(id)));
        }
    }

    /// Takes from a device out of service all that was in its memory; what ran there has failed.
    fn lose_contents(&mut self, id: DeviceId) {
        let Some(device) = self.fleet.get_mut(id) else {
            return;
        };
        self.preloads.retain(|&(_, device), _| device != id);
        let residents = device.pool.residents();
        let loading = residents.filter(|(_, _, residency, _)| *residency == Residency::Loading);
        let loading: Vec<CircuitId> = loading.map(|(circuit, ..)| circuit).collect();
        device.pool = Pool::new(device.pool.budget());
        let lanes = device.lanes.iter_mut();
        let units: Vec<UnitId> = lanes.filter_map(Option::take).collect();
        self.fleet.update(id);
        for circuit in loading {
            self.host.let_go(circuit, self.now);
        }
        for id in units {
            let Some(unit) = self.unit_mut(id) else {
                continue;
            };
            unit.seat = None;
            if unit.stage == Stage::Running {
                self.retry_or_fail(id, Fault::Lost);
            }
        }
    }

    pub(super) fn begin_probe(&mut self, id: DeviceId) {
        if let Some(device) = self.fleet.get_mut(id) {
            device.health = Health::Probing;
            self.tell(Action::Probe { device: id });
        }
    }

    pub(super) fn probed(&mut self, id: DeviceId, works: bool) -> bool {
        let max_faults = self.config.max_faults;
        let (now, first) = (self.now, self.config.probe_after_us);
        let Some(device) = self.fleet.get_mut(id) else {
            return false;
        };
        if device.health != Health::Probing {
            return false;
        }
        if works {
            device.health = Health::InService;
            device.probes = 0;
            // On trial: the next fault takes it out again, a success clears it.
            device.faults = max_faults - 1;
            self.tell(Action::BackInService { device: id });
        } else {
            device.probes = device.probes.saturating_add(1);
            let factor = 1 << device.probes.min(MAX_BACKOFF_SHIFT);
            let at = now.after(first.saturating_mul(factor));
            device.health = Health::Resting(at);
            self.timers.insert((at, Timer::Probe(id)));
        }
        self.fleet.update_health(id, self.config.max_probes);
        self.end_unavailable();
        true
    }
}
