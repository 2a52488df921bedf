//! From the encoded rows of a template to decoded ones.

use super::coefficients::CoefficientTable;
use super::decoded::{Decoded, Grouping, Place};
use super::template::{ItemKind, Template};
use crate::rows::OwnReader;
use crate::{Column, Matrix, R1csError, Term};

/// What is decoded of each template.
pub(super) type DecodedTemplates = [Option<Box<[Decoded; 3]>>];

impl Decoded {
    /// Decodes and checks: every column lies in the template, every coefficient in the table. Where `called` is given,
    /// the rows of calls are taken from what it has of the called templates, all of which are flat.
    pub(super) fn new(
        template: &Template,
        matrix: Matrix,
        table: &CoefficientTable,
        called: Option<&DecodedTemplates>,
    ) -> Result<Self, R1csError> {
        let mut reader = OwnReader::seek(template.own(matrix), 0)?;
        let mut rows = Grouping::new(table, called.is_some());
        for (index, item) in template.items.iter().enumerate() {
            match (&item.kind, called) {
                (ItemKind::Rows { .. }, _) => {
                    for _ in item.first_row..template.item_end(index) {
                        read_row(&mut reader, template, table, &mut rows)?;
                    }
                    if called.is_none() {
                        rows.close_run();
                    }
                }
                (ItemKind::Call(call), Some(called)) => {
                    if let Some(inner) = &called[call.template as usize] {
                        let inner = &inner[matrix as usize];
                        let arguments = template.arguments_of(call);
                        take_rows(inner, arguments, call.offset, table, &mut rows)?;
                    }
                }
                (ItemKind::Call(_), None) => {}
            }
        }
        if called.is_some() {
            rows.close_run();
        }
        Ok(rows.finish())
    }
}

fn read_row(
    reader: &mut OwnReader<'_>,
    template: &Template,
    table: &CoefficientTable,
    rows: &mut Grouping<'_>,
) -> Result<(), R1csError> {
    reader.next_row()?;
    while let Some(Term {
        column,
        coefficient,
    }) = reader.next_term()?
    {
        let known = match column {
            Column::Dense(slot) => slot < template.slots,
            Column::Sparse(local) => local < template.aux,
        };
        if !known || coefficient as usize >= table.len() {
            return Err(reader.error("a column or coefficient that the template does not have"));
        }
        rows.push(Place::new(column), coefficient);
    }
    rows.close_row();
    Ok(())
}

/// Appends the rows of a flat template that is called.
fn take_rows(
    inner: &Decoded,
    arguments: &[Column],
    offset: u32,
    table: &CoefficientTable,
    rows: &mut Grouping<'_>,
) -> Result<(), R1csError> {
    inner.for_each(0, 0..inner.rows, table, |terms| {
        for term in terms {
            let column = match term.place.column() {
                Column::Dense(slot) => arguments[slot as usize],
                Column::Sparse(local) => Column::Sparse(offset + local),
            };
            rows.push(Place::new(column), term.coefficient);
        }
        rows.close_row();
        Ok(())
    })
}
