//! The rows of a template that is called more than once, ready to be evaluated.
//!
//! A gadget of words does the same thing to each bit, so consecutive rows, or every other row, mostly have one form: the
//! same coefficients, and columns that move by a constant from row to row. Such rows are a group. What a sum of words is
//! packed into is a long row instead, in which columns move by a constant and coefficients double from term to term. Both
//! take the room of a few terms, and a group is evaluated many rows at a time.

use std::ops::Range;

use super::coefficients::CoefficientTable;
use crate::Column;

/// A column of a template in 32 bits: the highest tells slots from aux variables.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

const SLOT: u32 = 1 << 31;

impl Place {
    /// The place of a column whose index is below 2^31.
    pub(crate) fn new(column: Column) -> Self {
        match column {
            Column::Dense(slot) => Self(slot | SLOT),
            Column::Sparse(local) => Self(local),
        }
    }

    /// The column.
    #[inline]
    pub(crate) fn column(self) -> Column {
        if self.is_slot() {
            Column::Dense(self.index())
        } else {
            Column::Sparse(self.index())
        }
    }

    /// Whether it is a slot.
    #[inline]
    pub(crate) fn is_slot(self) -> bool {
        self.0 & SLOT != 0
    }

    /// The number of the slot or of the aux variable.
    #[inline]
    pub(crate) fn index(self) -> u32 {
        self.0 & !SLOT
    }

    /// The place that lies `count` steps on.
    #[inline]
    pub(crate) fn moved(self, count: u32, step: i32) -> Self {
        Self(self.0.wrapping_add((step as u32).wrapping_mul(count)))
    }
}

/// One non-zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalTerm {
    pub(crate) place: Place,
    pub(crate) coefficient: u32,
}

/// A term of a group's rows, or several terms of a row that is a group of its own.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Part {
    /// The column, in the first row of a group.
    pub(crate) place: Place,
    /// By how much the column moves from row to row, or from term to term.
    pub(crate) step: i32,
    /// The coefficient, of the first term where there are several. The next term's is its double.
    pub(crate) coefficient: u32,
    /// How many terms of the row it stands for. More than one only where the group is one row.
    pub(crate) length: u32,
}

/// How the rows of a group are evaluated.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// Consecutive rows with small coefficients, whose columns move by one or not at all.
    Plain,
    /// Other rows with small coefficients.
    Strided,
    /// One row with other coefficients.
    Wide,
}

/// Rows of one form.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Group {
    pub(crate) first_row: u32,
    pub(crate) rows: u32,
    /// Its rows are every row (1) or every other row (2) from the first on.
    pub(crate) row_step: u8,
    pub(crate) kind: GroupKind,
    first_part: u32,
}

impl Group {
    /// Which of the group's rows lie in a range.
    #[inline]
    pub(crate) fn within(&self, rows: &Range<u32>) -> Range<u32> {
        let count = |until: u32| {
            let before = until.saturating_sub(self.first_row);
            before.div_ceil(u32::from(self.row_step)).min(self.rows)
        };
        count(rows.start)..count(rows.end)
    }
}

/// A template's own rows of one matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoded {
    /// Whether the rows of calls are among the rows, all in one run.
    pub(super) flat: bool,
    /// Where each run's groups start, then the end. A run is what lies between two calls.
    runs: Vec<u32>,
    groups: Vec<Group>,
    parts: Vec<Part>,
    /// Number of rows and of terms.
    pub(super) rows: u32,
    pub(super) terms: usize,
}

impl Decoded {
    /// The groups of a run.
    #[inline]
    pub(crate) fn groups(&self, run: u32) -> Range<usize> {
        self.runs[run as usize] as usize..self.runs[run as usize + 1] as usize
    }

    /// A group and its parts.
    #[inline]
    pub(crate) fn group(&self, index: usize) -> (&Group, &[Part]) {
        let group = &self.groups[index];
        let end = match self.groups.get(index + 1) {
            Some(next) => next.first_part as usize,
            None => self.parts.len(),
        };
        (group, &self.parts[group.first_part as usize..end])
    }

    /// Visits the terms of each row of a range, which lies in a run.
    pub(crate) fn for_each<E>(
        &self,
        run: u32,
        rows: Range<u32>,
        table: &CoefficientTable,
        mut visit: impl FnMut(&[LocalTerm]) -> Result<(), E>,
    ) -> Result<(), E> {
        // Which group each row is in, and which of its rows it is.
        let mut order = vec![(0, 0); rows.len()];
        for index in self.groups(run) {
            let group = &self.groups[index];
            for k in group.within(&rows) {
                let row = group.first_row + k * u32::from(group.row_step) - rows.start;
                order[row as usize] = (index, k);
            }
        }
        let mut terms = Vec::new();
        for (index, k) in order {
            terms.clear();
            for part in self.group(index).1 {
                let mut coefficient = part.coefficient;
                for i in 0..part.length {
                    terms.push(LocalTerm {
                        place: part.place.moved(k + i, part.step),
                        coefficient,
                    });
                    if i + 1 < part.length {
                        coefficient = table.doubled[coefficient as usize];
                    }
                }
            }
            visit(&terms)?;
        }
        Ok(())
    }

    /// Bytes in memory.
    pub(crate) fn size_bytes(&self) -> usize {
        size_of_val(self.runs.as_slice())
            + size_of_val(self.groups.as_slice())
            + size_of_val(self.parts.as_slice())
    }
}

