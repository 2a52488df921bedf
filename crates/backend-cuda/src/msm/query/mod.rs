//! Points that are multiplied by the witness: bits select points or sums of neighbours, the rest goes to buckets.

mod part;

use cuzk_backend::BackendError;
use cuzk_curve::{EncodedPoints, Group};
use cuzk_gpu::{Argument, Buffer, Grid};
use cuzk_r1cs::{Classes, Shape, VariableSet};
use group::Group as _;

use super::sort::{ScalarList, Selection};
use super::{ByClass, Clusters, Plan, Points};
use crate::error::failure;
use crate::mat_vec::length;
use crate::residency::{self, Extras, each_in_turn, extras_of};
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
    clusters: Clusters,
    /// The variables of the points that bits select.
    variables: Buffer<u32>,
    field_slots: Buffer<u32>,
}

impl<G: Group> Query<G> {
    /// Makes a query resident, with sums of so many points at most where that is given, or keeps it on the host where the
    /// device has no room for it.
    pub(super) fn load(
        backend: &CudaBackend,
        points: EncodedPoints<G>,
        variables: &VariableSet,
        classes: Classes<'_>,
        largest_cluster: Option<u32>,
    ) -> Result<Self, BackendError> {
        let shape = classes.shape;
        length("points of a query", variables.len(), points.len())?;
        length("inputs of a query", shape.inputs, variables.inputs.len())?;
        length("aux of a query", shape.aux, variables.aux.len())?;
        let most = backend.resident_points::<G>(points.len());
        let mut parts = parts(variables, classes, most.unwrap_or(usize::MAX));
        let held = match (most, parts.pop()) {
            (None, Some(mut part)) => {
                let (fields, bits) = (part.field_slots.len(), part.bit_points());
                let memory = backend.device().memory();
                let extras = extras_of::<G>(memory, fields, bits, largest_cluster);
                let load = |loader: &CudaBackend| Loaded::new(loader, &points, &part, extras);
                let loaded = backend.resident(load)?;
                // What follows asks for bits' points alone.
                part = Part {
                    points: part.points,
                    first_word: part.first_word,
                    bits: part.bits,
                    bits_before: part.bits_before,
                    ..Part::default()
                };
                Held::Resident(Box::new(loaded), part)
            }
            (_, last) => {
                parts.extend(last);
                Held::Streamed(points, parts)
            }
        };
        Ok(Self {
            shape,
            slots: classes.slots(),
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
            Loaded::new(loader, &points, part, Extras::NONE)
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
        extras: Extras,
    ) -> Result<Self, BackendError> {
        let stream = &backend.stream;
        let upload = |values: &[u32]| stream.upload(values).map_err(failure);
        let clusters = Clusters {
            size: extras.cluster,
            count: part.bit_points(),
            first: part.field_slots.len(),
        };
        let places = stream.alloc(points.len()).map_err(failure)?.scratch();
        let variables = stream.alloc(clusters.count).map_err(failure)?;
        let words = [
            &part.bits,
            &part.fields,
            &part.bits_before,
            &part.fields_before,
        ];
        let words: Vec<_> = words
            .into_iter()
            .map(|words| upload(words).map(Buffer::scratch))
            .collect::<Result<_, _>>()?;
        let mut arguments: Vec<Argument<'_>> = words.iter().map(Argument::from).collect();
        let numbers = [part.bits.len(), part.first_word, part.inputs];
        arguments.extend(numbers.map(|number| Argument::from(number as u32)));
        arguments.extend(clusters.arguments());
        arguments.extend([Argument::from(&places), (&variables).into()]);
        let grid = Grid::over(part.bits.len().max(part.inputs), 256);
        backend.launch("msm_places", grid, &arguments)?;
        let by_class = ByClass {
            places: &places,
            clusters,
        };
        Ok(Self {
            points: backend.load_points(points, Some(&by_class), extras.tables)?,
            clusters,
            variables,
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
            points: None,
            count: self.field_slots.len(),
            plan: self.points.plan,
            multiples: self.points.len,
        };
        let bits = Selection {
            clusters: self.clusters,
            variables: &self.variables,
            bits: &witness.bits,
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
            let point = self.clusters.alone(part.bit_of(escape.aux as usize)?);
            Some((point as u32, slot))
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
