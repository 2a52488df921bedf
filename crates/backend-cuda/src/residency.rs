//! What of a circuit and its key stays in the device's memory, and how the rest passes through it.
//!
//! Half of a device's budget is kept free for proofs. A section of a key, or the matrices' rows, that would reach into it
//! stay on the host, and are brought in parts each time they are used: one part is uploaded, through pinned memory and on a
//! stream of its own, while the one before it is worked on.

use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::thread;

use cuzk_backend::BackendError;
use cuzk_curve::{EncodedPoints, Group};
use cuzk_gpu::Event;

use crate::CudaBackend;
use crate::error::failure;

/// A part takes at most this part of the budget: two are there at a time.
const PART_OF_BUDGET: usize = 32;
/// Bytes of a part at most: enough for the upload to take longer than what a part costs besides.
const MAX_PART: usize = 384 << 20;
/// The part of a device's free memory that one load's tables may take.
const TABLE_MEMORY: usize = 8;
/// Multiplications of fewer points do not pay for tables.
const MIN_TABULATED: usize = 1 << 10;
/// More tables than any plan has windows.
const ALL_TABLES: usize = 128;

/// Bytes that may still become resident without reaching into the half of the budget that proofs need.
fn room((available, limit): (usize, usize)) -> usize {
    available.saturating_sub(limit / 2)
}

/// `None` where `bytes` may become resident, else the bytes of a part.
pub(crate) fn part_bytes(memory: (usize, usize), bytes: usize) -> Option<usize> {
    (bytes > room(memory)).then(|| MAX_PART.min(memory.1 / PART_OF_BUDGET))
}

/// The number of tables of `table_bytes` each, beside points of `point_bytes`, the first of which are the points.
fn tables(memory: (usize, usize), point_bytes: usize, table_bytes: usize) -> u32 {
    let left = room(memory).saturating_sub(point_bytes);
    let tables = left.min(memory.0 / TABLE_MEMORY) / table_bytes.max(1);
    tables.saturating_add(1).min(ALL_TABLES) as u32
}

/// `0..len` in ranges of `most`, or of one.
pub(crate) fn ranges(len: usize, most: usize) -> Vec<Range<usize>> {
    let most = most.max(1);
    let starts = (0..len).step_by(most);
    starts.map(|start| start..len.min(start + most)).collect()
}

/// A range of points, which lies within them.
pub(crate) fn slice<G: Group>(
    points: &EncodedPoints<G>,
    range: &Range<usize>,
) -> Result<EncodedPoints<G>, BackendError> {
    points.slice(range.clone()).ok_or(BackendError::Length {
        what: "points of a key",
        wanted: range.end,
        found: points.len(),
    })
}

impl CudaBackend {
    /// `None` where so many points may become resident, else how many a part of them has at most.
    pub(crate) fn resident_points<G: Group>(&self, count: usize) -> Option<usize> {
        let each = G::UNCOMPRESSED_BYTES;
        let bytes = part_bytes(self.device().memory(), count.saturating_mul(each));
        bytes.map(|bytes| bytes / each)
    }

    /// The number of tables of `tabulated` of so many points that pay and fit, the points themselves among them.
    pub(crate) fn tables_that_fit<G: Group>(&self, count: usize, tabulated: usize) -> u32 {
        tables_of::<G>(self.device().memory(), count, tabulated)
    }
}

/// The number of tables of `tabulated` of so many points that pay, and fit the memory that is available, of a limit.
pub(crate) fn tables_of<G: Group>(memory: (usize, usize), count: usize, tabulated: usize) -> u32 {
    if tabulated < MIN_TABULATED {
        return 1;
    }
    let each = G::UNCOMPRESSED_BYTES;
    tables(
        memory,
        count.saturating_mul(each),
        tabulated.saturating_mul(each),
    )
}

/// Brings `count` parts to the device, one while the part before it is worked on, and works on each.
pub(crate) fn each_in_turn<T: Send>(
    backend: &CudaBackend,
    count: usize,
    load: impl Fn(&CudaBackend, usize) -> Result<T, BackendError> + Send,
    mut work: impl FnMut(usize, &T) -> Result<(), BackendError>,
) -> Result<(), BackendError> {
    let loader = backend.lane()?;
    thread::scope(|scope| {
        // A part waits in the channel's hands until the one before it is dropped, so two exist at a time.
        let (send, receive) = sync_channel(0);
        scope.spawn(move || {
            for index in 0..count {
                let loaded = load(&loader, index).and_then(|part| {
                    let event = Event::record(loader.stream()).map_err(failure)?;
                    Ok((part, event))
                });
                let failed = loaded.is_err();
                if send.send(loaded).is_err() || failed {
                    return;
                }
            }
        });
        for (index, loaded) in receive.into_iter().enumerate() {
            let (part, event) = loaded?;
            backend.stream.wait(&event).map_err(failure)?;
            let worked = work(index, &part);
            // The part is freed on the loader's stream, which knows nothing of this one.
            backend.stream.synchronize().map_err(failure)?;
            worked?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_budget_stays_free() {
        let gib = 1usize << 30;
        let budget = 8 * gib;
        assert_eq!(part_bytes((budget, budget), 4 * gib), None);
        assert_eq!(part_bytes((budget, budget), 4 * gib + 1), Some(budget / 32));
        assert_eq!(part_bytes((5 * gib, budget), gib), None);
        assert_eq!(part_bytes((5 * gib, budget), gib + 1), Some(budget / 32));
        assert_eq!(part_bytes((gib, budget), 1), Some(budget / 32));
        assert_eq!(part_bytes((gib, 140 * gib), gib), Some(MAX_PART));
        assert_eq!(part_bytes((budget, budget), 0), None);
    }

    #[test]
    fn tables_leave_half_of_the_budget_free_and_take_an_eighth_at_most() {
        let memory = (8000, 8000);
        assert_eq!(tables(memory, 100, 100), 11);
        assert_eq!(tables(memory, 3800, 100), 3);
        assert_eq!(tables(memory, 4000, 100), 1);
        assert_eq!(tables((4000, 8000), 0, 1), 1);
        assert_eq!(tables((usize::MAX, 0), 0, 0), 128);
    }

    #[test]
    fn ranges_cover_all_once() {
        for (len, most) in [(0, 5), (1, 5), (5, 5), (6, 5), (7, 0), (100, 33)] {
            let ranges = ranges(len, most);
            let mut next = 0;
            for range in &ranges {
                assert_eq!(range.start, next);
                assert!(!range.is_empty() && range.len() <= most.max(1));
                next = range.end;
            }
            assert_eq!(next, len);
        }
    }
}
