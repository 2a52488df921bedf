//! A·w and B·w from the templates.

use std::sync::Arc;

use cuzk_backend::{BackendError, Evaluations, MatVec};
use cuzk_curve::{Fr, zeros};
use cuzk_r1cs::{CompactR1cs, Matrix, PackedWitness};

use crate::CpuBackend;

impl MatVec for CpuBackend {
    type Matrices = Arc<CompactR1cs>;
    type Witness = Arc<PackedWitness>;

    fn load_matrices(&self, r1cs: Arc<CompactR1cs>) -> Result<Self::Matrices, BackendError> {
        Ok(r1cs)
    }

    fn load_witness(&self, witness: Arc<PackedWitness>) -> Result<Self::Witness, BackendError> {
        Ok(witness)
    }

    fn mat_vec(
        &self,
        matrices: &Self::Matrices,
        witness: &Self::Witness,
    ) -> Result<Evaluations<Vec<Fr>>, BackendError> {
        let shape = matrices.shape;
        let (mut a, mut b) = (zeros(shape.domain()), zeros(shape.domain()));
        matrices.evaluate([Matrix::A, Matrix::B], witness, [&mut a, &mut b])?;
        // The row of input i is input_i * 0 = 0, so B stays zero there.
        a[shape.constraints..shape.rows()].copy_from_slice(witness.inputs());
        Ok(Evaluations { a, b })
    }
}
