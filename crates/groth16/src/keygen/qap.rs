//! The quadratic arithmetic program of a circuit, evaluated at tau.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cuzk_curve::{Fr, Wipe, Wiped};
use cuzk_r1cs::{Column, CompactR1cs, Matrix, R1csError, Term};
use ff::{Field, PrimeField};
use rayon::prelude::*;

use super::ToxicWaste;
use crate::Groth16Error;

mod partial;

use partial::Partial;

/// Rows that a task adds up.
const PIECE_ROWS: usize = 1 << 15;
/// Elements that are inverted together.
const INVERTED: usize = 1024;

/// For each variable, inputs first, the values at tau of its polynomials.
pub struct Qap {
    inputs: usize,
    domain: usize,
    a: Scalars,
    b: Scalars,
    /// (beta·a + alpha·b + c) / gamma for inputs, / delta for aux.
    external: Scalars,
    tau: Fr,
    /// t(tau) / delta.
    h_factor: Fr,
}

/// Who knows the values knows tau.
pub type Scalars = Wiped<Vec<Fr>>;

impl Drop for Qap {
    fn drop(&mut self) {
        for secret in [&mut self.tau, &mut self.h_factor] {
            std::slice::from_mut(secret).wipe();
        }
    }
}

impl Qap {
    /// Streams the rows of a circuit, to which one row for each input is added as bellperson does. Neither gamma nor
    /// delta may be zero.
    pub fn evaluate(r1cs: &CompactR1cs, toxic: &ToxicWaste) -> Result<Self, Groth16Error> {
        let lagrange = Lagrange::new(r1cs.shape.domain(), toxic.tau)?;
        let shape = r1cs.shape;
        let [mut a, b, mut external] = column_sums(r1cs, &lagrange)?;
        let input_rows = lagrange.coefficients(shape.constraints, shape.rows());
        for (sum, value) in a.iter_mut().zip(&*input_rows) {
            *sum += value;
        }
        let by_gamma = toxic.gamma.invert().unwrap_or(Fr::ZERO);
        let by_delta = toxic.delta.invert().unwrap_or(Fr::ZERO);
        let variables = external.par_iter_mut().zip(&*a).zip(&*b).enumerate();
        variables.for_each(|(index, ((c, a), b))| {
            let by = if index < shape.inputs {
                by_gamma
            } else {
                by_delta
            };
            *c = (toxic.beta * a + toxic.alpha * b + *c) * by;
        });
        let qap = Self {
            inputs: shape.inputs,
            domain: shape.domain(),
            a,
            b,
            external,
            tau: toxic.tau,
            h_factor: lagrange.vanishing * by_delta,
        };
        match qap.l().par_iter().position_first(Fr::is_zero_vartime) {
            Some(index) => Err(Groth16Error::Unconstrained { index }),
            None => Ok(qap),
        }
    }

    /// Size of the evaluation domain.
    pub fn domain(&self) -> usize {
        self.domain
    }

    /// The A polynomials.
    pub fn a(&self) -> &[Fr] {
        &self.a
    }

    /// The B polynomials.
    pub fn b(&self) -> &[Fr] {
        &self.b
    }

    /// The scalars of ic.
    pub fn ic(&self) -> &[Fr] {
        &self.external[..self.inputs]
    }

    /// The scalars of l.
    pub fn l(&self) -> &[Fr] {
        &self.external[self.inputs..]
    }

    /// The scalars `from..to` of h: tau^i · t(tau) / delta.
    pub fn h(&self, from: usize, to: usize) -> Scalars {
        powers(self.tau, self.h_factor, from, to)
    }
}

/// `factor · base^i` for each i of `from..to`.
fn powers(base: Fr, factor: Fr, from: usize, to: usize) -> Scalars {
    let mut out = Wiped::new(vec![Fr::ZERO; to - from]);
    out.par_chunks_mut(INVERTED)
        .enumerate()
        .for_each(|(chunk, out)| {
            let mut power = factor * base.pow_vartime([(from + chunk * INVERTED) as u64]);
            for value in out {
                *value = power;
                power *= base;
            }
        });
    out
}

/// The Lagrange polynomials of a domain at tau: L_i(tau) = (tau^m - 1) / m · w^i / (tau - w^i).
struct Lagrange {
    root: Fr,
    tau: Fr,
    /// tau^m - 1.
    vanishing: Fr,
    /// (tau^m - 1) / m.
    factor: Fr,
}

