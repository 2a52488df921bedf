//! The two passes over memory, and the transform that is made of them.

use cuzk_backend::Transform;
use cuzk_curve::parallel::{ColumnBlock, column_blocks};
use cuzk_curve::simd::{Arch, FrLanes, Kernel, Lanes, Task};
use cuzk_curve::{Fr, zeros};
use ff::{Field, PrimeField};
use rayon::prelude::*;

use super::domain::{self, Domain, Twist};
use super::layers::{natural_to_reversed, reversed};

/// An element prepared as a factor of all lanes.
pub(super) type Factor<A> = <<A as Arch>::Fr as FrLanes>::Factor;

/// Layers after which a value may still be multiplied by a progression's term: see [`FrLanes::mul_loose`].
const LOOSE_LAYERS: u32 = 14;

/// Multiplies by a progression's term after `layers` layers.
#[inline(always)]
pub(super) fn twisted<L: FrLanes>(value: L, term: L, layers: u32) -> L {
    let value = if layers > LOOSE_LAYERS {
        value.reduce()
    } else {
        value
    };
    value.mul_loose(term)
}

/// Multiplies the transformed columns in `buffer`, in bit-reversed order, by their progressions, and stores them.
#[inline(always)]
pub(super) fn store_columns<A: Arch>(
    arch: A,
    buffer: &[A::Fr],
    columns: &mut ColumnBlock<'_, Fr>,
    twist: &Twist,
) {
    let layers = buffer.len().ilog2();
    let mut progression = twist.at_line(arch, columns.column());
    for position in 0..buffer.len() {
        let value = buffer[reversed(position, layers)];
        twisted(value, progression.term, layers).store(columns.row(position), 1);
        progression.advance();
    }
}

/// Transforms as many columns as there are lanes, in place.
pub(super) struct ColumnPass<'a, 'b, A: Arch> {
    pub columns: &'a mut ColumnBlock<'b, Fr>,
    pub buffer: &'a mut [A::Fr],
    /// A factor for each row of the input, or none.
    pub input_factors: &'a [Factor<A>],
    pub twiddles: &'a [Factor<A>],
    pub twist: &'a Twist,
}

impl<A: Arch> Task<A> for ColumnPass<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self, arch: A) {
        for (row, slot) in self.buffer.iter_mut().enumerate() {
            *slot = A::Fr::load(arch, self.columns.row(row), 1);
        }
        for (slot, factor) in self.buffer.iter_mut().zip(self.input_factors) {
            *slot = slot.scale(factor);
        }
        natural_to_reversed(self.buffer, self.twiddles);
        store_columns(arch, self.buffer, self.columns, self.twist);
    }
}

/// Transforms as many rows as there are lanes, and writes them as columns.
struct RowPass<'a, 'b, A: Arch> {
    rows: &'a [Fr],
    out: ColumnBlock<'b, Fr>,
    buffer: &'a mut [A::Fr],
    twiddles: &'a [Factor<A>],
    /// A factor for each row of the output, or none.
    output_factors: &'a [Factor<A>],
}

impl<A: Arch> Task<A> for RowPass<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, arch: A) {
        load_rows(arch, self.rows, self.buffer);
        natural_to_reversed(self.buffer, self.twiddles);
        let log = self.buffer.len().ilog2();
        for (position, value) in self.buffer.iter().enumerate() {
            let row = reversed(position, log);
            let value = match self.output_factors.get(row) {
                Some(factor) => value.scale(factor),
                None => value.reduce(),
            };
            value.store(self.out.row(row), 1);
        }
    }
}

/// Loads as many rows as there are lanes, one a lane.
#[inline(always)]
pub(super) fn load_rows<A: Arch>(arch: A, rows: &[Fr], buffer: &mut [A::Fr]) {
    let columns = buffer.len();
    for (column, slot) in buffer.iter_mut().enumerate() {
        *slot = A::Fr::load(arch, &rows[column..], columns);
    }
}

/// A buffer for a column or a row of every lane.
pub(super) fn buffer<A: Arch>(arch: A, len: usize) -> Vec<A::Fr> {
    vec![A::Fr::zero(arch); len]
}

/// The transform of a vector, in natural order.
pub(super) struct Transformed<'a> {
    pub input: Vec<Fr>,
    pub domain: &'a Domain,
    pub transform: Transform,
}

impl Kernel for Transformed<'_> {
    type Output = Vec<Fr>;

    #[inline(always)]
    fn run<A: Arch>(self, arch: A) -> Vec<Fr> {
        run(arch, self.input, self.domain, self.transform)
    }
}

/// What a transform multiplies by beside its twiddles.
struct Scaling<A: Arch> {
    twist: Twist,
    /// A factor for each row of the input, or none.
    input_factors: Vec<Factor<A>>,
    /// A factor for each row of the output, or none.
    output_factors: Vec<Factor<A>>,
}

impl<A: Arch> Scaling<A> {
    fn new(arch: A, domain: &Domain, transform: Transform) -> Self {
        let shift = Fr::MULTIPLICATIVE_GENERATOR;
        let (rows, columns) = (domain.rows, domain.columns);
        let (root, scale) = match transform {
            Transform::Forward | Transform::CosetForward => (domain.root, Fr::ONE),
            Transform::Inverse | Transform::CosetInverse => {
                (domain.root_inverse, domain.size_inverse)
            }
        };
        let mut scaling = Self {
            twist: Twist {
                root,
                scale,
                line_base: Fr::ONE,
                position_base: Fr::ONE,
            },
            input_factors: Vec::new(),
            output_factors: Vec::new(),
        };
        if transform == Transform::CosetForward {
            // Coefficient row · columns + column is multiplied by shift^(row · columns) · shift^column.
            let row_base = shift.pow_vartime([columns as u64]);
            scaling.input_factors = domain::powers(arch, &row_base, rows);
            scaling.twist.line_base = shift;
        }
        if transform == Transform::CosetInverse {
            // Coefficient k1 + rows · k2 is divided by shift^k1 · shift^(rows · k2).
            let inverse = domain::inverse(&shift);
            let row_base = inverse.pow_vartime([rows as u64]);
            scaling.output_factors = domain::powers(arch, &row_base, columns);
            scaling.twist.position_base = inverse;
        }
        scaling
    }
}

/// Columns in place, then rows into a second vector as columns: that order is natural again.
fn run<A: Arch>(arch: A, mut input: Vec<Fr>, domain: &Domain, transform: Transform) -> Vec<Fr> {
    let (rows, columns) = (domain.rows, domain.columns);
    let inverted = matches!(transform, Transform::Inverse | Transform::CosetInverse);
    let scaling = Scaling::new(arch, domain, transform);
    let twiddles = domain::reversed_twiddles(arch, columns, inverted);
    column_blocks(&mut input, columns, A::LANES).for_each_init(
        || buffer(arch, rows),
        |buffer, mut block| {
            arch.run(ColumnPass {
                columns: &mut block,
                buffer,
                input_factors: &scaling.input_factors,
                twiddles: &twiddles,
                twist: &scaling.twist,
            });
        },
    );
    let mut output = zeros(domain.size());
    column_blocks(&mut output, rows, A::LANES)
        .zip(input.par_chunks(A::LANES * columns))
        .for_each_init(
            || buffer(arch, columns),
            |buffer, (out, rows)| {
                arch.run(RowPass {
                    rows,
                    out,
                    buffer,
                    twiddles: &twiddles,
                    output_factors: &scaling.output_factors,
                });
            },
        );
    output
}
