//! Points that are multiplied by a vector of scalars.

use std::ops::Range;

use cuzk_backend::BackendError;
use cuzk_curve::{EncodedPoints, Group};
use group::Group as _;

use super::sort::ScalarList;
use super::{Plan, Points};
use crate::CudaBackend;
use crate::error::failure;
use crate::memory::Vector;
use crate::residency::{self, each_in_turn};

/// Points in a device's memory, or on the host, from where parts of them are brought when they are used.
#[derive(Debug)]
pub enum Bases<G: Group> {
    /// In the device's memory.
    Resident(Points<G>),
    /// On the host, in parts.
    Streamed(EncodedPoints<G>, Vec<Range<usize>>),
}

impl<G: Group> Bases<G> {
    /// How a multiplication is cut, or that of a part.
    pub fn plan(&self) -> Plan {
        match self {
            Self::Resident(points) => points.plan,
            Self::Streamed(_, parts) => Plan::new(parts.first().map_or(0, Range::len), 1),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Resident(points) => points.len,
            Self::Streamed(points, _) => points.len(),
        }
    }
}

impl CudaBackend {
    /// [`cuzk_backend::Msm::load_bases`], with so many tables at most where the points are resident, the points
    /// themselves among them.
    pub fn load_bases_with_tables<G: Group>(
        &self,
        points: &EncodedPoints<G>,
        most_tables: u32,
    ) -> Result<Bases<G>, BackendError> {
        if let Some(most) = self.resident_points(points.len(), G::UNCOMPRESSED_BYTES) {
            let parts = residency::ranges(points.len(), most);
            return Ok(Bases::Streamed(points.clone(), parts));
        }
        let load = |loader: &Self| loader.load_points(points, None, most_tables);
        self.resident(load).map(Bases::Resident)
    }

    /// The sum of scalars times bases.
    pub(super) fn multiply_bases<G: Group>(
        &self,
        bases: &Bases<G>,
        scalars: &Vector,
    ) -> Result<G::Projective, BackendError> {
        if scalars.0.len() < bases.len() {
            return Err(BackendError::Length {
                what: "scalars for bases",
                wanted: bases.len(),
                found: scalars.0.len(),
            });
        }
        let (points, parts) = match bases {
            Bases::Resident(points) => return self.multiply_points(points, scalars),
            Bases::Streamed(points, parts) => (points, parts),
        };
        let load = |loader: &Self, index: usize| {
            loader.load_points(&residency::slice(points, &parts[index])?, None, 1)
        };
        let mut sum = G::Projective::identity();
        each_in_turn(self, parts.len(), load, |index, points: &Points<G>| {
            let part: &Range<usize> = &parts[index];
            let own = self.stream.alloc(part.len()).map_err(failure)?;
            let copied = self
                .stream
                .copy(&scalars.0, part.start, &own, 0, part.len());
            copied.map_err(failure)?;
            sum += self.multiply_points(points, &Vector(own))?;
            Ok(())
        })?;
        Ok(sum)
    }

    fn multiply_points<G: Group>(
        &self,
        points: &Points<G>,
        scalars: &Vector,
    ) -> Result<G::Projective, BackendError> {
        let list = ScalarList {
            scalars: &scalars.0,
            slots: None,
            points: None,
            count: points.len,
            plan: points.plan,
            multiples: points.len,
        };
        self.multiply_scalars(points, &list, None)
    }
}
