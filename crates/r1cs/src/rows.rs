//! A sparse matrix as a stream of bytes, in independently readable blocks of rows.
//!
//! A row is its number of terms, then each term: a column and the index of its coefficient in the circuit's table. All
//! are LEB128 varints. A column belongs to one of two spaces (slots and aux variables of a template); it is stored as the zigzag difference to the last column of the same space in the same block, with the space
//! in the lowest bit. Gadgets name variables near those of the row before, so most terms take two to three bytes.

use cuzk_curve::Bytes;

use crate::R1csError;

/// Rows a block; only the last block of a matrix holds fewer.
pub const BLOCK_ROWS: usize = 1024;

/// A column of a matrix.
///
/// In a circuit `Dense` is an input and `Sparse` an aux variable; in a template `Dense` is a slot and `Sparse` an aux
/// variable counted from the block's first; in a packed witness `Dense` is a slot of the witness and `Sparse` an aux
/// variable of the boolean class.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// An input or a slot.
    Dense(u32),
    /// An aux variable.
    Sparse(u32),
}

impl Column {
    fn split(self) -> (usize, u32) {
        match self {
            Self::Dense(index) => (0, index),
            Self::Sparse(index) => (1, index),
        }
    }

    fn join(space: usize, index: u32) -> Self {
        if space == 0 {
            Self::Dense(index)
        } else {
            Self::Sparse(index)
        }
    }
}

/// One non-zero of a matrix.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Where it stands.
    pub column: Column,
    /// Its coefficient, as an index into the table.
    pub coefficient: u32,
}

/// A sparse matrix in the encoding of this module.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    name: &'static str,
    bytes: Bytes,
    /// Start of each block, then the end of the last.
    blocks: Vec<u64>,
    rows: usize,
    terms: u64,
}

impl Rows {
    /// Takes stored parts as a matrix. Only the block table is checked here; terms are checked as they are read.
    pub fn from_parts(
        name: &'static str,
        bytes: Bytes,
        blocks: Vec<u64>,
        rows: usize,
        terms: u64,
    ) -> Result<Self, R1csError> {
        let wanted = rows.div_ceil(BLOCK_ROWS) + 1;
        if blocks.len() != wanted {
            return Err(R1csError::Count {
                what: "row block table entries",
                wanted,
                found: blocks.len(),
            });
        }
        let ascending = blocks.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ascending || blocks.first() != Some(&0) || blocks.last() != Some(&(bytes.len() as u64))
        {
            return Err(R1csError::Rows {
                matrix: name,
                block: 0,
                offset: 0,
                message: "the block table does not partition the stream",
            });
        }
        Ok(Self {
            name,
            bytes,
            blocks,
            rows,
            terms,
        })
    }

    /// `A`, `B` or `C`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The encoded rows.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Start of each block in [`Rows::bytes`], then the end of the last.
    pub fn block_table(&self) -> &[u64] {
        &self.blocks
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Number of non-zeros.
    pub fn terms(&self) -> u64 {
        self.terms
    }

    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len().saturating_sub(1)
    }

    /// Bytes in memory: the stream and its block table.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(self.blocks.as_slice())
    }

    /// A reader over block `index`, which is empty past the last block.
    pub fn block(&self, index: usize) -> BlockReader<'_> {
        let bytes = match self.blocks.get(index..index + 2) {
            Some(&[start, end]) => &self.bytes[start as usize..end as usize],
            _ => &[],
        };
        BlockReader::new(self.name, index, bytes, self.rows)
    }
}

/// Reads the rows of one block.
#[derive(Clone, Debug)]
pub struct BlockReader<'a> {
    matrix: &'static str,
    block: usize,
    bytes: &'a [u8],
    position: usize,
    rows_left: usize,
    terms_left: u64,
    last: [u32; 2],
}

impl<'a> BlockReader<'a> {
    fn new(matrix: &'static str, block: usize, bytes: &'a [u8], rows: usize) -> Self {
        let first = (block * BLOCK_ROWS).min(rows);
        BlockReader {
            matrix,
            block,
            bytes,
            position: 0,
            rows_left: BLOCK_ROWS.min(rows - first),
            terms_left: 0,
            last: [0; 2],
        }
    }

