//! The rows of a template that is called more than once, ready to be evaluated.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::template::{ItemKind, Template};
use crate::rows::OwnReader;
use crate::{Column, Matrix, R1csError};

/// One non-zero: which of its run's variables, and the coefficient's index.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LocalTerm {
    pub(crate) variable: u32,
    pub(crate) coefficient: u32,
}

/// A template's own rows of one matrix. Each run of rows has a list of the variables that it names, slots before locals,
/// so that an instance looks each of them up once however many terms name it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoded {
    /// Where each run's slots and where its locals start, then the end.
    bounds: Vec<u32>,
    variables: Vec<u32>,
    /// Where each row's terms start, then the end.
    starts: Vec<u32>,
    terms: Vec<LocalTerm>,
}

/// A hasher for keys that are one integer and come from no adversary who gains by collisions.
#[derive(Clone, Debug, Default)]
pub struct ColumnHasher(u64);

impl Hasher for ColumnHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(26) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

/// A map by column.
pub type ColumnMap<V> = HashMap<Column, V, BuildHasherDefault<ColumnHasher>>;

impl Decoded {
    /// Decodes and checks: every column lies in the template, every coefficient below `coefficients`.
    pub(super) fn new(
        template: &Template,
        matrix: Matrix,
        coefficients: u32,
    ) -> Result<Self, R1csError> {
        let own = template.own(matrix);
        let mut reader = OwnReader::seek(own, 0)?;
        let mut decoded = Self::default();
        let mut numbers = ColumnMap::default();
        let mut columns = Vec::new();
        decoded.starts.push(0);
        for (index, item) in template.items.iter().enumerate() {
            let ItemKind::Rows { .. } = item.kind else {
                continue;
            };
            numbers.clear();
            columns.clear();
            let first_term = decoded.terms.len();
            for _ in item.first_row..template.item_end(index) {
                reader.next_row()?;
                while let Some(term) = reader.next_term()? {
                    let known = match term.column {
                        Column::Dense(slot) => slot < template.slots,
                        Column::Sparse(local) => local < template.aux,
                    };
                    if !known || term.coefficient >= coefficients {
                        return Err(
                            reader.error("a column or coefficient that the template does not have")
                        );
                    }
                    let variable = *numbers.entry(term.column).or_insert_with(|| {
                        columns.push(term.column);
                        columns.len() as u32 - 1
                    });
                    decoded.terms.push(LocalTerm {
                        variable,
                        coefficient: term.coefficient,
                    });
                }
                decoded.starts.push(decoded.terms.len() as u32);
            }
            decoded.close_run(&columns, first_term);
        }
        decoded.bounds.push(decoded.variables.len() as u32);
        Ok(decoded)
    }

    /// Orders a run's variables, slots before locals, each kind ascending, and renumbers its terms.
    fn close_run(&mut self, columns: &[Column], first_term: usize) {
        let mut order: Vec<u32> = (0..columns.len() as u32).collect();
        order.sort_unstable_by_key(|&number| columns[number as usize]);
        let mut renumbered = vec![0; columns.len()];
        let slots = columns
            .iter()
            .filter(|column| matches!(column, Column::Dense(_)))
            .count();
        let first = self.variables.len();
        self.bounds.extend([first as u32, (first + slots) as u32]);
        for (new, &old) in order.iter().enumerate() {
            renumbered[old as usize] = new as u32;
            let (Column::Dense(index) | Column::Sparse(index)) = columns[old as usize];
            self.variables.push(index);
        }
        for term in &mut self.terms[first_term..] {
            term.variable = renumbered[term.variable as usize];
        }
    }

    /// The slots and the locals that a run names. Its terms number them in this order.
    #[inline]
    pub(crate) fn variables(&self, run: u32) -> (&[u32], &[u32]) {
        let [first, split, end] = [0, 1, 2].map(|i| self.bounds[2 * run as usize + i] as usize);
        (&self.variables[first..split], &self.variables[split..end])
    }

    /// The terms of each own row of a range.
    #[inline]
    pub(crate) fn rows(&self, own: Range<u32>) -> impl Iterator<Item = &[LocalTerm]> {
        let starts = &self.starts[own.start as usize..=own.end as usize];
        starts
            .windows(2)
            .map(|row| &self.terms[row[0] as usize..row[1] as usize])
    }

    /// Bytes in memory.
    pub(crate) fn size_bytes(&self) -> usize {
        (self.bounds.len() + self.variables.len() + self.starts.len() + 2 * self.terms.len()) * 4
    }
}
