//! The product of a compiled matrix and a packed witness.

use std::fmt;
use std::ops::Range;

use cuzk_curve::Fr;
use ff::Field;
use rayon::prelude::*;

use crate::matrices::{Decoded, LocalTerm, Run};
use crate::rows::OwnReader;
use crate::{CompactR1cs, Matrix, PackedWitness, R1csError};

/// Rows that one task evaluates.
const PIECE_ROWS: usize = 8192;

impl CompactR1cs {
    /// Writes a matrix times w to the front of `out`, on the threads of the current rayon pool.
    ///
    /// Errors: [`R1csError::Count`] where `out` is shorter than the matrix or the witness has other counts than the
    /// circuit, [`R1csError::Rows`] where the matrix does not decode.
    pub fn evaluate(
        &self,
        matrix: Matrix,
        witness: &PackedWitness,
        out: &mut [Fr],
    ) -> Result<(), R1csError> {
        let (kernel, out) = self.kernel(witness, out)?;
        out.par_chunks_mut(PIECE_ROWS)
            .enumerate()
            .try_for_each(|(piece, out)| {
                let first = piece * PIECE_ROWS;
                kernel.rows(matrix, first..first + out.len(), |row, value| {
                    out[row - first] = *value
                })
            })
    }

    /// [`CompactR1cs::evaluate`] on the calling thread alone.
    pub fn evaluate_single_threaded(
        &self,
        matrix: Matrix,
        witness: &PackedWitness,
        out: &mut [Fr],
    ) -> Result<(), R1csError> {
        let (kernel, out) = self.kernel(witness, out)?;
        kernel.rows(matrix, 0..out.len(), |row, value| out[row] = *value)
    }

    /// Hands a matrix times w to `take`, value by value in the order of the rows, on the calling thread alone. Nothing
    /// of the size of the circuit is allocated.
    pub fn evaluate_streamed(
        &self,
        matrix: Matrix,
        witness: &PackedWitness,
        mut take: impl FnMut(Fr),
    ) -> Result<(), R1csError> {
        self.fits(witness)?;
        let rows = 0..self.shape.constraints;
        Kernel::new(self, witness).rows(matrix, rows, |_, value| take(*value))
    }

    /// Checks that the witness satisfies every constraint, on the threads of the current rayon pool.
    ///
    /// Errors: [`R1csError::Unsatisfied`] naming the first constraint that is not satisfied, with its values.
    pub fn check(&self, witness: &PackedWitness) -> Result<(), R1csError> {
        self.fits(witness)?;
        let kernel = Kernel::new(self, witness);
        let failure = (0..self.shape.constraints.div_ceil(PIECE_ROWS))
            .into_par_iter()
            .find_map_first(|piece| check_piece(&kernel, piece).err());
        failure.map_or(Ok(()), Err)
    }

