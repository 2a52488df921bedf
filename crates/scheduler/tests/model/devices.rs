//! Devices that are lost, and what is brought to them in advance.

use cuzk_scheduler::*;

use crate::caller::{Model, Pending};
use crate::policies::{D0, D1, circuit, job, small, unit};

/// Two units of one device, of which one fails: the device is out of service, and probed while the other still runs.
fn probed_while_it_runs() -> Model {
    let config = Config {
        max_faults: 1,
        ..small()
    };
    let mut model = Model::new(config);
    model.device_up(D0, 1000);
    model.submit(job(1, Priority::Normal, circuit(1, 1, 1), &[(1, 1); 2]));
    model.settle();
    assert_eq!(model.placed.len(), 2);
    model.end_run(unit(1, 0), false, Fault::Device);
    assert!(!model.devices[&D0].in_service);
    model.now = model.scheduler.next_wakeup().expect("a probe");
    model.send(Event::Tick);
    assert!(model.pending.contains(&Pending::Probe(D0)));
    model
}

/// A device that is lost while it is probed loses its contents and what still ran there; the probe is answered after it.
#[test]
fn a_device_is_lost_while_it_is_probed() {
    for works in [false, true] {
        let mut model = probed_while_it_runs();
        model.device_down(D0, false);
        let status = model.scheduler.device(D0).unwrap();
        assert_eq!((status.used, status.in_service), (Bytes(0), false));
        assert!(status.lanes.iter().all(Option::is_none));
        assert_eq!(model.pending, [Pending::Probe(D0)]);
        model.answer(0, works, Fault::Device);
        assert_eq!(model.devices[&D0].in_service, works);
        model.drain();
        assert_eq!(model.jobs[&JobId(1)].outcome, Some(Outcome::Completed));
        model.check_all_returned();
    }
}

/// A unit for which the only device is kept free is to avoid it once there is another, and is placed on it all the same when
/// that is gone.
#[test]
fn a_device_that_is_kept_free_is_used_when_there_is_no_other() {
    let config = Config {
        max_passes: 0,
        ..small()
    };
    let mut model = Model::new(config);
    model.device_up(D0, 58);
    let (first, second) = (circuit(1, 10, 0), circuit(2, 0, 10));
    let [large, small, other] = [unit(1, 0), unit(2, 0), unit(3, 0)];
    model.submit(job(1, Priority::High, first, &[(20, 58)]));
    model.settle();
    model.submit(job(2, Priority::High, first, &[(1, 1)]));
    model.settle();
    model.submit(job(3, Priority::High, second, &[(13, 0)]));
    let answer = |model: &mut Model, wanted: Pending, well: bool| {
        let at = model.pending.iter().position(|p| *p == wanted);
        let at = at.unwrap_or_else(|| panic!("{wanted:?} is not in {:?}", model.pending));
        model.answer(at, well, Fault::Device);
    };
    let run = |unit| Pending::Run(Attempt { unit, number: 1 });
    answer(&mut model, Pending::Witness(other), true);
    model.drop_witness(large);
    answer(&mut model, run(large), false);
    answer(&mut model, Pending::Witness(large), true);
    // The other's resource is there at last: it takes the new device, on which there is no room for both.
    answer(&mut model, Pending::Load(second.id, Place::Host), true);
    model.device_up(D1, 63);
    answer(
        &mut model,
        Pending::Load(second.id, Place::Device(D1)),
        true,
    );
    answer(&mut model, run(small), true);
    assert_eq!(model.placed.last().map(|p| p.0.unit), Some(other));
    model.device_down(D1, true);
    model.drain();
    model.check_all_returned();
}

fn on_devices(model: &Model, circuit: Circuit) -> Vec<bool> {
    let devices = model.devices.values();
    let there = devices.map(|device| device.resources.get(&circuit.id).is_some_and(|r| r.1));
    there.collect()
}

/// One word brings a resource to the host and from there to all devices with room, also where that is still leaving.
#[test]
fn a_resource_is_loaded_in_advance() {
    let mut model = Model::new(small());
    let (first, second) = (circuit(1, 30, 30), circuit(2, 30, 30));
    let devices = vec![D0, D1];
    model.device_up(D0, 50);
    model.device_up(D1, 80);
    let preload = |circuit| Event::Preload {
        circuit,
        devices: devices.clone(),
    };
    model.send(preload(first));
    assert_eq!(model.pending, [Pending::Load(first.id, Place::Host)]);
    model.settle();
    assert_eq!(on_devices(&model, first), [true, true]);
    // There is room for both on one device only, and nothing is evicted for the second.
    model.send(preload(second));
    model.settle();
    assert_eq!(on_devices(&model, first), [true, true]);
    assert_eq!(on_devices(&model, second), [false, true]);
    // What leaves counts as gone.
    model.send(Event::Unload { circuit: first.id });
    model.send(preload(second));
    model.settle();
    assert_eq!(on_devices(&model, second), [true, true]);
    assert!(model.refused.is_empty());
    // It is back at once where it was just to leave.
    model.send(Event::Unload { circuit: second.id });
    model.answer(0, true, Fault::Device);
    model.send(preload(second));
    model.settle();
    assert_eq!(on_devices(&model, second), [true, true]);
    // Too much for the host.
    model.send(preload(circuit(3, 71, 1)));
    assert_eq!(model.refused, [CircuitId(3)]);
    assert!(model.pending.is_empty());
    // Not wanted any more before it is there.
    model.send(preload(first));
    model.send(Event::Unload { circuit: first.id });
    model.settle();
    assert_eq!(on_devices(&model, first), [false, false]);
    model.check_all_returned();
}
