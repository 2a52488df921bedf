//! Points that are multiplied by the witness: bits select, the rest goes to buckets.

mod part;

use std::sync::Arc;

use cuzk_backend::BackendError;
use cuzk_curve::{EncodedPoints, Group};
use cuzk_gpu::Buffer;
use cuzk_r1cs::{CompactR1cs, Shape, VariableSet};
use group::Group as _;

use super::sort::{ScalarList, Selection};
use super::{Plan, Points};
use crate::error::failure;
use crate::mat_vec::length;
use crate::residency::{self, each_in_turn};
use crate::{CudaBackend, Witness};
use part::{Part, parts};

/// The points of a query and the variables that they belong to.
#[derive(Debug)]
pub struct Query<G: Group> {
    shape: Shape,
    slots: usize,
    held: Held<G>,
}

#[derive(Debug)]
enum Held<G: Group> {
    Resident(Box<Loaded<G>>, Part),
    Streamed(EncodedPoints<G>, Vec<Part>),
}

/// A part in the device's memory.
#[derive(Debug)]
struct Loaded<G: Group> {
    points: Points<G>,
    words: Buffer<u32>,
    before: Buffer<u32>,
    field_points: Buffer<u32>,
    field_slots: Buffer<u32>,
}

impl<G: Group> Query<G> {
    /// Makes a query resident, or keeps it on the host where the device has no room for it.
    pub(super) fn load(
        backend: &CudaBackend,
        points: EncodedPoints<G>,
        variables: &Arc<VariableSet>,
        r1cs: &CompactR1cs,
    ) -> Result<Self, BackendError> {
        let shape = r1cs.shape;
        length("points of a query", variables.len(), points.len())?;
        length("inputs of a query", shape.inputs, variables.inputs.len())?;
        length("aux of a query", shape.aux, variables.aux.len())?;
        let most = backend.resident_points::<G>(points.len());
        let mut parts = parts(variables, r1cs, most.unwrap_or(usize::MAX));
        let held = match (most, parts.pop()) {
            (None, Some(mut part)) => {
                let tables = backend.tables_that_fit::<G>(points.len(), part.field_points.len());
                let load = |loader: &CudaBackend| Loaded::new(loader, &points, &part, tables);
                let loaded = backend.resident(load)?;
                // What follows needs neither on the host.
                (part.field_points, part.field_slots) = (Vec::new(), Vec::new());
                Held::Resident(Box::new(loaded), part)
            }
            (_, last) => {
                parts.extend(last);
                Held::Streamed(points, parts)
            }
        };
        Ok(Self {
            shape,
            slots: r1cs.slots(),
            held,
        })
    }

    pub(super) fn multiply(
        &self,
        backend: &CudaBackend,
        witness: &Witness,
    ) -> Result<G::Projective, BackendError> {
        let (packed, shape) = (&witness.packed, self.shape);
        length("inputs of the witness", shape.inputs, packed.inputs().len())?;
        length("aux of the witness", shape.aux, packed.bits().len())?;
        length("slots of the witness", self.slots, packed.slots().len())?;
        let (points, parts) = match &self.held {
            Held::Resident(loaded, part) => return loaded.multiply(backend, witness, part),
            Held::Streamed(points, parts) => (points, parts),
        };
        let load = |loader: &CudaBackend, index: usize| {
            let part: &Part = &parts[index];
            let points = residency::slice(points, &part.points)?;
            Loaded::new(loader, &points, part, 1)
        };
        let mut sum = G::Projective::identity();
        each_in_turn(backend, parts.len(), load, |index, loaded: &Loaded<G>| {
            sum += loaded.multiply(backend, witness, &parts[index])?;
            Ok(())
        })?;
        Ok(sum)
    }
}

impl<G: Group> Loaded<G> {
    fn new(
        backend: &CudaBackend,
        points: &EncodedPoints<G>,
        part: &Part,
        tables: u32,
    ) -> Result<Self, BackendError> {
        let upload = |values: &[u32]| backend.stream.upload(values).map_err(failure);
        let field_points = upload(&part.field_points)?;
        Ok(Self {
            points: backend.load_points(points, Some(&field_points), tables)?,
            words: upload(&part.words)?,
            before: upload(&part.before)?,
            field_points,
            field_slots: upload(&part.field_slots)?,
        })
    }

    /// The sum over the part's variables.
    fn multiply(
        &self,
        backend: &CudaBackend,
        witness: &Witness,
        part: &Part,
    ) -> Result<G::Projective, BackendError> {
        let fields = ScalarList {
            scalars: &witness.slots,
            slots: Some(&self.field_slots),
            points: Some(&self.field_points),
            count: self.field_points.len(),
            plan: self.points.plan,
            multiples: self.points.len,
        };
        let bits = Selection {
            variables: &self.words,
            bits: &witness.bits,
            first_word: part.first_word,
            before: &self.before,
        };
        let sum = backend.multiply_scalars(&self.points, &fields, Some(&bits))?;
        if witness.packed.escapes().is_empty() {
            return Ok(sum);
        }
        Ok(sum + self.multiply_escapes(backend, witness, part)?)
    }

    /// The sum over variables that should have been bits and are not.
    fn multiply_escapes(
        &self,
        backend: &CudaBackend,
        witness: &Witness,
        part: &Part,
    ) -> Result<G::Projective, BackendError> {
        let escapes = witness.packed.escapes().iter().zip(0u32..);
        let place = |(escape, slot): (&cuzk_r1cs::Escape, u32)| {
            Some((part.point_of(escape.aux as usize)?, slot))
        };
        let (points, slots): (Vec<u32>, Vec<u32>) = escapes.filter_map(place).unzip();
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
