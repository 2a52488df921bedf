//! Sums of what lies before each value, and single values.

use cuzk_backend::BackendError;
use cuzk_gpu::{Argument, Buffer, Grid};

use crate::CudaBackend;
use crate::error::failure;

/// Values that one block of the scan takes.
const SCAN_TILE: usize = 4096;

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
        let mut host = [0u32];
        self.stream.download(&value, &mut host).map_err(failure)?;
        Ok(host[0] as usize)
    }
}
