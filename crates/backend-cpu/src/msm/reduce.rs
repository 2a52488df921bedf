//! From the sums of buckets to the value of a window.
//!
//! Bucket i of B has weight i + 1. With i = h·C + l, the buckets are a matrix with rows h and C columns l, and
//! Σ (i+1) S_i = C · Σ h·R_h + Σ l·K_l + Σ R_h for the sums R of its rows and K of its columns. Those are plain sums of
//! lists, two additions a bucket in lanes; about 2·√B points are left for running sums.

use cuzk_curve::Group;
use cuzk_curve::simd::Arch;
use group::Group as _;
use rayon::prelude::*;

use super::buckets::Lists;
use super::source::{Decoded, Point, to_affine};
use super::sums::sum_lists;

/// The values of windows of `buckets` buckets each, a power of two.
pub(crate) fn reduce_windows<A: Arch, G: Group>(
    arch: A,
    sums: Vec<Point<A, G>>,
    buckets: usize,
) -> Vec<G::Projective> {
    let columns = 1 << (buckets.ilog2() / 2);
    let rows = buckets / columns;
    let lists = matrix_lists(sums.len() / buckets, rows, columns);
    let sums = sum_lists(arch, &Decoded::new(sums), &lists);
    sums.par_chunks(rows + columns)
        .map(|sums| {
            let (rows, columns) = sums.split_at(rows);
            window_value(arch, rows, columns)
        })
        .collect()
}

/// For each window a list for each row of its buckets, then one for each column.
fn matrix_lists(windows: usize, rows: usize, columns: usize) -> Lists {
    let buckets = rows * columns;
    let mut lists = Lists::default();
    lists.entries.reserve_exact(2 * windows * buckets);
    for window in 0..windows {
        let first = window * buckets;
        for row in 0..rows {
            let start = first + row * columns;
            lists.push((start..start + columns).map(|i| i as u32));
        }
        for column in 0..columns {
            let column = (first + column..first + buckets).step_by(columns);
            lists.push(column.map(|i| i as u32));
        }
    }
    lists
}

/// C · Σ h·R_h + Σ l·K_l + Σ R_h.
fn window_value<A: Arch, G: Group>(
    arch: A,
    rows: &[Point<A, G>],
    columns: &[Point<A, G>],
) -> G::Projective {
    let (by_rows, total) = weighted_sum(arch, rows);
    let (by_columns, _) = weighted_sum(arch, columns);
    let scaled = (0..columns.len().ilog2()).fold(by_rows, |sum, _| sum.double());
    scaled + by_columns + total
}

/// Σ i·P_i and Σ P_i, by running sums.
fn weighted_sum<A: Arch, G: Group>(
    arch: A,
    points: &[Point<A, G>],
) -> (G::Projective, G::Projective) {
    let identity = G::Projective::identity();
    let (mut weighted, mut running) = (identity, identity);
    for point in to_affine::<A, G>(arch, points).iter().rev() {
        weighted += running;
        running += point;
    }
    (weighted, running)
}
