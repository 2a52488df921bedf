//! Number-theoretic transforms and the quotient.

use std::sync::Arc;

use cuzk_backend::{BackendError, Evaluations, Ntt, Transform};
use cuzk_curve::Fr;
use cuzk_gpu::{Argument, Buffer, GpuError, Grid, Stream};
use ff::{Field, PrimeField};

use crate::CudaBackend;
use crate::error::failure;
use crate::memory::{Element, Vector, element};

/// The largest domain: the kernels' tables hold powers of the root of unity of this order.
const MAX_LOG_SIZE: u32 = 28;
/// Values of a tile, which a block transforms in shared memory.
const LOG_TILE: u32 = 11;
/// Levels of a pass where there is more than one.
const MAX_LOG_RADIX: u32 = 9;
/// The tables hold this many low powers, and their multiples up to the largest domain.
const LOG_SPLIT: u32 = 10;
const TILE_THREADS: u32 = 256;

/// Low powers of a base and multiples of them: base^i and base^(i·2^10).
#[derive(Debug)]
struct Powers {
    low: Buffer<Element>,
    high: Buffer<Element>,
}

/// What a transform of one direction reads.
#[derive(Debug)]
struct Direction {
    tile: Buffer<Element>,
    root: Powers,
    coset: Powers,
}

/// Roots of unity and powers of the coset's generator, in a device's memory.
#[derive(Debug)]
pub(crate) struct Roots {
    forward: Direction,
    inverse: Direction,
}

impl Roots {
    pub(crate) fn new(stream: &Arc<Stream>) -> Result<Self, GpuError> {
        let root = Fr::ROOT_OF_UNITY.pow_vartime([1 << (Fr::S - MAX_LOG_SIZE)]);
        let generator = Fr::MULTIPLICATIVE_GENERATOR;
        Ok(Self {
            forward: Direction::new(stream, root, generator)?,
            inverse: Direction::new(stream, inverse(root), inverse(generator))?,
        })
    }
}

impl Direction {
    fn new(stream: &Arc<Stream>, root: Fr, generator: Fr) -> Result<Self, GpuError> {
        let tile_root = root.pow_vartime([1 << (MAX_LOG_SIZE - LOG_TILE)]);
        Ok(Self {
            tile: powers(stream, tile_root, 1 << LOG_TILE)?,
            root: Powers::new(stream, root)?,
            coset: Powers::new(stream, generator)?,
        })
    }
}

impl Powers {
    fn new(stream: &Arc<Stream>, base: Fr) -> Result<Self, GpuError> {
        let step = base.pow_vartime([1 << LOG_SPLIT]);
        Ok(Self {
            low: powers(stream, base, 1 << LOG_SPLIT)?,
            high: powers(stream, step, 1 << (MAX_LOG_SIZE - LOG_SPLIT))?,
        })
    }
}

fn powers(stream: &Arc<Stream>, base: Fr, count: usize) -> Result<Buffer<Element>, GpuError> {
    let out = stream.alloc(count)?;
    let arguments = [
        Argument::from(&out),
        (count as u32).into(),
        element(base).into(),
    ];
    // SAFETY: `out` holds `count` elements.
    unsafe { stream.launch("fr_powers", Grid::over(count, 256), &arguments) }?;
    Ok(out)
}

/// The inverse of a value that is not zero.
fn inverse(value: Fr) -> Fr {
    value.invert().unwrap_or(Fr::ZERO)
}

/// A pass: the sizes of the blocks that it works on, and its levels.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Pass {
    log_block: u32,
    log_radix: u32,
}

/// The passes of a transform in decimation in frequency; in time they run backwards.
fn passes(log_size: u32) -> Vec<Pass> {
    let count = match log_size {
        0 => 0,
        1..=LOG_TILE => 1,
        _ => log_size.div_ceil(MAX_LOG_RADIX),
    };
    let mut log_block = log_size;
    let pass = |index| {
        let rest = count - index;
        let log_radix = log_block.div_ceil(rest);
        let pass = Pass {
            log_block,
            log_radix,
        };
        log_block -= log_radix;
        pass
    };
    (0..count).map(pass).collect()
}

