//! Templates and bitmaps as a file stores them.
//!
//! Templates are numbers in LEB128. A template is its slots, aux variables, items, then for each matrix the non-zeros of
//! its own rows, the bytes of each block of them, and the items: twice a number of own rows, or one more than twice the
//! number of a called template, its offset as a difference to the end of the call before, and a column for each slot as
//! runs of equal differences. The rows themselves lie in sections of their own.

use cuzk_curve::Bytes;
use cuzk_r1cs::{
    BLOCK_ROWS, Call, Column, ItemKind, Matrix, Rows, RunBitmap, StoredItem, Template, WordRun,
};

use crate::PceError;
use crate::format::{SECTIONS, TEMPLATES};

/// Arguments that a byte of templates and rows may stand for. Each slot is named by a term, so real circuits have few.
const ARGUMENTS_A_BYTE: usize = 4096;

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

/// The templates of a file, with the sections of their rows.
pub(crate) fn decode_templates(
    bytes: &[u8],
    sections: [&Bytes; 3],
) -> Result<Vec<Template>, PceError> {
    let mut numbers = Reader {
        section: SECTIONS[TEMPLATES],
        bytes,
        position: 0,
    };
    let mut positions = [0; 3];
    let count = numbers.count()?;
    // A run of columns may be long, so what they take in memory is held to what the file has of rows.
    let size = sections.iter().map(|rows| rows.len()).sum::<usize>() + bytes.len();
    let mut arguments_left = size.saturating_mul(ARGUMENTS_A_BYTE);
    let mut templates: Vec<Template> = Vec::new();
    for _ in 0..count {
        let template = decode_template(
            &mut numbers,
            sections,
            &mut positions,
            &templates,
            &mut arguments_left,
        )?;
        templates.push(template);
    }
    let read = positions
        .iter()
        .zip(sections)
        .all(|(position, rows)| *position == rows.len());
    if numbers.position == bytes.len() && read {
        Ok(templates)
    } else {
        Err(numbers.wrong("an end with the last template", "more bytes"))
    }
}

fn decode_template(
    numbers: &mut Reader<'_>,
    sections: [&Bytes; 3],
    positions: &mut [usize; 3],
    earlier: &[Template],
    arguments_left: &mut usize,
) -> Result<Template, PceError> {
    let (slots, aux) = (numbers.u32()?, numbers.u32()?);
    let items = numbers.count()?;
    let own_rows = numbers.u32()? as usize;
    let mut own: [Rows; 3] = Default::default();
    for (index, matrix) in Matrix::ALL.into_iter().enumerate() {
        let terms = numbers.next()?;
        let mut blocks = vec![0];
        let mut end = 0u64;
        if own_rows.div_ceil(BLOCK_ROWS) > numbers.left() {
            return Err(numbers.wrong("a length for each block of rows", own_rows));
        }
        for _ in 0..own_rows.div_ceil(BLOCK_ROWS) {
            end = end.saturating_add(numbers.next()?);
            blocks.push(end);
        }
        let start = positions[index];
        let stop = usize::try_from(end)
            .ok()
            .and_then(|end| start.checked_add(end));
        let rows = stop.and_then(|stop| sections[index].slice(start..stop));
        let Some(rows) = rows else {
            return Err(numbers.wrong(
                "rows that the file has",
                format!("{end} bytes of {}", matrix.name()),
            ));
        };
        positions[index] = start + rows.len();
        own[index] = Rows::from_parts(matrix.name(), rows, blocks, own_rows, terms)?;
    }
    let (items, arguments) = decode_items(numbers, items, earlier, arguments_left)?;
    Ok(Template::from_parts(slots, aux, own, &items, arguments)?)
}

