//! The product of a compiled matrix and a packed witness.

use std::fmt;

use cuzk_curve::Fr;
use ff::Field;
use rayon::prelude::*;

use crate::{BLOCK_ROWS, BlockReader, Column, CompactR1cs, PackedWitness, R1csError, Rows, Value};

impl CompactR1cs {
    /// Writes `rows`·w to the front of `out`, on the threads of the current rayon pool.
    ///
    /// Errors: [`R1csError::Count`] where `out` is shorter than the matrix or the witness has other counts than the
    /// circuit, [`R1csError::Rows`] where the matrix does not decode.
    pub fn evaluate(
        &self,
        rows: &Rows,
        witness: &PackedWitness,
        out: &mut [Fr],
    ) -> Result<(), R1csError> {
        let out = self.output(rows, witness, out)?;
        let table = Table::new(&self.coefficients);
        let blocks = out.par_chunks_mut(BLOCK_ROWS).enumerate();
        blocks.try_for_each(|(block, out)| {
            self.evaluate_block(&table, rows.block(block), witness, out)
        })
    }

    /// [`CompactR1cs::evaluate`] on the calling thread alone.
    pub fn evaluate_single_threaded(
        &self,
        rows: &Rows,
        witness: &PackedWitness,
        out: &mut [Fr],
    ) -> Result<(), R1csError> {
        let out = self.output(rows, witness, out)?;
        let table = Table::new(&self.coefficients);
        let mut blocks = out.chunks_mut(BLOCK_ROWS).enumerate();
        blocks.try_for_each(|(block, out)| {
            self.evaluate_block(&table, rows.block(block), witness, out)
        })
    }

    /// Checks that the witness satisfies every constraint, on the threads of the current rayon pool.
    ///
    /// Errors: [`R1csError::Unsatisfied`] naming the first constraint that is not satisfied, with its values.
    pub fn check(&self, witness: &PackedWitness) -> Result<(), R1csError> {
        self.fits(witness)?;
        let table = Table::new(&self.coefficients);
        let failure = (0..self.a.block_count())
            .into_par_iter()
            .find_map_first(|block| self.check_block(&table, block, witness).err());
        failure.map_or(Ok(()), Err)
    }

    fn check_block(
        &self,
        table: &Table<'_>,
        block: usize,
        witness: &PackedWitness,
    ) -> Result<(), R1csError> {
        let first = block * BLOCK_ROWS;
        let count = BLOCK_ROWS.min(self.shape.constraints - first);
        let mut values = [(); 3].map(|()| vec![Fr::ZERO; count]);
        for (rows, out) in [&self.a, &self.b, &self.c].into_iter().zip(&mut values) {
            self.evaluate_block(table, rows.block(block), witness, out)?;
        }
        let [a, b, c] = &values;
        match (0..count).find(|&i| a[i] * b[i] != c[i]) {
            None => Ok(()),
            Some(i) => Err(R1csError::Unsatisfied {
                constraint: first + i,
                values: Box::new(RowValues {
                    a: a[i],
                    b: b[i],
                    c: c[i],
                }),
            }),
        }
    }

    fn output<'a>(
        &self,
        rows: &Rows,
        witness: &PackedWitness,
        out: &'a mut [Fr],
    ) -> Result<&'a mut [Fr], R1csError> {
        self.fits(witness)?;
        let found = out.len();
        out.get_mut(..rows.len()).ok_or(R1csError::Count {
            what: "room for the matrix's rows",
            wanted: rows.len(),
            found,
        })
    }

    fn fits(&self, witness: &PackedWitness) -> Result<(), R1csError> {
        for (what, wanted, found) in [
            (
                "inputs of the witness",
                self.shape.inputs,
                witness.inputs().len(),
            ),
            ("aux of the witness", self.shape.aux, witness.bits().len()),
            ("slots of the witness", self.slots(), witness.slots().len()),
        ] {
            if wanted != found {
                return Err(R1csError::Count {
                    what,
                    wanted,
                    found,
                });
            }
        }
        Ok(())
    }

    fn evaluate_block(
        &self,
        table: &Table<'_>,
        reader: BlockReader<'_>,
        witness: &PackedWitness,
        out: &mut [Fr],
    ) -> Result<(), R1csError> {
        if witness.escapes().is_empty() {
            let words = witness.bits().words();
            let slots = witness.slots();
            table.sum_rows(reader, out, |column| match column {
                Column::Dense(slot) => slots.get(slot as usize).map(Operand::Field),
                Column::Sparse(aux) => words
                    .get(aux as usize / 64)
                    .map(|word| Operand::Bit(word >> (aux % 64) & 1 == 1)),
            })
        } else {
            let escape = |aux| {
                let found = witness.escapes().binary_search_by_key(&aux, |e| e.aux);
                found.ok().map(|i| &witness.escapes()[i].value)
            };
            table.sum_rows(reader, out, |column| {
                match (column, witness.value(column)?) {
                    (Column::Dense(slot), _) => {
                        witness.slots().get(slot as usize).map(Operand::Field)
                    }
                    (Column::Sparse(_), Value::Bit(bit)) => Some(Operand::Bit(bit)),
                    (Column::Sparse(aux), Value::Field(_)) => escape(aux).map(Operand::Field),
                }
            })
        }
    }
}

