//! Which variables occur in a matrix.

use super::Matrices;
use super::template::{ItemKind, Template};
use crate::rows::OwnReader;
use crate::{Bitmap, Column, Matrix, R1csError, RunBitmap};

/// Which of a template's variables occur in its rows, those of its calls among them.
struct Touched {
    slots: Bitmap,
    aux: Bitmap,
}

impl Touched {
    fn set(&mut self, column: Column) {
        match column {
            Column::Dense(slot) => self.slots.set(slot as usize),
            Column::Sparse(local) => self.aux.set(local as usize),
        }
    }
}

impl Matrices {
    /// The inputs and aux variables that occur in the rows of templates that occur once. What a file stores of the
    /// density: the rest follows from few rows.
    pub fn touched_once(&self, matrix: Matrix) -> Result<[Bitmap; 2], R1csError> {
        let aux = self.templates.last().map_or(0, |root| root.aux);
        let mut found = [
            Bitmap::zeros(self.inputs as usize),
            Bitmap::zeros(aux as usize),
        ];
        self.walk_once(&mut |instance, template| {
            own_columns(template, matrix, |column| match instance.resolve(column) {
                Column::Dense(input) => found[0].set(input as usize),
                Column::Sparse(aux) => found[1].set(aux as usize),
            })
        })?;
        Ok(found)
    }

    /// The inputs and aux variables that occur in a matrix, given those that occur in the rows of templates that occur
    /// once.
    ///
    /// Errors: [`R1csError::Rows`] where a template that occurs more than once does not decode.
    pub fn touched(&self, matrix: Matrix, once: [Bitmap; 2]) -> Result<[Bitmap; 2], R1csError> {
        let memo = self.touched_templates(matrix)?;
        let [inputs, aux] = once;
        let mut found = Touched { slots: inputs, aux };
        self.walk_once(&mut |instance, template| {
            for item in &template.items {
                if let ItemKind::Call(call) = item.kind
                    && let Some(called) = &memo[call.template as usize]
                {
                    found
                        .aux
                        .union_at((instance.base + call.offset) as usize, &called.aux);
                    let arguments = template.arguments_of(&call);
                    for slot in called.slots.iter_ones() {
                        found.set(instance.resolve(arguments[slot]));
                    }
                }
            }
            Ok(())
        })?;
        Ok([found.slots, found.aux])
    }

    /// For a bitmap over the aux variables, what of it does not follow from the templates: for each template that occurs
    /// more than once, how its first occurrence differs from those of its calls; then how the whole differs from the
    /// calls of such templates. [`Matrices::with_differences`] is the inverse.
    pub fn differences(&self, bits: &Bitmap) -> Vec<Bitmap> {
        let mut first = vec![None; self.templates.len()];
        self.find_first(self.templates.len() - 1, 0, &mut first);
        let mut found: Vec<Option<Bitmap>> = Vec::new();
        let mut differences = Vec::new();
        for (index, template) in self.templates.iter().enumerate() {
            found.push(
                first[index]
                    .filter(|_| self.occurrences[index] > 1)
                    .map(|base| {
                        let own = bits.slice(base as usize, template.aux as usize);
                        let mut difference = from_calls(template, &found);
                        difference.flip(&own);
                        differences.push(difference);
                        own
                    }),
            );
        }
        let mut whole = self.repeated_bits(&found);
        whole.flip(bits);
        differences.push(whole);
        differences
    }

    /// The bitmap over the aux variables of which `next` gives the differences in order, each of the length it is
    /// called with.
    pub fn with_differences<E>(
        &self,
        mut next: impl FnMut(usize) -> Result<RunBitmap, E>,
    ) -> Result<Bitmap, E> {
        let mut found: Vec<Option<Bitmap>> = Vec::new();
        for (template, &occurrences) in self.templates.iter().zip(&self.occurrences) {
            found.push(match occurrences {
                0 | 1 => None,
                _ => {
                    let mut bits = from_calls(template, &found);
                    next(template.aux as usize)?.flip(&mut bits);
                    Some(bits)
                }
            });
        }
        let mut whole = self.repeated_bits(&found);
        next(whole.len())?.flip(&mut whole);
        Ok(whole)
    }

    /// The bitmaps of repeated templates at each place where one is called by a template that occurs once.
    fn repeated_bits(&self, found: &[Option<Bitmap>]) -> Bitmap {
        let aux = self.templates.last().map_or(0, |root| root.aux);
        let mut whole = Bitmap::zeros(aux as usize);
        // The visitor returns no error.
        let _ = self.walk_once(&mut |instance, template| {
            for item in &template.items {
                if let ItemKind::Call(call) = item.kind
                    && let Some(called) = &found[call.template as usize]
                {
                    whole.union_at((instance.base + call.offset) as usize, called);
                }
            }
            Ok(())
        });
        whole
    }

