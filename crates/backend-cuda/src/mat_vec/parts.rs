//! Blocks cut into parts of consecutive rows, each of which can be brought to the device on its own.

use std::collections::HashMap;
use std::ops::Range;

use super::blocks::{Blocks, Instance};

/// Bytes of a row's two starts, of a term and of an instance.
const ROW: usize = 2 * size_of::<u32>();
const TERM: usize = size_of::<[u32; 2]>();
const INSTANCE: usize = size_of::<Instance>();

/// Some of a circuit's rows.
#[derive(Debug)]
pub struct Part {
    /// Which rows.
    pub rows: Range<usize>,
    /// Their blocks and places, counted from the part's first row. The slots are those of the whole.
    pub blocks: Blocks,
}

/// A part that is being filled.
struct Cut {
    first_row: usize,
    blocks: Blocks,
    bytes: usize,
    /// The first rows of what is there already, by the first row that it has in the whole and the number of rows.
    known: HashMap<(u32, usize), u32>,
}

/// Cuts the blocks of so many rows into parts of at most so many bytes, or of a row.
pub fn parts(whole: &Blocks, rows: usize, most: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut cut = Cut::new(0);
    for (index, &instance) in whole.instances.iter().enumerate() {
        let next = whole.instances.get(index + 1);
        let end = next.map_or(rows, |next| next.row as usize);
        let mut row = instance.row as usize;
        while row < end {
            let taken = cut.take(whole, instance, row..end, most);
            if taken == 0 {
                parts.push(cut.finish(row));
                cut = Cut::new(row);
            }
            row += taken;
        }
    }
    if cut.bytes > 0 {
        parts.push(cut.finish(rows));
    }
    parts
}

impl Cut {
    fn new(first_row: usize) -> Self {
        Self {
            first_row,
            blocks: Blocks::default(),
            bytes: 0,
            known: HashMap::new(),
        }
    }

    /// Takes as many of an instance's rows as there is room for, in an empty part at least one; says how many.
    fn take(&mut self, whole: &Blocks, from: Instance, rows: Range<usize>, most: usize) -> usize {
        let first = from.first + (rows.start - from.row as usize) as u32;
        let room = most.saturating_sub(self.bytes);
        if let Some(&known) = self.known.get(&(first, rows.len()))
            && INSTANCE <= room
        {
            self.place(from, rows.start, known);
            return rows.len();
        }
        let cost = |count: usize| {
            let range = first as usize..first as usize + count;
            let terms = [&whole.a, &whole.b].map(|matrix| matrix.terms_of(&range).len());
            INSTANCE + ROW * count + TERM * (terms[0] + terms[1])
        };
        // The cost grows with the number of rows.
        let (mut fits, mut fails) = (0, rows.len() + 1);
        while fits + 1 < fails {
            let middle = fits.midpoint(fails);
            let bound = if cost(middle) <= room {
                &mut fits
            } else {
                &mut fails
            };
            *bound = middle;
        }
        let count = if self.bytes == 0 { fits.max(1) } else { fits };
        if count > 0 {
            let own = self.blocks.a.starts.len() as u32;
            let range = first as usize..first as usize + count;
            self.blocks.a.append(&whole.a, &range);
            self.blocks.b.append(&whole.b, &range);
            self.bytes += cost(count) - INSTANCE;
            self.known.insert((first, count), own);
            self.place(from, rows.start, own);
        }
        count
    }

    fn place(&mut self, from: Instance, row: usize, first: u32) {
        self.bytes += INSTANCE;
        self.blocks.instances.push(Instance {
            row: (row - self.first_row) as u32,
            first,
            ..from
        });
    }

    fn finish(mut self, end: usize) -> Part {
        self.blocks.close(end - self.first_row);
        Part {
            rows: self.first_row..end,
            blocks: self.blocks,
        }
    }
}
