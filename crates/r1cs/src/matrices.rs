//! The matrices of a circuit as templates: each repeated block of constraints once, with the places that call it.
//!
//! Templates are numbered so that a template calls only earlier ones; the last is the root, whose expansion is the
//! circuit. Templates that occur more than once and are not large are kept decoded, since they are read again and again;
//! the rows of the others stay in their encoding and are decoded as they are read.

mod coefficients;
mod column_map;
mod decode;
mod decoded;
mod template;
mod touched;
mod walk;

pub(crate) use coefficients::CoefficientTable;
pub use column_map::{ColumnHasher, ColumnMap};
use decode::DecodedTemplates;
pub(crate) use decoded::{Decoded, Group, GroupKind, NARROW, Part, Place};
pub use template::{Call, Entry, Item, ItemKind, StoredItem, Template, TemplateWriter};

use cuzk_curve::Fr;

use crate::{Column, R1csError, Shape};

/// One of a circuit's three matrices.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// The left matrix.
    A,
    /// The right matrix.
    B,
    /// The output matrix.
    C,
}

impl Matrix {
    /// All three.
    pub const ALL: [Self; 3] = [Self::A, Self::B, Self::C];

    /// `A`, `B` or `C`.
    pub fn name(self) -> &'static str {
        ["A", "B", "C"][self as usize]
    }
}

/// A circuit's matrices.
#[derive(Clone, Debug)]
pub struct Matrices {
    inputs: u32,
    coefficients: CoefficientTable,
    templates: Vec<Template>,
    occurrences: Vec<u64>,
    /// Where a template occurs more than once and is not large.
    decoded: Vec<Option<Box<[Decoded; 3]>>>,
}

impl Matrices {
    /// How deep calls may nest.
    pub const MAX_DEPTH: u32 = 64;

    /// Takes templates, the root last, as the matrices of a circuit of this shape with these coefficients.
    ///
    /// Errors: [`R1csError::Template`] where a template calls what it cannot, [`R1csError::Count`] where the root is not
    /// of this shape, [`R1csError::Rows`] where a template that is kept decoded does not decode.
    pub fn new(
        templates: Vec<Template>,
        shape: Shape,
        coefficients: &[Fr],
    ) -> Result<Self, R1csError> {
        let Some(root) = templates.last() else {
            let what = "templates with the root";
            return Err(R1csError::Count {
                what,
                wanted: 1,
                found: 0,
            });
        };
        for (what, wanted, found) in [
            ("slots of the root", shape.inputs, root.slots as usize),
            ("aux of the root", shape.aux, root.aux as usize),
            ("rows of the root", shape.constraints, root.rows as usize),
        ] {
            if wanted != found {
                return Err(R1csError::Count {
                    what,
                    wanted,
                    found,
                });
            }
        }
        check(&templates)?;
        let occurrences = occurrences(&templates);
        let mut matrices = Self {
            inputs: shape.inputs as u32,
            coefficients: CoefficientTable::new(coefficients),
            decoded: Vec::with_capacity(templates.len()),
            templates,
            occurrences,
        };
        let mut flat_left = FLAT_SIZE;
        for (template, &occurrences) in matrices.templates.iter().zip(&matrices.occurrences) {
            let variables = u64::from(template.slots) + u64::from(template.aux);
            if occurrences < 2 || variables > DECODED_VARIABLES {
                matrices.decoded.push(None);
                continue;
            }
            let called =
                flat(template, &matrices.decoded, &mut flat_left).then_some(&*matrices.decoded);
            let decode = |matrix| Decoded::new(template, matrix, &matrices.coefficients, called);
            let decoded = [decode(Matrix::A)?, decode(Matrix::B)?, decode(Matrix::C)?];
            matrices.decoded.push(Some(Box::new(decoded)));
        }
        Ok(matrices)
    }

    /// The templates, the root last.
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// How often each template occurs in the circuit.
    pub fn occurrences(&self) -> &[u64] {
        &self.occurrences
    }

    /// Number of constraints.
    pub fn rows(&self) -> usize {
        self.templates.last().map_or(0, |root| root.rows as usize)
    }

    /// Number of non-zeros of a matrix, every occurrence counted.
    pub fn terms(&self, matrix: Matrix) -> u64 {
        let own = self
            .templates
            .iter()
            .map(|template| template.own(matrix).terms());
        own.zip(&self.occurrences)
            .map(|(terms, n)| terms.saturating_mul(*n))
            .fold(0, u64::saturating_add)
    }