    /// Notes the first aux variable of the first occurrence of each template.
    fn find_first(&self, template: usize, base: u32, first: &mut [Option<u32>]) {
        first[template] = Some(base);
        for item in &self.templates[template].items {
            if let ItemKind::Call(call) = item.kind
                && first[call.template as usize].is_none()
            {
                self.find_first(call.template as usize, base + call.offset, first);
            }
        }
    }

    /// What each template that occurs more than once touches.
    fn touched_templates(&self, matrix: Matrix) -> Result<Vec<Option<Touched>>, R1csError> {
        let mut memo: Vec<Option<Touched>> = Vec::with_capacity(self.templates.len());
        for (template, &occurrences) in self.templates.iter().zip(&self.occurrences) {
            if occurrences < 2 {
                memo.push(None);
                continue;
            }
            let mut touched = Touched {
                slots: Bitmap::zeros(template.slots as usize),
                aux: Bitmap::zeros(template.aux as usize),
            };
            own_columns(template, matrix, |column| touched.set(column))?;
            for item in &template.items {
                // What occurs often is called by what occurs often or once, so a callee here has a memo.
                if let ItemKind::Call(call) = item.kind
                    && let Some(called) = &memo[call.template as usize]
                {
                    touched.aux.union_at(call.offset as usize, &called.aux);
                    let arguments = template.arguments_of(&call);
                    for slot in called.slots.iter_ones() {
                        touched.set(arguments[slot]);
                    }
                }
            }
            memo.push(Some(touched));
        }
        Ok(memo)
    }

    /// Visits the instances of the templates that occur once, callers first.
    fn walk_once(
        &self,
        visit: &mut impl FnMut(&Once, &Template) -> Result<(), R1csError>,
    ) -> Result<(), R1csError> {
        let mut waiting = vec![Once {
            template: self.templates.len() - 1,
            base: 0,
            slots: None,
        }];
        while let Some(instance) = waiting.pop() {
            let template = &self.templates[instance.template];
            visit(&instance, template)?;
            for item in &template.items {
                let ItemKind::Call(call) = item.kind else {
                    continue;
                };
                if self.occurrences[call.template as usize] == 1 {
                    let arguments = template.arguments_of(&call).iter();
                    waiting.push(Once {
                        template: call.template as usize,
                        base: instance.base + call.offset,
                        slots: Some(arguments.map(|&column| instance.resolve(column)).collect()),
                    });
                }
            }
        }
        Ok(())
    }
}

/// The bitmaps of called templates at the places of their calls.
fn from_calls(template: &Template, found: &[Option<Bitmap>]) -> Bitmap {
    let mut bits = Bitmap::zeros(template.aux as usize);
    for item in &template.items {
        if let ItemKind::Call(call) = item.kind
            && let Some(called) = &found[call.template as usize]
        {
            bits.union_at(call.offset as usize, called);
        }
    }
    bits
}

/// The one instance of a template that occurs once.
struct Once {
    template: usize,
    /// The aux variable that is its first.
    base: u32,
    /// The input or aux variable of each slot. `None` of the root, whose slots are the inputs, however many.
    slots: Option<Vec<Column>>,
}

impl Once {
    /// The circuit's column for one of the template's.
    fn resolve(&self, column: Column) -> Column {
        match column {
            Column::Dense(slot) => match &self.slots {
                Some(slots) => slots[slot as usize],
                None => column,
            },
            Column::Sparse(local) => Column::Sparse(self.base + local),
        }
    }
}

/// Visits the columns of a template's own rows.
///
/// Errors: [`R1csError::Rows`] where the rows do not decode or name a column that the template does not have.
fn own_columns(
    template: &Template,
    matrix: Matrix,
    mut visit: impl FnMut(Column),
) -> Result<(), R1csError> {
    let rows = template.own(matrix);
    let mut reader = OwnReader::seek(rows, 0)?;
    for _ in 0..rows.len() {
        reader.next_row()?;
        while let Some(term) = reader.next_term()? {
            let known = match term.column {
                Column::Dense(slot) => slot < template.slots,
                Column::Sparse(local) => local < template.aux,
            };
            if !known {
                return Err(reader.error("a column that the template does not have"));
            }
            visit(term.column);
        }
    }
    Ok(())
}
