//! Templates that do not fit one another are refused, and those that do expand as they should.

use cuzk_curve::Fr;
use cuzk_r1cs::{
    Bitmap, Column, Matrices, Matrix, R1csError, Shape, Template, TemplateWriter, Term,
};

use ff::Field;

fn term(column: Column) -> Term {
    Term {
        column,
        coefficient: 0,
    }
}

/// slot 1 * local 0 = local 1, twice.
fn block() -> Template {
    let mut writer = TemplateWriter::default();
    let [a, b, c] =
        [Column::Dense(1), Column::Sparse(0), Column::Sparse(1)].map(|column| [term(column)]);
    writer.push_row([&a, &b, &c]);
    writer.push_row([&a, &b, &c]);
    writer.finish(2, 2)
}

fn shape(aux: usize, constraints: usize) -> Shape {
    Shape {
        inputs: 1,
        aux,
        constraints,
    }
}

/// A root that calls template 0 at these offsets, its slot 1 being the aux variable before.
fn root(offsets: &[u32], aux: u32) -> Template {
    let mut writer = TemplateWriter::default();
    for &offset in offsets {
        let before = Column::Sparse(offset.wrapping_sub(1));
        writer.push_call(0, 2, offset, [Column::Dense(0), before]);
    }
    writer.finish(1, aux)
}

fn message(result: Result<Matrices, R1csError>) -> String {
    result
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn calls_expand_to_rows() {
    let matrices =
        Matrices::new(vec![block(), root(&[1, 3, 6], 8)], shape(8, 6), &[Fr::ONE]).unwrap();
    assert_eq!(matrices.occurrences(), [3, 1]);
    assert_eq!(matrices.terms(Matrix::A), 6);
    for (matrix, first) in [
        (Matrix::A, [0, 2, 5]),
        (Matrix::B, [1, 3, 6]),
        (Matrix::C, [2, 4, 7]),
    ] {
        for range in [0..6, 0..1, 1..2, 1..5, 5..6, 3..3] {
            let mut found = Vec::new();
            let keep = |row: &[Term]| {
                found.push(row.to_vec());
                Ok(())
            };
            matrices.for_each_row(matrix, range.clone(), keep).unwrap();
            let wanted = |row: usize| vec![term(Column::Sparse(first[row / 2]))];
            assert_eq!(found, range.map(wanted).collect::<Vec<_>>());
        }
        let once = matrices.touched_once(matrix).unwrap();
        let [inputs, aux] = matrices.touched(matrix, once).unwrap();
        assert_eq!(inputs, Bitmap::zeros(1));
        assert_eq!(aux.iter_ones().map(|j| j as u32).collect::<Vec<_>>(), first);
    }
}

#[test]
fn templates_that_do_not_fit_are_refused() {
    let refused =
        |templates: Vec<Template>, shape| message(Matrices::new(templates, shape, &[Fr::ONE]));
    assert!(refused(vec![], shape(0, 0)).contains("templates with the root"));
    assert!(refused(vec![root(&[], 3)], shape(4, 0)).contains("aux of the root"));
    assert!(refused(vec![root(&[], 3)], shape(3, 1)).contains("rows of the root"));
    assert!(refused(vec![root(&[1], 3)], shape(3, 2)).contains("not an earlier one"));
    assert!(refused(vec![block(), root(&[1, 2], 8)], shape(8, 4)).contains("overlap"));
    assert!(refused(vec![block(), root(&[7], 8)], shape(8, 2)).contains("reach past"));
    assert!(refused(vec![block(), root(&[0], 8)], shape(8, 2)).contains("an argument"));
    assert!(
        refused(vec![root(&[], 0), root(&[1], 3)], shape(3, 2)).contains("without an argument")
    );

    let mut writer = TemplateWriter::default();
    writer.push_call(0, 3, 1, [Column::Dense(0), Column::Sparse(0)]);
    assert!(refused(vec![block(), writer.finish(1, 3)], shape(3, 3)).contains("of other rows"));

    let empty = TemplateWriter::default().finish(0, 0);
    let mut writer = TemplateWriter::default();
    writer.push_call(0, 0, 0, []);
    assert!(refused(vec![empty, writer.finish(1, 0)], shape(0, 0)).contains("of none"));
}

#[test]
fn terms_outside_a_repeated_template_are_refused() {
    for column in [Column::Dense(2), Column::Sparse(2)] {
        let mut writer = TemplateWriter::default();
        let bad = [term(column)];
        writer.push_row([&bad, &[], &[]]);
        writer.push_row([&[], &[], &[]]);
        let templates = vec![writer.finish(2, 2), root(&[1, 3], 8)];
        assert!(matches!(
            Matrices::new(templates, shape(8, 4), &[Fr::ONE]),
            Err(R1csError::Rows { .. })
        ));
    }
    let templates = vec![block(), root(&[1, 3], 8)];
    assert!(matches!(
        Matrices::new(templates, shape(8, 4), &[]),
        Err(R1csError::Rows { .. })
    ));
}

#[test]
fn calls_nest_only_so_deep() {
    let chain = |depth: u32| {
        let mut templates = vec![block()];
        for index in 0..depth {
            let mut writer = TemplateWriter::default();
            writer.push_call(index, 2, 0, [Column::Dense(0), Column::Dense(1)]);
            templates.push(writer.finish(2, 2));
        }
        let mut writer = TemplateWriter::default();
        writer.push_call(depth, 2, 1, [Column::Dense(0), Column::Sparse(0)]);
        templates.push(writer.finish(1, 3));
        message(Matrices::new(templates, shape(3, 2), &[Fr::ONE]))
    };
    assert_eq!(chain(Matrices::MAX_DEPTH - 1), "");
    assert!(chain(Matrices::MAX_DEPTH).contains("too deep"));
}
