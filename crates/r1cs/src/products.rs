//! Rows that were evaluated where the witness was computed.

use std::fmt;
use std::sync::Arc;

use cuzk_curve::Fr;

/// Rows of a part: half a mebibyte.
const PART_ROWS: usize = 1 << 14;

/// Values of rows in order, in parts that an extensible synthesis shares with its children instead of copying them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RowVector {
    full: Vec<Arc<Vec<Fr>>>,
    last: Vec<Fr>,
    /// Rows of the full parts.
    rows: usize,
}

/// Their number: the values tell the witness, and are many.
impl fmt::Debug for RowVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowVector({} rows)", self.len())
    }
}

impl RowVector {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows + self.last.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row's value.
    #[inline]
    pub fn push(&mut self, value: Fr) {
        if self.last.len() == PART_ROWS {
            self.close();
            self.last.reserve_exact(PART_ROWS);
        }
        self.last.push(value);
    }

    /// Appends all rows of `other`; full parts are shared.
    pub fn append(&mut self, other: &Self) {
        self.close();
        self.full.extend(other.full.iter().cloned());
        self.rows += other.rows;
        self.last.extend_from_slice(&other.last);
    }

    fn close(&mut self) {
        if !self.last.is_empty() {
            self.rows += self.last.len();
            let mut part = std::mem::take(&mut self.last);
            part.shrink_to_fit();
            self.full.push(Arc::new(part));
        }
    }

    /// The values in order.
    pub fn parts(&self) -> impl Iterator<Item = &[Fr]> {
        let full = self.full.iter().map(|part| part.as_slice());
        full.chain([self.last.as_slice()])
    }

    /// Bytes in memory.
    pub fn size_bytes(&self) -> usize {
        (self.rows + self.last.capacity()) * size_of::<Fr>()
    }
}

/// A·w and B·w in constraint order; A·w goes on with a row for each input, its value. C·w is their product row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Products {
    /// A·w, constraints and inputs.
    pub a: RowVector,
    /// B·w, constraints.
    pub b: RowVector,
}

impl Products {
    /// Bytes in memory.
    pub fn size_bytes(&self) -> usize {
        self.a.size_bytes() + self.b.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order() {
        for (own, child) in [
            (0, 0),
            (3, 5),
            (PART_ROWS, PART_ROWS + 1),
            (2 * PART_ROWS - 1, 0),
        ] {
            let row = |i: usize| Fr::from(i as u64);
            let (mut rows, mut other) = (RowVector::default(), RowVector::default());
            (0..own).for_each(|i| rows.push(row(i)));
            (own..own + child).for_each(|i| other.push(row(i)));
            rows.append(&other);
            rows.push(row(own + child));
            let wanted: Vec<Fr> = (0..=own + child).map(row).collect();
            assert_eq!(rows.len(), wanted.len());
            assert!(!rows.is_empty());
            assert!(rows.size_bytes() >= 32 * wanted.len());
            assert!(rows.size_bytes() <= 32 * (wanted.len() + PART_ROWS));
            assert!(rows.parts().collect::<Vec<_>>().concat() == wanted);
        }
    }
}
