//! Giving lanes to ready units.

use crate::event::Action;
use crate::fleet::Request;
use crate::job::{Seat, Stage};
use crate::pool::Residency;
use crate::ready::Position;
use crate::types::{Attempt, DeviceId, Place, Priority, UnitId};

use super::Scheduler;

/// Ready units that are looked at without finding a place before the rest waits for the next event.
const MAX_BLOCKED: usize = 64;

/// What came of looking for a place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Placing {
    Assigned,
    /// Another unit has the place, for its resource is there; the first is still to be placed.
    Swapped,
    Blocked,
}

impl Scheduler {
    /// Gives lanes to ready units in their order as long as there are open devices.
    pub(super) fn place_all(&mut self) {
        self.seat_holders();
        while self.place_in_order() {}
    }

    /// Goes once through the ready units. True if it stopped since the order has changed.
    fn place_in_order(&mut self) -> bool {
        let mut blocked = Vec::new();
        for class in self.class_order() {
            let mut after = None;
            while let Some(position) = self.ready.next(class, after) {
                if !self.may_place(class) || blocked.len() >= MAX_BLOCKED {
                    break;
                }
                match self.place(position) {
                    Placing::Blocked => {
                        blocked.push(position.unit);
                        after = Some((position.sequence, position.unit));
                        // Only a device that is kept free could be had; one look at those is enough.
                        if !self.fleet.has_open() {
                            break;
                        }
                        continue;
                    }
                    Placing::Assigned => self.pass_over(&blocked),
                    Placing::Swapped => {
                        self.pass_over(&blocked);
                        self.pass_over(&[position.unit]);
                    }
                }
                if self.count_run(class) {
                    return true;
                }
            }
        }
        false
    }

    /// The classes in the order in which they are served: the critical first, but for one of the others after a run.
    fn class_order(&self) -> [Priority; 4] {
        let [critical, high, normal, low] = Priority::ALL;
        if self.counts.critical_assigned < self.config.critical_run {
            [critical, high, normal, low]
        } else {
            [high, normal, low, critical]
        }
    }

    /// Counts critical units in a row. True if the order of the classes has changed.
    fn count_run(&mut self, class: Priority) -> bool {
        let before = self.class_order();
        let others = Priority::ALL[1..].iter().any(|&c| self.ready.has(c));
        self.counts.critical_assigned = match class == Priority::Critical && others {
            true => self.counts.critical_assigned.saturating_add(1),
            false => 0,
        };
        before != self.class_order()
    }

    fn may_place(&self, class: Priority) -> bool {
        self.fleet.has_open() || (class == Priority::Critical && !self.holds.is_empty())
    }

    fn pass_over(&mut self, blocked: &[UnitId]) {
        for &id in blocked {
            if let Some(unit) = self.unit_mut(id) {
                unit.passes = unit.passes.saturating_add(1);
            }
        }
    }

    pub(super) fn request(&self, id: UnitId) -> Option<Request> {
        let unit = self.unit(id)?;
        let needed = unit.device.plus(unit.circuit.device);
        let failed = unit.failed.map(|(device, _)| device);
        Some(Request {
            circuit: unit.circuit.id,
            unit: unit.device,
            resource: unit.circuit.device,
            avoid: failed.filter(|&device| self.fleet.another_in_service(needed, device)),
        })
    }

    fn place(&mut self, position: Position) -> Placing {
        let id = position.unit;
        let Some(request) = self.request(id) else {
            return Placing::Blocked;
        };
        let passes = self.unit(id).map_or(0, |unit| unit.passes);
        let critical = position.class == Priority::Critical;
        let patient = !critical && passes < self.config.max_passes;
        let Some((device, resident)) = self.fleet.choose(&request) else {
            if critical && let Some(device) = self.kept_for_others(&request) {
                self.assign(id, device);
                return Placing::Assigned;
            }
            if !patient {
                self.hold(id, &request);
            }
            return Placing::Blocked;
        };
        if !resident
            && patient
            && let Some(other) = self.served_better(position, device)
        {
            self.assign(other, device);
            return Placing::Swapped;
        }
        self.assign(id, device);
        Placing::Assigned
    }

    /// A device that is kept free for a unit that is not critical and would do for one that is.
    fn kept_for_others(&self, request: &Request) -> Option<DeviceId> {
        let mut kept = self.holds.iter();
        let found = kept.find(|(device, holder)| {
            let holder = self.jobs.get(&holder.job);
            Some(**device) != request.avoid
                && holder.is_some_and(|job| !job.is_critical())
                && self.fleet.get(**device).is_some_and(|d| d.fits(request))
        });
        found.map(|(device, _)| *device)
    }

    /// The first unit of the same class whose resource is on a device already and that fits there.
    fn served_better(&self, position: Position, device_id: DeviceId) -> Option<UnitId> {
        let device = self.fleet.get(device_id)?;
        let first = |circuit| self.ready.first_of(position.class, circuit);
        let firsts = device.pool.staying().filter_map(first);
        let fitting = firsts.filter(|(_, unit)| {
            let request = self.request(*unit);
            request.is_some_and(|r| r.avoid != Some(device_id) && device.fits(&r))
        });
        fitting.min().map(|(_, unit)| unit)
    }

