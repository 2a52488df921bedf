//! Pippenger's method: for each window of digits, points are summed by digit, and the sums weighted by it.
//!
//! Points are taken in chunks, so that memory stays bounded: a chunk is decoded once and serves all windows, and the
//! sums of the buckets live on from chunk to chunk.

use cuzk_curve::simd::Arch;
use cuzk_curve::{Fr, Group, large_pages};
use group::Group as _;
use rayon::prelude::*;

use super::batch::batch_tasks;
use super::buckets::{Lists, sort_window};
use super::digits::{self, Digits};
use super::reduce::reduce_windows;
use super::source::{Decoded, Encoded, Point};
use super::sums::add_lists;

/// Bytes of the encoded points of a chunk; decoded they take a third more.
const CHUNK_BYTES: usize = 96 << 20;
/// What an addition of the running sums costs, measured in additions of a batch.
const PROJECTIVE_COST: usize = 8;

/// The sum of `scalars[i]` times point i of `points`.
pub(crate) fn msm<A: Arch, G: Group>(
    arch: A,
    points: &Encoded<'_>,
    scalars: &[Fr],
) -> G::Projective {
    msm_in_chunks::<A, G>(arch, points, scalars, CHUNK_BYTES / G::UNCOMPRESSED_BYTES)
}

/// As [`msm`], taking `chunk` points at a time.
pub(crate) fn msm_in_chunks<A: Arch, G: Group>(
    arch: A,
    points: &Encoded<'_>,
    scalars: &[Fr],
    chunk: usize,
) -> G::Projective {
    if scalars.is_empty() {
        return G::Projective::identity();
    }
    let window = window_bits(scalars.len());
    let buckets = digits::buckets(window);
    let mut sums = large_pages(digits::windows(window) * buckets, Point::<A, G>::default());
    for (i, scalars) in scalars.chunks(chunk).enumerate() {
        let decoded = Decoded::decode(arch, points, i * chunk, scalars.len());
        let digits = Digits::new(scalars, window);
        add_chunk(arch, &decoded, &digits, &mut sums, i == 0);
    }
    let windows = reduce_windows(arch, sums, buckets);
    windows
        .into_iter()
        .rev()
        .fold(G::Projective::identity(), |sum, value| {
            (0..window).fold(sum, |sum, _| sum.double()) + value
        })
}

/// Adds a chunk's points to the sums of all buckets, window after window.
fn add_chunk<A: Arch, G: Group>(
    arch: A,
    points: &Decoded<A, G>,
    digits: &Digits,
    sums: &mut [Point<A, G>],
    fresh: bool,
) {
    // Narrow windows go together, so that a batch is full.
    let together = batch_tasks::<G>().div_ceil(digits.buckets());
    sums.par_chunks_mut(together * digits.buckets())
        .enumerate()
        .for_each(|(group, sums)| {
            let mut lists = Lists::default();
            for window in 0..sums.len() / digits.buckets() {
                sort_window(digits, group * together + window, &mut lists);
            }
            add_lists(arch, points, &lists, sums, fresh);
        });
}

/// The window width that costs the fewest additions for `count` scalars.
pub(crate) fn window_bits(count: usize) -> u32 {
    (digits::MIN_WINDOW..=digits::MAX_WINDOW)
        .min_by_key(|&window| {
            let buckets = digits::buckets(window);
            let running = 4 * PROJECTIVE_COST * (1 << (window / 2));
            digits::windows(window) * (count + 2 * buckets + running)
        })
        .unwrap_or(digits::MAX_WINDOW)
}
