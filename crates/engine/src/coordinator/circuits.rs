//! Circuits and their keys: sizes, host memory, devices' memory. Each is loaded once, however many wait for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuzk_backend::Backend;
use cuzk_params::Parameters;
use cuzk_scheduler::{Bytes, Circuit, CircuitId, DeviceId, Event, Place, UnitId};

use crate::job::JobId;
use crate::workers::{Loaded, Open, Prepare};
use crate::{Footprint, JobState, Outcome};

use super::early::Early;
use super::{Coordinator, OpenerTask};

/// A circuit that somebody asked for.
pub(super) struct CircuitRecord {
    pub(super) name: Arc<str>,
    /// What it takes, once that is known.
    pub(super) footprint: Option<Footprint>,
    /// Whether an opener is finding out.
    preparing: bool,
    /// Jobs that wait for the sizes, and since when.
    pub(super) waiting: Vec<(JobId, Instant)>,
    /// The key, between the beginning of a compilation and the first use of its result.
    pub(super) key: Option<Box<Parameters>>,
    /// The circuit that jobs have while this one is being compiled.
    pub(super) meanwhile: Option<CircuitId>,
    /// Whether it is such a circuit.
    pub(super) early: Option<Early>,
    /// Whether somebody wants it in advance, and it is not on the host yet.
    preload: bool,
    /// In the host's memory.
    pub(super) host: Option<Arc<Loaded>>,
    /// Units that may compute their witness once it is.
    pub(super) awaiting: Vec<UnitId>,
    /// Why it could not be opened the last time.
    pub(super) error: Option<String>,
}

impl CircuitRecord {
    fn new(name: Arc<str>) -> Self {
        Self {
            name,
            footprint: None,
            preparing: false,
            waiting: Vec::new(),
            key: None,
            meanwhile: None,
            early: None,
            preload: false,
            host: None,
            awaiting: Vec::new(),
            error: None,
        }
    }

    pub(super) fn is_preparing(&self) -> bool {
        self.preparing
    }

    /// The circuit as the scheduler counts it.
    pub(super) fn sizes(&self, id: CircuitId, footprint: Footprint) -> Circuit {
        Circuit {
            id,
            host: Bytes(footprint.host_resident),
            device: Bytes(footprint.device_resident),
        }
    }
}

impl<B: Backend + Clone> Coordinator<B> {
    pub(super) fn intern(&mut self, name: &Arc<str>) -> CircuitId {
        if let Some(&id) = self.circuit_ids.get(name) {
            return id;
        }
        let id = CircuitId(self.circuit_ids.len() as u64);
        self.circuit_ids.insert(Arc::clone(name), id);
        self.circuits
            .insert(id, CircuitRecord::new(Arc::clone(name)));
        id
    }

    /// Schedules a job at once if its circuit's sizes are known, else when they are.
    pub(super) fn want_sizes(&mut self, job: JobId, name: Arc<str>) {
        let id = self.intern(&name);
        let Some(circuit) = self.circuits.get_mut(&id) else {
            return;
        };
        if circuit.footprint.is_some() {
            self.schedule(job, id, Duration::ZERO);
            return;
        }
        if let Some(early) = circuit.meanwhile {
            self.schedule(job, early, Duration::ZERO);
            return;
        }
        self.await_sizes(job, id);
    }

    /// Lets a job wait for its circuit's sizes.
    pub(super) fn await_sizes(&mut self, job: JobId, id: CircuitId) {
        if let Some(circuit) = self.circuits.get_mut(&id) {
            circuit.waiting.push((job, Instant::now()));
        }
        if let Some(record) = self.jobs.get(&job) {
            record.shared.set_state(JobState::Compiling);
        }
        self.prepare(id);
    }

    /// Has an opener find out the sizes, unless one does already.
    fn prepare(&mut self, id: CircuitId) {
        let Some(circuit) = self.circuits.get_mut(&id) else {
            return;
        };
        if std::mem::replace(&mut circuit.preparing, true) {
            return;
        }
        circuit.error = None;
        self.pools.open.send(OpenerTask::Prepare(Prepare {
            circuit: id,
            name: Arc::clone(&circuit.name),
            source: Arc::clone(&self.source),
            footprints: self.config.footprint.clone(),
        }));
    }