    fn kernel<'a, 'o>(
        &'a self,
        witness: &'a PackedWitness,
        out: &'o mut [Fr],
    ) -> Result<(Kernel<'a>, &'o mut [Fr]), R1csError> {
        self.fits(witness)?;
        let found = out.len();
        let wanted = self.shape.constraints;
        let Some(out) = out.get_mut(..wanted) else {
            let what = "room for a value a row";
            return Err(R1csError::Count {
                what,
                wanted,
                found,
            });
        };
        Ok((Kernel::new(self, witness), out))
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
}

fn check_piece(kernel: &Kernel<'_>, piece: usize) -> Result<(), R1csError> {
    let first = piece * PIECE_ROWS;
    let count = PIECE_ROWS.min(kernel.r1cs.shape.constraints - first);
    let mut values = [(); 3].map(|()| vec![Fr::ZERO; count]);
    for (matrix, out) in Matrix::ALL.into_iter().zip(&mut values) {
        kernel.rows(matrix, first..first + count, |row, value| {
            out[row - first] = *value
        })?;
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

/// A variable's value: 0 and 1 are the bits, 2 + i is slot i of the witness or, after the slots, an escape.
type Operand = u32;
const WIDE: Operand = 2;

/// Sums of at most this size come from a table.
const TABLE: i64 = 16;
/// Coefficients of less than this size are summed as integers.
const SMALL_BITS: u32 = 40;
/// Terms of which a sum with small coefficients certainly fits 64 bits.
const LONGEST: usize = 1 << 20;
/// Stands for a coefficient that is not small.
const LARGE: i64 = i64::MIN;

/// What the rows of all matrices are evaluated with.
struct Kernel<'a> {
    r1cs: &'a CompactR1cs,
    witness: &'a PackedWitness,
    inputs: u32,
    /// The words of the field class, and of the witness's bits: as many.
    class: &'a [u64],
    bits: &'a [u64],
    /// Whether the witness has values outside their class.
    escapes: bool,
    /// Each coefficient as an integer, or `LARGE`.
    small: Vec<i64>,
    /// The integers from `-TABLE` to `TABLE`.
    table: Vec<Fr>,
}

impl<'a> Kernel<'a> {
    fn new(r1cs: &'a CompactR1cs, witness: &'a PackedWitness) -> Self {
        let coefficients = r1cs.coefficients.iter();
        Self {
            r1cs,
            witness,
            inputs: r1cs.shape.inputs as u32,
            class: r1cs.field_class.bits().words(),
            bits: witness.bits().words(),
            escapes: !witness.escapes().is_empty(),
            small: coefficients
                .map(|c| small_integer(c).unwrap_or(LARGE))
                .collect(),
            table: (-TABLE..=TABLE)
                .map(|small| integer(small.into()))
                .collect(),
        }
    }

    /// Evaluates the rows of a range and hands them out in order.
    fn rows(
        &self,
        matrix: Matrix,
        rows: Range<usize>,
        mut take: impl FnMut(usize, &Fr),
    ) -> Result<(), R1csError> {
        let mut row = rows.start;
        let mut operands = Vec::new();
        let mut put = |value: &Fr| {
            take(row, value);
            row += 1;
        };
        self.r1cs.matrices.walk(rows, |run| {
            match self.r1cs.matrices.decoded(run.template, matrix) {
                Some(decoded) => {
                    self.decoded_run(decoded, &run, &mut operands, &mut put);
                    Ok(())
                }
                None => self.encoded_run(matrix, &run, &mut put),
            }
        })
    }

    fn decoded_run(
        &self,
        decoded: &Decoded,
        run: &Run<'_>,
        operands: &mut Vec<Operand>,
        put: &mut impl FnMut(&Fr),
    ) {
        operands.clear();
        let (slots, locals) = decoded.variables(run.run);
        operands.extend(
            slots
                .iter()
                .map(|&slot| self.operand(run.slots[slot as usize])),
        );
        let first = run.base - self.inputs;
        operands.extend(locals.iter().map(|&local| self.aux_operand(first + local)));
        let operands = operands.as_slice();
        for terms in decoded.rows(run.own.clone()) {
            // Nearly all rows of a boolean gadget are sums of bits with small coefficients: branchless, for bits are not
            // to be foreseen.
            let (mut sum, mut other) = (0i64, false);
            for term in terms {
                let operand = operands[term.variable as usize];
                let small = self.small[term.coefficient as usize];
                other |= operand >= WIDE || small == LARGE;
                sum = sum.wrapping_add(small & -i64::from(operand));
            }
            if other || terms.len() > LONGEST {
                put(&self.mixed_row(terms, operands));
            } else if let Some(value) = self.table.get((sum + TABLE) as usize) {
                put(value);
            } else {
                put(&integer(sum.into()));
            }
        }
    }

    #[inline(never)]
    fn mixed_row(&self, terms: &[LocalTerm], operands: &[Operand]) -> Fr {
        let mut sum = Sum::default();
        for term in terms {
            self.add(&mut sum, operands[term.variable as usize], term.coefficient);
        }
        self.value(&sum)
    }

    fn encoded_run(
        &self,
        matrix: Matrix,
        run: &Run<'_>,
        put: &mut impl FnMut(&Fr),
    ) -> Result<(), R1csError> {
        let template = &self.r1cs.matrices.templates()[run.template];
        let mut reader = OwnReader::seek(template.own(matrix), run.own.start as usize)?;
        for _ in run.own.clone() {
            reader.next_row()?;
            let mut sum = Sum::default();
            while let Some(term) = reader.next_term()? {
                let Some(variable) = run.variable(term.column, template.aux()) else {
                    return Err(reader.error("a column that the template does not have"));
                };
                if term.coefficient as usize >= self.small.len() {
                    return Err(reader.error("a coefficient that the table does not have"));
                }
                self.add(&mut sum, self.operand(variable), term.coefficient);
            }
            put(&self.value(&sum));
        }
        Ok(())
    }

    #[inline(always)]
    fn operand(&self, variable: u32) -> Operand {
        match variable.checked_sub(self.inputs) {
            Some(aux) => self.aux_operand(aux),
            None if variable == 0 && self.witness.slots()[0] == self.table[TABLE as usize + 1] => 1,
            None => WIDE + variable,
        }
    }

    #[inline(always)]
    fn aux_operand(&self, aux: u32) -> Operand {
        let (word, bit) = (aux as usize / 64, aux % 64);
        if (self.class[word] >> bit) & 1 == 0 && !self.escapes {
            return (self.bits[word] >> bit & 1) as Operand;
        }
        self.rare_operand(aux)
    }

    #[inline(never)]
    fn rare_operand(&self, aux: u32) -> Operand {
        let class = &self.r1cs.field_class;
        if class.bits().get(aux as usize) {
            // Many variables that the constraints do not show to be boolean are.
            let slot = self.inputs + class.rank(aux as usize) as u32;
            let value = &self.witness.slots()[slot as usize];
            return match value {
                value if *value == self.table[TABLE as usize] => 0,
                value if *value == self.table[TABLE as usize + 1] => 1,
                _ => WIDE + slot,
            };
        }
        match self
            .witness
            .escapes()
            .binary_search_by_key(&aux, |escape| escape.aux)
        {
            Ok(found) => WIDE + (self.witness.slots().len() + found) as u32,
            Err(_) => u32::from(self.witness.bits().get(aux as usize)),
        }
    }

    /// Adds a coefficient times an operand.
    #[inline(always)]
    fn add(&self, sum: &mut Sum, operand: Operand, coefficient: u32) {
        let small = self.small[coefficient as usize];
        if operand < WIDE {
            if small != LARGE {
                sum.small += i128::from(small & -i64::from(operand));
            } else if operand == 1 {
                sum.add_wide(&self.r1cs.coefficients[coefficient as usize]);
            }
            return;
        }
        let index = (operand - WIDE) as usize;
        let slots = self.witness.slots();
        let value = match slots.get(index) {
            Some(value) => value,
            None => &self.witness.escapes()[index - slots.len()].value,
        };
        match coefficient {
            CompactR1cs::ONE => sum.add_wide(value),
            CompactR1cs::MINUS_ONE => sum.add_wide(&-value),
            other => sum.add_wide(&(self.r1cs.coefficients[other as usize] * value)),
        }
    }

    #[inline(always)]
    fn value(&self, sum: &Sum) -> Fr {
        match (sum.wide, sum.small) {
            (None, small) => integer(small),
            (Some(wide), 0) => wide,
            (Some(wide), small) => wide + integer(small),
        }
    }
}

/// A row's sum so far: an integer, and a field element where one was needed.
#[derive(Default)]
struct Sum {
    small: i128,
    wide: Option<Fr>,
}

impl Sum {
    #[inline(always)]
    fn add_wide(&mut self, value: &Fr) {
        self.wide = Some(match self.wide {
            None => *value,
            Some(sum) => sum + value,
        });
    }
}

/// An integer as a field element. Fewer than 2^32 terms of `SMALL_BITS` bits do not reach 2^96.
fn integer(value: i128) -> Fr {
    let magnitude = value.unsigned_abs();
    let magnitude = match u64::try_from(magnitude) {
        Ok(small) => Fr::from(small),
        Err(_) => {
            let high = Fr::from((magnitude >> 32) as u64) * Fr::from(1 << 32);
            high + Fr::from(magnitude as u64 & 0xffff_ffff)
        }
    };
    if value < 0 { -magnitude } else { magnitude }
}

/// The integer that an element is, where it has at most 40 bits.
pub fn small_integer(value: &Fr) -> Option<i64> {
    let magnitude = |value: &Fr| {
        let bytes = value.to_bytes_le();
        let low = u64::from_le_bytes(*bytes.first_chunk()?);
        let small = bytes[8..].iter().all(|&b| b == 0) && low >> SMALL_BITS == 0;
        small.then_some(low as i64)
    };
    magnitude(value).or_else(|| magnitude(&-value).map(|m| -m))
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
