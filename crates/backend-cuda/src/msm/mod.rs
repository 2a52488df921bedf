//! Multi-scalar multiplication: selected sums for bits, sorted buckets of signed digits for the rest.

mod bases;
mod buckets;
mod clusters;
mod levels;
mod pairs;
mod plan;
mod query;
mod scan;
mod sort;
mod sum;

use cuzk_backend::{BackendError, Msm};
use cuzk_curve::{EncodedPoints, Group};
use cuzk_gpu::{Argument, Buffer, Grid};
use cuzk_r1cs::{Classes, VariableSet};
use std::sync::Arc;

use crate::error::failure;
use crate::memory::{Vector, coordinate_words};
use crate::{CudaBackend, Witness};

pub use bases::Bases;
pub(crate) use buckets::workspace;
pub(crate) use clusters::{Clusters, sums};
pub use plan::{Part, Plan};
pub use query::Query;

/// The kernels' names for a group.
pub(crate) struct Kernels {
    accumulate: &'static str,
    accumulate_affine: &'static str,
    accumulate_partial: &'static str,
    combine: &'static str,
    digits: PairKernels,
    sums: PairKernels,
    invert: &'static str,
    levels: Option<LevelKernels>,
    reduce: &'static str,
    fold: &'static str,
    fold_threads: u32,
    decode: &'static str,
    subsets: &'static str,
    double: &'static str,
    jacobian: &'static str,
    pub(crate) multiples: &'static str,
    pub(crate) multiply: &'static str,
}

/// Kernels of a round of pairs, by what its items are.
pub(crate) struct PairKernels {
    slopes: &'static str,
    add: &'static str,
    copy: &'static str,
}

/// Kernels of a reduction by levels.
pub(crate) struct LevelKernels {
    points: &'static str,
    slopes: &'static str,
    add: &'static str,
    reduce: &'static str,
}

const G1_KERNELS: Kernels = Kernels {
    accumulate: "msm_accumulate_g1",
    accumulate_affine: "msm_accumulate_affine_g1",
    accumulate_partial: "msm_accumulate_partial_g1",
    combine: "msm_combine_g1",
    digits: PairKernels {
        slopes: "pairs_slopes_digits_g1",
        add: "pairs_add_digits_g1",
        copy: "pairs_copy_digits_g1",
    },
    sums: PairKernels {
        slopes: "pairs_slopes_sums_g1",
        add: "pairs_add_sums_g1",
        copy: "pairs_copy_sums_g1",
    },
    invert: "pairs_invert_g1",
    levels: Some(LevelKernels {
        points: "msm_bucket_points_g1",
        slopes: "levels_slopes_g1",
        add: "levels_add_g1",
        reduce: "msm_reduce_level_g1",
    }),
    reduce: "msm_reduce_g1",
    fold: "msm_fold_g1",
    fold_threads: 128,
    decode: "msm_decode_g1",
    subsets: "msm_subsets_g1",
    double: "msm_double_g1",
    jacobian: "msm_jacobian_g1",
    multiples: "fixed_base_multiples_g1",
    multiply: "fixed_base_multiply_g1",
};

const G2_KERNELS: Kernels = Kernels {
    accumulate: "msm_accumulate_g2",
    accumulate_affine: "msm_accumulate_affine_g2",
    accumulate_partial: "msm_accumulate_partial_g2",
    combine: "msm_combine_g2",
    digits: PairKernels {
        slopes: "pairs_slopes_digits_g2",
        add: "pairs_add_digits_g2",
        copy: "pairs_copy_digits_g2",
    },
    sums: PairKernels {
        slopes: "pairs_slopes_sums_g2",
        add: "pairs_add_sums_g2",
        copy: "pairs_copy_sums_g2",
    },
    invert: "pairs_invert_g2",
    // They take as long as running sums.
    levels: None,
    reduce: "msm_reduce_g2",
    fold: "msm_fold_g2",
    fold_threads: 64,
    decode: "msm_decode_g2",
    subsets: "msm_subsets_g2",
    double: "msm_double_g2",
    jacobian: "msm_jacobian_g2",
    multiples: "fixed_base_multiples_g2",
    multiply: "fixed_base_multiply_g2",
};

pub(crate) fn kernels<G: Group>() -> &'static Kernels {
    if coordinate_words::<G>() == 6 {
        &G1_KERNELS
    } else {
        &G2_KERNELS
    }
}

/// Words of an affine point.
pub(crate) fn affine_words<G: Group>() -> usize {
    2 * coordinate_words::<G>()
}

/// Words of a point in XYZZ coordinates.
pub(crate) fn xyzz_words<G: Group>() -> usize {
    4 * coordinate_words::<G>()
}

/// Points in a device's memory, affine and in Montgomery form, then multiples of the first in further tables.
#[derive(Debug)]
pub struct Points<G: Group> {
    pub(crate) words: Buffer<u64>,
    /// Points and sums of them before the multiples.
    pub(crate) len: usize,
    /// How the points that are multiplied by scalars are cut, whose multiples there are.
    pub(crate) plan: Plan,
    group: std::marker::PhantomData<G>,
}

/// Points of which those are apart that bits select.
pub(crate) struct ByClass<'a> {
    /// Where each point goes.
    pub places: &'a Buffer<u32>,
    /// The points that bits select, which follow those that scalars are multiplied by.
    pub clusters: Clusters,
}