    pub(super) fn prepared(
        &mut self,
        id: CircuitId,
        result: Result<Footprint, String>,
        took: Duration,
    ) {
        let Some(circuit) = self.circuits.get_mut(&id) else {
            return;
        };
        circuit.preparing = false;
        let waiting = std::mem::take(&mut circuit.waiting);
        let meanwhile = circuit.meanwhile.take();
        match result {
            Ok(footprint) => {
                circuit.footprint = Some(footprint);
                let preload = circuit.preload;
                self.counters.compile_time += took;
                self.replace_early(meanwhile, Some(id));
                for (job, since) in waiting {
                    self.schedule(job, id, since.elapsed());
                }
                if preload {
                    self.preload_everywhere(id);
                }
            }
            Err(reason) => {
                circuit.preload = false;
                circuit.error = Some(reason.clone());
                self.replace_early(meanwhile, None);
                for (job, _) in waiting {
                    let reason = reason.clone();
                    self.end(job, Outcome::Unavailable { reason });
                }
            }
        }
    }

    /// Brings a circuit and its key to the host's memory.
    pub(super) fn open(&mut self, id: CircuitId) {
        if let Some(loaded) = self.opened_early(id) {
            self.opened(id, Ok(loaded));
            return;
        }
        if let Some(circuit) = self.circuits.get_mut(&id) {
            circuit.error = None;
            self.pools.open.send(OpenerTask::Open(Open {
                circuit: id,
                name: Arc::clone(&circuit.name),
                source: Arc::clone(&self.source),
                key: circuit.key.take(),
            }));
        }
    }

    pub(super) fn opened(&mut self, id: CircuitId, result: Result<Arc<Loaded>, String>) {
        let Some(circuit) = self.circuits.get_mut(&id) else {
            return;
        };
        let awaiting = std::mem::take(&mut circuit.awaiting);
        circuit.preload = false;
        let place = Place::Host;
        match result {
            Ok(loaded) => {
                circuit.host = Some(loaded);
                self.report(Event::Loaded { circuit: id, place });
                for unit in awaiting {
                    self.compute_witness(unit);
                }
            }
            Err(reason) => {
                circuit.error = Some(reason);
                self.report(Event::LoadFailed { circuit: id, place });
            }
        }
    }

    /// Brings a circuit that is in the host's memory to a device.
    pub(super) fn load(&mut self, device: DeviceId, id: CircuitId) {
        let loaded = self.circuits.get(&id).and_then(|c| c.host.clone());
        let found = self.devices.get_mut(device.0 as usize);
        match (loaded, found) {
            (Some(loaded), Some(found)) => found.load(id, loaded),
            _ => {
                let place = Place::Device(device);
                self.report(Event::LoadFailed { circuit: id, place });
            }
        }
    }

    pub(super) fn evict(&mut self, id: CircuitId, place: Place) {
        match place {
            Place::Host => {
                if let Some(circuit) = self.circuits.get_mut(&id) {
                    circuit.host = None;
                }
                self.report(Event::Evicted { circuit: id, place });
            }
            Place::Device(device) => {
                let found = self.devices.get_mut(device.0 as usize);
                if !found.is_some_and(|device| device.free_circuit(id)) {
                    self.report(Event::Evicted { circuit: id, place });
                }
            }
        }
        self.forget_outline(id);
        self.counters.evictions += 1;
    }

    /// Wants a circuit on the host and then on all devices, as far as there is room.
    pub(super) fn preload(&mut self, name: &str) {
        let id = self.intern(&Arc::from(name));
        let Some(circuit) = self.circuits.get_mut(&id) else {
            return;
        };
        if circuit.early.is_some() {
            return;
        }
        circuit.error = None;
        circuit.preload = circuit.host.is_none();
        if circuit.footprint.is_some() {
            self.preload_everywhere(id);
        } else {
            self.prepare(id);
        }
    }

    fn preload_everywhere(&mut self, id: CircuitId) {
        let devices = (0..self.devices.len() as u32).map(DeviceId);
        self.preload_on(id, devices.collect());
    }

    /// Wants a circuit whose sizes are known on the host and then on these devices.
    pub(super) fn preload_on(&mut self, id: CircuitId, devices: Vec<DeviceId>) {
        let circuit = self.circuits.get(&id);
        let sizes = circuit.and_then(|circuit| Some(circuit.sizes(id, circuit.footprint?)));
        if let Some(circuit) = sizes {
            self.report(Event::Preload { circuit, devices });
        }
    }

    /// The host has no room for what is wanted in advance.
    pub(super) fn no_room(&mut self, id: CircuitId) {
        let Some(circuit) = self.circuits.get_mut(&id) else {
            return;
        };
        if std::mem::take(&mut circuit.preload) {
            let wanted = circuit.footprint.map_or(0, |found| found.host_resident);
            circuit.error = Some(format!(
                "no room in the host's memory for the compiled circuit, {wanted} bytes"
            ));
        }
    }

    /// Wants a circuit out of all memories where it is not in use.
    pub(super) fn unload(&mut self, name: &str) {
        if let Some(&circuit) = self.circuit_ids.get(name) {
            self.report(Event::Unload { circuit });
        }
    }
}