    /// Goes to the next row and returns its number of terms, or `None` after the last row. The terms of the row
    /// before must have been read.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<u64>, R1csError> {
        debug_assert_eq!(self.terms_left, 0, "a row was left unread");
        if self.rows_left == 0 {
            return if self.position == self.bytes.len() {
                Ok(None)
            } else {
                Err(self.error("bytes after the last row"))
            };
        }
        self.rows_left -= 1;
        self.terms_left = self.varint()?;
        Ok(Some(self.terms_left))
    }

    /// The next term of the current row, or `None` after its last.
    #[inline]
    pub fn next_term(&mut self) -> Result<Option<Term>, R1csError> {
        if self.terms_left == 0 {
            return Ok(None);
        }
        self.terms_left -= 1;
        let head = self.varint()?;
        let space = (head & 1) as usize;
        let zigzag = head >> 1;
        let delta = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        let Ok(index) = u32::try_from(i64::from(self.last[space]).wrapping_add(delta)) else {
            return Err(self.error("a column outside 32 bits"));
        };
        self.last[space] = index;
        let Ok(coefficient) = u32::try_from(self.varint()?) else {
            return Err(self.error("a coefficient index outside 32 bits"));
        };
        Ok(Some(Term {
            column: Column::join(space, index),
            coefficient,
        }))
    }

    /// An error at the current position.
    #[cold]
    pub fn error(&self, message: &'static str) -> R1csError {
        R1csError::Rows {
            matrix: self.matrix,
            block: self.block,
            offset: self.position,
            message,
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, R1csError> {
        match self.bytes.get(self.position) {
            Some(&byte) if byte < 0x80 => {
                self.position += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, R1csError> {
        let mut value = 0u64;
        for shift in (0..42).step_by(7) {
            let Some(&byte) = self.bytes.get(self.position) else {
                return Err(self.error("the block ends inside a number"));
            };
            self.position += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("a number of more than 42 bits"))
    }
}

/// Reads rows one after the other from some row on, across blocks.
pub(crate) struct OwnReader<'a> {
    rows: &'a Rows,
    block: usize,
    reader: BlockReader<'a>,
}

impl<'a> OwnReader<'a> {
    /// A reader whose next row is row `first`.
    pub(crate) fn seek(rows: &'a Rows, first: usize) -> Result<Self, R1csError> {
        let block = first / BLOCK_ROWS;
        let mut reader = rows.block(block);
        for _ in 0..first % BLOCK_ROWS {
            if reader.next_row()?.is_none() {
                return Err(reader.error("a row is missing"));
            }
            while reader.next_term()?.is_some() {}
        }
        Ok(Self {
            rows,
            block,
            reader,
        })
    }

    /// Goes to the next row.
    #[inline]
    pub(crate) fn next_row(&mut self) -> Result<(), R1csError> {
        if self.reader.next_row()?.is_some() {
            return Ok(());
        }
        self.block += 1;
        self.reader = self.rows.block(self.block);
        match self.reader.next_row()? {
            Some(_) => Ok(()),
            None => Err(self.reader.error("a row is missing")),
        }
    }

    /// The next term of the current row, or `None` after its last.
    #[inline]
    pub(crate) fn next_term(&mut self) -> Result<Option<Term>, R1csError> {
        self.reader.next_term()
    }

    /// Reads the next row whole.
    pub(crate) fn row(&mut self, row: &mut Vec<Term>) -> Result<(), R1csError> {
        self.next_row()?;
        row.clear();
        while let Some(term) = self.reader.next_term()? {
            row.push(term);
        }
        Ok(())
    }

    /// An error at the current position.
    #[cold]
    pub(crate) fn error(&self, message: &'static str) -> R1csError {
        self.reader.error(message)
    }
}

/// Writes a matrix row by row.
#[derive(Clone, Debug)]
pub struct RowsWriter {
    name: &'static str,
    bytes: Vec<u8>,
    blocks: Vec<u64>,
    rows: usize,
    terms: u64,
    last: [u32; 2],
}

impl RowsWriter {
    /// An empty matrix called `name`: `A`, `B` or `C`.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            bytes: Vec::new(),
            blocks: Vec::new(),
            rows: 0,
            terms: 0,
            last: [0; 2],
        }
    }

    /// The encoded rows so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets all rows and keeps the room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.blocks.clear();
        self.rows = 0;
        self.terms = 0;
    }

    /// Number of rows so far.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether no row was written yet.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Appends a row of `count` terms, which must be what `terms` yields.
    pub fn push_row(&mut self, count: usize, terms: impl Iterator<Item = Term>) {
        if self.rows.is_multiple_of(BLOCK_ROWS) {
            self.blocks.push(self.bytes.len() as u64);
            self.last = [0; 2];
        }
        self.varint(count as u64);
        let mut written = 0;
        for term in terms {
            let (space, index) = term.column.split();
            let delta = i64::from(index) - i64::from(self.last[space]);
            let zigzag = ((delta << 1) ^ (delta >> 63)) as u64;
            self.last[space] = index;
            self.varint(zigzag << 1 | space as u64);
            self.varint(u64::from(term.coefficient));
            written += 1;
        }
        assert_eq!(written, count, "a row's terms and their count differ");
        self.rows += 1;
        self.terms += count as u64;
    }

    /// The finished matrix.
    pub fn finish(mut self) -> Rows {
        self.blocks.push(self.bytes.len() as u64);
        if self.rows == 0 {
            self.blocks.truncate(1);
        }
        self.bytes.shrink_to_fit();
        Rows {
            name: self.name,
            bytes: self.bytes.into(),
            blocks: self.blocks,
            rows: self.rows,
            terms: self.terms,
        }
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        if value < 0x80 {
            self.bytes.push(value as u8);
        } else {
            self.long_varint(value);
        }
    }

    fn long_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(rows: &Rows) -> Result<Vec<Vec<Term>>, R1csError> {
        let mut all = Vec::new();
        for index in 0..rows.block_count() {
            let mut block = rows.block(index);
            while block.next_row()?.is_some() {
                let mut row = Vec::new();
                while let Some(term) = block.next_term()? {
                    row.push(term);
                }
                all.push(row);
            }
        }
        Ok(all)
    }

    fn sample(count: usize) -> Vec<Vec<Term>> {
        let spread = [0, 1, 63, 64, 8191, 8192, u32::MAX];
        (0..count)
            .map(|row| {
                (0..row % 5)
                    .map(|term| {
                        let index = spread[(row + term) % spread.len()];
                        Term {
                            column: Column::join((row ^ term) & 1, index),
                            coefficient: spread[(row * 3 + term) % spread.len()],
                        }
                    })
                    .collect()
            })
            .collect()
    }

    fn write(rows: &[Vec<Term>]) -> Rows {
        let mut writer = RowsWriter::new("A");
        for row in rows {
            writer.push_row(row.len(), row.iter().copied());
        }
        writer.finish()
    }

    #[test]
    fn rows_come_back_as_written() {
        for count in [
            0,
            1,
            2,
            BLOCK_ROWS - 1,
            BLOCK_ROWS,
            BLOCK_ROWS + 1,
            3 * BLOCK_ROWS,
        ] {
            let rows = sample(count);
            let stored = write(&rows);
            assert_eq!(stored.len(), count);
            assert_eq!(read_all(&stored).unwrap(), rows, "{count}");
        }
    }

    #[test]
    fn every_truncation_and_flip_is_read_without_panic() {
        let stored = write(&sample(40));
        let whole = stored.bytes().to_vec();
        for cut in 0..whole.len() {
            let bytes = whole[..cut].to_vec();
            let rows = Rows::from_parts("A", bytes.into(), vec![0, cut as u64], 40, 0).unwrap();
            assert!(read_all(&rows).is_err(), "cut at {cut}");
        }
        for index in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[index] ^= 0x80;
            let len = bytes.len() as u64;
            let rows = Rows::from_parts("A", bytes.into(), vec![0, len], 40, 0).unwrap();
            let _ = read_all(&rows);
        }
    }

    #[test]
    fn a_block_table_that_does_not_fit_is_refused() {
        let stored = write(&sample(5));
        let parts = |blocks: Vec<u64>| Rows::from_parts("A", stored.bytes().clone(), blocks, 5, 0);
        let len = stored.bytes().len() as u64;
        assert!(parts(vec![0, len]).is_ok());
        for blocks in [
            vec![],
            vec![0],
            vec![1, len],
            vec![0, len + 1],
            vec![0, 1, len],
        ] {
            assert!(parts(blocks.clone()).is_err(), "{blocks:?}");
        }
    }
}
