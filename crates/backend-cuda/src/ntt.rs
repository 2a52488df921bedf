//! Number-theoretic transforms and the quotient.

use std::sync::Arc;

use cuzk_backend::{BackendError, Evaluations, Ntt, Transform};
use cuzk_curve::Fr;
use cuzk_gpu::{Argument, Buffer, GpuError, Grid, Stream};
use ff::{Field, PrimeField};

use crate::CudaBackend;
use crate::error::failure;
use crate::memory::{Element, Vector, element, elements};

/// The largest domain.
const MAX_LOG_SIZE: u32 = 28;
/// Values of a tile, which a block transforms in shared memory, and the levels of a pass at most.
const LOG_TILE: u32 = 10;
const TILE_THREADS: u32 = 128;
/// The tables of powers hold this many low ones, and their multiples up to the largest domain.
const LOG_SPLIT: u32 = 10;
/// Roots that are looked up and not multiplied, as powers of two: at most what a transform of 2^26 values reads,
/// and at most this part of the device's memory in each direction.
const LOG_LOOKED_UP: std::ops::RangeInclusive<u32> = 10..=25;
const MEMORY: usize = 128;

/// Low powers of a base and multiples of them: base^i and base^(i·2^10).
#[derive(Debug)]
struct Powers {
    low: Buffer<Element>,
    high: Buffer<Element>,
}

/// What a transform of one direction reads: T of `kernels/include/cuzk/ntt/pass.cuh`.
#[derive(Debug)]
struct Direction {
    low: Buffer<Element>,
    high: Buffer<Element>,
    log_low: u32,
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
        let generator = Fr::MULTIPLICATIVE_GENERATOR;
        Ok(Self {
            forward: Direction::new(stream, Fr::ROOT_OF_UNITY, generator)?,
            inverse: Direction::new(stream, inverse(Fr::ROOT_OF_UNITY), inverse(generator))?,
        })
    }
}

impl Direction {
    /// From a root of order 2^32.
    fn new(stream: &Arc<Stream>, root: Fr, generator: Fr) -> Result<Self, GpuError> {
        // T[2^k] is a root of order 2^(k + 2).
        let bit = |k| root.pow_vartime([1u64 << (Fr::S - 2 - k)]);
        let bits: Vec<Fr> = (0..MAX_LOG_SIZE).map(bit).collect();
        let bits = stream.upload(elements(&bits))?;
        let most = stream.device().memory().1 / MEMORY / size_of::<Element>();
        let log_low = most
            .max(1)
            .ilog2()
            .clamp(*LOG_LOOKED_UP.start(), *LOG_LOOKED_UP.end());
        Ok(Self {
            low: looked_up(stream, &bits, 0, 1 << log_low)?,
            high: looked_up(stream, &bits, log_low, 1 << (MAX_LOG_SIZE - log_low))?,
            log_low,
            coset: Powers::new(stream, generator)?,
        })
    }
}

