//! The quotient polynomial with six transforms.
//!
//! With a, b on the domain and on the coset g·H, q the polynomial with the values a·b on the coset and c the one with the
//! values a·b on the domain: both have the remainder of a·b modulo their vanishing polynomials, x^m - g^m and x^m - 1, so
//! a·b = h·(x^m - 1) + c = h·(x^m - g^m) + q gives h = (q - c) / (g^m - 1) coefficient by coefficient.
//!
//! Between the passes a polynomial lies transposed: row k1, column k2 holds coefficient k1 + rows · k2. The way back from
//! there begins with the rows, so two transforms need three passes over memory, and only the last puts h in order.

use cuzk_curve::parallel::{ColumnBlock, column_blocks};
use cuzk_curve::simd::{Arch, FrLanes, Kernel, Lanes, Task};
use cuzk_curve::{Fr, zeros};
use ff::{Field, PrimeField};
use rayon::prelude::*;

use super::domain::{self, Domain, Twist};
use super::layers::{natural_to_reversed, reversed, reversed_to_natural};
use super::passes::{ColumnPass, Factor, buffer, load_rows, store_columns, twisted};

/// The quotient of the polynomials with the values `a` and `b` on `domain`.
pub(super) struct Quotient<'a> {
    pub a: Vec<Fr>,
    pub b: Vec<Fr>,
    pub domain: &'a Domain,
}

impl Kernel for Quotient<'_> {
    type Output = Vec<Fr>;

    #[inline(always)]
    fn run<A: Arch>(self, arch: A) -> Vec<Fr> {
        let Self {
            mut a,
            mut b,
            domain,
        } = self;
        let plan = Plan::new(arch, domain);
        let mut c = zeros(a.len());
        plan.to_rows(&mut a, &mut b, &mut c);
        plan.to_coset(&mut a);
        plan.to_coset(&mut b);
        plan.multiply(&mut a, &mut b);
        plan.subtract(&a, &c, &mut b);
        b
    }
}

/// What the passes share.
struct Plan<'a, A: Arch> {
    arch: A,
    domain: &'a Domain,
    /// For the inverse transforms of rows and of columns.
    inverse: Vec<Factor<A>>,
    /// For the transforms of rows onto the coset.
    coset_rows: Vec<Factor<A>>,
    /// For the transforms of columns.
    columns: Vec<Factor<A>>,
    /// g^(-rows · k2) for each k2.
    unshift: Vec<Factor<A>>,
    /// From columns to rows.
    to_rows: Twist,
    /// From columns to rows, for the products on the domain.
    products_to_rows: Twist,
    /// From columns to rows, for the products on the coset.
    coset_to_rows: Twist,
    /// From rows to columns, onto the coset.
    to_columns: Twist,
}

impl<'a, A: Arch> Plan<'a, A> {
    fn new(arch: A, domain: &'a Domain) -> Self {
        let shift = Fr::MULTIPLICATIVE_GENERATOR;
        let unshift = domain::inverse(&shift);
        let rows = domain.rows as u64;
        let vanishing = shift.pow_vartime([domain.size() as u64]) - Fr::ONE;
        let loaded_product = Fr::from(A::Fr::LOADED_PRODUCT);
        let to_rows = Twist {
            root: domain.root_inverse,
            scale: Fr::ONE,
            line_base: Fr::ONE,
            position_base: Fr::ONE,
        };
        let products_to_rows = Twist {
            scale: domain.size_inverse * domain::inverse(&vanishing) * loaded_product,
            ..to_rows.clone()
        };
        let coset_to_rows = Twist {
            position_base: unshift,
            ..products_to_rows.clone()
        };
        let to_columns = Twist {
            root: domain.root,
            scale: domain.size_inverse,
            line_base: shift,
            position_base: Fr::ONE,
        };
        Self {
            arch,
            domain,
            inverse: domain::reversed_twiddles(arch, domain.columns, true),
            coset_rows: domain::layered_twiddles(arch, domain.columns, &shift.pow_vartime([rows])),
            columns: domain::layered_twiddles(arch, domain.rows, &Fr::ONE),
            unshift: domain::powers(arch, &unshift.pow_vartime([rows]), domain.columns),
            to_rows,
            products_to_rows,
            coset_to_rows,
            to_columns,
        }
    }

    /// The columns of the inverse transforms of a, b, and a·b.
    fn to_rows(&self, a: &mut [Fr], b: &mut [Fr], c: &mut [Fr]) {
        let (arch, domain) = (self.arch, self.domain);
        column_blocks(a, domain.columns, A::LANES)
            .zip(column_blocks(b, domain.columns, A::LANES))
            .zip(column_blocks(c, domain.columns, A::LANES))
            .for_each_init(
                || buffer(arch, domain.rows),
                |buffer, ((mut a, mut b), mut c)| {
                    arch.run(Products {
                        plan: self,
                        a: &mut a,
                        b: &mut b,
                        c: &mut c,
                        buffer,
                    });
                    for columns in [&mut a, &mut b] {
                        arch.run(ColumnPass {
                            columns,
                            buffer,
                            input_factors: &[],
                            twiddles: &self.inverse,
                            twist: &self.to_rows,
                        });
                    }
                },
            );
    }

    /// The rows of an inverse transform and of the transform onto the coset.
    fn to_coset(&self, values: &mut [Fr]) {
        let (arch, domain) = (self.arch, self.domain);
        values
            .par_chunks_mut(A::LANES * domain.columns)
            .enumerate()
            .for_each_init(
                || buffer(arch, domain.columns),
                |buffer, (index, rows)| {
                    arch.run(CosetRows {
                        plan: self,
                        first: index * A::LANES,
                        rows,
                        buffer,
                    });
                },
            );
    }

