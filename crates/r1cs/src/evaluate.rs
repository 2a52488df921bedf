//! The product of a compiled matrix and a packed witness.

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
        out.par_chunks_mut(BLOCK_ROWS)
            .enumerate()
            .try_for_each(|(block, out)| self.evaluate_block(rows.block(block), witness, out))
    }

    /// [`CompactR1cs::evaluate`] on the calling thread alone.
    pub fn evaluate_single_threaded(
        &self,
        rows: &Rows,
        witness: &PackedWitness,
        out: &mut [Fr],
    ) -> Result<(), R1csError> {
        let out = self.output(rows, witness, out)?;
        out.chunks_mut(BLOCK_ROWS)
            .enumerate()
            .try_for_each(|(block, out)| self.evaluate_block(rows.block(block), witness, out))
    }

    /// Checks that the witness satisfies every constraint, on the threads of the current rayon pool.
    ///
    /// Errors: [`R1csError::Unsatisfied`] naming the first constraint that is not satisfied, with its values.
    pub fn check(&self, witness: &PackedWitness) -> Result<(), R1csError> {
        self.fits(witness)?;
        let failure = (0..self.a.block_count())
            .into_par_iter()
            .find_map_first(|block| self.check_block(block, witness).err());
        failure.map_or(Ok(()), Err)
    }

    fn check_block(&self, block: usize, witness: &PackedWitness) -> Result<(), R1csError> {
        let first = block * BLOCK_ROWS;
        let count = BLOCK_ROWS.min(self.shape.constraints - first);
        let mut values = [(); 3].map(|()| vec![Fr::ZERO; count]);
        for (rows, out) in [&self.a, &self.b, &self.c].into_iter().zip(&mut values) {
            self.evaluate_block(rows.block(block), witness, out)?;
        }
        let [a, b, c] = &values;
        match (0..count).find(|&i| a[i] * b[i] != c[i]) {
            None => Ok(()),
            Some(i) => Err(R1csError::Unsatisfied {
                constraint: first + i,
                a: hex(&a[i]),
                b: hex(&b[i]),
                product: hex(&(a[i] * b[i])),
                c: hex(&c[i]),
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
        reader: BlockReader<'_>,
        witness: &PackedWitness,
        out: &mut [Fr],
    ) -> Result<(), R1csError> {
        if witness.escapes().is_empty() {
            let words = witness.bits().words();
            let slots = witness.slots();
            self.sum_rows(reader, out, |column| match column {
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
            self.sum_rows(reader, out, |column| {
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
            let mut sum = Fr::ZERO;
            while let Some(term) = reader.next_term()? {
                let Some(operand) = operand(term.column) else {
                    return Err(reader.error("a column that the circuit does not have"));
                };
                let Some(coefficient) = self.coefficients.get(term.coefficient as usize) else {
                    return Err(reader.error("a coefficient that the table does not have"));
                };
                match operand {
                    Operand::Bit(false) => {}
                    Operand::Bit(true) => sum += coefficient,
                    Operand::Field(value) => match term.coefficient {
                        Self::ONE => sum += value,
                        Self::MINUS_ONE => sum -= value,
                        _ => sum += *coefficient * value,
                    },
                }
            }
            *value = sum;
        }
        match reader.next_row()? {
            None => Ok(()),
            Some(_) => Err(reader.error("more rows than the matrix has")),
        }
    }
}

enum Operand<'a> {
    Bit(bool),
    Field(&'a Fr),
}

fn hex(value: &Fr) -> String {
    let digits: String = value
        .to_bytes_be()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    format!("0x{digits}")
}
