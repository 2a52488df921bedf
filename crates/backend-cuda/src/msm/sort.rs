//! Sorting digits by bucket.

use cuzk_backend::BackendError;
use cuzk_gpu::{Argument, Buffer, Grid};

use super::{Clusters, Part, Plan};
use crate::CudaBackend;
use crate::error::failure;
use crate::mat_vec::length;
use crate::memory::Element;

/// Buckets of a partition at most, as a power of two: a block counts them in shared memory.
const MAX_LOG_PARTITION: u32 = 11;
/// Partitions of a group at most, as a power of two, where buckets of a partition allow it.
const MAX_LOG_PARTITIONS: u32 = 12;
/// Entries of a partition, as a power of two: what the running blocks sort at a time fits the largest device's cache.
const LOG_PARTITION_ENTRIES: u32 = 14;
/// Partitions of a part at least, as a power of two, so that there is a block for each multiprocessor.
const LOG_BLOCKS: u32 = 8;
/// Threads of the kernels that count, scatter and sort.
const THREADS: u32 = 1024;
/// Entries that a block puts in order at a time.
const STAGED: u32 = 1 << 13;
/// Tiles of a window at most, and scalars of a tile at least.
const MAX_TILES: usize = 256;
const MIN_TILE: usize = 4096;
/// Clusters of a selection that a block takes.
const SELECTION_TILE: usize = 2048;
/// Threads of a block that selects.
const SELECTION_THREADS: u32 = 256;

/// Scalars and the points that they belong to.
pub(crate) struct ScalarList<'a> {
    /// Where the scalars lie.
    pub scalars: &'a Buffer<Element>,
    /// The place of each scalar, below `scalars.len()`; without it, scalar i is at i.
    pub slots: Option<&'a Buffer<u32>>,
    /// The point of each scalar; without it, scalar i belongs to point i.
    pub points: Option<&'a Buffer<u32>>,
    /// Number of scalars.
    pub count: usize,
    /// How they are cut.
    pub plan: Plan,
    /// The place of scalar 0's multiple in the second table; each table has `count` of them.
    pub multiples: usize,
}

/// Points of bits of which those are selected whose bit is one.
pub(crate) struct Selection<'a> {
    /// How they are kept.
    pub clusters: Clusters,
    /// The variable of each point, below the number of `bits`.
    pub variables: &'a Buffer<u32>,
    /// The bits of all variables.
    pub bits: &'a Buffer<u32>,
}

impl Selection<'_> {
    /// What the kernels call `variables`, `bits`, `size`, `count` and `first`.
    fn arguments(&self) -> [Argument<'_>; 5] {
        let [size, count, first] = self.clusters.arguments();
        [self.variables.into(), self.bits.into(), size, count, first]
    }
}

/// Digits in the order of their buckets.
pub(crate) struct Entries {
    /// A bucket, counted from the part's first, and a point with the digit's sign in the top bit.
    pub entries: Buffer<[u32; 2]>,
    /// Number of entries.
    pub count: usize,
    /// Where each bucket's entries start, and at last the end of all.
    pub starts: Buffer<u32>,
}

/// How a part's digits are counted.
struct Layout {
    first_group: u32,
    groups: u32,
    tables: u32,
    log_buckets: u32,
    log_partition: u32,
    tile: usize,
    tiles: usize,
}

impl Layout {
    fn of(plan: Plan, part: &Part) -> Self {
        let one = plan.tables == 1;
        let tile = part.scalars.len().div_ceil(MAX_TILES).max(MIN_TILE);
        let groups = if one {
            part.windows.len() as u32
        } else {
            plan.groups()
        };
        let entries = (part.scalars.len() * plan.tables as usize).max(1).ilog2();
        let by_size = entries.saturating_sub(LOG_PARTITION_ENTRIES);
        let by_blocks = LOG_BLOCKS.saturating_sub(groups.max(1).ilog2());
        let log_partitions = by_size.max(by_blocks).min(MAX_LOG_PARTITIONS);
        let log_partition = plan.log_buckets().saturating_sub(log_partitions);
        Self {
            first_group: if one { part.windows.start } else { 0 },
            groups,
            tables: plan.tables,
            log_buckets: plan.log_buckets(),
            log_partition: log_partition.min(MAX_LOG_PARTITION),
            tile,
            tiles: part.scalars.len().div_ceil(tile),
        }
    }

    fn partitions(&self) -> usize {
        (self.groups as usize) << (self.log_buckets - self.log_partition)
    }

    /// Counts of a partition.
    fn stride(&self) -> usize {
        self.tables as usize * self.tiles
    }

    /// What the kernels call `first_group`, `groups`, `tables`, `log_buckets`, `low`, `tile` and `tiles`.
    fn arguments(&self, plan: Plan) -> [Argument<'static>; 7] {
        [
            self.first_group.into(),
            plan.groups().into(),
            self.tables.into(),
            self.log_buckets.into(),
            self.log_partition.into(),
            (self.tile as u32).into(),
            (self.tiles as u32).into(),
        ]
    }

    fn grid(&self, windows: usize, shared: u32) -> Grid {
        Grid::of((windows * self.tiles) as u32, THREADS, shared)
    }

    /// Partitions of a group.
    fn group_partitions(&self) -> u32 {
        1 << (self.log_buckets - self.log_partition)
    }
}

/// Shared memory of a block that writes entries by so many keys: the entries, a place and an offset a key, and the end.
fn staging(keys: u32) -> u32 {
    8 * STAGED + 4 * (2 * keys + 1)
}

fn optional(buffer: Option<&Buffer<u32>>, index: usize) -> Argument<'_> {
    buffer.map_or_else(Argument::null, |buffer| Argument::at(buffer, index))
}

