//! Templates and bitmaps as a file stores them.
//!
//! Templates are numbers in LEB128. A template is its slots, aux variables, items, then for each matrix the non-zeros of
//! its own rows, the bytes of each block of them, and the items: twice a number of own rows, or one more than twice the
//! number of a called template, its offset as a difference to the end of the call before, and a column for each slot as
//! runs of equal differences. The rows themselves lie in sections of their own.

use cuzk_curve::Bytes;
use cuzk_r1cs::{
    BLOCK_ROWS, Call, Column, ItemKind, Matrices, Matrix, Rows, RunBitmap, Shape, StoredItem,
    Template, WordRun,
};

use crate::FileFault;
use crate::format::{ROWS, SECTIONS, TEMPLATES};

/// Arguments that a byte of templates and rows may stand for, within [`Matrices::MAX_ARGUMENTS`]: a run of columns is
/// stored in a few bytes. Each slot is named by a term, so what is written within that limit has fewer than 730.
const ARGUMENTS_A_BYTE: usize = 1024;

/// The templates but for their rows.
pub(crate) fn encode_templates(templates: &[Template]) -> Vec<u8> {
    let mut out = Numbers::default();
    out.push(templates.len() as u64);
    for template in templates {
        let own_rows = template.own(Matrix::A).len();
        for count in [
            template.slots(),
            template.aux(),
            template.items().len() as u32,
            own_rows as u32,
        ] {
            out.push(u64::from(count));
        }
        for matrix in Matrix::ALL {
            let rows = template.own(matrix);
            out.push(rows.terms());
            rows.block_table()
                .windows(2)
                .for_each(|block| out.push(block[1] - block[0]));
        }
        encode_items(template, templates, &mut out);
    }
    out.0
}

fn encode_items(template: &Template, templates: &[Template], out: &mut Numbers) {
    let mut expected = 0i64;
    let ends = template
        .items()
        .iter()
        .skip(1)
        .map(|item| item.first_row)
        .chain([template.rows()]);
    for (item, end) in template.items().iter().zip(ends) {
        match &item.kind {
            ItemKind::Rows { .. } => out.push(u64::from(end - item.first_row) << 1),
            ItemKind::Call(call) => {
                out.push(u64::from(call.template) << 1 | 1);
                out.push(zigzag(i64::from(call.offset) - expected));
                expected =
                    i64::from(call.offset) + i64::from(templates[call.template as usize].aux());
                encode_columns(template.arguments_of(call), out);
            }
        }
    }
}

/// Columns as runs: a difference to the last column of the same kind, and how often it is repeated.
fn encode_columns(columns: &[Column], out: &mut Numbers) {
    let mut last = [0i64; 2];
    let mut rest = columns
        .iter()
        .map(|column| match *column {
            Column::Dense(index) => (0, i64::from(index)),
            Column::Sparse(index) => (1, i64::from(index)),
        })
        .peekable();
    while let Some((space, index)) = rest.next() {
        let difference = index - last[space];
        last[space] = index;
        let mut count = 1;
        while rest
            .next_if(|&(next, index)| next == space && index - last[space] == difference)
            .is_some()
        {
            last[space] += difference;
            count += 1;
        }
        out.push(zigzag(difference) << 1 | space as u64);
        out.push(count);
    }
}

/// What the templates that are still to be read may stand for.
struct Left {
    arguments: usize,
    /// Aux variables. A template is stored where two places or more call it, and a template's calls do not overlap, so all
    /// templates but the root have no more of them together than the root has.
    aux: usize,
}

/// The templates of a file of a circuit of this shape, with the sections of their rows.
pub(crate) fn decode_templates(
    bytes: &[u8],
    sections: [&Bytes; 3],
    shape: Shape,
) -> Result<Vec<Template>, FileFault> {
    let mut numbers = Reader {
        section: SECTIONS[TEMPLATES],
        bytes,
        position: 0,
    };
    let mut positions = [0; 3];
    let count = numbers.count()?;
    let size = sections.iter().map(|rows| rows.len()).sum::<usize>() + bytes.len();
    let arguments = size.saturating_mul(ARGUMENTS_A_BYTE);
    let mut left = Left {
        arguments: arguments.min(Matrices::MAX_ARGUMENTS),
        aux: shape.aux,
    };
    let mut templates: Vec<Template> = Vec::new();
    for index in 0..count {
        let (slots, aux) = (numbers.u32("slots")?, numbers.u32("aux variables")?);
        if index + 1 < count {
            numbers.take_from(&mut left.aux, "aux variables of templates", aux)?;
        }
        let items = numbers.count()?;
        let own = decode_rows(&mut numbers, sections, &mut positions)?;
        let (items, arguments) = decode_items(&mut numbers, items, &templates, &mut left)?;
        templates.push(Template::from_parts(slots, aux, own, &items, arguments)?);
    }
    numbers.end()?;
    for (index, (position, rows)) in positions.iter().zip(sections).enumerate() {
        if *position < rows.len() {
            return Err(FileFault::Trailing {
                section: SECTIONS[ROWS + index],
                found: (rows.len() - position) as u64,
            });
        }
    }
    Ok(templates)
}

