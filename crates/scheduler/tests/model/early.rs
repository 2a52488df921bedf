//! Jobs whose circuit is to be replaced.

use cuzk_scheduler::*;

use crate::caller::{Model, Pending};
use crate::policies::*;

/// The word that circuit 1 is replaced, by one whose units take so much of the host.
fn replaced(by: Circuit, host: u64) -> Event {
    Event::Replaced {
        circuit: CircuitId(1),
        by,
        unit: UnitSpec {
            host: Bytes(host),
            device: Bytes(40),
        },
    }
}

/// Early jobs begin where nothing else waits and a slot is left; those of their units that have not begun take the circuit
/// that replaces theirs, if it fits.
#[test]
fn early_jobs_stand_back_until_their_circuit_is_replaced() {
    let mut model = Model::new(Config {
        witness_slots: 2,
        ..small()
    });
    model.device_up(D0, 100);
    let (first, compiled) = (circuit(1, 0, 10), circuit(2, 5, 20));
    let units = [(40, 30), (40, 30), (40, 30)];
    let spec = job(1, Priority::High, first, &units);
    model.send(Event::SubmittedEarly(spec));
    assert_eq!(model.started, [unit(1, 0)], "one slot is left");
    model.submit(job(
        2,
        Priority::Low,
        circuit(3, 0, 0),
        &[(30, 10), (70, 10)],
    ));
    assert_eq!(model.started, [unit(1, 0), unit(2, 0)]);
    model.settle();
    // What waits for memory goes ahead of it, whatever its priority.
    assert_eq!(model.started, [unit(1, 0), unit(2, 0)]);
    model.end_run(unit(2, 0), true, Fault::Device);
    model.end_run(unit(1, 0), true, Fault::Device);
    assert_eq!(model.started[2..], [unit(2, 1)]);
    assert_eq!(model.circuit(unit(1, 1)), CircuitId(1));
    model.send(replaced(compiled, 10));
    assert_eq!(model.scheduler.circuit(unit(1, 0)), Some(CircuitId(1)));
    for index in [1, 2] {
        assert_eq!(model.scheduler.circuit(unit(1, index)), Some(CircuitId(2)));
    }
    model.settle();
    assert_eq!(model.started[3..], [unit(1, 1), unit(1, 2)]);
    model.drain();
    assert_eq!(model.jobs[&JobId(1)].outcome, Some(Outcome::Completed));

    // A circuit that fits nowhere takes no one's place, and the job waits in the queue like all others.
    for (host, device) in [(91, 20), (5, 90)] {
        let id = 10 + host;
        let spec = job(id, Priority::Low, first, &[(40, 30), (40, 30)]);
        model.send(Event::SubmittedEarly(spec));
        model.send(replaced(circuit(2, host, device), 10));
        assert_eq!(model.scheduler.circuit(unit(id, 1)), Some(CircuitId(1)));
        assert!(model.started.ends_with(&[unit(id, 0), unit(id, 1)]));
        model.drain();
    }
    // Where there are no early jobs it means nothing.
    model.send(replaced(compiled, 10));
    model.check_all_returned();
}

/// A witness that is being computed when its circuit is replaced may be stopped, and is begun anew with the other circuit.
#[test]
fn a_witness_that_is_overtaken_is_begun_anew() {
    let mut model = Model::new(Config {
        witness_slots: 2,
        ..small()
    });
    model.device_up(D0, 100);
    let (first, compiled) = (circuit(1, 0, 10), circuit(2, 5, 20));
    model.send(Event::SubmittedEarly(job(
        1,
        Priority::Low,
        first,
        &[(40, 30), (40, 30)],
    )));
    assert!(model.started.ends_with(&[unit(1, 0)]));
    let ignored = model.scheduler.stats().ignored;
    model.send(Event::WitnessStopped { unit: unit(1, 0) });
    assert_eq!(
        model.scheduler.stats().ignored,
        ignored + 1,
        "nothing came in its place yet"
    );
    model.send(replaced(compiled, 10));
    assert_eq!(
        model.unit(unit(1, 0)).overtaken,
        Some((
            compiled.id,
            UnitSpec {
                host: Bytes(10),
                device: Bytes(40)
            }
        ))
    );
    let at = model
        .pending
        .iter()
        .position(|p| *p == Pending::Witness(unit(1, 0)));
    model.answer(at.unwrap(), false, Fault::Device);
    assert_eq!(model.scheduler.circuit(unit(1, 0)), Some(compiled.id));
    model.drain();
    let again = model
        .started
        .iter()
        .filter(|started| **started == unit(1, 0));
    assert_eq!(again.count(), 2);
    assert_eq!(model.jobs[&JobId(1)].outcome, Some(Outcome::Completed));
    model.check_all_returned();
}

/// The device that the other circuit fitted is gone when the witness is stopped: nothing else could ever run it.
#[test]
fn an_overtaken_unit_that_fits_no_device_any_more_ends_its_job() {
    let mut model = Model::new(Config {
        witness_slots: 2,
        ..small()
    });
    model.device_up(D0, 50);
    model.device_up(D1, 100);
    let (first, compiled) = (circuit(1, 0, 10), circuit(2, 5, 20));
    let spec = job(1, Priority::Low, first, &[(40, 30)]);
    model.send(Event::SubmittedEarly(spec));
    model.send(replaced(compiled, 10));
    model.device_down(D1, true);
    let witness = |p: &Pending| *p == Pending::Witness(unit(1, 0));
    let at = model.pending.iter().position(witness).unwrap();
    model.answer(at, false, Fault::Device);
    let (needed, largest) = (Bytes(60), Bytes(50));
    assert_eq!(
        model.jobs[&JobId(1)].outcome,
        Some(Outcome::Unavailable { needed, largest })
    );
    model.settle();
    model.check_all_returned();
}
