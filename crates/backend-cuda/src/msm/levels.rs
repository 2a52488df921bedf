//! Sums of buckets times their numbers by batched-affine additions of neighbours, level by level.

use cuzk_backend::BackendError;
use cuzk_curve::Group;
use cuzk_gpu::{Argument, Buffer, Grid};

use super::pairs::Sums;
use super::{LevelKernels, Plan, affine_words, kernels, xyzz_words};
use crate::CudaBackend;
use crate::error::failure;

/// Blocks of the last level at most: as many threads as fill the largest device.
const MAX_BLOCKS: usize = 1 << 15;

/// Elements of each group, whose sum is the group's.
pub(super) struct Runs {
    pub elements: Buffer<u64>,
    /// How many a group has.
    pub each: usize,
}

impl CudaBackend {
    /// The buckets' sums times numbers, as elements; buckets of one item are that item.
    pub(super) fn sum_levels<G: Group>(
        &self,
        names: &LevelKernels,
        buckets: Buffer<u64>,
        singles: Sums,
        plan: Plan,
    ) -> Result<Runs, BackendError> {
        let words = affine_words::<G>();
        let count = plan.buckets();
        let mut points = self.stream.alloc::<u64>(count * words).map_err(failure)?;
        let arguments = [
            (&buckets).into(),
            (&singles.starts).into(),
            (&singles.points).into(),
            (count as u32).into(),
            (&points).into(),
        ];
        self.launch(names.points, Grid::over(count, 128), &arguments)?;
        drop((buckets, singles));
        let levels = count.div_ceil(MAX_BLOCKS).next_power_of_two().ilog2();
        let levels = levels.min(plan.log_buckets());
        for level in 0..levels {
            points = self.next_level::<G>(names, &points, level, count >> level)?;
        }
        let (all, log_size) = (count >> levels, plan.log_buckets() - levels);
        let threads = kernels::<G>().fold_threads;
        let each = (1usize << log_size).div_ceil(threads as usize);
        let blocks = plan.groups() as usize * each;
        let elements = self.stream.alloc(blocks * 2 * xyzz_words::<G>());
        let elements = elements.map_err(failure)?;
        let arguments = [
            (&points).into(),
            levels.into(),
            (all as u32).into(),
            log_size.into(),
            (each as u32).into(),
            (&elements).into(),
        ];
        let grid = Grid::of(blocks as u32, threads, 0);
        self.launch(names.reduce, grid, &arguments)?;
        Ok(Runs { elements, each })
    }

    /// The points of the level after this one, which has so many blocks.
    fn next_level<G: Group>(
        &self,
        names: &LevelKernels,
        points: &Buffer<u64>,
        level: u32,
        blocks: usize,
    ) -> Result<Buffer<u64>, BackendError> {
        let words = affine_words::<G>();
        let pairs = (level as usize + 1) * blocks / 2;
        let out = self.stream.alloc::<u64>((pairs + blocks / 2) * words);
        let out = out.map_err(failure)?;
        let slopes = self.slopes::<G>(pairs)?;
        let mut arguments = vec![
            points.into(),
            Argument::from(pairs as u32),
            (slopes.threads as u32).into(),
            (&slopes.before).into(),
            (&slopes.products).into(),
        ];
        let grid = Grid::over(slopes.threads, 128);
        self.launch(names.slopes, grid, &arguments)?;
        self.invert::<G>(&slopes)?;
        // The list of this level's bit: of each two blocks the second's sum.
        arguments.extend([Argument::from((blocks / 2) as u32), (&out).into()]);
        self.launch(names.add, grid, &arguments)?;
        Ok(out)
    }
}