/// Integers of at most this size have their element in a table.
const TABLED: i64 = 64;

/// The coefficients, and the integers that the small ones are.
///
/// Most rows are sums of bits with coefficients of a few units, so they are summed as integers and become an element
/// once a row.
struct Table<'a> {
    coefficients: &'a [Fr],
    integers: Vec<Option<i64>>,
    elements: Vec<Fr>,
}

impl<'a> Table<'a> {
    fn new(coefficients: &'a [Fr]) -> Self {
        Self {
            coefficients,
            integers: coefficients.iter().map(small_integer).collect(),
            elements: (-TABLED..=TABLED).map(element).collect(),
        }
    }

    #[inline]
    fn element(&self, integer: i64) -> Fr {
        let tabled = usize::try_from(integer + TABLED).ok();
        match tabled.and_then(|index| self.elements.get(index)) {
            Some(element) => *element,
            None => element(integer),
        }
    }

    #[inline(always)]
    fn sum_rows<'w>(
        &self,
        mut reader: BlockReader<'_>,
        out: &mut [Fr],
        operand: impl Fn(Column) -> Option<Operand<'w>>,
    ) -> Result<(), R1csError> {
        for value in out {
            if reader.next_row()?.is_none() {
                return Err(reader.error("a row is missing"));
            }
            let mut integer = 0;
            let mut sum = None;
            while let Some(term) = reader.next_term()? {
                let Some(operand) = operand(term.column) else {
                    return Err(reader.error("a column that the circuit does not have"));
                };
                let Some(small) = self.integers.get(term.coefficient as usize) else {
                    return Err(reader.error("a coefficient that the table does not have"));
                };
                let coefficient = || self.coefficients[term.coefficient as usize];
                let product = match (operand, small) {
                    (Operand::Bit(false), _) => continue,
                    (Operand::Bit(true), Some(small)) => {
                        integer += small;
                        continue;
                    }
                    (Operand::Bit(true), None) => coefficient(),
                    (Operand::Field(value), Some(1)) => *value,
                    (Operand::Field(value), Some(-1)) => -value,
                    (Operand::Field(value), _) => coefficient() * value,
                };
                sum = Some(sum.map_or(product, |sum: Fr| sum + product));
            }
            *value = match (sum, integer) {
                (None, integer) => self.element(integer),
                (Some(sum), 0) => sum,
                (Some(sum), integer) => sum + self.element(integer),
            };
        }
        match reader.next_row()? {
            None => Ok(()),
            Some(_) => Err(reader.error("more rows than the matrix has")),
        }
    }
}

/// The element that an integer is.
fn element(integer: i64) -> Fr {
    let magnitude = Fr::from(integer.unsigned_abs());
    if integer < 0 { -magnitude } else { magnitude }
}

/// The integer that an element is, where it has at most 32 bits.
pub fn small_integer(value: &Fr) -> Option<i64> {
    let magnitude = |value: &Fr| {
        let bytes = value.to_bytes_le();
        let low = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes[4..].iter().all(|&b| b == 0).then_some(i64::from(low))
    };
    magnitude(value).or_else(|| magnitude(&-value).map(|m| -m))
}

enum Operand<'a> {
    Bit(bool),
    Field(&'a Fr),
}

/// What a constraint's three linear combinations come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowValues {
    /// A·w in this row.
    pub a: Fr,
    /// B·w in this row.
    pub b: Fr,
    /// C·w in this row.
    pub c: Fr,
}

/// `a = …, b = …, a*b = …, c = …` in big-endian hexadecimal.
impl fmt::Display for RowValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let product = self.a * self.b;
        let values = [
            ("a", &self.a),
            (", b", &self.b),
            (", a*b", &product),
            (", c", &self.c),
        ];
        for (name, value) in values {
            write!(f, "{name} = 0x")?;
            let bytes = value.to_bytes_be();
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        Ok(())
    }
}
