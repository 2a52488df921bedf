//! Circuits that are being compiled: until they are, their jobs prove by full synthesis, as far as there is room.
//!
//! To the scheduler such a job is of another circuit, whose resource is the key alone. When the circuit is compiled, that
//! one is replaced, and units that have not begun go the usual way.

use std::sync::{Arc, OnceLock};

use cuzk_backend::Backend;
use cuzk_params::Parameters;
use cuzk_scheduler::{Bytes, CircuitId, DeviceId, Event, UnitSpec};

use crate::Footprint;
use crate::job::JobId;
use crate::workers::{Loaded, Uncompiled};

use super::Coordinator;

/// What stands for a circuit that is being compiled.
pub(super) struct Early {
    /// The circuit.
    of: CircuitId,
    key: Box<Parameters>,
    /// The key with the outline of the first witness. What is on a device was made by it, and it is kept as long as that is.
    opened: Option<Arc<Loaded>>,
}

impl<B: Backend + Clone> Coordinator<B> {
    /// A circuit is being compiled, and its key is there: the jobs that wait need not.
    pub(super) fn compiling(&mut self, id: CircuitId, key: Box<Parameters>, footprint: Footprint) {
        let Some(name) = self.circuits.get(&id).map(|circuit| &circuit.name) else {
            return;
        };
        let name = Arc::from(format!("{name} (uncompiled)"));
        let early = self.intern(&name);
        if let Some(record) = self.circuits.get_mut(&early) {
            let before = record.early.take();
            record.footprint = Some(footprint);
            record.early = Some(Early {
                of: id,
                key: key.clone(),
                opened: before.and_then(|before| before.opened),
            });
        }
        let Some(circuit) = self.circuits.get_mut(&id) else {
            return;
        };
        circuit.key = Some(key);
        circuit.meanwhile = Some(early);
        for (job, since) in std::mem::take(&mut circuit.waiting) {
            self.schedule(job, early, since.elapsed());
        }
    }

    /// Ends the time of a circuit that stood for another: `compiled` takes its place, or it stays, like any other, where
    /// the compilation failed.
    pub(super) fn replace_early(&mut self, early: Option<CircuitId>, compiled: Option<CircuitId>) {
        let Some(early) = early else {
            return;
        };
        let id = compiled.unwrap_or(early);
        let Some((circuit, footprint)) = self
            .circuits
            .get(&id)
            .and_then(|circuit| Some((circuit, circuit.footprint?)))
        else {
            return;
        };
        let by = circuit.sizes(id, footprint);
        self.report(Event::Replaced {
            circuit: early,
            by,
            unit: UnitSpec {
                host: Bytes(footprint.host_witness),
                device: Bytes(footprint.device_work),
            },
        });
        for record in self.jobs.values_mut() {
            if record.circuit == Some(early) {
                record.circuit = Some(id);
            }
        }
        let devices = self.devices.iter().enumerate();
        let holders = devices.filter(|(_, device)| device.holds(early));
        let holders: Vec<_> = holders.map(|(index, _)| DeviceId(index as u32)).collect();
        self.leave_early(Some(early));
        if let Some(compiled) = compiled.filter(|_| !holders.is_empty()) {
            // Where the one was that stood for it, the next job will find it.
            self.preload_on(compiled, holders);
        }
    }

    /// The key of a circuit that stands for another; `None` for all others.
    pub(super) fn opened_early(&mut self, id: CircuitId) -> Option<Arc<Loaded>> {
        let early = self.circuits.get_mut(&id)?.early.as_mut()?;
        let key = &early.key;
        let opened = early.opened.get_or_insert_with(|| {
            Arc::new(Loaded::Uncompiled(Uncompiled {
                key: (**key).clone(),
                outline: OnceLock::new(),
            }))
        });
        Some(Arc::clone(opened))
    }

    /// Whether a circuit stands for another.
    pub(super) fn is_early(&self, id: Option<CircuitId>) -> bool {
        let circuit = id.and_then(|id| self.circuits.get(&id));
        circuit.is_some_and(|circuit| circuit.early.is_some())
    }

    /// After a unit of this circuit has ended, or the circuit has come to a device: one that was replaced leaves the memories
    /// when nobody uses it.
    pub(super) fn leave_early(&mut self, id: Option<CircuitId>) {
        let Some(id) = id else {
            return;
        };
        let early = self
            .circuits
            .get(&id)
            .and_then(|circuit| circuit.early.as_ref());
        let circuit = early.and_then(|early| self.circuits.get(&early.of));
        if circuit.is_some_and(|circuit| circuit.footprint.is_some()) {
            self.report(Event::Unload { circuit: id });
        }
    }

    /// Forgets the outline of a circuit that is in no memory any more.
    pub(super) fn forget_outline(&mut self, id: CircuitId) {
        if !self.is_in_memory(id)
            && let Some(circuit) = self.circuits.get_mut(&id)
            && let Some(early) = &mut circuit.early
        {
            early.opened = None;
        }
    }

    /// Whether a circuit is on the host, or on a device or on its way there.
    pub(super) fn is_in_memory(&self, id: CircuitId) -> bool {
        let circuit = self.circuits.get(&id);
        circuit.is_some_and(|circuit| circuit.host.is_some())
            || self.devices.iter().any(|device| device.holds(id))
    }

    /// Has a job wait for the compilation that does not fit without; `false` for other jobs.
    pub(super) fn wait_for_compilation(&mut self, job: JobId) -> bool {
        let record = self.jobs.get_mut(&job);
        let early = record.as_ref().and_then(|record| record.circuit);
        let early = early.and_then(|id| self.circuits.get(&id)?.early.as_ref());
        let (Some(record), Some(early)) = (record, early) else {
            return false;
        };
        record.units = Vec::new();
        record.circuit = None;
        record.scheduled = false;
        let of = early.of;
        self.await_sizes(job, of);
        true
    }
}
