//! What of a circuit and its key stays in the device's memory, and how the rest passes through it.
//!
//! Half of a device's budget is kept free for proofs. A section of a key, or the matrices' rows, that would reach into it
//! stay on the host, and are brought in parts each time they are used: one part is uploaded, through pinned memory and on a
//! stream of its own, while the one before it is worked on.

use std::ops::{Range, RangeInclusive};
use std::sync::mpsc::sync_channel;
use std::thread;

use cuzk_backend::BackendError;
use cuzk_curve::{EncodedPoints, G2, Group};
use cuzk_gpu::Event;

use crate::CudaBackend;
use crate::error::failure;
use crate::msm::{DECODED, sums};

/// A part takes at most this part of the budget: two are there at a time.
const PART_OF_BUDGET: usize = 32;
/// Bytes of a part at most: enough for the upload to take longer than what a part costs besides.
const MAX_PART: usize = 384 << 20;
/// The part of a device's free memory that one load's tables and sums may take, and of what may still become resident then:
/// the sections of the key that follow need room.
const TABLE_MEMORY: usize = 8;
const OF_ROOM: usize = 3;
/// Multiplications of fewer points do not pay for tables, nor do those of more: few tables fit, which take seconds to make,
/// and what they spare is the reduction of buckets, a small part then.
const TABULATED: RangeInclusive<usize> = 1 << 10..=1 << 25;
/// Selections from fewer points do not pay for sums.
const MIN_CLUSTERED: usize = 1 << 10;
/// More tables than any plan has windows.
const ALL_TABLES: usize = 128;
/// Bytes that a query holds of each point besides the point: the number of its variable or of its slot.
pub(crate) const NUMBER: usize = size_of::<u32>();

/// Bytes that may still become resident without reaching into the half of the budget that proofs need.
fn room((available, limit): (usize, usize)) -> usize {
    available.saturating_sub(limit / 2)
}

/// `None` where `bytes` may become resident, else the bytes of a part.
pub(crate) fn part_bytes(memory: (usize, usize), bytes: usize) -> Option<usize> {
    (bytes > room(memory)).then(|| MAX_PART.min(memory.1 / PART_OF_BUDGET))
}

/// Bytes of the parts that a lane has at a time, where anything is streamed: two, the scalars of one, and what loading one
/// takes besides.
pub(crate) fn streaming_bytes(budget: usize) -> usize {
    let part = MAX_PART.min(budget / PART_OF_BUDGET);
    // A point takes three times what a scalar does, or six times.
    let scalars = part / 3;
    // Points that are being decoded, and of each of a part its place and the words that say which variable is its own.
    let encoded = part.min(DECODED * G2::UNCOMPRESSED_BYTES);
    2 * part + scalars + encoded + part / 16
}

/// Bytes that tables may take beside points of `point_bytes`.
pub(crate) fn spare((available, limit): (usize, usize), point_bytes: usize) -> usize {
    let left = room((available, limit)).saturating_sub(point_bytes);
    (left / OF_ROOM).min(available / TABLE_MEMORY)
}

/// What is kept of points besides the points.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extras {
    /// Points of a cluster whose sums are kept.
    pub cluster: u32,
    /// Tables of the points that are multiplied by scalars at most, these themselves among them.
    pub tables: u32,
}

impl Extras {
    /// Nothing besides.
    pub const NONE: Self = Self {
        cluster: 1,
        tables: 1,
    };
}

/// What pays, and fits the memory that is available, of a limit: sums of the points that bits select first, which spare
/// more additions for their bytes, then tables of the others.
pub(crate) fn extras_of<G: Group>(
    memory: (usize, usize),
    scalars: usize,
    bits: usize,
    largest_cluster: Option<u32>,
) -> Extras {
    let each = G::UNCOMPRESSED_BYTES;
    let bytes = |points: usize| points.saturating_mul(each);
    let points = scalars.saturating_add(bits);
    let spare = spare(memory, points.saturating_mul(each + NUMBER));
    let taken = |&size: &u32| bytes(sums(bits, size) - bits);
    let pays = if bits < MIN_CLUSTERED { 1 } else { 4 };
    let largest = largest_cluster.unwrap_or(pays);
    let sizes = [4, 2].into_iter().filter(|&size| size <= largest);
    let cluster = sizes.into_iter().find(|size| taken(size) <= spare);
    let cluster = cluster.unwrap_or(1);
    let tables = if !TABULATED.contains(&scalars) {
        1
    } else {
        let tables = (spare - taken(&cluster).min(spare)) / bytes(scalars);
        tables.saturating_add(1).min(ALL_TABLES) as u32
    };
    Extras { cluster, tables }
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
    /// A point takes `each` bytes.
    pub(crate) fn resident_points(&self, count: usize, each: usize) -> Option<usize> {
        let bytes = part_bytes(self.device().memory(), count.saturating_mul(each));
        bytes.map(|bytes| bytes / each)
    }

    /// What pays and fits beside points that are multiplied by scalars and points that bits select.
    pub(crate) fn extras<G: Group>(&self, scalars: usize, bits: usize) -> Extras {
        extras_of::<G>(self.device().memory(), scalars, bits, None)
    }
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
    use cuzk_curve::G1;

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
    fn extras_leave_room_for_proofs_and_for_what_follows() {
        let memory = (8000, 8000);
        assert_eq!(spare(memory, 100), 1000);
        assert_eq!(spare(memory, 3800), 66);
        assert_eq!(spare(memory, 4000), 0);
        assert_eq!(spare((4000, 8000), 0), 0);
        assert_eq!(spare((usize::MAX, 0), usize::MAX), 0);
    }

    #[test]
    fn sums_come_first_and_tables_take_what_they_leave() {
        let extras = |eighth: usize, scalars, bits| {
            let memory = 8 * eighth * G1::UNCOMPRESSED_BYTES;
            let extras = extras_of::<G1>((memory, memory), scalars, bits, None);
            (extras.cluster, extras.tables)
        };
        // Of 4,000 points 11,000 more sums in clusters of four, 2,000 in clusters of two.
        assert_eq!(extras(13_000, 1100, 4000), (4, 2));
        assert_eq!(extras(11_000, 1100, 4000), (4, 1));
        assert_eq!(extras(10_999, 1100, 4000), (2, 9));
        assert_eq!(extras(2154, 1100, 4000), (1, 2));
        assert_eq!(extras(1999, 1100, 4000), (1, 1));
        assert_eq!(extras(1 << 40, 1023, 1023), (1, 1));
        assert_eq!(extras(1 << 40, 1024, 0), (1, 128));
        assert_eq!(extras(1 << 40, 1 << 20, 1 << 20), (4, 128));
        assert_eq!(extras(1 << 40, 1 << 25, 0), (1, 128));
        assert_eq!(extras(1 << 40, (1 << 25) + 1, 0), (1, 1));
        let most = |size| extras_of::<G1>((1 << 40, 1 << 40), 0, 100, Some(size)).cluster;
        assert_eq!([1, 2, 3, 4, 8].map(most), [1, 2, 2, 4, 4]);
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
