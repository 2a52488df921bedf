//! From the root to the values of the rows of a range.

use std::array::from_fn;
use std::ops::Range;

use cuzk_curve::Fr;
use ff::Field;

use super::groups::Values;
use super::kernel::{Kernel, Sum, WIDE};
use super::operands::{Operands, View};
use crate::matrices::{Item, ItemKind, Template};
use crate::rows::OwnReader;
use crate::{Call, Column, Matrix, R1csError};

/// Evaluates rows of `N` matrices in order and hands out their values with the number of the row.
pub(super) struct Evaluator<'a, const N: usize, F> {
    kernel: &'a Kernel<'a>,
    matrices: [Matrix; N],
    take: F,
    /// The next row.
    row: usize,
    /// The variables behind the slots of the encoded instances on the path, inputs first.
    variables: Vec<u32>,
    /// The aux variables of the decoded instance that was entered first, and the slots of those on the path.
    aux: Operands,
    slots: Operands,
    marked: bool,
    values: [Values; N],
}

/// An instance of a template on the way down: the variable or the place that is its first aux variable, and where its
/// slots start among those of the path.
#[derive(Copy, Clone)]
struct Instance {
    template: usize,
    base: u32,
    slots: usize,
}

impl<'a, const N: usize, F: FnMut(usize, [&Fr; N])> Evaluator<'a, N, F> {
    pub(super) fn new(kernel: &'a Kernel<'a>, matrices: [Matrix; N], take: F) -> Self {
        Self {
            kernel,
            matrices,
            take,
            row: 0,
            variables: (0..kernel.inputs).collect(),
            aux: Operands::default(),
            slots: Operands::default(),
            marked: false,
            values: from_fn(|_| Values::default()),
        }
    }

    /// Evaluates the rows of a range.
    pub(super) fn rows(mut self, rows: Range<usize>) -> Result<(), R1csError> {
        self.row = rows.start;
        let root = Instance {
            template: self.kernel.r1cs.matrices.templates().len() - 1,
            base: self.kernel.inputs,
            slots: 0,
        };
        self.encoded(root, rows.start as u32..rows.end as u32)
    }

    fn template(&self, instance: Instance) -> &'a Template {
        &self.kernel.r1cs.matrices.templates()[instance.template]
    }

    /// The rows of an instance of a template that is not decoded. Its base is a variable.
    fn encoded(&mut self, instance: Instance, rows: Range<u32>) -> Result<(), R1csError> {
        let template = self.template(instance);
        for (item, rows) in template.items_within(rows) {
            match item.kind {
                ItemKind::Rows { first, .. } => {
                    self.encoded_rows(instance, first + rows.start..first + rows.end)?;
                }
                ItemKind::Call(call) => {
                    let called = Instance {
                        template: call.template as usize,
                        base: instance.base + call.offset,
                        slots: self.variables.len(),
                    };
                    for argument in template.arguments_of(&call) {
                        let variable = match *argument {
                            Column::Dense(slot) => self.variables[instance.slots + slot as usize],
                            Column::Sparse(local) => instance.base + local,
                        };
                        self.variables.push(variable);
                    }
                    if self.kernel.r1cs.matrices.is_decoded(called.template) {
                        self.enter(called, rows);
                    } else {
                        self.encoded(called, rows)?;
                    }
                    self.variables.truncate(called.slots);
                }
            }
        }
        Ok(())
    }

    fn encoded_rows(&mut self, instance: Instance, own: Range<u32>) -> Result<(), R1csError> {
        let (template, kernel) = (self.template(instance), self.kernel);
        let mut readers = Vec::with_capacity(N);
        for matrix in self.matrices {
            readers.push(OwnReader::seek(template.own(matrix), own.start as usize)?);
        }
        let slots = &self.variables[instance.slots..];
        let mut values = [Fr::ZERO; N];
        for _ in own {
            for (reader, value) in readers.iter_mut().zip(&mut values) {
                reader.next_row()?;
                let mut sum = Sum::default();
                while let Some(term) = reader.next_term()? {
                    let variable = match term.column {
                        Column::Dense(slot) => slots.get(slot as usize).copied(),
                        Column::Sparse(local) => {
                            (local < template.aux()).then(|| instance.base + local)
                        }
                    };
                    let Some(variable) = variable else {
                        return Err(reader.error("a column that the template does not have"));
                    };
                    if term.coefficient as usize >= kernel.r1cs.coefficients.len() {
                        return Err(reader.error("a coefficient that the table does not have"));
                    }
                    kernel.add(&mut sum, kernel.operand(variable), term.coefficient);
                }
                *value = kernel.value(&sum);
            }
            (self.take)(self.row, values.each_ref());
            self.row += 1;
        }
        Ok(())
    }

    /// The rows of an instance of a decoded template that is called by one that is not.
    fn enter(&mut self, instance: Instance, rows: Range<u32>) {
        let kernel = self.kernel;
        let aux = self.template(instance).aux();
        self.marked = self.aux.load(kernel, instance.base - kernel.inputs, aux);
        self.slots.truncate(0);
        for &variable in &self.variables[instance.slots..] {
            let operand = kernel.operand(variable);
            self.marked |= operand >= WIDE;
            self.slots.push(operand);
        }
        let instance = Instance {
            base: 0,
            slots: 0,
            ..instance
        };
        self.decoded(instance, rows);
    }

    /// The rows of an instance of a decoded template. Its base is a place among the loaded aux variables.
    fn decoded(&mut self, instance: Instance, rows: Range<u32>) {
        let template = self.template(instance);
        if self.kernel.r1cs.matrices.is_flat(instance.template) {
            return self.run(instance, 0, rows);
        }
        for (Item { kind, .. }, rows) in template.items_within(rows) {
            match kind {
                ItemKind::Rows { first, run } => {
                    self.run(instance, run, first + rows.start..first + rows.end);
                }
                ItemKind::Call(call) => self.call(template, instance, call, rows),
            }
        }
    }

    fn call(&mut self, template: &Template, caller: Instance, call: Call, rows: Range<u32>) {
        let called = Instance {
            template: call.template as usize,
            base: caller.base + call.offset,
            slots: self.slots.len(),
        };
        for argument in template.arguments_of(&call) {
            let (from, index) = match *argument {
                Column::Dense(slot) => (&self.slots, caller.slots + slot as usize),
                Column::Sparse(local) => (&self.aux, (caller.base + local) as usize),
            };
            let (byte, operand) = (from.bytes[index], from.wide[index]);
            self.slots.push_raw(byte, operand);
        }
        self.decoded(called, rows);
        self.slots.truncate(called.slots);
    }

    /// Rows of a run of a decoded template.
    fn run(&mut self, instance: Instance, run: u32, rows: Range<u32>) {
        let base = instance.base as usize;
        let view = View {
            bytes: [&self.slots.bytes[instance.slots..], &self.aux.bytes[base..]],
            wide: [&self.slots.wide[instance.slots..], &self.aux.wide[base..]],
            marked: self.marked,
        };
        let matrices = &self.kernel.r1cs.matrices;
        for (matrix, values) in self.matrices.into_iter().zip(&mut self.values) {
            if let Some(decoded) = matrices.decoded(instance.template, matrix) {
                values.evaluate(self.kernel, decoded, run, &rows, view);
            }
        }
        let (kernel, values) = (self.kernel, &self.values);
        for row in 0..rows.len() {
            (self.take)(self.row + row, from_fn(|m| values[m].get(kernel, row)));
        }
        self.row += rows.len();
    }
}
