//! Which aux variables the constraints allow only 0 and 1.
//!
//! A row (a)·(b) = (c) with one variable x not yet known to be boolean, all others being, is a polynomial of degree at
//! most two in x for each choice of the others. Where every choice leaves no root but 0 and 1, x is boolean. That covers
//! booleanity rows, AND, XOR, choice and majority gadgets in any sign, whatever circuit they come from. Choices that the
//! row before forbids are left out where it is about the same variables: a majority gadget's first row defines the
//! product that its second row uses. Rows are taken once, in order; the answer for a row's form is remembered, since a
//! circuit has few forms. So is the answer for a repeated template whose slots are known as well as they were: it is
//! taken once, not at each call. What a template says must not depend on where it stands, so it has no row before.

use std::collections::HashMap;
use std::rc::Rc;

use cuzk_curve::Fr;
use cuzk_r1cs::{Bitmap, Column, Entry, Matrices, R1csError, Term, small_integer};

/// Rows of more terms than this define no boolean.
const MAX_TERMS: usize = 12;
/// Rows with more known booleans than this define no boolean: all their choices are tried.
const MAX_BOOLEANS: usize = 6;
/// Local number of ONE in a row's form.
const ONE: u32 = 0;
/// Local number of the variable that is asked for.
const UNKNOWN: u32 = 1;

/// The aux variables of a circuit that its constraints allow only 0 and 1.
pub(crate) fn boolean_aux(
    matrices: &Matrices,
    inputs: usize,
    aux: usize,
    coefficients: &[Fr],
) -> Result<Bitmap, R1csError> {
    let mut classifier = Classifier::new(aux, coefficients);
    let slots: Vec<Column> = (0..inputs as u32).map(Column::Dense).collect();
    let root = matrices.templates().len() - 1;
    let instance = Instance {
        template: root,
        base: 0,
        slots: &slots,
    };
    classifier.instance(matrices, &mut HashMap::new(), instance)?;
    Ok(classifier.boolean)
}

/// What is known of a template's slot.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum SlotClass {
    One,
    Input,
    Boolean,
    Unknown,
}

/// Which variables a template makes boolean: its aux variables, then its slots. By template and its slots' classes.
type Remembered = HashMap<(u32, Vec<SlotClass>), Rc<Bitmap>>;

/// A template where it stands: its first aux variable and its slots, in the variables of a classifier.
struct Instance<'a> {
    template: usize,
    base: u32,
    slots: &'a [Column],
}

/// Finds boolean variables row by row.
struct Classifier {
    boolean: Bitmap,
    /// Coefficients as small integers, `None` for the others.
    small: Rc<Vec<Option<i64>>>,
    verdicts: HashMap<Vec<u32>, bool>,
    /// The current row's form: (matrix, local variable, coefficient) a term; matrices 3 to 5 are the row before.
    form: Vec<u32>,
    locals: Vec<Column>,
    previous: [Vec<Term>; 3],
}

impl Classifier {
    fn new(aux: usize, coefficients: &[Fr]) -> Self {
        Self::with(
            aux,
            Rc::new(coefficients.iter().map(small_integer).collect()),
        )
    }

    fn with(aux: usize, small: Rc<Vec<Option<i64>>>) -> Self {
        Self {
            boolean: Bitmap::zeros(aux),
            small,
            verdicts: HashMap::new(),
            form: Vec::with_capacity(3 * MAX_TERMS),
            locals: Vec::with_capacity(MAX_BOOLEANS + 2),
            previous: Default::default(),
        }
    }

    /// Takes the rows of a template's instance, and those of its calls.
    fn instance(
        &mut self,
        matrices: &Matrices,
        remembered: &mut Remembered,
        instance: Instance<'_>,
    ) -> Result<(), R1csError> {
        let template = &matrices.templates()[instance.template];
        let absent = || R1csError::Template {
            template: instance.template,
            message: "a column that the template does not have",
        };
        let moved = |column: Column| match column {
            Column::Dense(slot) => instance.slots.get(slot as usize).copied(),
            Column::Sparse(local) => {
                (local < template.aux()).then(|| Column::Sparse(instance.base + local))
            }
        };
        let mut row: [Vec<Term>; 3] = Default::default();
        template.visit(|entry| match entry {
            Entry::Row(terms) => {
                for (row, terms) in row.iter_mut().zip(terms) {
                    row.clear();
                    for term in terms {
                        let column = moved(term.column).ok_or_else(absent)?;
                        row.push(Term { column, ..*term });
                    }
                }
                self.row(&row);
                Ok(())
            }
            Entry::Call(called, offset, arguments) => {
                let slots = arguments.iter().map(|&column| moved(column));
                let slots: Vec<Column> = slots.collect::<Option<_>>().ok_or_else(absent)?;
                let base = instance.base + offset;
                self.forget_row();
                if matrices.occurrences()[called as usize] > 1 {
                    return self.repeated(matrices, remembered, called, base, &slots);
                }
                let called = Instance {
                    template: called as usize,
                    base,
                    slots: &slots,
                };
                self.instance(matrices, remembered, called)?;
                self.forget_row();
                Ok(())
            }
        })
    }

