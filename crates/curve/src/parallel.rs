//! Splitting a matrix's columns among threads.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use rayon::prelude::*;

/// Some neighbouring columns of a row-major matrix, for one thread to write.
#[derive(Debug)]
pub struct ColumnBlock<'a, T> {
    first: *mut T,
    rows: usize,
    row_len: usize,
    column: usize,
    width: usize,
    matrix: PhantomData<&'a mut [T]>,
}

// SAFETY: a block is an exclusive borrow of its own elements, as `&mut [T]` is.
unsafe impl<T: Send> Send for ColumnBlock<'_, T> {}

impl<T> ColumnBlock<'_, T> {
    /// The index of the block's first column in the matrix.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The number of rows of the matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The block's part of row `index`.
    ///
    /// # Panics
    /// Where there is no such row.
    #[inline(always)]
    pub fn row(&mut self, index: usize) -> &mut [T] {
        assert!(index < self.rows, "row {index} of {}", self.rows);
        // SAFETY: the elements lie in the matrix since index < rows and column + width <= row_len; they are borrowed
        // by this block alone, for as long as the block is.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.first.add(index * self.row_len + self.column),
                self.width,
            )
        }
    }
}

/// A pointer that may cross threads; each thread makes blocks of other columns of it.
struct Shared<T>(*mut T);

// SAFETY: the pointer is only used to make disjoint `ColumnBlock`s.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

/// The blocks of `width` columns of the matrix `data` with rows of `row_len` elements.
///
/// # Panics
/// Where the length of `data` is not a multiple of `row_len`, or `row_len` not one of `width`.
pub fn column_blocks<T: Send>(
    data: &mut [T],
    row_len: usize,
    width: usize,
) -> impl IndexedParallelIterator<Item = ColumnBlock<'_, T>> {
    assert!(data.len().is_multiple_of(row_len), "whole rows");
    assert!(row_len.is_multiple_of(width), "whole blocks");
    let rows = data.len() / row_len;
    let shared = Shared(data.as_mut_ptr());
    (0..row_len / width).into_par_iter().map(move |block| {
        let shared = &shared;
        ColumnBlock {
            first: shared.0,
            rows,
            row_len,
            column: block * width,
            width,
            matrix: PhantomData,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_each_element_once() {
        for (rows, row_len, width) in [(0, 4, 2), (1, 1, 1), (3, 8, 2), (5, 6, 3), (4, 8, 8)] {
            let mut matrix = vec![0; rows * row_len];
            column_blocks(&mut matrix, row_len, width).for_each(|mut block| {
                assert_eq!(block.rows(), rows);
                for row in 0..rows {
                    let column = block.column();
                    for (offset, element) in block.row(row).iter_mut().enumerate() {
                        *element += 1 + row * row_len + column + offset;
                    }
                }
            });
            let expected: Vec<usize> = (1..=rows * row_len).collect();
            assert_eq!(matrix, expected);
        }
    }

    #[test]
    #[should_panic(expected = "row 2 of 2")]
    fn there_are_no_rows_past_the_last() {
        let mut matrix = [0; 8];
        column_blocks(&mut matrix, 4, 2).for_each(|mut block| block.row(2).fill(1));
    }
}
