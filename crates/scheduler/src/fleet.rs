//! The devices, and indexes that find the one for a unit without visiting all.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::pool::Pool;
use crate::types::{Bytes, CircuitId, DeviceId, Instant, Lane, UnitId};

/// Whether a device takes work.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// It does.
    InService,
    /// It does not, and is probed at this time.
    Resting(Instant),
    /// It does not, and is being probed.
    Probing,
}

/// A device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) pool: Pool,
    pub(crate) lanes: Vec<Option<UnitId>>,
    pub(crate) health: Health,
    /// Faults in a row.
    pub(crate) faults: u32,
    /// Probes in vain since it went out of service.
    pub(crate) probes: u32,
    /// The unit that waits for memory here. Nothing else is assigned meanwhile.
    pub(crate) waiting: Option<UnitId>,
    /// The unit that the device is kept free for.
    pub(crate) hold: Option<UnitId>,
    indexed: Option<Indexed>,
}

/// Where a device stands in the indexes.
#[derive(Clone, Debug)]
struct Indexed {
    busy: usize,
    free: Bytes,
    room: Bytes,
    resident: Vec<(CircuitId, Bytes)>,
}

/// For each number of busy lanes, devices by an amount of memory.
type ByBusy = Vec<BTreeSet<(Bytes, DeviceId)>>;

/// What is looked for.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Request {
    pub(crate) circuit: CircuitId,
    /// Of the unit.
    pub(crate) unit: Bytes,
    /// Of the resource.
    pub(crate) resource: Bytes,
    /// A device that will not do.
    pub(crate) avoid: Option<DeviceId>,
}

/// All devices.
#[derive(Debug)]
pub(crate) struct Fleet {
    lanes: usize,
    devices: BTreeMap<DeviceId, Device>,
    /// Open devices by free memory.
    by_free: ByBusy,
    /// Open devices by memory that can become free.
    by_room: ByBusy,
    /// Open devices on which a resource is, by memory that can become free beside it.
    by_resource: HashMap<CircuitId, ByBusy>,
    open: usize,
    /// Devices in service by memory.
    in_service: BTreeSet<(Bytes, DeviceId)>,
    /// Devices in service or expected back, by memory.
    expected: BTreeSet<(Bytes, DeviceId)>,
}

impl Device {
    pub(crate) fn new(memory: Bytes, lanes: usize) -> Self {
        Self {
            pool: Pool::new(memory),
            lanes: vec![None; lanes],
            health: Health::InService,
            faults: 0,
            probes: 0,
            waiting: None,
            hold: None,
            indexed: None,
        }
    }

    pub(crate) fn busy(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.is_some()).count()
    }

    pub(crate) fn free_lane(&self) -> Option<Lane> {
        let lane = self.lanes.iter().position(Option::is_none)?;
        Some(Lane(lane as u32))
    }

    pub(crate) fn in_service(&self) -> bool {
        self.health == Health::InService
    }

    /// Whether a unit can have a lane here now, with what can be evicted counted as free.
    pub(crate) fn fits(&self, request: &Request) -> bool {
        let resource = self.pool.missing(request.circuit, request.resource);
        self.in_service()
            && self.waiting.is_none()
            && self.free_lane().is_some()
            && self.pool.room_beside(request.circuit) >= request.unit.plus(resource)
    }
}

impl Fleet {
    pub(crate) fn new(lanes: usize) -> Self {
        Self {
            lanes,
            devices: BTreeMap::new(),
            by_free: vec![BTreeSet::new(); lanes],
            by_room: vec![BTreeSet::new(); lanes],
            by_resource: HashMap::new(),
            open: 0,
            in_service: BTreeSet::new(),
            expected: BTreeSet::new(),
        }
    }

    pub(crate) fn insert(&mut self, id: DeviceId, device: Device, max_probes: u32) {
        self.devices.insert(id, device);
        self.update_health(id, max_probes);
    }

    pub(crate) fn remove(&mut self, id: DeviceId) -> Option<Device> {
        self.unindex(id);
        let device = self.devices.remove(&id)?;
        let key = (device.pool.budget(), id);
        self.in_service.remove(&key);
        self.expected.remove(&key);
        Some(device)
    }

    pub(crate) fn get(&self, id: DeviceId) -> Option<&Device> {
        self.devices.get(&id)
    }

