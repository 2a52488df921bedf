//! Which aux variables the constraints allow only 0 and 1.
//!
//! A row (a)·(b) = (c) with one variable x not yet known to be boolean, all others being, is a polynomial of degree at
//! most two in x for each choice of the others. Where every choice leaves no root but 0 and 1, x is boolean. That covers
//! booleanity rows, AND, XOR, choice and majority gadgets in any sign, whatever circuit they come from. Rows are taken
//! once, in order; the answer for a row's form is remembered, since a circuit has few forms.

use std::collections::HashMap;

use cuzk_curve::Fr;
use cuzk_r1cs::{Bitmap, Column, Term};

/// Rows of more terms than this define no boolean.
const MAX_TERMS: usize = 12;
/// Rows with more known booleans than this define no boolean: all their choices are tried.
const MAX_BOOLEANS: usize = 6;
/// Local number of ONE in a row's form.
const ONE: u32 = 0;
/// Local number of the variable that is asked for.
const UNKNOWN: u32 = 1;

/// Finds boolean variables row by row.
pub(crate) struct Classifier {
    boolean: Bitmap,
    /// Coefficients as small integers, `None` for the others.
    small: Vec<Option<i64>>,
    verdicts: HashMap<Vec<u32>, bool>,
    /// The current row's form: (matrix, local variable, coefficient) a term.
    form: Vec<u32>,
    locals: Vec<Column>,
}

impl Classifier {
    pub(crate) fn new(aux: usize, coefficients: &[Fr]) -> Self {
        Self {
            boolean: Bitmap::zeros(aux),
            small: coefficients.iter().map(small_integer).collect(),
            verdicts: HashMap::new(),
            form: Vec::with_capacity(3 * MAX_TERMS),
            locals: Vec::with_capacity(MAX_BOOLEANS + 2),
        }
    }

    /// Takes the next row: the terms of A, B and C.
    pub(crate) fn row(&mut self, row: &[Vec<Term>; 3]) {
        if row.iter().map(Vec::len).sum::<usize>() > MAX_TERMS {
            return;
        }
        let Some(unknown) = self.only_unknown(row) else {
            return;
        };
        if !self.describe(row, unknown) {
            return;
        }
        let boolean = match self.verdicts.get(&self.form) {
            Some(&verdict) => verdict,
            None => {
                let verdict = self.decide();
                self.verdicts.insert(self.form.clone(), verdict);
                verdict
            }
        };
        if boolean {
            self.boolean.set(unknown as usize);
        }
    }

    /// The variables found to be boolean.
    pub(crate) fn finish(self) -> Bitmap {
        self.boolean
    }

    /// The one aux variable of the row not known to be boolean; `None` where there is none, another, or an input.
    fn only_unknown(&self, row: &[Vec<Term>; 3]) -> Option<u32> {
        let mut unknown = None;
        for term in row.iter().flatten() {
            match term.column {
                Column::Dense(0) => {}
                Column::Dense(_) => return None,
                Column::Sparse(j) if self.boolean.get(j as usize) => {}
                Column::Sparse(j) if unknown.is_none_or(|known| known == j) => unknown = Some(j),
                Column::Sparse(_) => return None,
            }
        }
        unknown
    }

    /// Writes the row's form; `false` where it has too many variables.
    fn describe(&mut self, row: &[Vec<Term>; 3], unknown: u32) -> bool {
        self.form.clear();
        self.locals.clear();
        self.locals
            .extend([Column::Dense(0), Column::Sparse(unknown)]);
        for (matrix, terms) in row.iter().enumerate() {
            for term in terms {
                let known = self.locals.iter().position(|&column| column == term.column);
                let local = known.unwrap_or_else(|| {
                    self.locals.push(term.column);
                    self.locals.len() - 1
                });
                self.form
                    .extend([matrix as u32, local as u32, term.coefficient]);
            }
        }
        self.locals.len() <= MAX_BOOLEANS + 2
    }

    fn decide(&self) -> bool {
        let booleans = self.locals.len() - 2;
        (0..1u32 << booleans).all(|choice| self.allows_only_bits(choice))
    }

    /// Whether the row allows only 0 and 1 for the unknown when known boolean i has bit i - 2 of `choice`.
    fn allows_only_bits(&self, choice: u32) -> bool {
        // [matrix][constant, factor of the unknown]
        let mut parts = [[0i128; 2]; 3];
        for term in self.form.chunks_exact(3) {
            let Some(coefficient) = self.small[term[2] as usize] else {
                return false;
            };
            let part = &mut parts[term[0] as usize];
            match term[1] {
                ONE => part[0] += i128::from(coefficient),
                UNKNOWN => part[1] += i128::from(coefficient),
                local => part[0] += i128::from(coefficient) * i128::from(choice >> (local - 2) & 1),
            }
        }
        let [[a0, a1], [b0, b1], [c0, c1]] = parts;
        roots_are_bits(a1 * b1, a0 * b1 + a1 * b0 - c1, a0 * b0 - c0)
    }
}

