//! One block of constraints in terms of its own variables.

use std::ops::Range;

use crate::rows::OwnReader;
use crate::{Column, Matrix, R1csError, Rows, RowsWriter, Term};

/// A block of constraints that may be called from several places, or the root of a circuit.
///
/// Its columns are its own: `Sparse(j)` is the j-th aux variable counted from the block's first, `Dense(s)` is slot s, a
/// variable of the surroundings that each call names. The root's slots are the circuit's inputs.
#[derive(Clone, Debug)]
pub struct Template {
    pub(super) slots: u32,
    pub(super) aux: u32,
    pub(super) rows: u32,
    pub(super) own: [Rows; 3],
    pub(super) items: Vec<Item>,
    pub(super) arguments: Vec<Column>,
}

/// A part of a template: what follows from `first_row` on, up to the next item.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The template's row at which the part starts, rows of calls counted.
    pub first_row: u32,
    /// What it is.
    pub kind: ItemKind,
}

/// What a part of a template is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A run of the template's own rows.
    Rows {
        /// The first, among the template's own rows.
        first: u32,
        /// How many runs there are before it.
        run: u32,
    },
    /// All rows of another template.
    Call(Call),
}

/// A call of a template.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which template; one before the caller.
    pub template: u32,
    /// The caller's aux variable that is the called template's first.
    pub offset: u32,
    /// Where the arguments start in [`Template::arguments`].
    pub first_argument: u32,
    /// How many they are: one for each slot.
    pub arguments: u32,
}

