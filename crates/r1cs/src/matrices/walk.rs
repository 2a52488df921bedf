//! From the root to the rows of a range.

use std::ops::Range;

use super::Matrices;
use super::template::ItemKind;
use crate::rows::OwnReader;
use crate::{Column, Matrix, R1csError, Term};

/// Consecutive own rows of one instance of a template.
struct Run<'a> {
    template: usize,
    /// Which of the template's runs of own rows this is a part of.
    run: u32,
    /// Which own rows, or which rows of a template that is decoded flat.
    own: Range<u32>,
    /// The variable that is the instance's first aux variable. Variables are numbered inputs first.
    base: u32,
    /// The variable of each slot.
    slots: &'a [u32],
}

impl Run<'_> {
    /// The variable behind a column, or `None` for one that the template does not have.
    #[inline]
    fn variable(&self, column: Column, aux: u32) -> Option<u32> {
        match column {
            Column::Dense(slot) => self.slots.get(slot as usize).copied(),
            Column::Sparse(local) => (local < aux).then(|| self.base + local),
        }
    }
}

/// An instance of a template on the way down.
#[derive(Copy, Clone)]
struct Instance {
    template: usize,
    base: u32,
    /// Where its slots start among those of the path.
    slots: usize,
}

struct Walk<'m, F> {
    matrices: &'m Matrices,
    /// The slots of all instances on the path.
    path: Vec<u32>,
    visit: F,
}

impl<F: FnMut(Run<'_>) -> Result<(), R1csError>> Walk<'_, F> {
    /// Visits the rows `first..end` of an instance.
    fn enter(&mut self, instance: Instance, first: u32, end: u32) -> Result<(), R1csError> {
        let template = &self.matrices.templates[instance.template];
        if self.matrices.is_flat(instance.template) {
            let slots = instance.slots..instance.slots + template.slots as usize;
            return (self.visit)(Run {
                template: instance.template,
                run: 0,
                own: first..end,
                base: instance.base,
                slots: &self.path[slots],
            });
        }
        for (item, rows) in template.items_within(first..end) {
            match item.kind {
                ItemKind::Rows { first, run } => {
                    let slots = instance.slots..instance.slots + template.slots as usize;
                    (self.visit)(Run {
                        template: instance.template,
                        run,
                        own: first + rows.start..first + rows.end,
                        base: instance.base,
                        slots: &self.path[slots],
                    })?;
                }
                ItemKind::Call(call) => {
                    let called = Instance {
                        template: call.template as usize,
                        base: instance.base + call.offset,
                        slots: self.path.len(),
                    };
                    for argument in template.arguments_of(&call) {
                        let variable = match *argument {
                            Column::Dense(slot) => self.path[instance.slots + slot as usize],
                            Column::Sparse(local) => instance.base + local,
                        };
                        self.path.push(variable);
                    }
                    self.enter(called, rows.start, rows.end)?;
                    self.path.truncate(called.slots);
                }
            }
        }
        Ok(())
    }
}

impl Matrices {
    /// Visits the runs of own rows that make up the rows of a range, in order.
    fn walk(
        &self,
        rows: Range<usize>,
        visit: impl FnMut(Run<'_>) -> Result<(), R1csError>,
    ) -> Result<(), R1csError> {
        let root = Instance {
            template: self.templates.len() - 1,
            base: self.inputs,
            slots: 0,
        };
        let mut walk = Walk {
            matrices: self,
            path: (0..self.inputs).collect(),
            visit,
        };
        walk.enter(root, rows.start as u32, rows.end.min(self.rows()) as u32)
    }

    /// Visits the rows of a range of one matrix in order: the terms of each, `Dense` columns naming inputs, `Sparse`
    /// columns aux variables. Every column lies in the circuit and every coefficient in its table.
    ///
    /// Errors: those of `visit`, and [`R1csError::Rows`] where the matrix does not decode.
    pub fn for_each_row(
        &self,
        matrix: Matrix,
        rows: Range<usize>,
        mut visit: impl FnMut(&[Term]) -> Result<(), R1csError>,
    ) -> Result<(), R1csError> {
        let mut row = Vec::new();
        let inputs = self.inputs;
        let column = |variable: u32| match variable.checked_sub(inputs) {
            None => Column::Dense(variable),
            Some(aux) => Column::Sparse(aux),
        };
        self.walk(rows, |run| {
            if let Some(decoded) = self.decoded(run.template, matrix) {
                return decoded.for_each(run.run, run.own, &self.coefficients, |terms| {
                    row.clear();
                    row.extend(terms.iter().map(|term| Term {
                        column: column(match term.place.column() {
                            Column::Dense(slot) => run.slots[slot as usize],
                            Column::Sparse(local) => run.base + local,
                        }),
                        coefficient: term.coefficient,
                    }));
                    visit(&row)
                });
            }
            let template = &self.templates[run.template];
            let mut reader = OwnReader::seek(template.own(matrix), run.own.start as usize)?;
            for _ in run.own.clone() {
                reader.row(&mut row)?;
                for term in &mut row {
                    if term.coefficient as usize >= self.coefficients.len() {
                        return Err(reader.error("a coefficient that the table does not have"));
                    }
                    match run.variable(term.column, template.aux) {
                        Some(variable) => term.column = column(variable),
                        None => return Err(reader.error("a column that the circuit does not have")),
                    }
                }
                visit(&row)?;
            }
            Ok(())
        })
    }
}