/// Buckets of a part, counted from its first.
pub(super) fn part_buckets(plan: Plan, part: &Part) -> usize {
    (Layout::of(plan, part).groups as usize) << plan.log_buckets()
}

/// The part's first bucket among those of the plan.
pub(super) fn first_bucket(plan: Plan, part: &Part) -> usize {
    (Layout::of(plan, part).first_group as usize) << plan.log_buckets()
}

impl CudaBackend {
    /// The digits of a part, sorted by bucket, then the selected points as those of one more bucket.
    pub(super) fn sort(
        &self,
        list: &ScalarList<'_>,
        part: &Part,
        selection: Option<&Selection<'_>>,
    ) -> Result<Entries, BackendError> {
        let (layout, plan) = (Layout::of(list.plan, part), list.plan);
        let (stride, buckets) = (layout.stride(), part_buckets(plan, part));
        let digit_counts = layout.partitions() * stride;
        let blocks = selection.map_or(0, |selection| {
            selection.clusters.number().div_ceil(SELECTION_TILE)
        });
        length(
            "counts of digits",
            (digit_counts + blocks) & u32::MAX as usize,
            digit_counts + blocks,
        )?;
        // The last count is zero, for the sum of all.
        let counts = self.stream.zeros::<u32>(digit_counts + blocks + 1);
        let counts = counts.map_err(failure)?;
        let digits = self.digits(list, part)?;
        self.count_digits(&digits, part, plan, &layout, &counts)?;
        if let Some(selection) = selection {
            let mut arguments = selection.arguments().to_vec();
            arguments.push(Argument::at(&counts, digit_counts));
            let grid = Grid::of(blocks as u32, SELECTION_THREADS, 0);
            self.launch("msm_count_bits", grid, &arguments)?;
        }
        self.scan(&counts)?;
        let total = self.read(&counts, digit_counts + blocks)?;
        let parted = self.stream.alloc::<[u32; 2]>(total).map_err(failure)?;
        let entries = self.stream.alloc::<[u32; 2]>(total).map_err(failure)?;
        let lists = buckets + usize::from(selection.is_some());
        let starts = self.stream.alloc::<u32>(lists + 1).map_err(failure)?;
        self.scatter(list, &digits, part, &layout, (&counts, &parted))?;
        drop(digits);
        let arguments = [
            (&parted).into(),
            (&counts).into(),
            (stride as u32).into(),
            layout.log_partition.into(),
            (&entries).into(),
            (&starts).into(),
        ];
        let shared = staging(1 << layout.log_partition);
        let grid = Grid::of(layout.partitions() as u32, THREADS, shared);
        self.launch("msm_sort", grid, &arguments)?;
        let copy = |from, to| self.stream.copy(&counts, from, &starts, to, 1);
        copy(digit_counts, buckets).map_err(failure)?;
        if let Some(selection) = selection {
            copy(digit_counts + blocks, lists).map_err(failure)?;
            let mut arguments = selection.arguments().to_vec();
            arguments.extend([
                Argument::from(buckets as u32),
                Argument::at(&counts, digit_counts),
                (&entries).into(),
            ]);
            let grid = Grid::of(blocks as u32, SELECTION_THREADS, 0);
            self.launch("msm_select_bits", grid, &arguments)?;
        }
        Ok(Entries {
            entries,
            count: total,
            starts,
        })
    }

    /// The digits of a part, window after window.
    fn digits(&self, list: &ScalarList<'_>, part: &Part) -> Result<Buffer<u32>, BackendError> {
        let (count, first) = (part.scalars.len(), part.scalars.start);
        let digits = self.stream.alloc(count * part.windows.len());
        let digits = digits.map_err(failure)?;
        // With a list of places the scalars themselves stay where they are.
        let scalars = Argument::at(list.scalars, if list.slots.is_none() { first } else { 0 });
        let arguments = [
            scalars,
            optional(list.slots, first),
            (count as u32).into(),
            list.plan.offset().into(),
            list.plan.width.into(),
            list.plan.windows.into(),
            list.plan.wide.into(),
            part.windows.start.into(),
            (part.windows.len() as u32).into(),
            (&digits).into(),
        ];
        self.launch("msm_digits", Grid::over(count, 256), &arguments)?;
        Ok(digits)
    }

    fn count_digits(
        &self,
        digits: &Buffer<u32>,
        part: &Part,
        plan: Plan,
        layout: &Layout,
        counts: &Buffer<u32>,
    ) -> Result<(), BackendError> {
        let mut arguments = vec![
            digits.into(),
            (part.scalars.len() as u32).into(),
            part.windows.start.into(),
        ];
        arguments.extend(layout.arguments(plan));
        arguments.push(counts.into());
        let grid = layout.grid(part.windows.len(), 4 * layout.group_partitions());
        self.launch("msm_count", grid, &arguments)
    }

    fn scatter(
        &self,
        list: &ScalarList<'_>,
        digits: &Buffer<u32>,
        part: &Part,
        layout: &Layout,
        (places, parted): (&Buffer<u32>, &Buffer<[u32; 2]>),
    ) -> Result<(), BackendError> {
        let first = part.scalars.start;
        let mut arguments = vec![
            digits.into(),
            optional(list.points, first),
            (part.scalars.len() as u32).into(),
            (first as u32).into(),
            (list.count as u32).into(),
            (list.multiples as u32).into(),
            part.windows.start.into(),
        ];
        arguments.extend(layout.arguments(list.plan));
        arguments.extend([Argument::from(places), parted.into()]);
        let grid = layout.grid(part.windows.len(), staging(layout.group_partitions()));
        self.launch("msm_scatter", grid, &arguments)
    }
}