    /// A device to be changed. [`Self::update`] or [`Self::update_health`] follows.
    pub(crate) fn get_mut(&mut self, id: DeviceId) -> Option<&mut Device> {
        self.devices.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (DeviceId, &Device)> {
        self.devices.iter().map(|(&id, device)| (id, device))
    }

    /// Whether any device takes a unit now.
    pub(crate) fn has_open(&self) -> bool {
        self.open > 0
    }

    pub(crate) fn lanes_in_service(&self) -> usize {
        self.in_service.len() * self.lanes
    }

    /// The memory of the largest device that is in service or expected back.
    pub(crate) fn largest(&self) -> Option<Bytes> {
        self.expected.last().map(|&(memory, _)| memory)
    }

    /// Whether another device than `avoid` is in service and large enough.
    pub(crate) fn another_in_service(&self, needed: Bytes, avoid: DeviceId) -> bool {
        let mut largest = self.in_service.iter().rev().take(2);
        largest.any(|&(memory, id)| id != avoid && memory >= needed)
    }

    /// Brings the indexes up to date after a device's lanes, memory, waiting unit or hold have changed.
    pub(crate) fn update(&mut self, id: DeviceId) {
        self.unindex(id);
        let Some(device) = self.devices.get_mut(&id) else {
            return;
        };
        let busy = device.busy();
        let closed = device.waiting.is_some() || device.hold.is_some();
        if !device.in_service() || closed || busy >= self.lanes {
            return;
        }
        let pool = &device.pool;
        let resident = pool.staying().map(|c| (c, pool.room_beside(c))).collect();
        let indexed = Indexed {
            busy,
            free: pool.free(),
            room: pool.room(),
            resident,
        };
        self.open += 1;
        self.by_free[busy].insert((indexed.free, id));
        self.by_room[busy].insert((indexed.room, id));
        for &(circuit, room) in &indexed.resident {
            let sets = self.by_resource.entry(circuit);
            let sets = sets.or_insert_with(|| vec![BTreeSet::new(); self.lanes]);
            sets[busy].insert((room, id));
        }
        device.indexed = Some(indexed);
    }

    fn unindex(&mut self, id: DeviceId) {
        let device = self.devices.get_mut(&id);
        let Some(indexed) = device.and_then(|device| device.indexed.take()) else {
            return;
        };
        self.open -= 1;
        self.by_free[indexed.busy].remove(&(indexed.free, id));
        self.by_room[indexed.busy].remove(&(indexed.room, id));
        for (circuit, room) in indexed.resident {
            let Some(sets) = self.by_resource.get_mut(&circuit) else {
                continue;
            };
            sets[indexed.busy].remove(&(room, id));
            if sets.iter().all(BTreeSet::is_empty) {
                self.by_resource.remove(&circuit);
            }
        }
    }

    /// Brings everything up to date after a device's health has changed too.
    pub(crate) fn update_health(&mut self, id: DeviceId, max_probes: u32) {
        if let Some(device) = self.devices.get(&id) {
            let key = (device.pool.budget(), id);
            let (in_service, expected) = (device.in_service(), device.probes < max_probes);
            set_member(&mut self.in_service, key, in_service);
            set_member(&mut self.expected, key, in_service || expected);
        }
        self.update(id);
    }

    /// The device for a unit, and whether the resource is or will be there already. Where the resource is and nothing else
    /// runs; else where nothing runs and it fits beside what is there; else where the resource is; else the least busy with
    /// room, where nothing has to be evicted if that can be.
    pub(crate) fn choose(&self, request: &Request) -> Option<(DeviceId, bool)> {
        let absent = request.unit.plus(request.resource);
        let resident = self.by_resource.get(&request.circuit);
        let resident = resident.map_or(&[][..], Vec::as_slice);
        let at = |sets: &[BTreeSet<(Bytes, DeviceId)>], busy: usize, needed| {
            largest_but(sets.get(busy)?, needed, request.avoid)
        };
        let there = (0..self.lanes).find_map(|busy| {
            let id = at(resident, busy, request.unit)?;
            Some((busy, (id, true)))
        });
        if let Some((0, found)) = there {
            return Some(found);
        }
        if let Some(id) = at(&self.by_free, 0, absent) {
            return Some((id, false));
        }
        if let Some((_, found)) = there {
            return Some(found);
        }
        (0..self.lanes).find_map(|busy| {
            let free = at(&self.by_free, busy, absent);
            let id = free.or_else(|| at(&self.by_room, busy, absent))?;
            Some((id, false))
        })
    }

    /// A device in service to be kept free for a unit: large enough, not kept for another, with the most room.
    pub(crate) fn choose_hold(&self, request: &Request) -> Option<DeviceId> {
        let needed = request.unit.plus(request.resource);
        let candidates = self.in_service.range((needed, DeviceId(0))..);
        let candidates = candidates.filter_map(|&(_, id)| Some((id, self.devices.get(&id)?)));
        candidates
            .filter(|(id, device)| device.hold.is_none() && Some(*id) != request.avoid)
            .max_by_key(|(id, device)| (device.pool.room(), *id))
            .map(|(id, _)| id)
    }
}

fn set_member(set: &mut BTreeSet<(Bytes, DeviceId)>, key: (Bytes, DeviceId), member: bool) {
    if member {
        set.insert(key);
    } else {
        set.remove(&key);
    }
}

/// The device with the most memory, if that is enough, but for one that will not do.
fn largest_but(
    set: &BTreeSet<(Bytes, DeviceId)>,
    needed: Bytes,
    avoid: Option<DeviceId>,
) -> Option<DeviceId> {
    let mut largest = set.iter().rev();
    let &(memory, id) = largest.find(|(_, id)| Some(*id) != avoid)?;
    (memory >= needed).then_some(id)
}