    /// Bytes in memory: encoded and decoded rows, and calls.
    pub fn size_bytes(&self) -> usize {
        let template = |template: &Template| {
            size_of::<Template>()
                + template
                    .own
                    .iter()
                    .map(crate::Rows::size_bytes)
                    .sum::<usize>()
                + size_of_val(template.items.as_slice())
                + size_of_val(template.arguments.as_slice())
        };
        let decoded = self.decoded.iter().flatten().flat_map(|rows| rows.iter());
        self.templates.iter().map(template).sum::<usize>()
            + decoded.map(Decoded::size_bytes).sum::<usize>()
            + self.coefficients.size_bytes()
    }

    /// Whether a template is kept decoded. So are all that it calls.
    #[inline]
    pub(crate) fn is_decoded(&self, template: usize) -> bool {
        self.decoded[template].is_some()
    }

    /// Whether a template is decoded with its calls expanded.
    #[inline]
    pub(crate) fn is_flat(&self, template: usize) -> bool {
        self.decoded[template]
            .as_ref()
            .is_some_and(|rows| rows[0].flat)
    }

    /// What is known of the coefficients.
    pub(crate) fn coefficients(&self) -> &CoefficientTable {
        &self.coefficients
    }

    #[inline]
    pub(crate) fn decoded(&self, template: usize, matrix: Matrix) -> Option<&Decoded> {
        self.decoded[template]
            .as_deref()
            .map(|rows| &rows[matrix as usize])
    }
}

/// Slots and aux variables up to which a template is decoded: while its rows are evaluated, each has a byte.
const DECODED_VARIABLES: u64 = 1 << 17;
/// Rows up to which a repeated template is decoded with its calls expanded: a call costs about as much as a few rows.
const FLAT_ROWS: u32 = 1 << 15;
/// Rows and terms of A, B and C that the templates so expanded may have together: expanding them takes time.
const FLAT_SIZE: usize = 1 << 21;

/// Whether a template is to be decoded with its calls expanded, and if so takes its size from what is left.
fn flat(template: &Template, decoded: &DecodedTemplates, left: &mut usize) -> bool {
    if template.rows > FLAT_ROWS {
        return false;
    }
    // A term takes two bytes or more.
    let terms = template.own.iter().map(|rows| rows.bytes().len() / 2);
    let mut size = terms.sum::<usize>() + 3 * template.rows as usize;
    for item in &template.items {
        if let ItemKind::Call(call) = item.kind {
            match &decoded[call.template as usize] {
                Some(called) if called[0].flat => {
                    size = size.saturating_add(called.iter().map(|rows| rows.terms).sum());
                }
                _ => return false,
            }
        }
    }
    match left.checked_sub(size) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}

/// Checks that calls refer to earlier templates, fit into their callers, and nest at most so deep.
fn check(templates: &[Template]) -> Result<(), R1csError> {
    let mut depths: Vec<u32> = Vec::with_capacity(templates.len());
    for (index, template) in templates.iter().enumerate() {
        let wrong = |message| R1csError::Template {
            template: index,
            message,
        };
        let known = |column: &Column| match *column {
            Column::Dense(slot) => slot < template.slots,
            Column::Sparse(local) => local < template.aux,
        };
        if !template.arguments.iter().all(known) {
            return Err(wrong("an argument that the caller does not have"));
        }
        let (mut depth, mut free) = (0, 0);
        for (item_index, item) in template.items.iter().enumerate() {
            let ItemKind::Call(call) = item.kind else {
                continue;
            };
            let Some(called) = templates[..index].get(call.template as usize) else {
                return Err(wrong("a call of a template that is not an earlier one"));
            };
            let end = u64::from(call.first_argument) + u64::from(call.arguments);
            if call.arguments != called.slots || end > template.arguments.len() as u64 {
                return Err(wrong("a call without an argument for each slot"));
            }
            let after = u64::from(call.offset) + u64::from(called.aux);
            if u64::from(call.offset) < free || after > u64::from(template.aux) {
                return Err(wrong(
                    "a call whose aux variables overlap those before or reach past the caller's",
                ));
            }
            free = after;
            // A call without rows would cost time that no count bounds.
            if called.rows == 0 || template.item_end(item_index) - item.first_row != called.rows {
                return Err(wrong(
                    "a call of other rows than the template's, or of none",
                ));
            }
            depth = depth.max(depths[call.template as usize] + 1);
        }
        if depth > Matrices::MAX_DEPTH {
            return Err(wrong("calls that nest too deep"));
        }
        depths.push(depth);
    }
    Ok(())
}

/// How often each template occurs below the last. Every call has rows, so no count is above the root's rows.
fn occurrences(templates: &[Template]) -> Vec<u64> {
    let mut counts = vec![0u64; templates.len()];
    if let Some(root) = counts.last_mut() {
        *root = 1;
    }
    for (index, template) in templates.iter().enumerate().rev() {
        for item in &template.items {
            if let ItemKind::Call(call) = item.kind {
                counts[call.template as usize] += counts[index];
            }
        }
    }
    counts
}