/// The logarithm of a domain's size.
fn log_size(size: usize) -> Result<u32, BackendError> {
    if size.is_power_of_two() && size.trailing_zeros() <= MAX_LOG_SIZE {
        Ok(size.trailing_zeros())
    } else {
        Err(BackendError::Domain { size })
    }
}

impl CudaBackend {
    /// Queues a kernel over all values of a vector.
    fn over(
        &self,
        kernel: &'static str,
        size: usize,
        arguments: &[Argument<'_>],
    ) -> Result<(), BackendError> {
        // SAFETY: every call here passes vectors of `size` elements, and the kernels check the index against it.
        unsafe { self.stream.launch(kernel, Grid::over(size, 256), arguments) }.map_err(failure)
    }

    fn pass(
        &self,
        kernel: &'static str,
        data: &Buffer<Element>,
        pass: Pass,
        direction: &Direction,
    ) -> Result<(), BackendError> {
        let log_size = data.len().trailing_zeros();
        let grid = Grid::of(
            1 << log_size.saturating_sub(LOG_TILE),
            TILE_THREADS,
            (size_of::<Element>() as u32) << LOG_TILE,
        );
        let arguments = [
            Argument::from(data),
            log_size.into(),
            pass.log_block.into(),
            pass.log_radix.into(),
            (&direction.tile).into(),
            (&direction.root.low).into(),
            (&direction.root.high).into(),
        ];
        // SAFETY: `data` holds 2^log_size values, of which each block takes one tile; the tables have the kernel's sizes.
        unsafe { self.stream.launch(kernel, grid, &arguments) }.map_err(failure)
    }

    /// The values on the subgroup in bit-reversed order: [`Transform::Forward`] without its last permutation.
    pub fn forward_to_reversed(&self, vector: &mut Vector) -> Result<(), BackendError> {
        log_size(vector.0.len())?;
        self.in_frequency(&vector.0, &self.roots.forward)
    }

    /// Natural to bit-reversed order.
    fn in_frequency(
        &self,
        data: &Buffer<Element>,
        direction: &Direction,
    ) -> Result<(), BackendError> {
        let passes = passes(data.len().trailing_zeros());
        passes
            .into_iter()
            .try_for_each(|pass| self.pass("ntt_frequency", data, pass, direction))
    }

    /// Bit-reversed to natural order.
    fn in_time(&self, data: &Buffer<Element>, direction: &Direction) -> Result<(), BackendError> {
        let passes = passes(data.len().trailing_zeros());
        let mut backwards = passes.into_iter().rev();
        backwards.try_for_each(|pass| self.pass("ntt_time", data, pass, direction))
    }

    /// [`Transform::Forward`] that leaves the values in bit-reversed order: what a pointwise product needs no more.
    pub fn ntt_to_reversed(&self, vector: &mut Vector) -> Result<(), BackendError> {
        log_size(vector.0.len())?;
        self.in_frequency(&vector.0, &self.roots.forward)
    }

    fn reverse(&self, data: &Buffer<Element>) -> Result<(), BackendError> {
        let log_size = data.len().trailing_zeros();
        self.over("fr_reverse", data.len(), &[data.into(), log_size.into()])
    }

    /// Multiplies value i by factor · base^i; `reversed` where the values lie in bit-reversed order.
    fn scale_powers(
        &self,
        data: &Buffer<Element>,
        reversed: bool,
        base: &Powers,
        factor: Fr,
    ) -> Result<(), BackendError> {
        let arguments = [
            data.into(),
            data.len().trailing_zeros().into(),
            u32::from(reversed).into(),
            (&base.low).into(),
            (&base.high).into(),
            element(factor).into(),
        ];
        self.over("fr_scale_powers", data.len(), &arguments)
    }

    fn scale(&self, data: &Buffer<Element>, factor: Fr) -> Result<(), BackendError> {
        let arguments = [
            data.into(),
            (data.len() as u64).into(),
            element(factor).into(),
        ];
        self.over("fr_scale", data.len(), &arguments)
    }

    fn multiply(
        &self,
        out: &Buffer<Element>,
        a: &Buffer<Element>,
        b: &Buffer<Element>,
    ) -> Result<(), BackendError> {
        let arguments = [out.into(), a.into(), b.into(), (out.len() as u64).into()];
        self.over("fr_multiply", out.len(), &arguments)
    }
}

impl Ntt for CudaBackend {
    fn ntt(&self, vector: &mut Vector, transform: Transform) -> Result<(), BackendError> {
        let data = &vector.0;
        log_size(data.len())?;
        let roots = &*self.roots;
        let inverse_size = inverse(Fr::from(data.len() as u64));
        match transform {
            Transform::Forward => {
                self.in_frequency(data, &roots.forward)?;
                self.reverse(data)
            }
            Transform::CosetForward => {
                self.scale_powers(data, false, &roots.forward.coset, Fr::ONE)?;
                self.in_frequency(data, &roots.forward)?;
                self.reverse(data)
            }
            Transform::Inverse => {
                self.reverse(data)?;
                self.in_time(data, &roots.inverse)?;
                self.scale(data, inverse_size)
            }
            Transform::CosetInverse => {
                self.reverse(data)?;
                self.in_time(data, &roots.inverse)?;
                self.scale_powers(data, false, &roots.inverse.coset, inverse_size)
            }
        }
    }

