//! Units that wait for a lane, in the order in which their witnesses were started, for each priority.

use std::collections::{BTreeSet, HashMap};

use crate::types::{CircuitId, Priority, UnitId};

type Order = BTreeSet<(u64, UnitId)>;

/// The ready units.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    classes: [Order; 4],
    by_circuit: HashMap<CircuitId, [Order; 4]>,
}

/// A place in the order of all ready units.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) class: Priority,
    pub(crate) sequence: u64,
    pub(crate) unit: UnitId,
}

impl Ready {
    pub(crate) fn insert(&mut self, at: Position, circuit: CircuitId) {
        let rank = at.class.rank();
        self.classes[rank].insert((at.sequence, at.unit));
        let orders = self.by_circuit.entry(circuit).or_default();
        orders[rank].insert((at.sequence, at.unit));
    }

    pub(crate) fn remove(&mut self, at: Position, circuit: CircuitId) {
        let rank = at.class.rank();
        self.classes[rank].remove(&(at.sequence, at.unit));
        if let Some(orders) = self.by_circuit.get_mut(&circuit) {
            orders[rank].remove(&(at.sequence, at.unit));
            if orders.iter().all(BTreeSet::is_empty) {
                self.by_circuit.remove(&circuit);
            }
        }
    }

    /// The first unit of a class after a place in it, or the first of all.
    pub(crate) fn next(&self, class: Priority, after: Option<(u64, UnitId)>) -> Option<Position> {
        let order = &self.classes[class.rank()];
        let &(sequence, unit) = match after {
            None => order.first()?,
            Some(last) => {
                let later = (std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded);
                order.range(later).next()?
            }
        };
        Some(Position {
            class,
            sequence,
            unit,
        })
    }

    /// The first unit of a class and a circuit.
    pub(crate) fn first_of(&self, class: Priority, circuit: CircuitId) -> Option<(u64, UnitId)> {
        let orders = self.by_circuit.get(&circuit)?;
        orders[class.rank()].first().copied()
    }

    pub(crate) fn has(&self, class: Priority) -> bool {
        !self.classes[class.rank()].is_empty()
    }
}