/// Sums of coefficients up to which a row's coefficients are small.
pub(crate) const NARROW: i64 = 16;
/// Terms that a part stands for at most: their bits are one word.
const LONGEST_PART: u32 = 64;

/// Takes rows one after the other and finds the groups.
pub(super) struct Grouping<'a> {
    table: &'a CoefficientTable,
    decoded: Decoded,
    rows: u32,
    /// The groups of the last row and of the one before, in the current run.
    last: [Option<usize>; 2],
    /// The current row.
    row: Vec<Part>,
}

impl<'a> Grouping<'a> {
    pub(super) fn new(table: &'a CoefficientTable, flat: bool) -> Self {
        let decoded = Decoded {
            flat,
            runs: vec![0],
            ..Decoded::default()
        };
        Self {
            table,
            decoded,
            rows: 0,
            last: [None; 2],
            row: Vec::new(),
        }
    }

    /// Appends a term to the row that [`Grouping::close_row`] ends.
    #[inline]
    pub(super) fn push(&mut self, place: Place, coefficient: u32) {
        self.row.push(Part {
            place,
            step: 0,
            coefficient,
            length: 1,
        });
    }

    pub(super) fn close_row(&mut self) {
        self.decoded.terms += self.row.len();
        let size = |part: &Part| match self.table.small[part.coefficient as usize] {
            CoefficientTable::LARGE => None,
            small => Some(small.abs()),
        };
        let total = self
            .row
            .iter()
            .try_fold(0i64, |sum, part| sum.checked_add(size(part)?));
        let found = if total.is_some_and(|total| total <= NARROW) {
            let last = self.last;
            let joined = (1..=2)
                .zip(last)
                .find_map(|(row_step, group)| group.filter(|&group| self.join(group, row_step)));
            joined.unwrap_or_else(|| self.open(GroupKind::Plain))
        } else {
            self.fold_row();
            self.open(GroupKind::Wide)
        };
        self.row.clear();
        self.rows += 1;
        self.last = [Some(found), self.last[0]];
    }

    /// Ends a run of rows.
    pub(super) fn close_run(&mut self) {
        self.decoded.runs.push(self.decoded.groups.len() as u32);
        self.last = [None; 2];
    }

    pub(super) fn finish(mut self) -> Decoded {
        for index in 0..self.decoded.groups.len() {
            let (group, parts) = self.decoded.group(index);
            let plain = group.row_step == 1 && parts.iter().all(|part| matches!(part.step, 0 | 1));
            if group.kind == GroupKind::Plain && !plain {
                self.decoded.groups[index].kind = GroupKind::Strided;
            }
        }
        self.decoded.rows = self.rows;
        self.decoded.groups.shrink_to_fit();
        self.decoded.parts.shrink_to_fit();
        self.decoded
    }

    /// The current row as a group of its own.
    fn open(&mut self, kind: GroupKind) -> usize {
        self.decoded.groups.push(Group {
            first_row: self.rows,
            rows: 1,
            row_step: 1,
            kind,
            first_part: self.decoded.parts.len() as u32,
        });
        self.decoded.parts.extend_from_slice(&self.row);
        self.decoded.groups.len() - 1
    }

    /// Appends the current row to a group whose last row lies `row_step` before, if it has the group's form.
    fn join(&mut self, group: usize, row_step: u8) -> bool {
        let (found, parts) = self.decoded.group(group);
        let Group {
            rows,
            row_step: step,
            ..
        } = *found;
        let fits = |(part, new): (&Part, &Part)| {
            part.coefficient == new.coefficient
                && part.place.is_slot() == new.place.is_slot()
                && (rows == 1 || part.place.moved(rows, part.step) == new.place)
        };
        if found.kind == GroupKind::Wide
            || (rows > 1 && step != row_step)
            || parts.len() != self.row.len()
            || !parts.iter().zip(&self.row).all(fits)
        {
            return false;
        }
        let first = found.first_part as usize;
        if rows == 1 {
            self.decoded.groups[group].row_step = row_step;
            for (part, new) in self.decoded.parts[first..].iter_mut().zip(&self.row) {
                part.step = new.place.index() as i32 - part.place.index() as i32;
            }
        }
        self.decoded.groups[group].rows += 1;
        true
    }

    /// Joins terms of the current row whose columns move by a constant and whose coefficients double.
    fn fold_row(&mut self) {
        let mut kept: usize = 0;
        let mut last = 0;
        for index in 0..self.row.len() {
            let new = self.row[index];
            if let Some(part) = kept.checked_sub(1).map(|kept| &mut self.row[kept]) {
                let step = new.place.index() as i32 - part.place.index() as i32;
                let follows = match part.length {
                    1 => part.place.is_slot() == new.place.is_slot(),
                    length => part.place.moved(length, part.step) == new.place,
                };
                if follows
                    && part.length < LONGEST_PART
                    && self.table.doubled[last as usize] == new.coefficient
                {
                    if part.length == 1 {
                        part.step = step;
                    }
                    part.length += 1;
                    last = new.coefficient;
                    continue;
                }
            }
            self.row[kept] = new;
            kept += 1;
            last = new.coefficient;
        }
        self.row.truncate(kept);
    }
}
