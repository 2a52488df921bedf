//! Points that are multiplied by the witness: bits select, the rest goes to buckets.

use std::sync::Arc;

use cuzk_backend::BackendError;
use cuzk_curve::{EncodedPoints, Group};
use cuzk_gpu::Buffer;
use cuzk_r1cs::{CompactR1cs, VariableSet};

use super::sort::{ScalarList, Selection};
use super::{Plan, Points};
use crate::error::failure;
use crate::mat_vec::{halves, length};
use crate::{CudaBackend, Witness};

/// The points of a query and the variables that they belong to.
#[derive(Debug)]
pub struct Query<G: Group> {
    points: Points<G>,
    variables: Arc<VariableSet>,
    slots: usize,
    /// Which aux variables have a point, in words of 32.
    aux: Buffer<u32>,
    /// The point of each word's first variable.
    before: Buffer<u32>,
    /// `before` on the host, for escapes.
    host_before: Vec<u32>,
    /// The points of inputs and of variables of the field class, and the slots of their values.
    field_points: Buffer<u32>,
    field_slots: Buffer<u32>,
}

impl<G: Group> Query<G> {
    pub(super) fn load(
        backend: &CudaBackend,
        points: &EncodedPoints<G>,
        variables: Arc<VariableSet>,
        r1cs: &CompactR1cs,
    ) -> Result<Self, BackendError> {
        length("points of a query", variables.len(), points.len())?;
        length(
            "inputs of a query",
            r1cs.shape.inputs,
            variables.inputs.len(),
        )?;
        length("aux of a query", r1cs.shape.aux, variables.aux.len())?;
        let words = halves(variables.aux.words());
        let mut next = variables.inputs.count_ones() as u32;
        let mut host_before = Vec::with_capacity(words.len());
        for word in &words {
            host_before.push(next);
            next += word.count_ones();
        }
        let (field_points, field_slots) = fields(&variables, r1cs);
        let stream = &backend.stream;
        let tables = backend.tables_that_fit::<G>(field_points.len());
        let field_points = stream.upload(&field_points).map_err(failure)?;
        Ok(Self {
            points: backend.load_points(points, Some(&field_points), tables)?,
            slots: r1cs.slots(),
            aux: stream.upload(&words).map_err(failure)?,
            before: stream.upload(&host_before).map_err(failure)?,
            host_before,
            field_points,
            field_slots: stream.upload(&field_slots).map_err(failure)?,
            variables,
        })
    }

    pub(super) fn multiply(
        &self,
        backend: &CudaBackend,
        witness: &Witness,
    ) -> Result<G::Projective, BackendError> {
        let packed = &witness.packed;
        length(
            "inputs of the witness",
            self.variables.inputs.len(),
            packed.inputs().len(),
        )?;
        length(
            "aux of the witness",
            self.variables.aux.len(),
            packed.bits().len(),
        )?;
        length("slots of the witness", self.slots, packed.slots().len())?;
        let fields = ScalarList {
            scalars: &witness.slots,
            slots: Some(&self.field_slots),
            points: Some(&self.field_points),
            count: self.field_points.len(),
            plan: self.points.plan,
            multiples: self.points.len,
        };
        let bits = Selection {
            variables: &self.aux,
            bits: &witness.bits,
            before: &self.before,
        };
        let sum = backend.multiply_scalars(&self.points, &fields, Some(&bits))?;
        if packed.escapes().is_empty() {
            return Ok(sum);
        }
        Ok(sum + self.multiply_escapes(backend, witness)?)
    }

    /// The sum over variables that should have been bits and are not.
    fn multiply_escapes(
        &self,
        backend: &CudaBackend,
        witness: &Witness,
    ) -> Result<G::Projective, BackendError> {
        let (mut points, mut slots) = (Vec::new(), Vec::new());
        for (slot, escape) in witness.packed.escapes().iter().enumerate() {
            let aux = escape.aux as usize;
            if self.variables.aux.get(aux) {
                let word = self.variables.aux.words()[aux / 64] >> (aux / 32 % 2 * 32);
                let below = word as u32 & ((1 << (aux % 32)) - 1);
                points.push(self.host_before[aux / 32] + below.count_ones());
                slots.push(slot as u32);
            }
        }
        let points = backend.stream.upload(&points).map_err(failure)?;
        let slots = backend.stream.upload(&slots).map_err(failure)?;
        let list = ScalarList {
            scalars: &witness.escapes,
            slots: Some(&slots),
            points: Some(&points),
            count: points.len(),
            plan: Plan::new(points.len(), 1),
            multiples: 0,
        };
        backend.multiply_scalars(&self.points, &list, None)
    }
}

/// The points of inputs and of variables of the field class, with their slots.
fn fields(variables: &VariableSet, r1cs: &CompactR1cs) -> (Vec<u32>, Vec<u32>) {
    let inputs = variables.inputs.iter_ones().enumerate();
    let inputs = inputs.map(|(point, slot)| (point as u32, slot as u32));
    let first = variables.inputs.count_ones();
    let aux = variables
        .aux
        .iter_ones()
        .enumerate()
        .filter_map(|(index, aux)| {
            let class = &r1cs.field_class;
            let is_field = class.bits().get(aux);
            is_field.then(|| {
                (
                    (first + index) as u32,
                    (r1cs.shape.inputs + class.rank(aux)) as u32,
                )
            })
        });
    inputs.chain(aux).unzip()
}