    /// The columns of the transforms of a and b onto the coset, and of the inverse transform of their product, into a.
    fn multiply(&self, a: &mut [Fr], b: &mut [Fr]) {
        let (arch, domain) = (self.arch, self.domain);
        column_blocks(a, domain.columns, A::LANES)
            .zip(column_blocks(b, domain.columns, A::LANES))
            .for_each_init(
                || (buffer(arch, domain.rows), buffer(arch, domain.rows)),
                |(left, right), (mut a, mut b)| {
                    arch.run(CosetProducts {
                        plan: self,
                        a: &mut a,
                        b: &mut b,
                        left,
                        right,
                    });
                },
            );
    }

    /// The rows of the inverse transforms of q and c, and their difference, in natural order.
    fn subtract(&self, q: &[Fr], c: &[Fr], h: &mut [Fr]) {
        let (arch, domain) = (self.arch, self.domain);
        let chunk = A::LANES * domain.columns;
        column_blocks(h, domain.rows, A::LANES)
            .zip(q.par_chunks(chunk).zip(c.par_chunks(chunk)))
            .for_each_init(
                || (buffer(arch, domain.columns), buffer(arch, domain.columns)),
                |(left, right), (out, (q, c))| {
                    arch.run(Difference {
                        plan: self,
                        q,
                        c,
                        out,
                        left,
                        right,
                    });
                },
            );
    }
}

/// Some columns of a and b to those of the inverse transform of their product.
struct Products<'a, 'b, A: Arch> {
    plan: &'a Plan<'a, A>,
    a: &'a mut ColumnBlock<'b, Fr>,
    b: &'a mut ColumnBlock<'b, Fr>,
    c: &'a mut ColumnBlock<'b, Fr>,
    buffer: &'a mut [A::Fr],
}

impl<A: Arch> Task<A> for Products<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self, arch: A) {
        for (row, slot) in self.buffer.iter_mut().enumerate() {
            let left = A::Fr::load(arch, self.a.row(row), 1);
            *slot = left.mul(A::Fr::load(arch, self.b.row(row), 1));
        }
        natural_to_reversed(self.buffer, &self.plan.inverse);
        store_columns(arch, self.buffer, self.c, &self.plan.products_to_rows);
    }
}

/// Some rows of an inverse transform, then of the transform onto the coset, in place.
struct CosetRows<'a, A: Arch> {
    plan: &'a Plan<'a, A>,
    first: usize,
    rows: &'a mut [Fr],
    buffer: &'a mut [A::Fr],
}

impl<A: Arch> Task<A> for CosetRows<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self, arch: A) {
        let columns = self.buffer.len();
        let layers = columns.ilog2();
        load_rows(arch, self.rows, self.buffer);
        natural_to_reversed(self.buffer, &self.plan.inverse);
        for slot in self.buffer.iter_mut() {
            *slot = slot.reduce();
        }
        reversed_to_natural::<A::Fr, false>(self.buffer, &self.plan.coset_rows);
        let mut progression = self.plan.to_columns.at_line(arch, self.first);
        for (column, value) in self.buffer.iter().enumerate() {
            twisted(*value, progression.term, layers).store(&mut self.rows[column..], columns);
            progression.advance();
        }
    }
}

/// Some columns of a and b to their values on the coset, and the products of those back to columns of q, into a.
struct CosetProducts<'a, 'b, A: Arch> {
    plan: &'a Plan<'a, A>,
    a: &'a mut ColumnBlock<'b, Fr>,
    b: &'a mut ColumnBlock<'b, Fr>,
    left: &'a mut [A::Fr],
    right: &'a mut [A::Fr],
}

impl<A: Arch> Task<A> for CosetProducts<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self, arch: A) {
        let log = self.left.len().ilog2();
        for row in 0..self.left.len() {
            let position = reversed(row, log);
            self.left[position] = A::Fr::load(arch, self.a.row(row), 1);
            self.right[position] = A::Fr::load(arch, self.b.row(row), 1);
        }
        for buffer in [&mut *self.left, &mut *self.right] {
            reversed_to_natural::<A::Fr, true>(buffer, &self.plan.columns);
        }
        for (left, right) in self.left.iter_mut().zip(self.right.iter()) {
            *left = left.reduce().mul(right.reduce());
        }
        natural_to_reversed(self.left, &self.plan.inverse);
        store_columns(arch, self.left, self.a, &self.plan.coset_to_rows);
    }
}

/// Some rows of q and c to columns of h.
struct Difference<'a, 'b, A: Arch> {
    plan: &'a Plan<'a, A>,
    q: &'a [Fr],
    c: &'a [Fr],
    out: ColumnBlock<'b, Fr>,
    left: &'a mut [A::Fr],
    right: &'a mut [A::Fr],
}

impl<A: Arch> Task<A> for Difference<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, arch: A) {
        let log = self.left.len().ilog2();
        for (rows, buffer) in [(self.q, &mut *self.left), (self.c, &mut *self.right)] {
            load_rows(arch, rows, buffer);
            natural_to_reversed(buffer, &self.plan.inverse);
        }
        for (position, (q, c)) in self.left.iter().zip(self.right.iter()).enumerate() {
            let row = reversed(position, log);
            let difference = q.scale(&self.plan.unshift[row]).sub(c.reduce());
            difference.store(self.out.row(row), 1);
        }
    }
}