/// A template's own rows: what follows of each section from its position on.
fn decode_rows(
    numbers: &mut Reader<'_>,
    sections: [&Bytes; 3],
    positions: &mut [usize; 3],
) -> Result<[Rows; 3], FileFault> {
    let own_rows = numbers.u32("own rows")? as usize;
    let mut own: [Rows; 3] = Default::default();
    for (index, matrix) in Matrix::ALL.into_iter().enumerate() {
        let terms = numbers.next()?;
        let mut blocks = vec![0];
        let mut end = 0u64;
        let count = own_rows.div_ceil(BLOCK_ROWS);
        let room = numbers.left();
        if count > room {
            return Err(numbers.beyond("blocks of rows", room as u64, count as i64));
        }
        for _ in 0..count {
            end = end.saturating_add(numbers.next()?);
            blocks.push(end);
        }
        let start = positions[index];
        let stop = usize::try_from(end)
            .ok()
            .and_then(|end| start.checked_add(end));
        let rows = stop.and_then(|stop| sections[index].slice(start..stop));
        let Some(rows) = rows else {
            return Err(FileFault::Truncated {
                section: SECTIONS[ROWS + index],
                wanted: end.saturating_add(start as u64),
                found: sections[index].len() as u64,
            });
        };
        positions[index] = start + rows.len();
        own[index] = Rows::from_parts(matrix.name(), rows, blocks, own_rows, terms)?;
    }
    Ok(own)
}

fn decode_items(
    numbers: &mut Reader<'_>,
    count: usize,
    earlier: &[Template],
    left: &mut Left,
) -> Result<(Vec<StoredItem>, Vec<Column>), FileFault> {
    let mut items = Vec::with_capacity(count);
    let mut arguments = Vec::new();
    let mut expected = 0i64;
    for _ in 0..count {
        let head = numbers.next()?;
        if head & 1 == 0 {
            let rows = numbers.within_32_bits("own rows", (head >> 1) as i64)?;
            items.push(StoredItem::Rows(rows));
            continue;
        }
        let template = usize::try_from(head >> 1)
            .ok()
            .and_then(|index| earlier.get(index));
        let Some(called) = template else {
            let last = earlier.len().saturating_sub(1) as u64;
            return Err(numbers.beyond("an earlier template", last, (head >> 1) as i64));
        };
        let offset = numbers.near(expected)?;
        expected = i64::from(offset) + i64::from(called.aux());
        let first = arguments.len();
        numbers.take_from(&mut left.arguments, "arguments of a call", called.slots())?;
        decode_columns(numbers, called.slots(), &mut arguments)?;
        let call = Call {
            template: (head >> 1) as u32,
            offset,
            first_argument: first as u32,
            arguments: called.slots(),
        };
        items.push(StoredItem::Call(call, called.rows()));
    }
    Ok((items, arguments))
}

fn decode_columns(
    numbers: &mut Reader<'_>,
    count: u32,
    columns: &mut Vec<Column>,
) -> Result<(), FileFault> {
    let mut last = [0i64; 2];
    let mut left = u64::from(count);
    while left > 0 {
        let head = numbers.next()?;
        let (space, difference) = ((head & 1) as usize, unzigzag(head >> 1));
        let run = numbers.next()?;
        numbers.check_run("columns", left, run)?;
        left -= run;
        for _ in 0..run {
            let index = last[space].wrapping_add(difference);
            let index = numbers.within_32_bits("a column", index)?;
            last[space] = i64::from(index);
            columns.push(if space == 0 {
                Column::Dense(index)
            } else {
                Column::Sparse(index)
            });
        }
    }
    Ok(())
}

/// What a run of words of a stored bitmap is, in the lowest bits of its head.
const ZEROS: u64 = 0;
const ONES: u64 = 1;
const LITERAL: u64 = 2;

