//! Finds repeated blocks of constraints while they are recorded.
//!
//! A block is what a namespace encloses. When it closes, its variables get numbers of its own: aux variables from its
//! first on are counted from there, all others become slots by first occurrence. Two gadgets that do the same thing at
//! different places then read the same, whatever their names are, and the second is stored as a call of the first.
//! What is in no namespace, or in one of few rows, stays as rows of what encloses it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use cuzk_r1cs::{
    Column, ColumnHasher, ColumnMap, Entry, Matrices, Matrix, R1csError, Template, TemplateWriter,
    Term,
};

/// Rows that a block must have to be worth a call.
const MIN_ROWS: usize = 32;

/// An open namespace: where it starts in what is pending.
#[derive(Copy, Clone, Debug)]
struct Frame {
    parts: usize,
    terms: usize,
    columns: usize,
    /// The first aux variable that is its own.
    aux: u32,
}

/// A recorded part that is not in a template yet.
#[derive(Copy, Clone, Debug)]
enum Part {
    /// A row with this many terms in A, B and C.
    Row([u32; 3]),
    /// A call of a template, its first aux variable, and how many arguments it has.
    Call(u32, u32, u32),
}

/// Templates so far, and what is recorded outside them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    templates: Vec<Template>,
    depths: Vec<u32>,
    known: HashMap<u64, Vec<u32>, BuildHasherDefault<ColumnHasher>>,
    open: Vec<Frame>,
    parts: Vec<Part>,
    terms: Vec<Term>,
    /// Arguments of pending calls.
    columns: Vec<Column>,
    /// What is recorded while no namespace is open.
    root: TemplateWriter,
    /// Room for the block that is being closed.
    writer: TemplateWriter,
    slots: Slots,
}

impl Blocks {
    /// Appends a term to the row that [`Blocks::close_row`] ends.
    #[inline]
    pub(crate) fn push_term(&mut self, term: Term) {
        self.terms.push(term);
    }

    /// Ends a row of this many terms in A, B and C.
    pub(crate) fn close_row(&mut self, counts: [u32; 3]) {
        self.parts.push(Part::Row(counts));
        if self.open.is_empty() {
            self.flush();
        }
    }

    /// Opens a namespace of which `aux` is the first own variable.
    pub(crate) fn open(&mut self, aux: usize) {
        self.open.push(Frame {
            parts: self.parts.len(),
            terms: self.terms.len(),
            columns: self.columns.len(),
            aux: aux as u32,
        });
    }

    /// Closes the last namespace, whose own aux variables end before `aux`.
    pub(crate) fn close(&mut self, aux: usize) {
        let Some(frame) = self.open.pop() else {
            return;
        };
        let parts = &self.parts[frame.parts..];
        let rows: usize = parts.iter().map(|part| self.rows_of(part)).sum();
        let depths = parts.iter().map(|part| match *part {
            Part::Row(_) => 0,
            Part::Call(template, ..) => self.depths[template as usize] + 1,
        });
        let depth = depths.max().unwrap_or(0);
        // One call alone is that block already.
        if rows >= MIN_ROWS && parts.len() > 1 && depth < Matrices::MAX_DEPTH {
            self.close_block(frame, aux as u32 - frame.aux, depth);
        }
        if self.open.is_empty() {
            self.flush();
        }
    }

    fn rows_of(&self, part: &Part) -> usize {
        match *part {
            Part::Row(_) => 1,
            Part::Call(template, ..) => self.templates[template as usize].rows() as usize,
        }
    }

    /// Replaces what a frame holds by a call of it.
    fn close_block(&mut self, frame: Frame, aux: u32, depth: u32) {
        let Self { writer, slots, .. } = self;
        writer.clear();
        slots.begin(frame.aux);
        let mut terms = self.terms[frame.terms..].iter_mut();
        let mut columns = self.columns[frame.columns..].iter();
        for part in &self.parts[frame.parts..] {
            match *part {
                Part::Row(counts) => {
                    let mut row = counts.map(|count| take(&mut terms, count as usize));
                    for terms in &mut row {
                        // In place: the terms are not needed any more once the block has its template.
                        terms
                            .iter_mut()
                            .for_each(|term| term.column = slots.local(term.column));
                    }
                    writer.push_row(row_ref(row));
                }
                Part::Call(template, base, arguments) => {
                    let rows = self.templates[template as usize].rows();
                    let arguments = columns.by_ref().take(arguments as usize);
                    let arguments = arguments.map(|&column| slots.local(column));
                    writer.push_call(template, rows, base - frame.aux, arguments);
                }
            }
        }
        let count = slots.columns.len() as u32;
        let number = self.intern(count, aux, depth);
        self.parts.truncate(frame.parts);
        self.terms.truncate(frame.terms);
        self.columns.truncate(frame.columns);
        self.parts.push(Part::Call(number, frame.aux, count));
        self.columns.extend_from_slice(&self.slots.columns);
    }

    /// The number of a template equal to what was written as one of so many slots and aux variables; it is added where
    /// there is none.
    fn intern(&mut self, slots: u32, aux: u32, depth: u32) -> u32 {
        let Self {
            writer, templates, ..
        } = self;
        let next = templates.len() as u32;
        let same = self
            .known
            .entry(fingerprint(writer, slots, aux))
            .or_default();
        let known = same
            .iter()
            .find(|&&known| writer.equals(&templates[known as usize], slots, aux));
        if let Some(&known) = known {
            return known;
        }
        same.push(next);
        templates.push(writer.clone().finish(slots, aux));
        self.depths.push(depth);
        next
    }