/// Whether q2 x^2 + q1 x + q0 has no root but 0 and 1. The numbers are far below the modulus, so they vanish in the
/// field exactly when they are zero.
fn roots_are_bits(q2: i128, q1: i128, q0: i128) -> bool {
    match (q2, q1, q0) {
        (0, 0, q0) => q0 != 0,
        (0, q1, q0) => q0 == 0 || q0 == -q1,
        (q2, q1, 0) => q1 == 0 || q1 == -q2,
        (q2, q1, q0) => q1 == -2 * q2 && q0 == q2,
    }
}

/// The coefficient as an integer of at most 32 bits in size.
fn small_integer(value: &Fr) -> Option<i64> {
    let magnitude = |value: &Fr| {
        let bytes = value.to_bytes_le();
        let low = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes[4..].iter().all(|&b| b == 0).then_some(i64::from(low))
    };
    magnitude(value).or_else(|| magnitude(&-value).map(|m| -m))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff::Field;

    fn classify(rows: &[[Vec<(i64, Column)>; 3]], aux: usize) -> Bitmap {
        let mut table = vec![Fr::ONE, -Fr::ONE];
        let mut encode = |value: i64| {
            let magnitude = Fr::from(value.unsigned_abs());
            let value = if value < 0 { -magnitude } else { magnitude };
            let index = table.iter().position(|v| *v == value);
            index.unwrap_or_else(|| {
                table.push(value);
                table.len() - 1
            }) as u32
        };
        let rows: Vec<[Vec<Term>; 3]> = rows
            .iter()
            .map(|row| {
                row.clone().map(|terms| {
                    let term = |(value, column)| Term {
                        column,
                        coefficient: encode(value),
                    };
                    terms.into_iter().map(term).collect()
                })
            })
            .collect();
        let mut classifier = Classifier::new(aux, &table);
        rows.iter().for_each(|row| classifier.row(row));
        classifier.finish()
    }

    const ONE: Column = Column::Dense(0);
    fn x(j: u32) -> Column {
        Column::Sparse(j)
    }

    fn booleanity(j: u32) -> [Vec<(i64, Column)>; 3] {
        [vec![(1, ONE), (-1, x(j))], vec![(1, x(j))], vec![]]
    }

    #[test]
    fn gadgets_of_booleans_are_boolean() {
        let and = [vec![(1, x(0))], vec![(1, x(1))], vec![(1, x(2))]];
        let xor = [
            vec![(2, x(0))],
            vec![(1, x(1))],
            vec![(1, x(0)), (1, x(1)), (-1, x(3))],
        ];
        let choice = [
            vec![(1, x(0)), (-1, x(1))],
            vec![(1, x(2))],
            vec![(1, x(4)), (-1, x(1))],
        ];
        let conditional = [
            vec![(1, ONE), (-1, x(0)), (-1, x(5))],
            vec![(1, x(5))],
            vec![],
        ];
        let rows = [booleanity(0), booleanity(1), and, xor, choice, conditional];
        assert_eq!(classify(&rows, 6).count_ones(), 6);
    }

    #[test]
    fn what_may_be_another_value_is_not_boolean() {
        let sum = [vec![(1, x(0)), (1, x(1))], vec![(1, ONE)], vec![(1, x(2))]];
        let free = [vec![(1, x(0))], vec![(1, x(3))], vec![]];
        let input = [
            vec![(1, ONE), (-1, x(4))],
            vec![(1, Column::Dense(1))],
            vec![],
        ];
        let square_is_four = [vec![(1, x(5))], vec![(1, x(5))], vec![(4, ONE)]];
        let rows = [
            booleanity(0),
            booleanity(1),
            sum,
            free,
            input,
            square_is_four,
        ];
        let found = classify(&rows, 6);
        assert_eq!(found.iter_ones().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_variable_is_boolean_only_after_its_operands_are() {
        let and = [vec![(1, x(0))], vec![(1, x(1))], vec![(1, x(2))]];
        assert_eq!(classify(&[and.clone(), booleanity(0)], 3).count_ones(), 1);
    }

    #[test]
    fn quadratics_with_roots_outside_the_bits_are_told() {
        assert!(roots_are_bits(1, -1, 0));
        assert!(roots_are_bits(1, -2, 1));
        assert!(roots_are_bits(3, 0, 0));
        assert!(roots_are_bits(0, 5, -5));
        assert!(!roots_are_bits(1, -3, 2));
        assert!(!roots_are_bits(0, 2, 1));
        assert!(!roots_are_bits(0, 0, 0));
        assert!(!roots_are_bits(1, 1, 0));
    }
}
