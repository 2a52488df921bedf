//! Many multiples of one point: a table of the point's multiples for each window of digits, then one addition a digit.

#[cfg(test)]
mod tests;

use cuzk_curve::simd::{Arch, Kernel, dispatch};
use cuzk_curve::{EncodedPoints, Fr, Group, Wiped};
use group::Curve;
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;

use crate::msm::buckets::{Lists, NEGATIVE};
use crate::msm::digits::{self, Digits};
use crate::msm::source::{Decoded, Encoded, to_affine};
use crate::msm::sums::sum_lists;

/// Scalars that one task multiplies.
const CHUNK: usize = 8192;

/// `scalars[i] * base` for each i. The scalars may be secret: what tells them is overwritten before it is freed.
pub fn fixed_base<G: Group>(base: &G::Affine, scalars: &[Fr]) -> Vec<G::Affine> {
    dispatch(FixedBase::<G> { base, scalars })
}

struct FixedBase<'a, G: Group> {
    base: &'a G::Affine,
    scalars: &'a [Fr],
}

impl<G: Group> Kernel for FixedBase<'_, G> {
    type Output = Vec<G::Affine>;

    fn run<A: Arch>(self, arch: A) -> Vec<G::Affine> {
        let window = window_bits(self.scalars.len());
        let table = table::<A, G>(arch, self.base, window);
        let mut out = vec![G::Affine::identity(); self.scalars.len()];
        self.scalars
            .par_chunks(CHUNK)
            .zip(out.par_chunks_mut(CHUNK))
            .for_each(|(scalars, out)| {
                let digits = Wiped::new(Digits::new(scalars, window));
                let lists = Wiped::new(digit_lists(&digits));
                let sums = sum_lists(arch, &table, &lists);
                out.copy_from_slice(&to_affine(arch, &sums));
            });
        out
    }
}

/// The window width that costs the fewest additions, those for the table included.
fn window_bits(count: usize) -> u32 {
    (digits::MIN_WINDOW..=digits::MAX_WINDOW)
        .min_by_key(|&window| digits::windows(window) * (count + digits::buckets(window)))
        .unwrap_or(digits::MAX_WINDOW)
}

/// For each window w of B magnitudes the multiples 1 to B of 2^(window·w) times `base`, window after window.
fn table<A: Arch, G: Group>(arch: A, base: &G::Affine, window: u32) -> Decoded<A, G> {
    let windows = digits::windows(window);
    let firsts = std::iter::successors(Some(base.to_curve()), |power| {
        Some((0..window).fold(*power, |power, _| group::Group::double(&power)))
    });
    let firsts: Vec<_> = firsts
        .take(windows)
        .map(|power| power.to_affine())
        .collect();
    let encoded = EncodedPoints::<G>::encode(&firsts);
    let mut table = Decoded::decode(arch, &Encoded::new(&encoded, None), 0, windows);
    let mut known = 1;
    while known < digits::buckets(window) {
        table = Decoded::new(sum_lists(arch, &table, &doubled(windows, known)));
        known *= 2;
    }
    table
}

/// The multiples 1 to 2·`known` of each window from the multiples 1 to `known`: (known + j)·P = known·P + j·P.
fn doubled(windows: usize, known: usize) -> Lists {
    let mut lists = Lists::default();
    for window in 0..windows {
        let first = (window * known) as u32;
        let known = known as u32;
        for multiple in first..first + known {
            lists.push([multiple]);
        }
        for multiple in first..first + known {
            lists.push([first + known - 1, multiple]);
        }
    }
    lists
}

/// A list for each scalar: the places in the table of the multiples that its digits name.
fn digit_lists(digits: &Digits) -> Lists {
    let mut lists = Lists::with_room(digits.len(), digits.len() * digits.windows());
    for scalar in 0..digits.len() {
        lists.push((0..digits.windows()).filter_map(|window| {
            let digit = digits.get(scalar, window);
            let magnitude = usize::from(digit.unsigned_abs()).checked_sub(1)?;
            let sign = if digit < 0 { NEGATIVE } else { 0 };
            Some((window * digits.buckets() + magnitude) as u32 | sign)
        }));
    }
    lists
}