    /// Takes the rows of a template that occurs again, from memory where its slots were known as well before.
    fn repeated(
        &mut self,
        matrices: &Matrices,
        remembered: &mut Remembered,
        template: u32,
        base: u32,
        slots: &[Column],
    ) -> Result<(), R1csError> {
        let classes: Vec<SlotClass> = slots.iter().map(|&column| self.class(column)).collect();
        let aux = matrices.templates()[template as usize].aux();
        let key = (template, classes);
        let found = match remembered.get(&key) {
            Some(found) => Rc::clone(found),
            None => {
                let found = Rc::new(self.alone(matrices, remembered, template, aux, &key.1)?);
                remembered.insert(key, Rc::clone(&found));
                found
            }
        };
        for variable in found.iter_ones() {
            match (variable as u32).checked_sub(aux) {
                None => self.boolean.set(base as usize + variable),
                Some(slot) => {
                    if let Column::Sparse(j) = slots[slot as usize] {
                        self.boolean.set(j as usize);
                    }
                }
            }
        }
        Ok(())
    }

    /// What a template's rows say when of its slots no more is known than their classes. Slots that are aux variables
    /// follow the template's own.
    fn alone(
        &mut self,
        matrices: &Matrices,
        remembered: &mut Remembered,
        template: u32,
        aux: u32,
        classes: &[SlotClass],
    ) -> Result<Bitmap, R1csError> {
        let mut classifier = Self::with(aux as usize + classes.len(), Rc::clone(&self.small));
        std::mem::swap(&mut classifier.verdicts, &mut self.verdicts);
        let mut slots = Vec::with_capacity(classes.len());
        for (slot, class) in (aux..).zip(classes) {
            if *class == SlotClass::Boolean {
                classifier.boolean.set(slot as usize);
            }
            slots.push(match class {
                SlotClass::One => Column::Dense(0),
                SlotClass::Input => Column::Dense(1),
                SlotClass::Boolean | SlotClass::Unknown => Column::Sparse(slot),
            });
        }
        let instance = Instance {
            template: template as usize,
            base: 0,
            slots: &slots,
        };
        let taken = classifier.instance(matrices, remembered, instance);
        std::mem::swap(&mut classifier.verdicts, &mut self.verdicts);
        taken.map(|()| classifier.boolean)
    }

    fn class(&self, column: Column) -> SlotClass {
        match column {
            Column::Dense(0) => SlotClass::One,
            Column::Dense(_) => SlotClass::Input,
            Column::Sparse(j) if self.boolean.get(j as usize) => SlotClass::Boolean,
            Column::Sparse(_) => SlotClass::Unknown,
        }
    }

    /// Takes the next row: the terms of A, B and C.
    fn row(&mut self, row: &[Vec<Term>; 3]) {
        if row.iter().map(Vec::len).sum::<usize>() <= MAX_TERMS {
            self.classify(row);
        }
        for (previous, terms) in self.previous.iter_mut().zip(row) {
            previous.clone_from(terms);
        }
    }

    fn forget_row(&mut self) {
        self.previous.iter_mut().for_each(Vec::clear);
    }

    fn classify(&mut self, row: &[Vec<Term>; 3]) {
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
        self.describe_previous();
        self.locals.len() <= MAX_BOOLEANS + 2
    }

    /// Adds the row before to the form, where it is about known booleans of this row alone.
    fn describe_previous(&mut self) {
        let start = self.form.len();
        for (matrix, terms) in self.previous.iter().enumerate() {
            for term in terms {
                let local = self.locals.iter().position(|&c| c == term.column);
                match local {
                    Some(local) if local != UNKNOWN as usize => {
                        let place = [3 + matrix as u32, local as u32, term.coefficient];
                        self.form.extend(place);
                    }
                    _ => return self.form.truncate(start),
                }
            }
        }
    }

    fn decide(&self) -> bool {
        let booleans = self.locals.len() - 2;
        (0..1u32 << booleans).all(|choice| self.allows_only_bits(choice))
    }

    /// Whether the row allows only 0 and 1 for the unknown when known boolean i has bit i - 2 of `choice`.
    fn allows_only_bits(&self, choice: u32) -> bool {
        // [matrix][constant, factor of the unknown]
        let mut parts = [[0i128; 2]; 6];
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
        let [[a0, a1], [b0, b1], [c0, c1], before @ ..] = parts;
        let possible = before[0][0] * before[1][0] == before[2][0];
        !possible || roots_are_bits(a1 * b1, a0 * b1 + a1 * b0 - c1, a0 * b0 - c0)
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
        classifier.boolean
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
    fn the_row_before_leaves_out_what_it_forbids() {
        // maj(x0, x1, x2) = x4 with x3 = x1 x2: (2 x3 - x1 - x2) x0 = x3 - x4.
        let product = [vec![(1, x(1))], vec![(1, x(2))], vec![(1, x(3))]];
        let majority = [
            vec![(-1, x(1)), (-1, x(2)), (2, x(3))],
            vec![(1, x(0))],
            vec![(1, x(3)), (-1, x(4))],
        ];
        let known = [booleanity(0), booleanity(1), booleanity(2)];
        let with = [&known[..], &[product.clone(), majority.clone()]].concat();
        assert_eq!(classify(&with, 5).count_ones(), 5);
        // With another row between, or with the product unknown, 2 x3 may be more than x1 + x2.
        let apart = [&known[..], &[product, booleanity(0), majority.clone()]].concat();
        assert_eq!(classify(&apart, 5).count_ones(), 4);
        let without = [&known[..], &[booleanity(3), majority]].concat();
        assert_eq!(classify(&without, 5).count_ones(), 4);
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