impl Lagrange {
    fn new(domain: usize, tau: Fr) -> Result<Self, Groth16Error> {
        let log = domain.ilog2();
        if log > Fr::S {
            return Err(cuzk_backend::BackendError::Domain { size: domain }.into());
        }
        let root = (log..Fr::S).fold(Fr::ROOT_OF_UNITY, |root, _| root.square());
        let vanishing = tau.pow_vartime([domain as u64]) - Fr::ONE;
        if vanishing.is_zero_vartime() {
            return Err(Groth16Error::Toxic {
                reason: "tau is in the domain",
            });
        }
        // 1/m is (1/2)^log m.
        Ok(Self {
            root,
            tau,
            vanishing,
            factor: vanishing * Fr::TWO_INV.pow_vartime([u64::from(log)]),
        })
    }

    /// The values for the rows `from..to`.
    fn coefficients(&self, from: usize, to: usize) -> Scalars {
        let mut values = powers(self.root, Fr::ONE, from, to);
        values.par_chunks_mut(INVERTED).for_each(|values| {
            let differences = values.iter().map(|power| self.tau - power);
            let mut differences = Wiped::new(Vec::from_iter(differences));
            invert_all(&mut differences);
            for (value, inverse) in values.iter_mut().zip(&*differences) {
                *value *= self.factor * inverse;
            }
        });
        values
    }
}

/// Replaces values, none of them zero, by their inverses (Montgomery's trick).
fn invert_all(values: &mut [Fr]) {
    let mut product = Fr::ONE;
    let before = values.iter().map(|value| {
        let before = product;
        product *= value;
        before
    });
    let before = Wiped::new(Vec::from_iter(before));
    let mut inverse = product.invert().unwrap_or(Fr::ZERO);
    for (value, before) in values.iter_mut().zip(&*before).rev() {
        let own = std::mem::replace(value, inverse * before);
        inverse *= own;
    }
}

/// For each matrix and each variable, inputs first: the sum over the rows of Lagrange coefficient times entry.
fn column_sums(r1cs: &CompactR1cs, lagrange: &Lagrange) -> Result<[Scalars; 3], R1csError> {
    let constraints = r1cs.shape.constraints;
    let columns = r1cs.shape.inputs + r1cs.shape.aux;
    let sums = Matrix::ALL.map(|_| Mutex::new(Wiped::new(cuzk_curve::zeros(columns))));
    let pieces = 0..constraints.div_ceil(PIECE_ROWS);
    pieces.into_par_iter().try_for_each_init(
        || Partial::new(columns),
        |partial, piece| {
            let first = piece * PIECE_ROWS;
            let end = constraints.min(first + PIECE_ROWS);
            let values = lagrange.coefficients(first, end);
            let mut matrices = Matrix::ALL.into_iter().zip(&sums);
            matrices.try_for_each(|(matrix, sums)| {
                add_rows(r1cs, matrix, first, &values, partial, sums)
            })
        },
    )?;
    Ok(sums.map(|sums| sums.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

fn lock(sums: &Mutex<Scalars>) -> MutexGuard<'_, Scalars> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds coefficient times `values[i]` to the sum of each term's variable, for each row `first + i` of a matrix, by way of
/// a task's own sums.
fn add_rows(
    r1cs: &CompactR1cs,
    matrix: Matrix,
    first: usize,
    values: &[Fr],
    partial: &mut Partial,
    sums: &Mutex<Scalars>,
) -> Result<(), R1csError> {
    let inputs = r1cs.shape.inputs;
    let rows = first..first + values.len();
    let mut values = values.iter();
    r1cs.matrices.for_each_row(matrix, rows, |row| {
        let Some(value) = values.next() else {
            return Ok(());
        };
        for &Term {
            column,
            coefficient,
        } in row
        {
            let sum = partial.sum(match column {
                Column::Dense(input) => input as usize,
                Column::Sparse(variable) => inputs + variable as usize,
            });
            match coefficient {
                CompactR1cs::ONE => *sum += value,
                CompactR1cs::MINUS_ONE => *sum -= value,
                other => *sum += r1cs.coefficients[other as usize] * value,
            }
        }
        if partial.is_large() {
            partial.add_to(&mut lock(sums));
        }
        Ok(())
    })?;
    partial.add_to(&mut lock(sums));
    Ok(())
}
