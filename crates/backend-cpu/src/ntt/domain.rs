//! The subgroup of m-th roots of unity, its coset, and the tables of roots.

use cuzk_backend::BackendError;
use cuzk_curve::Fr;
use cuzk_curve::simd::{Arch, FrLanes, Lanes};
use ff::{Field, PrimeField};

/// A domain of a power of two of elements as a matrix: element i lies in row i / columns, column i % columns.
#[derive(Debug)]
pub(super) struct Domain {
    /// Number of rows: as many as columns, or half as many.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The primitive root of unity that bellperson uses.
    pub root: Fr,
    /// 1 / root.
    pub root_inverse: Fr,
    /// 1 / (rows · columns).
    pub size_inverse: Fr,
}

impl Domain {
    /// The domain of `size` elements.
    pub(super) fn new(size: usize) -> Result<Self, BackendError> {
        if !size.is_power_of_two() || size.ilog2() > Fr::S {
            return Err(BackendError::Domain { size });
        }
        let log = size.ilog2();
        let root = root_of_unity(log);
        Ok(Self {
            rows: 1 << (log / 2),
            columns: 1 << log.div_ceil(2),
            root,
            root_inverse: inverse(&root),
            size_inverse: inverse(&Fr::from(size as u64)),
        })
    }

    /// Number of elements.
    pub(super) fn size(&self) -> usize {
        self.rows * self.columns
    }
}

/// The primitive root of unity of order 2^log: bellperson's, a power of the field's.
fn root_of_unity(log: u32) -> Fr {
    (log..Fr::S).fold(Fr::ROOT_OF_UNITY, |root, _| root.square())
}

/// One over a value that is not zero.
pub(super) fn inverse(value: &Fr) -> Fr {
    value.invert().unwrap_or(Fr::ZERO)
}

/// The twiddles of [`super::layers::natural_to_reversed`] for `size` elements, or for fewer: entry k is the root of unity
/// whose share of a half turn is k's binary digits, reversed behind the point. The roots' inverses where `inverted`.
pub(super) fn reversed_twiddles<A: Arch>(
    arch: A,
    size: usize,
    inverted: bool,
) -> Vec<<A::Fr as FrLanes>::Factor> {
    let mut powers = vec![Fr::ONE];
    while powers.len() < size / 2 {
        let root = root_of_unity(powers.len().ilog2() + 2);
        let root = if inverted { inverse(&root) } else { root };
        for k in 0..powers.len() {
            powers.push(powers[k] * root);
        }
    }
    factors(arch, powers.iter())
}

/// The twiddles of [`super::layers::reversed_to_natural`] for `size` elements on the coset of `shift`: for each layer
/// that joins parts of h elements, h of them, from entry h - 1 on.
pub(super) fn layered_twiddles<A: Arch>(
    arch: A,
    size: usize,
    shift: &Fr,
) -> Vec<<A::Fr as FrLanes>::Factor> {
    let mut powers = Vec::with_capacity(size);
    let mut half = 1;
    while half < size {
        let root = root_of_unity(half.ilog2() + 1);
        let first = shift.pow_vartime([(size / (2 * half)) as u64]);
        powers.extend(std::iter::successors(Some(first), |power| Some(power * root)).take(half));
        half *= 2;
    }
    factors(arch, powers.iter())
}

/// The first `count` powers of `base`, as factors.
pub(super) fn powers<A: Arch>(arch: A, base: &Fr, count: usize) -> Vec<<A::Fr as FrLanes>::Factor> {
    let powers: Vec<Fr> = std::iter::successors(Some(Fr::ONE), |power| Some(power * base))
        .take(count)
        .collect();
    factors(arch, powers.iter())
}

fn factors<'a, A: Arch>(
    arch: A,
    values: impl Iterator<Item = &'a Fr>,
) -> Vec<<A::Fr as FrLanes>::Factor> {
    values.map(|value| A::Fr::factor(arch, value)).collect()
}

/// The geometric progressions of a pass: for the line (row or column) i and the position s in it,
/// `scale` · `line_base`^i · (`position_base` · `root`^i)^s.
#[derive(Clone, Debug)]
pub(super) struct Twist {
    /// A root of unity of the whole domain.
    pub root: Fr,
    /// A factor of every element.
    pub scale: Fr,
    /// A factor for each step from one line to the next.
    pub line_base: Fr,
    /// A factor for each step from one position to the next.
    pub position_base: Fr,
}

/// The terms of a [`Twist`] for neighbouring lines, one a lane, position by position.
#[derive(Copy, Clone, Debug)]
pub(super) struct Progression<A: Arch> {
    /// The factors at the present position.
    pub term: A::Fr,
    ratio: A::Fr,
}

impl Twist {
    /// The progressions of the lines from `line` on, at position 0.
    #[inline(always)]
    pub(super) fn at_line<A: Arch>(&self, arch: A, line: usize) -> Progression<A> {
        let (terms, ratios) = self.lines(line);
        Progression {
            term: A::Fr::from_scalars(arch, &terms[..A::LANES]),
            ratio: A::Fr::from_scalars(arch, &ratios[..A::LANES]),
        }
    }

    /// First terms and ratios of as many lines as an architecture may have lanes.
    #[inline(never)]
    fn lines(&self, line: usize) -> ([Fr; 8], [Fr; 8]) {
        let (mut terms, mut ratios) = ([Fr::ZERO; 8], [Fr::ZERO; 8]);
        let mut term = self.scale * self.line_base.pow_vartime([line as u64]);
        let mut ratio = self.position_base * self.root.pow_vartime([line as u64]);
        for lane in 0..8 {
            (terms[lane], ratios[lane]) = (term, ratio);
            term *= self.line_base;
            ratio *= self.root;
        }
        (terms, ratios)
    }
}

impl<A: Arch> Progression<A> {
    /// Goes to the next position.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        self.term = self.term.mul(self.ratio);
    }
}
