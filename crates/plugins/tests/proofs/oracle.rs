//! The slow and plain way to say that an assignment satisfies recorded matrices.

use cuzk_cs_recording::Recorded;
use cuzk_curve::Fr;
use cuzk_r1cs::{Assignment, Column, Rows};
use ff::Field;

/// The first constraint that the assignment does not satisfy.
pub fn first_unsatisfied(recorded: &Recorded, assignment: &Assignment) -> Option<usize> {
    let aux: Vec<Fr> = assignment.iter_aux().collect();
    let product = |rows: &Rows| times(rows, &recorded.coefficients, &assignment.inputs, &aux);
    let [a, b, c] = recorded.matrices.each_ref().map(product);
    (0..recorded.shape.constraints).find(|&i| a[i] * b[i] != c[i])
}

fn times(rows: &Rows, coefficients: &[Fr], inputs: &[Fr], aux: &[Fr]) -> Vec<Fr> {
    let mut sums = Vec::with_capacity(rows.len());
    for index in 0..rows.block_count() {
        let mut block = rows.block(index);
        while block.next_row().unwrap().is_some() {
            let mut sum = Fr::ZERO;
            while let Some(term) = block.next_term().unwrap() {
                let value = match term.column {
                    Column::Dense(input) => inputs[input as usize],
                    Column::Sparse(variable) => aux[variable as usize],
                };
                sum += coefficients[term.coefficient as usize] * value;
            }
            sums.push(sum);
        }
    }
    sums
}
