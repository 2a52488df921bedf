//! Sorting digits by bucket.

use cuzk_backend::BackendError;
use cuzk_gpu::{Argument, Buffer, Grid};

use super::Plan;
use crate::CudaBackend;
use crate::error::failure;
use crate::memory::Element;

/// Values that one block of the scan takes.
const SCAN_TILE: usize = 4096;

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
}

/// Digits in the order of their buckets.
pub(crate) struct Entries {
    /// A bucket, and a point with the digit's sign in the top bit.
    pub entries: Buffer<[u32; 2]>,
    /// Number of digits that are not zero.
    pub count: usize,
    /// Where each bucket's digits start, and at last the end of all.
    pub starts: Buffer<u32>,
}

fn optional(buffer: Option<&Buffer<u32>>) -> Argument<'_> {
    buffer.map_or_else(Argument::null, Argument::from)
}

impl CudaBackend {
    /// Queues a kernel whose arguments its caller answers for.
    pub(super) fn launch(
        &self,
        kernel: &'static str,
        grid: Grid,
        arguments: &[Argument<'_>],
    ) -> Result<(), BackendError> {
        // SAFETY: this module's callers pass buffers of the lengths that the kernels' comments want.
        unsafe { self.stream.launch(kernel, grid, arguments) }.map_err(failure)
    }

    /// Replaces values by the sums of those before them.
    pub(super) fn scan(&self, values: &Buffer<u32>) -> Result<(), BackendError> {
        let blocks = values.len().div_ceil(SCAN_TILE);
        let sums = self.stream.alloc::<u32>(blocks + 1).map_err(failure)?;
        let count = values.len() as u32;
        let grid = Grid::of(blocks as u32, 256, 0);
        self.launch(
            "scan_blocks",
            grid,
            &[values.into(), count.into(), (&sums).into()],
        )?;
        let arguments = [(&sums).into(), (blocks as u32).into()];
        self.launch("scan_sums", Grid::of(1, 256, 0), &arguments)?;
        let arguments = [values.into(), count.into(), (&sums).into()];
        self.launch("scan_add", Grid::over(values.len(), 256), &arguments)
    }

    /// Element `index` of a buffer, brought to the host.
    pub(super) fn read(&self, buffer: &Buffer<u32>, index: usize) -> Result<usize, BackendError> {
        let value = self.stream.alloc::<u32>(1).map_err(failure)?;
        self.stream
            .copy(buffer, index, &value, 0, 1)
            .map_err(failure)?;
        let mut host = [0];
        self.stream.download(&value, &mut host).map_err(failure)?;
        Ok(host[0] as usize)
    }

    /// The digits of scalars, sorted by bucket.
    pub(super) fn sort_digits(
        &self,
        list: &ScalarList<'_>,
        plan: Plan,
    ) -> Result<Entries, BackendError> {
        // The counts stand one place late, so that after the scatter, which moves each bucket's start to its end, the
        // array holds the starts. The place past the last bucket's is counted in, for the sum of all.
        let starts = self
            .stream
            .zeros::<u32>(plan.buckets() + 2)
            .map_err(failure)?;
        let grid = Grid::over(list.count, 256);
        let (width, windows) = (plan.width.into(), plan.windows.into());
        let (scalars, slots) = (list.scalars.into(), optional(list.slots));
        let count = (list.count as u32).into();
        let next = Argument::at(&starts, 1);
        let arguments = [scalars, slots, count, width, windows, next];
        self.launch("msm_count", grid, &arguments)?;
        self.scan(&starts)?;
        let total = self.read(&starts, plan.buckets() + 1)?;
        let entries = self.stream.alloc::<[u32; 2]>(total).map_err(failure)?;
        let points = optional(list.points);
        let arguments = [
            scalars,
            slots,
            points,
            count,
            width,
            windows,
            next,
            (&entries).into(),
        ];
        self.launch("msm_scatter", grid, &arguments)?;
        Ok(Entries {
            entries,
            count: total,
            starts,
        })
    }
}