/// A part of a template with what it refers to.
#[derive(Copy, Clone, Debug)]
pub enum Entry<'a> {
    /// A row: the terms of A, B and C.
    Row([&'a [Term]; 3]),
    /// A call: template, offset, and the caller's column for each slot.
    Call(u32, u32, &'a [Column]),
}

impl Template {
    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Number of aux variables from the block's first to its last.
    pub fn aux(&self) -> u32 {
        self.aux
    }

    /// Number of constraints, those of the called templates among them.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The template's own rows of one matrix.
    pub fn own(&self, matrix: Matrix) -> &Rows {
        &self.own[matrix as usize]
    }

    /// The parts in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The arguments of all calls.
    pub fn arguments(&self) -> &[Column] {
        &self.arguments
    }

    /// The arguments of one call.
    pub fn arguments_of(&self, call: &Call) -> &[Column] {
        let first = call.first_argument as usize;
        self.arguments
            .get(first..first + call.arguments as usize)
            .unwrap_or(&[])
    }

    /// The row after the last of item `index`.
    pub(super) fn item_end(&self, index: usize) -> u32 {
        self.items
            .get(index + 1)
            .map_or(self.rows, |next| next.first_row)
    }

    /// The items that have rows of a range, in order, and which of their rows.
    #[inline]
    pub(crate) fn items_within(
        &self,
        rows: Range<u32>,
    ) -> impl Iterator<Item = (Item, Range<u32>)> {
        let start = self
            .items
            .partition_point(|item| item.first_row <= rows.start)
            .saturating_sub(1);
        (start..self.items.len())
            .map(|index| (self.items[index], self.item_end(index)))
            .take_while(move |(item, _)| item.first_row < rows.end)
            .filter_map(move |(item, end)| {
                let first = rows.start.max(item.first_row) - item.first_row;
                let end = rows.end.min(end).saturating_sub(item.first_row);
                (first < end).then_some((item, first..end))
            })
    }

    /// Visits the rows and calls in order, as they stand: rows of called templates are not expanded.
    pub fn visit<E: From<R1csError>>(
        &self,
        mut entry: impl FnMut(Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let [a, b, c] = &self.own;
        let mut readers = [
            OwnReader::seek(a, 0)?,
            OwnReader::seek(b, 0)?,
            OwnReader::seek(c, 0)?,
        ];
        let mut row: [Vec<Term>; 3] = Default::default();
        for (index, item) in self.items.iter().enumerate() {
            match &item.kind {
                ItemKind::Call(call) => {
                    entry(Entry::Call(
                        call.template,
                        call.offset,
                        self.arguments_of(call),
                    ))?;
                }
                ItemKind::Rows { .. } => {
                    for _ in item.first_row..self.item_end(index) {
                        for (reader, terms) in readers.iter_mut().zip(&mut row) {
                            reader.row(terms)?;
                        }
                        entry(Entry::Row(row.each_ref().map(Vec::as_slice)))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Writes a template part by part.
#[derive(Clone, Debug)]
pub struct TemplateWriter {
    own: [RowsWriter; 3],
    items: Vec<Item>,
    arguments: Vec<Column>,
    rows: usize,
    runs: u32,
}

impl Default for TemplateWriter {
    fn default() -> Self {
        Self {
            own: Matrix::ALL.map(|matrix| RowsWriter::new(matrix.name())),
            items: Vec::new(),
            arguments: Vec::new(),
            rows: 0,
            runs: 0,
        }
    }
}

impl TemplateWriter {
    /// Number of rows so far, those of calls among them.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Forgets all parts and keeps the room.
    pub fn clear(&mut self) {
        self.own.iter_mut().for_each(RowsWriter::clear);
        self.items.clear();
        self.arguments.clear();
        self.rows = 0;
        self.runs = 0;
    }

    /// The parts so far, in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The arguments of all calls so far.
    pub fn arguments(&self) -> &[Column] {
        &self.arguments
    }

    /// The encoding of the own rows of one matrix so far.
    pub fn bytes(&self, matrix: Matrix) -> &[u8] {
        self.own[matrix as usize].bytes()
    }

    /// Whether what was written, with this many slots and aux variables, is that template: equal rows and calls in the
    /// same order.
    pub fn equals(&self, template: &Template, slots: u32, aux: u32) -> bool {
        (slots, aux, self.rows) == (template.slots, template.aux, template.rows as usize)
            && self.items == template.items
            && self.arguments == template.arguments
            && self
                .own
                .iter()
                .zip(&template.own)
                .all(|(written, own)| written.bytes() == &own.bytes()[..])
    }

    /// Appends a row: the terms of A, B and C.
    pub fn push_row(&mut self, row: [&[Term]; 3]) {
        if !matches!(
            self.items.last(),
            Some(Item {
                kind: ItemKind::Rows { .. },
                ..
            })
        ) {
            self.items.push(Item {
                first_row: self.rows as u32,
                kind: ItemKind::Rows {
                    first: self.own[0].len() as u32,
                    run: self.runs,
                },
            });
            self.runs += 1;
        }
        for (own, terms) in self.own.iter_mut().zip(row) {
            own.push_row(terms.len(), terms.iter().copied());
        }
        self.rows += 1;
    }

    /// Appends a call of template number `template`, of `rows` rows, whose first aux variable is the caller's aux
    /// variable `offset`, with the caller's column for each of its slots.
    pub fn push_call(
        &mut self,
        template: u32,
        rows: u32,
        offset: u32,
        arguments: impl IntoIterator<Item = Column>,
    ) {
        let first = self.arguments.len();
        self.arguments.extend(arguments);
        self.items.push(Item {
            first_row: self.rows as u32,
            kind: ItemKind::Call(Call {
                template,
                offset,
                first_argument: first as u32,
                arguments: (self.arguments.len() - first) as u32,
            }),
        });
        self.rows += rows as usize;
    }

    /// The finished template, of this many slots and aux variables.
    pub fn finish(mut self, slots: u32, aux: u32) -> Template {
        self.items.shrink_to_fit();
        self.arguments.shrink_to_fit();
        Template {
            slots,
            aux,
            rows: self.rows as u32,
            own: self.own.map(RowsWriter::finish),
            items: self.items,
            arguments: self.arguments,
        }
    }
}

/// The parts of a template as a file stores them: how many rows follow, or a call.
#[derive(Copy, Clone, Debug)]
pub enum StoredItem {
    /// So many own rows.
    Rows(u32),
    /// A call with its number of rows.
    Call(Call, u32),
}

impl Template {
    /// Takes stored parts as a template. What the parts refer to is checked by [`crate::Matrices::new`].
    ///
    /// Errors: [`R1csError::Count`] where the rows do not add up.
    pub fn from_parts(
        slots: u32,
        aux: u32,
        own: [Rows; 3],
        stored: &[StoredItem],
        arguments: Vec<Column>,
    ) -> Result<Self, R1csError> {
        let mut items = Vec::with_capacity(stored.len());
        let (mut rows, mut first, mut run) = (0u64, 0u64, 0);
        for item in stored {
            let first_row = rows.min(u64::from(u32::MAX)) as u32;
            match *item {
                StoredItem::Rows(count) => {
                    let kind = ItemKind::Rows {
                        first: first as u32,
                        run,
                    };
                    items.push(Item { first_row, kind });
                    run += 1;
                    first += u64::from(count);
                    rows += u64::from(count);
                }
                StoredItem::Call(call, count) => {
                    let kind = ItemKind::Call(call);
                    items.push(Item { first_row, kind });
                    rows += u64::from(count);
                }
            }
            if rows > u64::from(u32::MAX) {
                let limit = u32::MAX as usize;
                return Err(R1csError::TooLarge {
                    what: "rows of a template",
                    limit,
                    found: rows as usize,
                });
            }
        }
        for rows in &own {
            if rows.len() as u64 != first {
                return Err(R1csError::Count {
                    what: "a template's own rows",
                    wanted: first as usize,
                    found: rows.len(),
                });
            }
        }
        Ok(Self {
            slots,
            aux,
            rows: rows as u32,
            own,
            items,
            arguments,
        })
    }
}
