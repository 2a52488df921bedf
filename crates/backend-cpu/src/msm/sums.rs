//! Sums of lists of points, all lists at once and on all threads.

use cuzk_curve::simd::Arch;
use cuzk_curve::{Group, large_pages};
use rayon::prelude::*;

use super::batch::{Scratch, SumTasks, batch_tasks};
use super::buckets::Lists;
use super::source::{Decoded, Point, Source};
use super::tasks::{Task, Tasks};

/// Batches that one call should at least have for each thread, to balance them.
const BATCHES_A_THREAD: usize = 4;

/// Adds to `sums[i]` the points of list i. Where `fresh`, the sums start as the identity, whatever they hold.
pub(crate) fn add_lists<A: Arch, G: Group, S: Source<A, G>>(
    arch: A,
    source: &S,
    lists: &Lists,
    sums: &mut [Point<A, G>],
    fresh: bool,
) {
    let wanted = batch_tasks::<G>() * BATCHES_A_THREAD * rayon::current_num_threads();
    let tasks = Tasks::new(lists, wanted);
    add_tasks(arch, source, &lists.entries, &tasks.whole, sums, fresh);
    if tasks.long.is_empty() {
        return;
    }
    let mut parts = vec![Point::default(); tasks.parts.len()];
    add_tasks(arch, source, &lists.entries, &tasks.parts, &mut parts, true);
    let parts_of_lists = Lists {
        entries: (0..parts.len() as u32).collect(),
        offsets: tasks.part_offsets,
    };
    // The tasks above left the sums of the long lists as they were, or as the identity.
    let mut long: Vec<_> = tasks.long.iter().map(|&i| sums[i as usize]).collect();
    let parts = Decoded::new(parts);
    add_lists(arch, &parts, &parts_of_lists, &mut long, fresh);
    for (&list, sum) in tasks.long.iter().zip(long) {
        sums[list as usize] = sum;
    }
}

/// The sums of lists of points.
pub(crate) fn sum_lists<A: Arch, G: Group, S: Source<A, G>>(
    arch: A,
    source: &S,
    lists: &Lists,
) -> Vec<Point<A, G>> {
    let mut sums = large_pages(lists.len(), Point::default());
    add_lists(arch, source, lists, &mut sums, true);
    sums
}

/// Adds to `sums[i]` the points of task i, in batches.
fn add_tasks<A: Arch, G: Group, S: Source<A, G>>(
    arch: A,
    source: &S,
    entries: &[u32],
    tasks: &[Task],
    sums: &mut [Point<A, G>],
    fresh: bool,
) {
    let batch = batch_tasks::<G>();
    tasks
        .par_chunks(batch)
        .zip(sums.par_chunks_mut(batch))
        .for_each_init(Scratch::default, |scratch, (tasks, sums)| {
            arch.run(SumTasks::<A, G, S> {
                source,
                entries,
                tasks,
                sums,
                fresh,
                scratch,
            });
        });
}
