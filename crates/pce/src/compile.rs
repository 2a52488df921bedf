//! From recorded matrices to compiled ones.

use cuzk_cs_recording::Recorded;
use cuzk_curve::Fr;
use cuzk_r1cs::{
    Bitmap, Column, CompactR1cs, Entry, Matrices, R1csError, RankedBitmap, Template,
    TemplateWriter, Term, TouchedOnce,
};

use crate::classes::boolean_aux;
use crate::hash::shape_hash;

pub(crate) fn compile(recorded: Recorded) -> Result<CompactR1cs, R1csError> {
    let hash = shape_hash(&recorded)?;
    let Recorded {
        shape,
        coefficients,
        matrices,
    } = recorded;
    let boolean = boolean_aux(&matrices, shape.inputs, shape.aux, &coefficients)?;
    let mut field = Bitmap::ones(shape.aux);
    boolean.iter_ones().for_each(|j| field.clear(j));
    let uses = uses(&matrices, coefficients.len())?;
    let (coefficients, renumbered) = by_frequency(&coefficients, &uses);
    let templates = joined(&matrices, &renumbered)?;
    let matrices = Matrices::new(templates, shape, &coefficients)?;
    Ok(CompactR1cs {
        shape,
        hash,
        coefficients,
        touched_once: TouchedOnce::of(&matrices)?,
        matrices,
        field_class: RankedBitmap::new(field),
    })
}

/// How often each coefficient occurs in the circuit.
fn uses(matrices: &Matrices, coefficients: usize) -> Result<Vec<u64>, R1csError> {
    let mut uses = vec![0u64; coefficients];
    for (template, &occurrences) in matrices.templates().iter().zip(matrices.occurrences()) {
        template.visit(|entry| {
            if let Entry::Row(row) = entry {
                for term in row.into_iter().flatten() {
                    uses[term.coefficient as usize] += occurrences;
                }
            }
            Ok::<_, R1csError>(())
        })?;
    }
    Ok(uses)
}

/// The coefficients with the most used first, after 1 and -1, and the new index of each old one.
fn by_frequency(coefficients: &[Fr], uses: &[u64]) -> (Vec<Fr>, Vec<u32>) {
    let pinned = CompactR1cs::MINUS_ONE as usize + 1;
    let mut order: Vec<usize> = (0..coefficients.len()).collect();
    order[pinned..].sort_by_key(|&old| (std::cmp::Reverse(uses[old]), old));
    let mut renumbered = vec![0; coefficients.len()];
    for (new, &old) in order.iter().enumerate() {
        renumbered[old] = new as u32;
    }
    (
        order.iter().map(|&old| coefficients[old]).collect(),
        renumbered,
    )
}

/// The templates with their coefficients renumbered, those that are called from one place alone put in that place.
fn joined(matrices: &Matrices, coefficients: &[u32]) -> Result<Vec<Template>, R1csError> {
    let templates = matrices.templates();
    let mut callers = vec![0u32; templates.len()];
    for template in templates {
        for item in template.items() {
            if let cuzk_r1cs::ItemKind::Call(call) = item.kind {
                callers[call.template as usize] += 1;
            }
        }
    }
    let mut join = Join {
        templates,
        coefficients,
        callers: &callers,
        numbers: vec![0; templates.len()],
    };
    let mut kept: Vec<Template> = Vec::new();
    let root = templates.len() - 1;
    for (index, template) in templates.iter().enumerate() {
        if index == root || callers[index] > 1 {
            let mut writer = TemplateWriter::default();
            join.write(index, &mut writer, &|column| column)?;
            join.numbers[index] = kept.len() as u32;
            kept.push(writer.finish(template.slots(), template.aux()));
        }
    }
    Ok(kept)
}

struct Join<'a> {
    templates: &'a [Template],
    /// The new index of each coefficient.
    coefficients: &'a [u32],
    /// How many calls there are of each template.
    callers: &'a [u32],
    /// The new number of each template that is kept.
    numbers: Vec<u32>,
}

impl Join<'_> {
    /// Writes the parts of template `index`, `moved` giving the writer's column for each of the template's.
    fn write(
        &self,
        index: usize,
        writer: &mut TemplateWriter,
        moved: &dyn Fn(Column) -> Column,
    ) -> Result<(), R1csError> {
        let mut row: [Vec<Term>; 3] = Default::default();
        self.templates[index].visit(|entry| match entry {
            Entry::Row(terms) => {
                for (row, terms) in row.iter_mut().zip(terms) {
                    row.clear();
                    row.extend(terms.iter().map(|term| Term {
                        column: moved(term.column),
                        coefficient: self.coefficients[term.coefficient as usize],
                    }));
                }
                writer.push_row(row.each_ref().map(Vec::as_slice));
                Ok(())
            }
            Entry::Call(called, offset, arguments) => {
                let called = called as usize;
                if self.callers[called] == 1 {
                    let inner = |column| match column {
                        Column::Dense(slot) => moved(arguments[slot as usize]),
                        Column::Sparse(local) => moved(Column::Sparse(offset + local)),
                    };
                    return self.write(called, writer, &inner);
                }
                let offset = match moved(Column::Sparse(offset)) {
                    Column::Sparse(offset) | Column::Dense(offset) => offset,
                };
                let arguments = arguments.iter().map(|&column| moved(column));
                writer.push_call(
                    self.numbers[called],
                    self.templates[called].rows(),
                    offset,
                    arguments,
                );
                Ok(())
            }
        })
    }
}