/// T[b 2^shift] for b below `count`.
fn looked_up(
    stream: &Arc<Stream>,
    bits: &Buffer<Element>,
    shift: u32,
    count: usize,
) -> Result<Buffer<Element>, GpuError> {
    let out = stream.alloc(count)?;
    let arguments = [
        Argument::from(&out),
        (count as u32).into(),
        shift.into(),
        bits.into(),
    ];
    // SAFETY: `out` holds `count` elements, whose bits, shifted, are below `MAX_LOG_SIZE`, of which there are `bits`.
    unsafe { stream.launch("ntt_roots", Grid::over(count, 256), &arguments) }?;
    Ok(out)
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

/// What values are multiplied by as a transform reads them.
#[derive(Copy, Clone)]
enum Factors<'a> {
    One,
    Values(&'a Buffer<Element>),
    /// The powers of a root of twice the domain's order, of the transform's direction; in time only.
    Shift,
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
        _ => log_size.div_ceil(LOG_TILE),
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
        (from, factors, to): (&Buffer<Element>, Factors<'_>, &Buffer<Element>),
        pass: Pass,
        direction: &Direction,
    ) -> Result<(), BackendError> {
        let log_size = to.len().trailing_zeros();
        let grid = Grid::of(
            1 << log_size.saturating_sub(LOG_TILE),
            TILE_THREADS,
            (size_of::<Element>() as u32) << LOG_TILE,
        );
        let (values, shift) = match factors {
            Factors::One => (Argument::null(), 0u32),
            Factors::Values(values) => (values.into(), 0),
            Factors::Shift => (Argument::null(), 1),
        };
        let arguments = [
            from.into(),
            values,
            to.into(),
            shift.into(),
            log_size.into(),
            pass.log_block.into(),
            pass.log_radix.into(),
            (&direction.low).into(),
            (&direction.high).into(),
            direction.log_low.into(),
        ];
        // SAFETY: all vectors hold 2^log_size values, of which each block takes one tile; the tables hold all roots of
        // the largest domain.
        unsafe { self.stream.launch(kernel, grid, &arguments) }.map_err(failure)
    }

    /// [`Transform::Forward`] that leaves the values in bit-reversed order: what a pointwise product needs no more.
    pub fn ntt_to_reversed(&self, vector: &mut Vector) -> Result<(), BackendError> {
        log_size(vector.0.len())?;
        self.in_frequency(&vector.0, Factors::One, &vector.0, &self.roots.forward)
    }

    /// Natural to bit-reversed order.
    fn in_frequency(
        &self,
        from: &Buffer<Element>,
        factors: Factors<'_>,
        to: &Buffer<Element>,
        direction: &Direction,
    ) -> Result<(), BackendError> {
        let passes = passes(to.len().trailing_zeros());
        self.passes("ntt_frequency", (from, factors, to), passes, direction)
    }

    /// Bit-reversed to natural order, in place.
    fn in_time(
        &self,
        data: &Buffer<Element>,
        factors: Factors<'_>,
        direction: &Direction,
    ) -> Result<(), BackendError> {
        let mut passes = passes(data.len().trailing_zeros());
        passes.reverse();
        self.passes("ntt_time", (data, factors, data), passes, direction)
    }

    /// The first pass multiplies by the factors; a transform of one value has none, and its caller sees to that.
    fn passes(
        &self,
        kernel: &'static str,
        (from, factors, to): (&Buffer<Element>, Factors<'_>, &Buffer<Element>),
        passes: Vec<Pass>,
        direction: &Direction,
    ) -> Result<(), BackendError> {
        let mut data = (from, factors, to);
        for pass in passes {
            self.pass(kernel, data, pass, direction)?;
            data = (to, Factors::One, to);
        }
        Ok(())
    }

    fn reverse(&self, data: &Buffer<Element>) -> Result<(), BackendError> {
        let log_size = data.len().trailing_zeros();
        self.over("fr_reverse", data.len(), &[data.into(), log_size.into()])
    }

    /// Multiplies value i by factor · base^i.
    fn scale_powers(
        &self,
        data: &Buffer<Element>,
        base: &Powers,
        factor: Fr,
    ) -> Result<(), BackendError> {
        let arguments = [
            data.into(),
            (data.len() as u64).into(),
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
}

impl Ntt for CudaBackend {
    fn ntt(&self, vector: &mut Vector, transform: Transform) -> Result<(), BackendError> {
        let data = &vector.0;
        log_size(data.len())?;
        let roots = &*self.roots;
        let inverse_size = inverse(Fr::from(data.len() as u64));
        match transform {
            Transform::Forward => {
                self.in_frequency(data, Factors::One, data, &roots.forward)?;
                self.reverse(data)
            }
            Transform::CosetForward => {
                self.scale_powers(data, &roots.forward.coset, Fr::ONE)?;
                self.in_frequency(data, Factors::One, data, &roots.forward)?;
                self.reverse(data)
            }
            Transform::Inverse => {
                self.reverse(data)?;
                self.in_time(data, Factors::One, &roots.inverse)?;
                self.scale(data, inverse_size)
            }
            Transform::CosetInverse => {
                self.reverse(data)?;
                self.in_time(data, Factors::One, &roots.inverse)?;
                self.scale_powers(data, &roots.inverse.coset, inverse_size)
            }
        }
    }

    /// Six transforms without one permutation: with a and b on the domain and on its coset by g, a root of twice its
    /// order m, so that g^m = -1, h = (coset-inverse(a b) - inverse(a o b)) / (g^m - 1).
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
        if size == 1 {
            // a b - c is zero on the one point of the domain, and has no higher coefficient.
            return self.stream.zeros(1).map(Vector).map_err(failure);
        }
        let roots = &*self.roots;
        let c = self.stream.alloc(size).map_err(failure)?;
        self.in_frequency(&a, Factors::Values(&b), &c, &roots.inverse)?;
        for values in [&a, &b] {
            self.in_frequency(values, Factors::One, values, &roots.inverse)?;
            self.in_time(values, Factors::Shift, &roots.forward)?;
        }
        self.in_frequency(&a, Factors::Values(&b), &a, &roots.inverse)?;
        // None of the transforms was divided by the size.
        let inverse_size = inverse(Fr::from(size as u64));
        let arguments = [
            (&b).into(),
            (&a).into(),
            (&c).into(),
            log_size.into(),
            (&roots.inverse.low).into(),
            (&roots.inverse.high).into(),
            roots.inverse.log_low.into(),
            element(inverse_size.square()).into(),
            element(inverse_size * inverse(-Fr::from(2))).into(),
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
