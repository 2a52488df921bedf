//! Devices: lanes, what is resident, and what happens when one hangs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use cuzk_backend::Backend;
use cuzk_groth16::{Groth16Error, Prover};
use cuzk_lease::PciBusId;
use cuzk_r1cs::PackedWitness;
use cuzk_scheduler::{Attempt, Bytes, CircuitId, DeviceId, Event, Place};

use crate::workers::{CancelSlot, LaneDone, LaneOrder, LoadOrder, LoadTask, Loaded, Loader};

use super::Coordinator;

/// A device and what it is doing.
pub(crate) struct DeviceRecord<B: Backend> {
    pub(super) name: Arc<str>,
    pub(super) pci: PciBusId,
    pub(super) memory_bytes: u64,
    pub(super) lanes: Vec<LaneRecord<B>>,
    loader: Loader<B>,
    /// Circuits resident on it.
    pub(super) provers: HashMap<CircuitId, Prover<B>>,
    /// Circuits on their way to it.
    loads: HashSet<CircuitId>,
    /// What the loader has not done yet.
    orders: usize,
    /// What it was told before the device was lost, and has not done yet.
    lost_orders: usize,
    /// Counts how often the device was lost: what was ordered before is not wanted after.
    epoch: u64,
    /// Whether it was lost and has not answered a probe since.
    pub(super) lost: bool,
    pub(super) in_service: bool,
    pub(super) proofs: u64,
    pub(super) faults: u64,
    /// Bytes of the witnesses that went to it.
    pub(super) witness_bytes: u64,
    /// How long there was work on a lane, up to the last moment at which there was none.
    worked: Duration,
    /// Since when there has been.
    works_since: Option<Instant>,
}

/// A lane and what it is doing.
pub(super) struct LaneRecord<B: Backend> {
    orders: Sender<LaneOrder<B>>,
    pub(super) busy: Option<Busy>,
}

/// What occupies a lane.
pub(super) struct Busy {
    /// The unit, or a probe.
    pub(super) attempt: Option<Attempt>,
    pub(super) since: Instant,
    cancel: Arc<CancelSlot>,
    /// Whether it was given up: nobody waits for the result.
    pub(super) lost: bool,
}

impl<B: Backend + Clone> DeviceRecord<B> {
    pub(crate) fn new(
        device: &crate::Device<B>,
        lanes: Vec<Sender<LaneOrder<B>>>,
        loader: Loader<B>,
    ) -> Self {
        Self {
            name: Arc::from(device.name.as_str()),
            pci: device.pci,
            memory_bytes: device.memory_bytes,
            lanes: lanes
                .into_iter()
                .map(|orders| LaneRecord { orders, busy: None })
                .collect(),
            loader,
            provers: HashMap::new(),
            loads: HashSet::new(),
            orders: 0,
            lost_orders: 0,
            epoch: 0,
            lost: false,
            in_service: true,
            proofs: 0,
            faults: 0,
            witness_bytes: 0,
            worked: Duration::ZERO,
            works_since: None,
        }
    }

    /// Whether a circuit is there or on its way.
    pub(super) fn holds(&self, circuit: CircuitId) -> bool {
        self.provers.contains_key(&circuit) || self.loads.contains(&circuit)
    }

    pub(super) fn load(&mut self, circuit: CircuitId, loaded: Arc<Loaded>) {
        self.loads.insert(circuit);
        self.tell_loader(circuit, LoadTask::Load(loaded));
    }

    fn tell_loader(&mut self, circuit: CircuitId, task: LoadTask<B>) {
        self.orders += 1;
        self.loader.send(LoadOrder {
            circuit,
            epoch: self.epoch,
            task,
        });
    }

    /// Has the loader free a circuit; `false` where it is not there.
    pub(super) fn free_circuit(&mut self, circuit: CircuitId) -> bool {
        let prover = self.provers.remove(&circuit);
        let found = prover.is_some();
        if let Some(prover) = prover {
            self.tell_loader(circuit, LoadTask::Free(prover));
        }
        found
    }

    /// Has the loader free all circuits.
    pub(super) fn free_circuits(&mut self) {
        let circuits: Vec<CircuitId> = self.provers.keys().copied().collect();
        for circuit in circuits {
            self.free_circuit(circuit);
        }
    }

    /// Whether an order of the loader that is done belongs to the present life of the device.
    fn done_by_loader(&mut self, epoch: u64) -> bool {
        let present = epoch == self.epoch;
        match present {
            true => self.orders -= 1,
            false => self.lost_orders -= 1,
        }
        present
    }