    /// Six transforms without one permutation: with a and b on the domain and on the coset g·H,
    /// h = (coset-inverse(a b) - inverse(a o b)) / (g^m - 1).
    fn quotient(&self, evaluations: Evaluations<Vector>) -> Result<Vector, BackendError> {
        let (Vector(a), Vector(b)) = (evaluations.a, evaluations.b);
        let size = a.len();
        let log_size = log_size(size)?;
        if b.len() != size {
            return Err(BackendError::Length {
                what: "values of B",
                wanted: size,
                found: b.len(),
            });
        }
        let roots = &*self.roots;
        let c = self.stream.alloc(size).map_err(failure)?;
        self.multiply(&c, &a, &b)?;
        self.in_frequency(&c, &roots.inverse)?;
        let inverse_size = inverse(Fr::from(size as u64));
        for values in [&a, &b] {
            self.in_frequency(values, &roots.inverse)?;
            self.scale_powers(values, true, &roots.forward.coset, inverse_size)?;
            self.in_time(values, &roots.forward)?;
        }
        self.multiply(&a, &a, &b)?;
        self.in_frequency(&a, &roots.inverse)?;
        let vanishing = Fr::MULTIPLICATIVE_GENERATOR.pow_vartime([size as u64]) - Fr::ONE;
        let arguments = [
            (&b).into(),
            (&a).into(),
            (&c).into(),
            log_size.into(),
            (&roots.inverse.coset.low).into(),
            (&roots.inverse.coset.high).into(),
            element(inverse_size * inverse(vanishing)).into(),
        ];
        self.over("quotient_combine", size, &arguments)?;
        Ok(Vector(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_cover_every_level_and_fill_tiles() {
        for log_size in 0..=MAX_LOG_SIZE {
            let passes = passes(log_size);
            let levels: u32 = passes.iter().map(|pass| pass.log_radix).sum();
            assert_eq!(levels, log_size);
            let mut log_block = log_size;
            for (index, pass) in passes.iter().enumerate() {
                assert_eq!(pass.log_block, log_block);
                log_block -= pass.log_radix;
                // A tile holds whole rows of a pass, and its columns lie in one block.
                assert!(pass.log_radix <= LOG_TILE);
                let last = index + 1 == passes.len();
                assert!(last || log_block >= LOG_TILE - pass.log_radix);
            }
            assert_eq!(log_block, 0);
        }
    }
}
