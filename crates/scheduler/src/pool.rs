//! One memory: its budget, what is reserved of it, and the resources that are resident in it.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::{Bytes, CircuitId, Instant};

/// Whether a resource can be used.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Residency {
    /// Its bytes are reserved and it is on its way.
    Loading,
    /// It can be used.
    Loaded,
    /// It is on its way out; its bytes are still counted.
    Evicting,
}

#[derive(Debug)]
struct Resident {
    bytes: Bytes,
    residency: Residency,
    users: u32,
    last_used: Instant,
}

/// A budget and what is taken from it.
#[derive(Debug)]
pub(crate) struct Pool {
    budget: Bytes,
    used: Bytes,
    /// Bytes of resources that are loaded and not in use.
    idle_bytes: Bytes,
    /// Bytes of resources that are being evicted.
    leaving_bytes: Bytes,
    residents: BTreeMap<CircuitId, Resident>,
    /// Loaded and not in use, the least recently used first.
    idle: BTreeSet<(Instant, CircuitId)>,
}

impl Pool {
    pub(crate) fn new(budget: Bytes) -> Self {
        Self {
            budget,
            used: Bytes(0),
            idle_bytes: Bytes(0),
            leaving_bytes: Bytes(0),
            residents: BTreeMap::new(),
            idle: BTreeSet::new(),
        }
    }

    pub(crate) fn budget(&self) -> Bytes {
        self.budget
    }

    pub(crate) fn used(&self) -> Bytes {
        self.used
    }

    pub(crate) fn free(&self) -> Bytes {
        self.budget.minus(self.used)
    }

    /// What is free, and what will be when the resources that are being evicted have left.
    pub(crate) fn free_soon(&self) -> Bytes {
        self.free().plus(self.leaving_bytes)
    }

    /// Takes bytes that are known to be free.
    pub(crate) fn reserve(&mut self, bytes: Bytes) {
        assert!(bytes <= self.free(), "reserved beyond the budget");
        self.used = self.used.plus(bytes);
    }

    /// Gives reserved bytes back.
    pub(crate) fn release(&mut self, bytes: Bytes) {
        assert!(bytes <= self.used, "released more than was reserved");
        self.used = self.used.minus(bytes);
    }

    pub(crate) fn residency(&self, circuit: CircuitId) -> Option<Residency> {
        Some(self.residents.get(&circuit)?.residency)
    }

