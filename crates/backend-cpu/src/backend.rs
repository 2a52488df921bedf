//! The backend: the operations of this crate behind the traits of `cuzk-backend`.

use std::sync::Arc;

use cuzk_backend::{Backend, BackendError, Evaluations, FixedBase, Msm, Ntt, Transform, Vectors};
use cuzk_curve::{EncodedPoints, Fr, Group, room_on_large_pages};
use cuzk_r1cs::{Classes, PackedWitness, RankedBitmap, RowVector, VariableSet};
use ff::Field;

use crate::{fixed_base, msm, ntt};

/// The CPU as a backend, on the threads of the rayon pool that its caller is in: the global one where a `Prover` is the caller,
/// since it works on threads of its own. Vectors are plain vectors, points stay encoded.
#[derive(Copy, Clone, Debug, Default)]
pub struct CpuBackend;

/// The points of a query and the variables that they belong to.
#[derive(Debug)]
pub struct Query<G: Group> {
    points: EncodedPoints<G>,
    variables: Arc<VariableSet>,
    field_class: RankedBitmap,
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }
}

impl Vectors for CpuBackend {
    type Vector = Vec<Fr>;

    fn upload(&self, values: Vec<Fr>) -> Result<Vec<Fr>, BackendError> {
        Ok(values)
    }

    fn upload_rows(&self, rows: &RowVector, len: usize) -> Result<Vec<Fr>, BackendError> {
        if rows.len() > len {
            length("rows of a domain", len, rows.len())?;
        }
        let mut values = room_on_large_pages(len);
        rows.parts().for_each(|part| values.extend_from_slice(part));
        values.resize(len, Fr::ZERO);
        Ok(values)
    }

    fn download(&self, vector: Vec<Fr>) -> Result<Vec<Fr>, BackendError> {
        Ok(vector)
    }
}

impl Ntt for CpuBackend {
    fn ntt(&self, vector: &mut Vec<Fr>, transform: Transform) -> Result<(), BackendError> {
        ntt::transform(vector, transform)
    }

    fn quotient(&self, evaluations: Evaluations<Vec<Fr>>) -> Result<Vec<Fr>, BackendError> {
        ntt::quotient(evaluations.a, evaluations.b)
    }
}

impl FixedBase for CpuBackend {
    fn fixed_base<G: Group>(
        &self,
        base: &G::Affine,
        scalars: &[Fr],
    ) -> Result<Vec<G::Affine>, BackendError> {
        Ok(fixed_base::fixed_base::<G>(base, scalars))
    }
}

impl Msm for CpuBackend {
    type Bases<G: Group> = EncodedPoints<G>;
    type Query<G: Group> = Query<G>;

    fn load_bases<G: Group>(
        &self,
        points: EncodedPoints<G>,
    ) -> Result<EncodedPoints<G>, BackendError> {
        Ok(points)
    }

    fn load_query<G: Group>(
        &self,
        points: EncodedPoints<G>,
        variables: Arc<VariableSet>,
        classes: Classes<'_>,
    ) -> Result<Query<G>, BackendError> {
        length("points of a query", variables.len(), points.len())?;
        Ok(Query {
            points,
            variables,
            field_class: classes.field.clone(),
        })
    }

    fn msm<G: Group>(
        &self,
        bases: &EncodedPoints<G>,
        scalars: &Vec<Fr>,
    ) -> Result<G::Projective, BackendError> {
        let Some(scalars) = scalars.get(..bases.len()) else {
            return Err(BackendError::Length {
                what: "scalars for bases",
                wanted: bases.len(),
                found: scalars.len(),
            });
        };
        Ok(msm::msm_indexed(bases, None, scalars))
    }

    fn msm_query<G: Group>(
        &self,
        query: &Query<G>,
        witness: &Arc<PackedWitness>,
    ) -> Result<G::Projective, BackendError> {
        let inputs = query.variables.inputs.len();
        length("inputs of the witness", inputs, witness.inputs().len())?;
        let aux = query.variables.aux.len();
        length("aux of the witness", aux, witness.bits().len())?;
        let ones = query.ones(witness);
        let bits = msm::sum_selected(&query.points, &ones);
        drop(ones);
        let (indices, scalars) = query.fields(witness);
        Ok(bits + msm::msm_indexed(&query.points, Some(&indices), &scalars))
    }
}

impl<G: Group> Query<G> {
    /// The points whose variable is a bit that is one.
    fn ones(&self, witness: &PackedWitness) -> Vec<u32> {
        let mut ones = Vec::new();
        let mut point = self.variables.inputs.count_ones() as u32;
        let words = self
            .variables
            .aux
            .words()
            .iter()
            .zip(witness.bits().words());
        for (&variables, &bits) in words {
            let mut rest = variables & bits;
            while rest != 0 {
                let below = (rest & rest.wrapping_neg()) - 1;
                ones.push(point + (variables & below).count_ones());
                rest &= rest - 1;
            }
            point += variables.count_ones();
        }
        ones
    }

    /// The points whose variable is an input, of the field class, or an escape, with their scalars.
    fn fields(&self, witness: &PackedWitness) -> (Vec<u32>, Vec<Fr>) {
        let mut indices = Vec::new();
        let mut scalars = Vec::new();
        let mut push = |point: u32, value: Fr| {
            indices.push(point);
            scalars.push(value);
        };
        let mut point = 0;
        for i in self.variables.inputs.iter_ones() {
            push(point, witness.inputs()[i]);
            point += 1;
        }
        let mut fields = witness.fields().iter();
        let mut escapes = witness.escapes().iter().peekable();
        let classes = self.field_class.bits().words();
        for (word, (&variables, &class)) in
            self.variables.aux.words().iter().zip(classes).enumerate()
        {
            let mut rest = class;
            while rest != 0 {
                let bit = rest & rest.wrapping_neg();
                rest &= rest - 1;
                if let Some(&value) = fields.next()
                    && variables & bit != 0
                {
                    push(point + (variables & (bit - 1)).count_ones(), value);
                }
            }
            while let Some(escape) = escapes.next_if(|escape| escape.aux as usize / 64 == word) {
                let bit = 1u64 << (escape.aux % 64);
                if variables & bit != 0 {
                    push(point + (variables & (bit - 1)).count_ones(), escape.value);
                }
            }
            point += variables.count_ones();
        }
        (indices, scalars)
    }
}

fn length(what: &'static str, wanted: usize, found: usize) -> Result<(), BackendError> {
    if wanted == found {
        return Ok(());
    }
    Err(BackendError::Length {
        what,
        wanted,
        found,
    })
}