fn decode_items(
    numbers: &mut Reader<'_>,
    count: usize,
    earlier: &[Template],
    arguments_left: &mut usize,
) -> Result<(Vec<StoredItem>, Vec<Column>), PceError> {
    let mut items = Vec::with_capacity(count);
    let mut arguments = Vec::new();
    let mut expected = 0i64;
    for _ in 0..count {
        let head = numbers.next()?;
        if head & 1 == 0 {
            let rows = u32::try_from(head >> 1).map_err(|_| numbers.wrong("32 bits", head >> 1))?;
            items.push(StoredItem::Rows(rows));
            continue;
        }
        let template = usize::try_from(head >> 1)
            .ok()
            .and_then(|index| earlier.get(index));
        let Some(called) = template else {
            return Err(numbers.wrong("a call of an earlier template", head >> 1));
        };
        let offset = numbers.near(expected)?;
        expected = i64::from(offset) + i64::from(called.aux());
        let first = arguments.len();
        match arguments_left.checked_sub(called.slots() as usize) {
            Some(left) => *arguments_left = left,
            None => return Err(numbers.wrong("calls of fewer arguments", called.slots())),
        }
        decode_columns(numbers, called.slots(), &mut arguments)?;
        if arguments.len() > u32::MAX as usize {
            return Err(numbers.wrong("arguments whose count fits 32 bits", arguments.len()));
        }
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
) -> Result<(), PceError> {
    let mut last = [0i64; 2];
    let mut left = u64::from(count);
    while left > 0 {
        let head = numbers.next()?;
        let (space, difference) = ((head & 1) as usize, unzigzag(head >> 1));
        let run = numbers.next()?;
        if run == 0 || run > left {
            return Err(numbers.wrong(format!("at most {left} columns"), run));
        }
        left -= run;
        for _ in 0..run {
            let index = u32::try_from(last[space].wrapping_add(difference));
            let index = index.map_err(|_| numbers.wrong("a column of 32 bits", difference))?;
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
) -> Result<RunBitmap, PceError> {
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
    pub(crate) fn next(&mut self, len: usize) -> Result<RunBitmap, PceError> {
        let numbers = &mut self.0;
        let wanted = len.div_ceil(64);
        let mut bits = RunBitmap::default();
        while bits.words() < wanted {
            let head = numbers.next()?;
            let run = usize::try_from(head >> 2).unwrap_or(usize::MAX);
            if run == 0 || run > wanted - bits.words() {
                return Err(numbers.wrong(format!("{wanted} words"), format!("a run of {run}")));
            }
            match head & 3 {
                ZEROS => bits.push(WordRun::Zeros(run)),
                ONES => bits.push(WordRun::Ones(run)),
                LITERAL => {
                    let rest = numbers.bytes.get(numbers.position..);
                    let Some(literal) = rest.and_then(|rest| rest.get(..8 * run)) else {
                        return Err(numbers.wrong(format!("{run} words"), "fewer bytes"));
                    };
                    let literal = literal.as_chunks::<8>().0.iter();
                    let literal: Vec<u64> = literal.map(|word| u64::from_le_bytes(*word)).collect();
                    bits.push(WordRun::Literal(&literal));
                    numbers.position += 8 * run;
                }
                other => return Err(numbers.wrong("a kind of run", other)),
            }
        }
        bits.finish(len)
            .ok_or_else(|| self.0.wrong(format!("{len} bits"), "a bit past the end"))
    }

    /// Checks that there are no more bytes.
    pub(crate) fn end(&self) -> Result<(), PceError> {
        match self.0.left() {
            0 => Ok(()),
            left => Err(self.0.wrong("the end", format!("{left} bytes"))),
        }
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

impl Reader<'_> {
    fn next(&mut self) -> Result<u64, PceError> {
        let mut value = 0u64;
        for shift in (0..56).step_by(7) {
            let Some(&byte) = self.bytes.get(self.position) else {
                return Err(self.wrong("another number", "the end"));
            };
            self.position += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.wrong("a number of at most 56 bits", "a longer one"))
    }

    fn u32(&mut self) -> Result<u32, PceError> {
        let value = self.next()?;
        u32::try_from(value).map_err(|_| self.wrong("a number of 32 bits", value))
    }

    /// A number as a difference to another.
    fn near(&mut self, expected: i64) -> Result<u32, PceError> {
        let difference = unzigzag(self.next()?);
        u32::try_from(expected + difference)
            .map_err(|_| self.wrong("a number of 32 bits", difference))
    }

    /// A count of things of at least a byte each.
    fn count(&mut self) -> Result<usize, PceError> {
        let value = self.next()?;
        let left = self.left();
        match usize::try_from(value) {
            Ok(count) if count <= left => Ok(count),
            _ => Err(self.wrong(format!("a count of at most {left}"), value)),
        }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    #[cold]
    fn wrong(&self, wanted: impl ToString, found: impl ToString) -> PceError {
        PceError::Section {
            section: self.section,
            wanted: wanted.to_string(),
            found: format!("{} at byte {}", found.to_string(), self.position),
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
    fn read(pce: &Pce, bytes: &[u8], rows: [&Bytes; 3]) -> Result<(), PceError> {
        let templates = decode_templates(bytes, rows)?;
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