    /// Resources that are there or coming, not those that leave.
    pub(crate) fn staying(&self) -> impl Iterator<Item = CircuitId> + '_ {
        let staying = |resident: &Resident| resident.residency != Residency::Evicting;
        let residents = self.residents.iter();
        residents.filter_map(move |(&circuit, resident)| staying(resident).then_some(circuit))
    }

    /// All resources, with their bytes, residency and users.
    pub(crate) fn residents(
        &self,
    ) -> impl Iterator<Item = (CircuitId, Bytes, Residency, u32)> + '_ {
        let residents = self.residents.iter();
        residents.map(|(&circuit, r)| (circuit, r.bytes, r.residency, r.users))
    }

    /// Bytes that can become free while `circuit` stays, if it is there: what is free, leaving or idle.
    pub(crate) fn room_beside(&self, circuit: CircuitId) -> Bytes {
        self.room().minus(self.idle_bytes_of(circuit))
    }

    /// Bytes that can become free: what is free, leaving or idle.
    pub(crate) fn room(&self) -> Bytes {
        self.free_soon().plus(self.idle_bytes)
    }

    /// What `circuit`'s resource would take beyond what it takes already.
    pub(crate) fn missing(&self, circuit: CircuitId, bytes: Bytes) -> Bytes {
        match self.residency(circuit) {
            Some(Residency::Loading | Residency::Loaded) => Bytes(0),
            Some(Residency::Evicting) | None => bytes,
        }
    }

    fn idle_bytes_of(&self, circuit: CircuitId) -> Bytes {
        match self.residents.get(&circuit) {
            Some(r) if r.residency == Residency::Loaded && r.users == 0 => r.bytes,
            _ => Bytes(0),
        }
    }

    /// Reserves a resource's bytes.
    pub(crate) fn begin_load(&mut self, circuit: CircuitId, bytes: Bytes, now: Instant) {
        self.reserve(bytes);
        let resident = Resident {
            bytes,
            residency: Residency::Loading,
            users: 0,
            last_used: now,
        };
        let before = self.residents.insert(circuit, resident);
        assert!(before.is_none(), "loaded what is there");
    }

    /// A resource has come. False if it was not on its way.
    pub(crate) fn loaded(&mut self, circuit: CircuitId, now: Instant) -> bool {
        let Some(resident) = self.residents.get_mut(&circuit) else {
            return false;
        };
        if resident.residency != Residency::Loading {
            return false;
        }
        resident.residency = Residency::Loaded;
        if resident.users == 0 {
            resident.last_used = now;
            self.idle.insert((now, circuit));
            self.idle_bytes = self.idle_bytes.plus(resident.bytes);
        }
        true
    }

    /// A resource has not come, or has left: its bytes are free. False if it was not in that state.
    pub(crate) fn gone(&mut self, circuit: CircuitId, from: Residency) -> bool {
        let Some(resident) = self.residents.get(&circuit) else {
            return false;
        };
        if resident.residency != from || from == Residency::Loaded {
            return false;
        }
        let bytes = resident.bytes;
        if from == Residency::Evicting {
            self.leaving_bytes = self.leaving_bytes.minus(bytes);
        }
        self.residents.remove(&circuit);
        self.release(bytes);
        true
    }

    /// Somebody uses a resource that is there or coming.
    pub(crate) fn acquire(&mut self, circuit: CircuitId) {
        let resident = self.residents.get_mut(&circuit);
        let resident = resident.expect("a resource that is used is resident");
        assert!(
            resident.residency != Residency::Evicting,
            "used while leaving"
        );
        if resident.users == 0 && resident.residency == Residency::Loaded {
            self.idle.remove(&(resident.last_used, circuit));
            self.idle_bytes = self.idle_bytes.minus(resident.bytes);
        }
        resident.users += 1;
    }

    /// Somebody does not use a resource any more. After a failed load there is nothing to let go of.
    pub(crate) fn let_go(&mut self, circuit: CircuitId, now: Instant) {
        let Some(resident) = self.residents.get_mut(&circuit) else {
            return;
        };
        assert!(resident.users > 0, "let go of what is not in use");
        resident.users -= 1;
        resident.last_used = now;
        if resident.users == 0 && resident.residency == Residency::Loaded {
            self.idle.insert((now, circuit));
            self.idle_bytes = self.idle_bytes.plus(resident.bytes);
        }
    }

    /// Begins to evict one resource, if it is loaded and not in use.
    pub(crate) fn begin_evict(&mut self, circuit: CircuitId) -> bool {
        let Some(resident) = self.residents.get_mut(&circuit) else {
            return false;
        };
        if resident.residency != Residency::Loaded || resident.users > 0 {
            return false;
        }
        resident.residency = Residency::Evicting;
        self.idle.remove(&(resident.last_used, circuit));
        self.idle_bytes = self.idle_bytes.minus(resident.bytes);
        self.leaving_bytes = self.leaving_bytes.plus(resident.bytes);
        true
    }

    /// Begins to evict the least recently used resources but `keep`, until `wanted` bytes are free or will be. Evicts
    /// nothing, and returns nothing, if that cannot be reached.
    pub(crate) fn make_room(&mut self, wanted: Bytes, keep: CircuitId) -> Vec<CircuitId> {
        let mut evicted = Vec::new();
        if self.room_beside(keep) < wanted {
            return evicted;
        }
        while self.free_soon() < wanted {
            let oldest = self.idle.iter().find(|(_, circuit)| *circuit != keep);
            let Some(&(_, circuit)) = oldest else {
                break;
            };
            self.begin_evict(circuit);
            evicted.push(circuit);
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: CircuitId = CircuitId(1);
    const B: CircuitId = CircuitId(2);
    const C: CircuitId = CircuitId(3);

    fn pool_with_idle() -> Pool {
        let mut pool = Pool::new(Bytes(100));
        for (circuit, bytes, at) in [(A, 30, 1), (B, 30, 2), (C, 30, 3)] {
            pool.begin_load(circuit, Bytes(bytes), Instant(0));
            assert!(pool.loaded(circuit, Instant(at)));
        }
        pool
    }

    #[test]
    fn the_least_recently_used_goes_first_and_no_more_than_needed() {
        let mut pool = pool_with_idle();
        pool.acquire(A);
        pool.let_go(A, Instant(9));
        assert_eq!(pool.make_room(Bytes(11), CircuitId(0)), [B]);
        assert_eq!(pool.make_room(Bytes(40), CircuitId(0)), []);
        assert_eq!(pool.make_room(Bytes(41), CircuitId(0)), [C]);
        assert_eq!(pool.free(), Bytes(10));
        assert!(pool.gone(B, Residency::Evicting));
        assert_eq!(pool.free(), Bytes(40));
    }

    #[test]
    fn what_is_used_or_kept_stays() {
        let mut pool = pool_with_idle();
        pool.acquire(A);
        assert!(!pool.begin_evict(A));
        assert_eq!(pool.make_room(Bytes(41), B), []);
        assert_eq!(pool.residency(C), Some(Residency::Loaded));
        assert_eq!(pool.make_room(Bytes(40), B), [C]);
        assert_eq!(pool.room_beside(B), Bytes(40));
    }

    #[test]
    fn a_failed_load_gives_its_bytes_back() {
        let mut pool = Pool::new(Bytes(10));
        pool.begin_load(A, Bytes(10), Instant(0));
        pool.acquire(A);
        assert!(!pool.gone(A, Residency::Evicting));
        assert!(pool.gone(A, Residency::Loading));
        pool.let_go(A, Instant(1));
        assert_eq!((pool.used(), pool.room()), (Bytes(0), Bytes(10)));
    }
}
