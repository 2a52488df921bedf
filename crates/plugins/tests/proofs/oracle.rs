//! The slow and plain way to say that an assignment satisfies recorded matrices.

use cuzk_cs_recording::Recorded;
use cuzk_curve::Fr;
use cuzk_r1cs::{Assignment, Column, Matrix};

/// The first constraint that the assignment does not satisfy.
pub fn first_unsatisfied(recorded: &Recorded, assignment: &Assignment) -> Option<usize> {
    let aux: Vec<Fr> = assignment.iter_aux().collect();
    let [a, b, c] = Matrix::ALL.map(|matrix| times(recorded, matrix, &assignment.inputs, &aux));
    (0..recorded.shape.constraints).find(|&i| a[i] * b[i] != c[i])
}

fn times(recorded: &Recorded, matrix: Matrix, inputs: &[Fr], aux: &[Fr]) -> Vec<Fr> {
    let mut sums = Vec::with_capacity(recorded.shape.constraints);
    let rows = 0..recorded.shape.constraints;
    let each = |row: &[cuzk_r1cs::Term]| {
        let values = row.iter().map(|term| {
            let value = match term.column {
                Column::Dense(input) => inputs[input as usize],
                Column::Sparse(variable) => aux[variable as usize],
            };
            recorded.coefficients[term.coefficient as usize] * value
        });
        sums.push(values.sum());
        Ok(())
    };
    recorded.matrices.for_each_row(matrix, rows, each).unwrap();
    sums
}
