//! Multi-scalar multiplication: selected sums for bits, sorted buckets of signed digits for the rest.

mod buckets;
mod pairs;
mod plan;
mod query;
mod sort;
mod sum;

use cuzk_backend::{BackendError, Msm};
use cuzk_curve::{EncodedPoints, Group};
use cuzk_gpu::{Argument, Buffer, Grid};
use cuzk_r1cs::{CompactR1cs, VariableSet};
use std::sync::Arc;

use crate::error::failure;
use crate::memory::{Vector, coordinate_words};
use crate::{CudaBackend, Witness};

pub use plan::Plan;
pub use query::Query;

/// The kernels' names for a group.
pub(crate) struct Kernels {
    accumulate: &'static str,
    accumulate_affine: &'static str,
    accumulate_partial: &'static str,
    slopes_digits: &'static str,
    slopes_sums: &'static str,
    invert: &'static str,
    add_digits: &'static str,
    add_sums: &'static str,
    reduce: &'static str,
    fold: &'static str,
    fold_threads: u32,
    sum_selected: &'static str,
    decode: &'static str,
    jacobian: &'static str,
    pub(crate) multiples: &'static str,
    pub(crate) multiply: &'static str,
}

const G1_KERNELS: Kernels = Kernels {
    accumulate: "msm_accumulate_g1",
    accumulate_affine: "msm_accumulate_affine_g1",
    accumulate_partial: "msm_accumulate_partial_g1",
    slopes_digits: "pairs_slopes_digits_g1",
    slopes_sums: "pairs_slopes_sums_g1",
    invert: "pairs_invert_g1",
    add_digits: "pairs_add_digits_g1",
    add_sums: "pairs_add_sums_g1",
    reduce: "msm_reduce_g1",
    fold: "msm_fold_g1",
    fold_threads: 128,
    sum_selected: "msm_sum_selected_g1",
    decode: "msm_decode_g1",
    jacobian: "msm_jacobian_g1",
    multiples: "fixed_base_multiples_g1",
    multiply: "fixed_base_multiply_g1",
};

const G2_KERNELS: Kernels = Kernels {
    accumulate: "msm_accumulate_g2",
    accumulate_affine: "msm_accumulate_affine_g2",
    accumulate_partial: "msm_accumulate_partial_g2",
    slopes_digits: "pairs_slopes_digits_g2",
    slopes_sums: "pairs_slopes_sums_g2",
    invert: "pairs_invert_g2",
    add_digits: "pairs_add_digits_g2",
    add_sums: "pairs_add_sums_g2",
    reduce: "msm_reduce_g2",
    fold: "msm_fold_g2",
    fold_threads: 64,
    sum_selected: "msm_sum_selected_g2",
    decode: "msm_decode_g2",
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

/// Points in a device's memory, affine and in Montgomery form.
#[derive(Debug)]
pub struct Points<G: Group> {
    pub(crate) words: Buffer<u64>,
    pub(crate) len: usize,
    group: std::marker::PhantomData<G>,
}

impl CudaBackend {
    /// Decodes points on the device.
    fn load_points<G: Group>(&self, points: &EncodedPoints<G>) -> Result<Points<G>, BackendError> {
        let len = points.len();
        // An entry of a bucket's list names a point in 31 bits.
        if len >= 1 << 31 {
            return Err(BackendError::Length {
                what: "points of a multi-scalar multiplication (at most)",
                wanted: (1 << 31) - 1,
                found: len,
            });
        }
        let words = self
            .stream
            .alloc(len * affine_words::<G>())
            .map_err(failure)?;
        let encoded = self.stream.upload::<u8>(points.bytes()).map_err(failure)?;
        let arguments = [
            Argument::from(&encoded),
            (len as u32).into(),
            (&words).into(),
        ];
        // SAFETY: an encoded point and a point in memory form both have two coordinates of as many bytes.
        unsafe {
            self.stream
                .launch(kernels::<G>().decode, Grid::over(len, 128), &arguments)
        }
        .map_err(failure)?;
        Ok(Points {
            words,
            len,
            group: std::marker::PhantomData,
        })
    }
}

impl Msm for CudaBackend {
    type Bases<G: Group> = Points<G>;
    type Query<G: Group> = Query<G>;

    fn load_bases<G: Group>(&self, points: EncodedPoints<G>) -> Result<Points<G>, BackendError> {
        self.resident(|loader| loader.load_points(&points))
    }

    fn load_query<G: Group>(
        &self,
        points: EncodedPoints<G>,
        variables: Arc<VariableSet>,
        r1cs: &CompactR1cs,
    ) -> Result<Query<G>, BackendError> {
        self.resident(|loader| Query::load(loader, &points, variables, r1cs))
    }

    fn msm<G: Group>(
        &self,
        bases: &Points<G>,
        scalars: &Vector,
    ) -> Result<G::Projective, BackendError> {
        if scalars.0.len() < bases.len {
            return Err(BackendError::Length {
                what: "scalars for bases",
                wanted: bases.len,
                found: scalars.0.len(),
            });
        }
        let list = sort::ScalarList {
            scalars: &scalars.0,
            slots: None,
            points: None,
            count: bases.len,
        };
        self.multiply_scalars(bases, &list)
    }

    fn msm_query<G: Group>(
        &self,
        query: &Query<G>,
        witness: &Witness,
    ) -> Result<G::Projective, BackendError> {
        query.multiply(self, witness)
    }
}