    /// Keeps a device free for a unit that has been passed over too often: another one where it has come to avoid the first.
    fn hold(&mut self, id: UnitId, request: &Request) {
        let Some(unit) = self.unit(id) else {
            return;
        };
        if unit.hold.is_some() && unit.hold != request.avoid {
            return;
        }
        self.drop_hold(id);
        let Some(device_id) = self.fleet.choose_hold(request) else {
            return;
        };
        if let Some(device) = self.fleet.get_mut(device_id) {
            device.hold = Some(id);
        }
        if let Some(unit) = self.unit_mut(id) {
            unit.hold = Some(device_id);
        }
        self.holds.insert(device_id, id);
        self.fleet.update(device_id);
    }

    /// Gives up the device that is kept free for a unit, if there is one.
    pub(super) fn drop_hold(&mut self, id: UnitId) {
        let device_id = self.unit_mut(id).and_then(|unit| unit.hold.take());
        let Some(device_id) = device_id else {
            return;
        };
        self.holds.remove(&device_id);
        if let Some(device) = self.fleet.get_mut(device_id) {
            device.hold = None;
        }
        self.fleet.update(device_id);
    }

    /// Assigns the devices that are kept free for a unit and have changed, where the unit fits now.
    fn seat_holders(&mut self) {
        for device_id in std::mem::take(&mut self.touched) {
            let Some(&id) = self.holds.get(&device_id) else {
                continue;
            };
            let device = self.fleet.get(device_id);
            let request = self.request(id);
            if let (Some(device), Some(request)) = (device, request)
                && request.avoid != Some(device_id)
                && device.fits(&request)
            {
                self.assign(id, device_id);
            }
        }
    }

    /// Gives a ready unit a lane of a device.
    fn assign(&mut self, id: UnitId, device_id: DeviceId) {
        self.leave_stage(id);
        let Some(device) = self.fleet.get_mut(device_id) else {
            return;
        };
        let lane = device.free_lane().expect("a chosen device has a free lane");
        device.lanes[lane.0 as usize] = Some(id);
        device.waiting = Some(id);
        self.stats.assigned += 1;
        if let Some(unit) = self.unit_mut(id) {
            unit.stage = Stage::Assigned;
            unit.seat = Some(Seat {
                device: device_id,
                lane,
                bytes: Default::default(),
                seated: false,
            });
        }
        self.device_changed(device_id);
    }

    /// Takes a lane from a unit that has not been placed.
    pub(super) fn unassign(&mut self, id: UnitId) {
        self.give_up_seat(id);
        self.leave_stage(id);
        self.count_ahead(id, true);
        self.make_ready(id);
    }

    /// After lanes or memory of a device have changed: goes on with the unit that waits for memory there.
    pub(super) fn device_changed(&mut self, id: DeviceId) {
        self.seat_waiting(id);
        self.fleet.update(id);
        if self.holds.contains_key(&id) {
            self.touched.push(id);
        }
    }

    /// Reserves memory for the unit that waits for it, or begins to evict what is in its way.
    fn seat_waiting(&mut self, device_id: DeviceId) {
        let waiting = self.fleet.get(device_id).and_then(|device| device.waiting);
        let (Some(id), now) = (waiting, self.now) else {
            return;
        };
        let (Some(request), Some(device)) = (self.request(id), self.fleet.get_mut(device_id))
        else {
            return;
        };
        let circuit = request.circuit;
        let residency = device.pool.residency(circuit);
        let needed = (request.unit).plus(device.pool.missing(circuit, request.resource));
        if residency == Some(Residency::Evicting) || needed > device.pool.free() {
            let enough = device.pool.room_beside(circuit) >= needed;
            let evicted = device.pool.make_room(needed, circuit);
            let place = Place::Device(device_id);
            for circuit in evicted {
                self.tell(Action::Evict { circuit, place });
            }
            if !enough {
                self.unassign(id);
            }
            return;
        }
        device.waiting = None;
        if residency.is_none() {
            device.pool.begin_load(circuit, request.resource, now);
        }
        device.pool.acquire(circuit);
        device.pool.reserve(request.unit);
        if let Some(seat) = self.unit_mut(id).and_then(|unit| unit.seat.as_mut()) {
            seat.bytes = request.unit;
            seat.seated = true;
        }
        match residency {
            Some(Residency::Loaded) => self.start(id),
            None => self.tell_device_load(circuit, device_id),
            Some(Residency::Loading | Residency::Evicting) => {}
        }
    }

    /// Puts an assigned unit on its device.
    pub(super) fn start(&mut self, id: UnitId) {
        let now = self.now;
        let Some(unit) = self.unit_mut(id) else {
            return;
        };
        let Some(seat) = unit.seat else {
            return;
        };
        unit.stage = Stage::Running;
        unit.attempts += 1;
        unit.last_device = Some(seat.device);
        unit.placed_at = now;
        let attempt = Attempt {
            unit: id,
            number: unit.attempts,
        };
        self.stats.assigned -= 1;
        self.stats.running += 1;
        let (device, lane) = (seat.device, seat.lane);
        self.tell(Action::Place {
            attempt,
            device,
            lane,
        });
    }
}
