//! The rows of a template that is called more than once, ready to be evaluated.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::template::{ItemKind, Template};
use crate::rows::OwnReader;
use crate::{Column, Matrix, R1csError, Term};

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
    /// Whether the rows of calls are among the rows, all in one run.
    pub(super) flat: bool,
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

/// A run while its rows are decoded.
#[derive(Default)]
struct OpenRun {
    first_term: usize,
    /// The distinct columns so far, and their numbers.
    columns: Vec<Column>,
    numbers: ColumnMap<u32>,
}

impl OpenRun {
    fn number(&mut self, column: Column) -> u32 {
        *self.numbers.entry(column).or_insert_with(|| {
            self.columns.push(column);
            self.columns.len() as u32 - 1
        })
    }
}

impl Decoded {
    /// Decodes and checks: every column lies in the template, every coefficient below `coefficients`. Where `called` is
    /// given, the rows of calls are taken from what it has of the called templates.
    pub(super) fn new(
        template: &Template,
        matrix: Matrix,
        coefficients: u32,
        called: Option<&[Option<Box<[Self; 3]>>]>,
    ) -> Result<Self, R1csError> {
        let mut reader = OwnReader::seek(template.own(matrix), 0)?;
        let mut decoded = Self {
            flat: called.is_some(),
            starts: vec![0],
            ..Self::default()
        };
        let mut run = OpenRun::default();
        for (index, item) in template.items.iter().enumerate() {
            match (&item.kind, called) {
                (ItemKind::Rows { .. }, _) => {
                    for _ in item.first_row..template.item_end(index) {
                        decoded.read_row(&mut reader, template, coefficients, &mut run)?;
                    }
                    if called.is_none() {
                        decoded.close_run(&mut run);
                    }
                }
                (ItemKind::Call(call), Some(called)) => {
                    if let Some(inner) = &called[call.template as usize] {
                        let inner = &inner[matrix as usize];
                        decoded.take_rows(
                            inner,
                            template.arguments_of(call),
                            call.offset,
                            &mut run,
                        );
                    }
                }
                (ItemKind::Call(_), None) => {}
            }
        }
        if called.is_some() {
            decoded.close_run(&mut run);
        }
        decoded.bounds.push(decoded.variables.len() as u32);
        Ok(decoded)
    }

    fn read_row(
        &mut self,
        reader: &mut OwnReader<'_>,
        template: &Template,
        coefficients: u32,
        run: &mut OpenRun,
    ) -> Result<(), R1csError> {
        reader.next_row()?;
        while let Some(Term {
            column,
            coefficient,
        }) = reader.next_term()?
        {
            let known = match column {
                Column::Dense(slot) => slot < template.slots,
                Column::Sparse(local) => local < template.aux,
            };
            if !known || coefficient >= coefficients {
                return Err(reader.error("a column or coefficient that the template does not have"));
            }
            let variable = run.number(column);
            self.terms.push(LocalTerm {
                variable,
                coefficient,
            });
        }
        self.starts.push(self.terms.len() as u32);
        Ok(())
    }

    /// Appends the rows of a flat template that is called.
    fn take_rows(&mut self, inner: &Self, arguments: &[Column], offset: u32, run: &mut OpenRun) {
        let (slots, locals) = inner.variables(0);
        let slots = slots.iter().map(|&slot| arguments[slot as usize]);
        let locals = locals.iter().map(|&local| Column::Sparse(offset + local));
        let numbers: Vec<u32> = slots
            .chain(locals)
            .map(|column| run.number(column))
            .collect();
        let first = self.terms.len() as u32;
        self.terms.extend(inner.terms.iter().map(|term| LocalTerm {
            variable: numbers[term.variable as usize],
            ..*term
        }));
        self.starts
            .extend(inner.starts[1..].iter().map(|start| first + start));
    }

    /// Number of terms.
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Orders a run's variables, slots before locals, each kind ascending, and renumbers its terms.
    fn close_run(&mut self, run: &mut OpenRun) {
        let columns = &run.columns;
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
        for term in &mut self.terms[run.first_term..] {
            term.variable = renumbered[term.variable as usize];
        }
        *run = OpenRun {
            first_term: self.terms.len(),
            ..OpenRun::default()
        };
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
