//! The sums of the few columns that a piece of rows names.
//!
//! Rows that stand together name variables that were allocated together, and few others. So each task sums into blocks of
//! its own, of the columns that it meets, and takes the lock of the whole only to add them there.

use cuzk_curve::{Fr, Wiped};
use ff::Field;

/// Columns of a block.
const COLUMNS: usize = 64;
/// Blocks for which there is room at first.
const FIRST: usize = 16;
/// Blocks that are too many to be kept: 32 MiB.
const LARGE: usize = 1 << 14;

/// Sums by column, zero but for those of some blocks.
pub struct Partial {
    /// For each block of columns its place in `blocks` plus one, or zero where it is not there.
    places: Vec<u32>,
    /// Which blocks are there.
    named: Vec<u32>,
    /// Their sums, block after block, and behind them zeros.
    blocks: Wiped<Vec<Fr>>,
}

impl Partial {
    /// No sums, for so many columns.
    pub fn new(columns: usize) -> Self {
        Self {
            places: vec![0; columns.div_ceil(COLUMNS)],
            named: Vec::new(),
            blocks: Wiped::default(),
        }
    }

    /// The sum of a column.
    pub fn sum(&mut self, column: usize) -> &mut Fr {
        let place = &mut self.places[column / COLUMNS];
        if *place == 0 {
            self.named.push((column / COLUMNS) as u32);
            *place = self.named.len() as u32;
        }
        let sum = (*place as usize - 1) * COLUMNS + column % COLUMNS;
        if sum >= self.blocks.len() {
            self.grow();
        }
        &mut self.blocks[sum]
    }

    /// Doubles the room, in a vector of its own, so that the old one is overwritten.
    fn grow(&mut self) {
        let mut larger = vec![Fr::ZERO; (2 * self.blocks.len()).max(FIRST * COLUMNS)];
        larger[..self.blocks.len()].copy_from_slice(&self.blocks);
        self.blocks = Wiped::new(larger);
    }

    /// Whether it is time for [`Self::add_to`].
    pub fn is_large(&self) -> bool {
        self.named.len() >= LARGE
    }

    /// Adds the sums to those of all columns, and forgets them.
    pub fn add_to(&mut self, all: &mut [Fr]) {
        let blocks = self.blocks.chunks_exact_mut(COLUMNS);
        for (name, block) in self.named.drain(..).zip(blocks) {
            let name = name as usize;
            self.places[name] = 0;
            for (sum, own) in all[name * COLUMNS..].iter_mut().zip(block) {
                *sum += std::mem::replace(own, Fr::ZERO);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_arrive_once() {
        let columns = (LARGE + 2) * COLUMNS + 1;
        let mut all = vec![Fr::ONE; columns];
        let mut partial = Partial::new(columns);
        for column in [0, 1, COLUMNS, columns - 1, 1] {
            *partial.sum(column) += Fr::from(5);
        }
        assert!(!partial.is_large());
        partial.add_to(&mut all);
        partial.add_to(&mut all);
        let wanted = |column| match column {
            1 => Fr::from(11),
            column if column == 0 || column == COLUMNS || column == columns - 1 => Fr::from(6),
            _ => Fr::ONE,
        };
        assert!((0..columns).all(|column| all[column] == wanted(column)));
        let mut blocks = 0;
        while !partial.is_large() {
            *partial.sum(blocks * COLUMNS) += Fr::ONE;
            blocks += 1;
        }
        assert_eq!(blocks, LARGE);
        partial.add_to(&mut all);
        assert_eq!((all[0], all[COLUMNS]), (Fr::from(7), Fr::from(7)));
        assert_eq!(all[(LARGE - 1) * COLUMNS], Fr::from(2));
    }
}
