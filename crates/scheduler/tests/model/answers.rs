//! How the model answers actions, and what happens to its devices.

use cuzk_scheduler::*;

use crate::caller::{Model, ModelDevice, Pending};

impl Model {
    /// Answers a pending action well, or badly if it can be.
    pub fn answer(&mut self, index: usize, well: bool, fault: Fault) {
        match self.pending.remove(index) {
            Pending::Witness(unit) => self.answer_witness(unit, well),
            Pending::Run(attempt) => self.answer_run(attempt, well, fault),
            Pending::Load(circuit, place) => self.answer_load(circuit, place, well),
            Pending::Evict(circuit, place) => {
                self.evicted(circuit, place);
                self.forget_resource(circuit, place);
                self.send(Event::Evicted { circuit, place });
            }
            Pending::Probe(device) => {
                let works = well;
                self.send(Event::Probed { device, works });
            }
            Pending::Abort(unit) => {
                self.free_seat(unit);
                self.free_host(unit);
                self.send(Event::Stopped { unit });
            }
        }
    }

    fn answer_witness(&mut self, unit: UnitId, well: bool) {
        if well {
            let found = self.unit(unit);
            (found.witness_done, found.overtaken) = (true, None);
            self.send(Event::WitnessDone { unit });
        } else if let Some((circuit, spec)) = self.unit(unit).overtaken.take() {
            self.free_host(unit);
            let found = self.unit(unit);
            (found.circuit, found.spec) = (circuit, spec);
            self.send(Event::WitnessStopped { unit });
        } else {
            self.free_host(unit);
            self.unit(unit).aborted = true;
            self.send(Event::WitnessFailed { unit });
        }
    }

    fn answer_run(&mut self, attempt: Attempt, well: bool, fault: Fault) {
        let id = attempt.unit;
        self.free_seat(id);
        if well {
            self.free_host(id);
            self.unit(id).finished = true;
            self.send(Event::Finished { attempt });
        } else {
            let device = self.unit(id).last_device;
            self.unit(id).failures.push((device, fault));
            self.send(Event::Failed { attempt, fault });
        }
    }

    fn answer_load(&mut self, circuit: CircuitId, place: Place, well: bool) {
        if well {
            let resource = match place {
                Place::Host => self.host_resources.get_mut(&circuit),
                Place::Device(device) => {
                    let device = self.devices.get_mut(&device).unwrap();
                    device.resources.get_mut(&circuit)
                }
            };
            resource.unwrap().1 = true;
            self.send(Event::Loaded { circuit, place });
            return;
        }
        self.forget_resource(circuit, place);
        if place == Place::Host {
            let units = self.jobs.values_mut().flat_map(|job| &mut job.units);
            let waiting = units.filter(|unit| unit.circuit == circuit);
            waiting.for_each(|unit| unit.uses_host = false);
        }
        if let Place::Device(device) = place {
            let status = self.scheduler.device(device).unwrap();
            for id in status.lanes.into_iter().flatten() {
                if self.circuit(id) == circuit && self.unit(id).seat.is_none() {
                    self.unit(id).failures.push((Some(device), Fault::Load));
                }
            }
        }
        self.send(Event::LoadFailed { circuit, place });
    }

    fn forget_resource(&mut self, circuit: CircuitId, place: Place) {
        let removed = match place {
            Place::Host => self.host_resources.remove(&circuit),
            Place::Device(device) => {
                let device = self.devices.get_mut(&device).unwrap();
                device.resources.remove(&circuit)
            }
        };
        assert!(removed.is_some());
    }

    fn free_seat(&mut self, id: UnitId) {
        if let Some((device, lane, _)) = self.unit(id).seat.take() {
            self.devices.get_mut(&device).unwrap().lanes.remove(&lane);
        }
    }

    fn free_host(&mut self, id: UnitId) {
        let unit = self.unit(id);
        unit.host = 0;
        unit.witness = false;
        unit.witness_done = false;
        unit.uses_host = false;
    }

    /// The device is done with a unit that is being finished.
    pub fn device_done(&mut self, attempt: Attempt) {
        if self.unit(attempt.unit).seat.is_some() {
            self.free_seat(attempt.unit);
            self.send(Event::DeviceDone { attempt });
        }
    }

    pub fn drop_witness(&mut self, unit: UnitId) {
        if self.unit(unit).witness {
            self.free_host(unit);
            self.send(Event::WitnessDropped { unit });
        }
    }

    pub fn release_some(&mut self, attempt: Attempt, bytes: u64) {
        let unit = attempt.unit;
        let model = self.unit(unit);
        model.host = model.host.saturating_sub(bytes);
        if let Some(seat) = model.seat.as_mut() {
            seat.2 = seat.2.saturating_sub(bytes);
        }
        let bytes = Bytes(bytes);
        self.send(Event::HostReleased { unit, bytes });
        self.send(Event::DeviceReleased { attempt, bytes });
    }

    pub fn device_up(&mut self, id: DeviceId, memory: u64) {
        match self.devices.get(&id) {
            Some(device) if device.in_service => {}
            Some(_) => {
                self.lose(id);
                self.pending
                    .retain(|pending| *pending != Pending::Probe(id));
                self.devices.get_mut(&id).unwrap().memory = memory;
            }
            None => {
                let device = ModelDevice {
                    memory,
                    in_service: true,
                    ..ModelDevice::default()
                };
                self.devices.insert(id, device);
            }
        }
        let (device, memory) = (id, Bytes(memory));
        self.send(Event::DeviceUp { device, memory });
    }

    pub fn device_down(&mut self, device: DeviceId, for_good: bool) {
        if !self.devices.contains_key(&device) {
            return;
        }
        self.lose(device);
        if for_good {
            self.pending
                .retain(|pending| *pending != Pending::Probe(device));
            self.send(Event::DeviceRemoved { device });
            self.devices.remove(&device);
        } else {
            self.send(Event::DeviceDown { device });
        }
    }

    /// Takes from a device all that is in its memory.
    fn lose(&mut self, id: DeviceId) {
        let place = Place::Device(id);
        self.pending.retain(|pending| match pending {
            Pending::Load(_, at) | Pending::Evict(_, at) => *at != place,
            _ => true,
        });
        let device = self.devices.get_mut(&id).unwrap();
        let resources = std::mem::take(&mut device.resources);
        let lanes = std::mem::take(&mut device.lanes);
        for circuit in resources.into_keys() {
            self.evicted(circuit, place);
        }
        for unit in lanes.into_values() {
            let model = self.unit(unit);
            model.seat = None;
            if model.aborted {
                continue;
            }
            model.failures.push((Some(id), Fault::Lost));
            let number = model.attempts;
            let attempt = Attempt { unit, number };
            self.pending.retain(|p| *p != Pending::Run(attempt));
            self.lost.push(attempt);
        }
    }

    /// Answers everything well until nothing is under way; time goes on when nothing else does.
    pub fn drain(&mut self) {
        for _ in 0..100_000 {
            if !self.pending.is_empty() {
                self.answer(0, true, Fault::Device);
            } else if self.jobs.values().all(|job| job.outcome.is_some()) {
                return;
            } else {
                let at = self.scheduler.next_wakeup();
                self.now = at
                    .expect("jobs are left and nothing will happen")
                    .max(self.now);
                self.send(Event::Tick);
            }
        }
        panic!("jobs are left");
    }
}