    /// Gives up all that is there or on its way.
    fn lose_contents(&mut self) {
        self.free_circuits();
        self.epoch += 1;
        self.lost_orders += std::mem::take(&mut self.orders);
        self.loads.clear();
    }

    /// Gives a lane a proof to make; `false` where it cannot.
    pub(super) fn prove(
        &mut self,
        lane: usize,
        attempt: Attempt,
        circuit: CircuitId,
        witness: Arc<PackedWitness>,
    ) -> bool {
        let Some(prover) = self.provers.get(&circuit).cloned() else {
            return false;
        };
        self.witness_bytes += witness.size_bytes() as u64;
        self.order(lane, Some(attempt), |cancel| LaneOrder::Prove {
            attempt,
            prover,
            witness,
            cancel,
        })
    }

    fn order(
        &mut self,
        lane: usize,
        attempt: Option<Attempt>,
        order: impl FnOnce(Arc<CancelSlot>) -> LaneOrder<B>,
    ) -> bool {
        let Some(lane) = self.lanes.get_mut(lane).filter(|lane| lane.busy.is_none()) else {
            return false;
        };
        let cancel = Arc::new(CancelSlot::default());
        let sent = lane.orders.send(order(Arc::clone(&cancel))).is_ok();
        if sent {
            self.works_since.get_or_insert_with(Instant::now);
            lane.busy = Some(Busy {
                attempt,
                since: Instant::now(),
                cancel,
                lost: false,
            });
        }
        sent
    }

    /// Frees a lane and says what occupied it.
    fn free(&mut self, lane: usize) -> Option<Busy> {
        let busy = self.lanes.get_mut(lane).and_then(|lane| lane.busy.take());
        if self.lanes.iter().all(|lane| lane.busy.is_none())
            && let Some(since) = self.works_since.take()
        {
            self.worked += since.elapsed();
        }
        busy
    }

    /// How long there has been work on one of its lanes at least.
    pub(super) fn worked(&self) -> Duration {
        let now = self.works_since.map(|since| since.elapsed());
        self.worked + now.unwrap_or_default()
    }

    pub(super) fn cancel(&self, lane: usize) {
        if let Some(busy) = self.lanes.get(lane).and_then(|lane| lane.busy.as_ref()) {
            busy.cancel.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        (0..self.lanes.len()).for_each(|lane| self.cancel(lane));
    }

    /// Whether there is something on it that could hang.
    pub(super) fn is_busy(&self) -> bool {
        self.orders > 0 || self.lanes.iter().any(|lane| lane.busy.is_some())
    }

    /// Whether something on it takes longer than it may, and is not given up yet.
    fn hangs(&self, stall_after: Duration, load_stall_after: Duration) -> bool {
        let busy = self.lanes.iter().filter_map(|lane| lane.busy.as_ref());
        let mut busy = busy.filter(|busy| !busy.lost);
        let loading = self.loader.busy_for(self.epoch);
        busy.any(|busy| busy.since.elapsed() > stall_after)
            || loading.is_some_and(|time| time > load_stall_after)
    }

    /// A lane on which the device can be probed. A device that was lost must have nothing left on it, since it counts as
    /// empty when it is back.
    fn lane_for_probe(&self) -> Option<usize> {
        let occupied = self.lost_orders > 0 || self.lanes.iter().any(|lane| lane.busy.is_some());
        if self.lost && occupied {
            return None;
        }
        self.lanes.iter().position(|lane| lane.busy.is_none())
    }
}

impl<B: Backend + Clone> Coordinator<B> {
    pub(super) fn device_name(&self, device: DeviceId) -> Option<Arc<str>> {
        let found = self.devices.get(device.0 as usize);
        found.map(|device| Arc::clone(&device.name))
    }

    pub(super) fn device(&mut self, device: DeviceId) -> Option<&mut DeviceRecord<B>> {
        self.devices.get_mut(device.0 as usize)
    }

    pub(super) fn devices_up(&mut self) {
        for index in 0..self.devices.len() {
            self.report(Event::DeviceUp {
                device: DeviceId(index as u32),
                memory: Bytes(self.devices[index].memory_bytes),
            });
        }
    }

    pub(super) fn set_service(&mut self, device: DeviceId, in_service: bool) {
        if let Some(device) = self.device(device) {
            device.in_service = in_service;
        }
    }