/// A bitmap's words as runs: of zeros, of ones, or of words that follow.
pub(crate) fn encode_bitmap(bits: &RunBitmap) -> Vec<u8> {
    let mut out = Numbers::default();
    for run in bits.runs() {
        match run {
            WordRun::Zeros(words) => out.push((words as u64) << 2 | ZEROS),
            WordRun::Ones(words) => out.push((words as u64) << 2 | ONES),
            WordRun::Literal(words) => {
                out.push((words.len() as u64) << 2 | LITERAL);
                words
                    .iter()
                    .for_each(|word| out.0.extend(word.to_le_bytes()));
            }
        }
    }
    out.0
}

/// A stored bitmap of `len` bits, the only one in its section.
pub(crate) fn decode_bitmap(
    bytes: &[u8],
    section: &'static str,
    len: usize,
) -> Result<RunBitmap, FileFault> {
    let mut stored = StoredBitmaps::new(bytes, section);
    let bits = stored.next(len)?;
    stored.end()?;
    Ok(bits)
}

/// Bitmaps stored one after the other.
pub(crate) struct StoredBitmaps<'a>(Reader<'a>);

impl<'a> StoredBitmaps<'a> {
    pub(crate) fn new(bytes: &'a [u8], section: &'static str) -> Self {
        Self(Reader {
            section,
            bytes,
            position: 0,
        })
    }

    /// The next bitmap, of `len` bits.
    pub(crate) fn next(&mut self, len: usize) -> Result<RunBitmap, FileFault> {
        let numbers = &mut self.0;
        let wanted = len.div_ceil(64);
        let mut bits = RunBitmap::default();
        while bits.words() < wanted {
            let head = numbers.next()?;
            numbers.check_run("words", (wanted - bits.words()) as u64, head >> 2)?;
            let run = (head >> 2) as usize;
            match head & 3 {
                ZEROS => bits.push(WordRun::Zeros(run)),
                ONES => bits.push(WordRun::Ones(run)),
                LITERAL => {
                    let literal = numbers.bytes(8 * run)?;
                    let literal = literal.as_chunks::<8>().0.iter();
                    let literal: Vec<u64> = literal.map(|word| u64::from_le_bytes(*word)).collect();
                    bits.push(WordRun::Literal(&literal));
                }
                other => return Err(numbers.beyond("a kind of run", LITERAL, other as i64)),
            }
        }
        bits.finish(len).ok_or(FileFault::PastTheEnd {
            section: self.0.section,
            offset: self.0.position,
            bits: len,
        })
    }

    /// Checks that there are no more bytes.
    pub(crate) fn end(&self) -> Result<(), FileFault> {
        self.0.end()
    }
}

/// Numbers in LEB128.
#[derive(Default)]
struct Numbers(Vec<u8>);