/// Points that are decoded at a time: their encoded form takes memory besides.
const DECODED: usize = 1 << 19;
/// Points of a thread that makes a table.
const TABLE_BATCH: usize = 8;

impl CudaBackend {
    /// Decodes points on the device, and makes sums of those that bits select, and tables of the others.
    pub(crate) fn load_points<G: Group>(
        &self,
        points: &EncodedPoints<G>,
        by_class: Option<&ByClass<'_>>,
        most_tables: u32,
    ) -> Result<Points<G>, BackendError> {
        let clusters = by_class.map_or(Clusters::none(points.len()), |class| class.clusters);
        let (count, len) = (clusters.first, clusters.end());
        let plan = Plan::new(count, most_tables);
        // An entry of a bucket's list names a point in 31 bits.
        let all = len.saturating_add(count.saturating_mul(plan.tables as usize - 1));
        if all >= 1 << 31 {
            return Err(BackendError::Length {
                what: "points of a multi-scalar multiplication (at most)",
                wanted: (1 << 31) - 1,
                found: all,
            });
        }
        let words = self.stream.alloc(all * affine_words::<G>());
        let words = words.map_err(failure)?;
        // An encoded point and a point in memory form both have two coordinates of as many bytes.
        let each = G::UNCOMPRESSED_BYTES;
        for (piece, bytes) in points.bytes().chunks(DECODED * each).enumerate() {
            let encoded = self.stream.upload::<u8>(bytes).map_err(failure)?.scratch();
            let (first, count) = (piece * DECODED, bytes.len() / each);
            let (places, to) = match by_class {
                Some(class) => (Argument::at(class.places, first), Argument::from(&words)),
                None => {
                    let to = Argument::at(&words, first * affine_words::<G>());
                    (Argument::null(), to)
                }
            };
            let arguments = [Argument::from(&encoded), places, (count as u32).into(), to];
            self.launch(kernels::<G>().decode, Grid::over(count, 128), &arguments)?;
        }
        let points = Points {
            words,
            len,
            plan,
            group: std::marker::PhantomData,
        };
        self.add_subsets(&points, clusters)?;
        self.make_tables(&points, count)?;
        Ok(points)
    }

    /// Makes the sums of clusters, whose points are there alone.
    fn add_subsets<G: Group>(
        &self,
        points: &Points<G>,
        clusters: Clusters,
    ) -> Result<(), BackendError> {
        if clusters.size == 1 {
            return Ok(());
        }
        let [size, count, first] = clusters.arguments();
        let arguments = [size, count, first, (&points.words).into()];
        let grid = Grid::over(clusters.number(), 128);
        self.launch(kernels::<G>().subsets, grid, &arguments)
    }

    /// Makes the second table from the first `count` points, and each further one from that before it.
    fn make_tables<G: Group>(&self, points: &Points<G>, count: usize) -> Result<(), BackendError> {
        let words = affine_words::<G>();
        let table = |t: usize| match t {
            0 => Argument::from(&points.words),
            _ => Argument::at(&points.words, (points.len + (t - 1) * count) * words),
        };
        for t in 1..points.plan.tables as usize {
            let first = |table: usize| table as u32 * points.plan.groups();
            let position = |table| points.plan.position(first(table));
            let doublings = position(t) - position(t - 1);
            let arguments = [
                table(t - 1),
                (count as u32).into(),
                doublings.into(),
                table(t),
            ];
            let grid = Grid::over(count.div_ceil(TABLE_BATCH), 128);
            self.launch(kernels::<G>().double, grid, &arguments)?;
        }
        Ok(())
    }
}

impl Msm for CudaBackend {
    type Bases<G: Group> = Bases<G>;
    type Query<G: Group> = Query<G>;

    fn load_bases<G: Group>(&self, points: EncodedPoints<G>) -> Result<Bases<G>, BackendError> {
        let extras = self.extras::<G>(points.len(), 0);
        self.load_bases_with_tables(&points, extras.tables)
    }

    fn load_query<G: Group>(
        &self,
        points: EncodedPoints<G>,
        variables: Arc<VariableSet>,
        classes: Classes<'_>,
    ) -> Result<Query<G>, BackendError> {
        Query::load(self, points, &variables, classes, None)
    }

    fn msm<G: Group>(
        &self,
        bases: &Bases<G>,
        scalars: &Vector,
    ) -> Result<G::Projective, BackendError> {
        self.multiply_bases(bases, scalars)
    }

    fn msm_query<G: Group>(
        &self,
        query: &Query<G>,
        witness: &Witness,
    ) -> Result<G::Projective, BackendError> {
        query.multiply(self, witness)
    }
}

impl CudaBackend {
    /// [`Msm::load_query`], with sums of at most so many neighbouring points that bits select, 1, 2 or 4, where the query
    /// is resident and they fit.
    pub fn load_query_with_clusters<G: Group>(
        &self,
        points: EncodedPoints<G>,
        variables: &VariableSet,
        classes: Classes<'_>,
        largest: u32,
    ) -> Result<Query<G>, BackendError> {
        Query::load(self, points, variables, classes, Some(largest))
    }
}