    /// Moves what is pending into the root, whose columns are the circuit's own.
    fn flush(&mut self) {
        let mut terms = self.terms.iter_mut();
        let mut columns = self.columns.iter();
        for part in &self.parts {
            match *part {
                Part::Row(counts) => {
                    let row = counts.map(|count| take(&mut terms, count as usize));
                    self.root.push_row(row_ref(row));
                }
                Part::Call(template, base, arguments) => {
                    let rows = self.templates[template as usize].rows();
                    let arguments = columns.by_ref().take(arguments as usize).copied();
                    self.root.push_call(template, rows, base, arguments);
                }
            }
        }
        self.parts.clear();
        self.terms.clear();
        self.columns.clear();
    }

    /// Number of rows in the root and in what is pending.
    pub(crate) fn rows(&self) -> usize {
        let pending: usize = self.parts.iter().map(|part| self.rows_of(part)).sum();
        self.root.rows() + pending
    }

    /// The templates, the root last.
    pub(crate) fn finish(mut self, inputs: u32, aux: u32) -> Vec<Template> {
        self.open.clear();
        self.flush();
        self.templates.push(self.root.finish(inputs, aux));
        self.templates
    }

    /// Appends what a child recorded: `coefficients` gives our index for each of its coefficients, `moved` our column
    /// for each of its own, and `aux` is our aux variable that is its first.
    pub(crate) fn append(
        &mut self,
        child: Vec<Template>,
        coefficients: &[u32],
        aux: u32,
        moved: impl Fn(Column) -> Column,
    ) -> Result<(), R1csError> {
        let recoded = |term: &Term| Term {
            column: term.column,
            coefficient: coefficients[term.coefficient as usize],
        };
        let mut numbers: Vec<u32> = Vec::with_capacity(child.len());
        let Some((root, templates)) = child.split_last() else {
            return Ok(());
        };
        for template in templates {
            let writer = &mut self.writer;
            writer.clear();
            let mut depth = 0;
            template.visit(|entry| {
                match entry {
                    Entry::Row(row) => {
                        let row = row.map(|terms| terms.iter().map(recoded).collect::<Vec<_>>());
                        writer.push_row(row.each_ref().map(Vec::as_slice));
                    }
                    Entry::Call(called, offset, arguments) => {
                        let called = numbers[called as usize];
                        let rows = self.templates[called as usize].rows();
                        depth = depth.max(self.depths[called as usize] + 1);
                        writer.push_call(called, rows, offset, arguments.iter().copied());
                    }
                }
                Ok::<_, R1csError>(())
            })?;
            numbers.push(self.intern(template.slots(), template.aux(), depth));
        }
        root.visit(|entry| {
            match entry {
                Entry::Row(row) => {
                    let terms = row.iter().flat_map(|terms| terms.iter().map(recoded));
                    self.terms.extend(terms.map(|term| Term {
                        column: moved(term.column),
                        ..term
                    }));
                    self.close_row(row.map(|terms| terms.len() as u32));
                }
                Entry::Call(called, offset, arguments) => {
                    self.columns
                        .extend(arguments.iter().map(|&column| moved(column)));
                    let called = numbers[called as usize];
                    self.parts
                        .push(Part::Call(called, aux + offset, arguments.len() as u32));
                }
            }
            Ok(())
        })
    }
}

/// A block's slots: the columns before its own, by first occurrence. ONE is always slot 0.
#[derive(Clone, Debug, Default)]
struct Slots {
    aux: u32,
    columns: Vec<Column>,
    numbers: ColumnMap<u32>,
}

/// Slots of which the map is kept for the next block: clearing it takes time by the room that it has.
const KEPT_SLOTS: usize = 1 << 12;

impl Slots {
    /// Begins a block whose own aux variables start at `aux`.
    fn begin(&mut self, aux: u32) {
        self.aux = aux;
        self.columns.clear();
        self.columns.push(Column::Dense(0));
        if self.numbers.capacity() > KEPT_SLOTS {
            self.numbers = ColumnMap::default();
        }
        self.numbers.clear();
    }

    #[inline]
    fn local(&mut self, column: Column) -> Column {
        match column {
            Column::Sparse(aux) if aux >= self.aux => Column::Sparse(aux - self.aux),
            Column::Dense(0) => column,
            far => Column::Dense(*self.numbers.entry(far).or_insert_with(|| {
                self.columns.push(far);
                self.columns.len() as u32 - 1
            })),
        }
    }
}

/// The next `count` terms.
fn take<'a>(terms: &mut std::slice::IterMut<'a, Term>, count: usize) -> &'a mut [Term] {
    let (head, tail) = std::mem::take(terms).into_slice().split_at_mut(count);
    *terms = tail.iter_mut();
    head
}

fn row_ref(row: [&mut [Term]; 3]) -> [&[Term]; 3] {
    row.map(|terms| &*terms)
}

/// A hash of what was written as a template. Equal templates are told by comparing them.
fn fingerprint(writer: &TemplateWriter, slots: u32, aux: u32) -> u64 {
    let mut hasher = ColumnHasher::default();
    let (rows, items) = (writer.rows() as u32, writer.items().len() as u32);
    for number in [slots, aux, rows, items] {
        hasher.write_u32(number);
    }
    for argument in writer.arguments() {
        let (Column::Dense(index) | Column::Sparse(index)) = *argument;
        hasher.write_u32(index);
    }
    for matrix in Matrix::ALL {
        let (words, rest) = writer.bytes(matrix).as_chunks::<8>();
        words
            .iter()
            .for_each(|word| hasher.write_u64(u64::from_le_bytes(*word)));
        hasher.write(rest);
    }
    hasher.finish()
}