impl Numbers {
    fn push(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

struct Reader<'a> {
    section: &'static str,
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<u64, FileFault> {
        let mut value = 0u64;
        for shift in (0..56).step_by(7) {
            let byte = self.bytes(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.beyond("a number that goes on", (1 << 56) - 1, value as i64))
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], FileFault> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let taken = rest.get(..count).ok_or(FileFault::Truncated {
            section: self.section,
            wanted: self.position.saturating_add(count) as u64,
            found: self.bytes.len() as u64,
        })?;
        self.position += count;
        Ok(taken)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, FileFault> {
        let value = self.next()?;
        self.within_32_bits(what, value as i64)
    }

    /// A number as a difference to another.
    fn near(&mut self, expected: i64) -> Result<u32, FileFault> {
        let difference = unzigzag(self.next()?);
        self.within_32_bits("an offset", expected + difference)
    }

    /// A count of things of at least a byte each.
    fn count(&mut self) -> Result<usize, FileFault> {
        let value = self.next()?;
        let left = self.left();
        match usize::try_from(value) {
            Ok(count) if count <= left => Ok(count),
            _ => Err(self.beyond("a count", left as u64, value as i64)),
        }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    fn within_32_bits(&self, what: &'static str, value: i64) -> Result<u32, FileFault> {
        let limit = u64::from(u32::MAX);
        u32::try_from(value).map_err(|_| self.beyond(what, limit, value))
    }

    /// Takes `value` from what is left of a budget.
    fn take_from(&self, left: &mut usize, what: &'static str, value: u32) -> Result<(), FileFault> {
        let rest = left.checked_sub(value as usize);
        *left = rest.ok_or_else(|| self.beyond(what, *left as u64, value.into()))?;
        Ok(())
    }

    /// A run has something, and no more than is left.
    fn check_run(&self, what: &'static str, left: u64, run: u64) -> Result<(), FileFault> {
        if run == 0 {
            return Err(FileFault::EmptyRun {
                section: self.section,
                offset: self.position,
            });
        }
        if run > left {
            return Err(self.beyond(what, left, run as i64));
        }
        Ok(())
    }

    /// Checks that there are no more bytes.
    fn end(&self) -> Result<(), FileFault> {
        match self.left() {
            0 => Ok(()),
            left => Err(FileFault::Trailing {
                section: self.section,
                found: left as u64,
            }),
        }
    }

    #[cold]
    fn beyond(&self, what: &'static str, limit: u64, found: i64) -> FileFault {
        FileFault::Number {
            section: self.section,
            offset: self.position,
            what,
            limit,
            found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pce;
    use cuzk_r1cs::{Bitmap, Matrices};
    use cuzk_testing::circuits::repeating_circuits;
    use proptest::prelude::*;

    fn bits(len: usize, one: impl Fn(usize) -> bool) -> Bitmap {
        let mut bits = Bitmap::default();
        (0..len).for_each(|i| bits.push(one(i)));
        bits
    }

    #[test]
    fn bitmaps_come_back_and_runs_are_short() {
        for len in [0, 1, 63, 64, 65, 640, 1000] {
            for bits in [
                bits(len, |_| false),
                bits(len, |_| true),
                bits(len, |i| i % 3 == 0),
                bits(len, |i| i < len / 2),
                bits(len, |i| !(128..=700).contains(&i)),
            ] {
                let bits = RunBitmap::from(&bits);
                let stored = encode_bitmap(&bits);
                assert_eq!(decode_bitmap(&stored, "test", len).unwrap(), bits);
                assert!(decode_bitmap(&stored, "test", len + 64).is_err());
                for cut in 0..stored.len() {
                    assert!(
                        decode_bitmap(&stored[..cut], "test", len).is_err(),
                        "{len} cut at {cut}"
                    );
                }
            }
        }
        assert!(encode_bitmap(&RunBitmap::from(&Bitmap::zeros(1 << 20))).len() < 8);
        assert!(encode_bitmap(&RunBitmap::from(&Bitmap::ones(1 << 20))).len() < 8);
    }

    #[test]
    fn columns_come_back_as_runs() {
        let columns: Vec<Column> = (0..1000)
            .map(Column::Dense)
            .chain((5..100).rev().map(|i| Column::Sparse(3 * i)))
            .chain([
                Column::Dense(u32::MAX),
                Column::Sparse(0),
                Column::Sparse(u32::MAX),
            ])
            .collect();
        let mut out = Numbers::default();
        encode_columns(&columns, &mut out);
        assert!(out.0.len() < 50, "{} bytes", out.0.len());
        let mut reader = Reader {
            section: "test",
            bytes: &out.0,
            position: 0,
        };
        let mut found = Vec::new();
        decode_columns(&mut reader, columns.len() as u32, &mut found).unwrap();
        assert_eq!(found, columns);
    }

    /// Reads templates and all that can be reached through them.
    fn read(pce: &Pce, bytes: &[u8], rows: [&Bytes; 3]) -> Result<(), FileFault> {
        let templates = decode_templates(bytes, rows, pce.shape)?;
        let matrices = Matrices::new(templates, pce.shape, &pce.coefficients)?;
        for matrix in Matrix::ALL {
            matrices.for_each_row(matrix, 0..pce.shape.constraints, |row| {
                for term in row {
                    assert!((term.coefficient as usize) < pce.coefficients.len());
                    match term.column {
                        Column::Dense(input) => assert!((input as usize) < pce.shape.inputs),
                        Column::Sparse(aux) => assert!((aux as usize) < pce.shape.aux),
                    }
                }
                Ok(())
            })?;
            let once = matrices.touched_once(matrix)?;
            let [_, aux] = matrices.touched(matrix, once)?;
            assert_eq!(aux.len(), pce.shape.aux);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_templates_are_read_without_panic(
            circuit in repeating_circuits(),
            flips in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
            row_flips in prop::collection::vec((0..3usize, any::<usize>(), any::<u8>()), 0..3),
        ) {
            let pce = Pce::record(circuit.to_blank()).unwrap();
            let templates = pce.matrices.templates();
            let mut bytes = encode_templates(templates);
            let mut rows = Matrix::ALL.map(|matrix| {
                templates.iter().flat_map(|template| template.own(matrix).bytes().to_vec()).collect::<Vec<u8>>()
            });
            let whole = rows.clone().map(Bytes::new);
            prop_assert!(read(&pce, &bytes, whole.each_ref()).is_ok());
            for (at, value) in flips {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            for (matrix, at, value) in row_flips {
                if let Some(at) = at.checked_rem(rows[matrix].len()) {
                    rows[matrix][at] = value;
                }
            }
            let rows = rows.map(Bytes::new);
            let _ = read(&pce, &bytes, rows.each_ref());
        }
    }
}