    pub(super) fn device_loaded(
        &mut self,
        id: DeviceId,
        epoch: u64,
        circuit: CircuitId,
        result: Result<Prover<B>, Groth16Error>,
    ) {
        let Some(device) = self.device(id) else {
            return;
        };
        if !device.done_by_loader(epoch) {
            if let Ok(prover) = result {
                // Nobody wants it any more, and it was made for an earlier life of the device.
                device.lost_orders += 1;
                device.loader.send(LoadOrder {
                    circuit,
                    epoch,
                    task: LoadTask::Free(prover),
                });
            }
            return;
        }
        device.loads.remove(&circuit);
        let place = Place::Device(id);
        match result {
            Ok(prover) => {
                device.provers.insert(circuit, prover);
                self.report(Event::Loaded { circuit, place });
                // Who wanted it may have ended meanwhile.
                self.leave_early(Some(circuit));
            }
            Err(error) => {
                device.faults += 1;
                self.counters.faults += 1;
                self.note_load_error(id, circuit, &error);
                self.report(Event::LoadFailed { circuit, place });
            }
        }
    }

    pub(super) fn device_freed(&mut self, id: DeviceId, epoch: u64, circuit: CircuitId) {
        let device = self.device(id);
        if device.is_some_and(|device| device.done_by_loader(epoch)) {
            let place = Place::Device(id);
            self.report(Event::Evicted { circuit, place });
        }
    }

    /// Remembers why a circuit did not get to a device, for the units that wait for it.
    fn note_load_error(&mut self, device: DeviceId, circuit: CircuitId, error: &Groth16Error) {
        let name = self.device_name(device).unwrap_or_default();
        let message = format!("loading the key to {name}: {error}");
        let units = self.jobs.values_mut().flat_map(|record| &mut record.units);
        for unit in units.filter(|unit| unit.circuit == Some(circuit)) {
            if unit.stage == super::units::Stage::Ready {
                unit.error = Some(message.clone());
            }
        }
    }

    pub(super) fn lane_done(&mut self, id: DeviceId, lane: usize, done: LaneDone, took: Duration) {
        let Some(device) = self.device(id) else {
            return;
        };
        let busy = device.free(lane);
        let lost = busy.is_some_and(|busy| busy.lost);
        match done {
            LaneDone::Probe { .. } if lost => {}
            LaneDone::Probe { works } => self.probed(id, works),
            LaneDone::Sums { attempt, .. } if lost => {
                let on_lane = super::units::Stage::OnLane(id, lane);
                self.stop_if_aborted(attempt.unit, on_lane);
            }
            LaneDone::Sums { attempt, result } => self.computed(attempt, id, *result, took),
        }
    }

    fn stop_if_aborted(&mut self, unit: cuzk_scheduler::UnitId, stage: super::units::Stage) {
        let record = self.jobs.get(&crate::JobId(unit.job.0));
        let found = record.and_then(|record| record.units.get(unit.index as usize));
        if found.is_some_and(|found| found.aborted && found.stage == stage) {
            self.stopped(unit);
        }
    }

    pub(super) fn lose_hanging_devices(&mut self) {
        let (work, load) = (self.config.stall_after, self.config.load_stall_after);
        for index in 0..self.devices.len() {
            if self.devices[index].hangs(work, load) {
                self.lose_device(DeviceId(index as u32));
            }
        }
    }

    /// Gives up a device with all that is on it. Threads that hang there are left to themselves until they come back.
    fn lose_device(&mut self, id: DeviceId) {
        let (work, load) = (self.config.stall_after, self.config.load_stall_after);
        let message = format!("the device hangs: no answer within {work:?} ({load:?} for a key)");
        let Some(device) = self.device(id) else {
            return;
        };
        device.lost = true;
        device.faults += 1;
        device.lose_contents();
        let mut units = Vec::new();
        let mut probing = false;
        for busy in device
            .lanes
            .iter_mut()
            .filter_map(|lane| lane.busy.as_mut())
        {
            busy.cancel.cancel();
            if !std::mem::replace(&mut busy.lost, true) {
                units.extend(busy.attempt.map(|attempt| attempt.unit));
                probing |= busy.attempt.is_none();
            }
        }
        self.counters.faults += 1;
        for unit in units {
            self.lost(unit, &message);
        }
        self.report(Event::DeviceDown { device: id });
        if probing {
            self.report(Event::Probed {
                device: id,
                works: false,
            });
        }
    }

    pub(super) fn probe(&mut self, id: DeviceId) {
        let started = self.device(id).is_some_and(|device| {
            let lane = device.lane_for_probe();
            lane.is_some_and(|lane| device.order(lane, None, |_| LaneOrder::Probe))
        });
        if !started {
            self.report(Event::Probed {
                device: id,
                works: false,
            });
        }
    }

    fn probed(&mut self, id: DeviceId, works: bool) {
        if let Some(device) = self.device(id)
            && works
        {
            device.lost = false;
        }
        self.report(Event::Probed { device: id, works });
    }
}
