//! What a circuit takes of the host's and of a device's memory.

use std::fmt;
use std::sync::Arc;

use cuzk_curve::{Fr, G1, G2, Group};
use cuzk_params::Parameters;
use cuzk_r1cs::{CompactR1cs, R1csError};

/// Beside what is counted: stacks, small buffers, a circuit's own structures.
const SLACK_BYTES: u64 = 1 << 20;
/// What the last parts of rows take at most where an extensible synthesis has many children.
const ROWS_SLACK_BYTES: u64 = 96 << 20;

/// Bytes that a circuit and its partitions take.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// The compiled circuit in the host's memory. The key is mapped and not counted.
    pub host_resident: u64,
    /// Matrices and key on a device.
    pub device_resident: u64,
    /// A partition on the host while its witness is computed: what is left of it then is given back.
    pub host_witness: u64,
    /// A partition on a device.
    pub device_work: u64,
}

impl Footprint {
    /// The footprint where a device holds matrices and points as the files do, vectors of scalars as they are, and no
    /// tables.
    ///
    /// A witness on the host is computed into vectors that double (three times the field elements for a moment, once
    /// more in children of an extensible synthesis) and is then packed. A device works with a and b, the quotient's scratch
    /// and one vector more.
    ///
    /// Errors: those of [`CompactR1cs::density`].
    pub fn plain(r1cs: &CompactR1cs) -> Result<Self, R1csError> {
        let scalar = size_of::<Fr>() as u64;
        let shape = r1cs.shape;
        let (slots, aux, domain) = (r1cs.slots() as u64, shape.aux as u64, shape.domain() as u64);
        let matrices = r1cs.matrices.size_bytes() as u64;
        let density = r1cs.density()?;
        let b = density.b().len() as u64;
        let a = (shape.inputs + density.a_aux.count_ones()) as u64;
        let in_g1 = (domain - 1) + aux + a + b;
        let points = in_g1 * G1::UNCOMPRESSED_BYTES as u64 + b * G2::UNCOMPRESSED_BYTES as u64;
        let packed = slots * scalar + aux / 8 + 64;
        Ok(Self {
            host_resident: r1cs.size_bytes() as u64,
            device_resident: matrices + points,
            host_witness: 4 * slots * scalar + 2 * aux + SLACK_BYTES,
            device_work: 2 * packed + 4 * domain * scalar,
        })
    }

    /// The footprint of a circuit that is not compiled, by its key, at most: any variable may be a field element.
    ///
    /// The host has the rows of A and B beside a witness, before it is packed and after. A device holds no matrices.
    pub fn plain_of_key(key: &Parameters) -> Self {
        let scalar = size_of::<Fr>() as u64;
        let (aux, domain) = (key.l().len() as u64, key.h().len() as u64 + 1);
        let variables = key.vk().ic.len() as u64 + aux;
        let [a, b] = [key.a(), key.b_g1()].map(|points| points.len() as u64);
        let in_g1 = (domain - 1) + aux + a + b;
        let points = in_g1 * G1::UNCOMPRESSED_BYTES as u64 + b * G2::UNCOMPRESSED_BYTES as u64;
        let packed = variables * scalar + aux / 8 + 64;
        let rows = 2 * domain * scalar;
        Self {
            // Where variables occur, and which are field elements: a bit each, and ranks.
            host_resident: variables,
            device_resident: points,
            host_witness: 4 * variables * scalar
                + 4 * aux
                + rows
                + (2 * rows).min(ROWS_SLACK_BYTES)
                + SLACK_BYTES,
            device_work: 2 * packed + 4 * domain * scalar,
        }
    }
}

/// How a circuit's footprint is found out: [`Footprint::plain`] and [`Footprint::plain_of_key`] by default, and another way
/// for a backend that takes more or less of a device.
#[derive(Clone)]
pub struct Footprints {
    find: Arc<Find>,
    find_of_key: Arc<FindOfKey>,
}

type FindOfKey = dyn Fn(&Parameters) -> Footprint + Send + Sync;
type Find = dyn Fn(&CompactR1cs) -> Result<Footprint, R1csError> + Send + Sync;

impl Footprints {
    /// Found out by `find`.
    pub fn new(
        find: impl Fn(&CompactR1cs) -> Result<Footprint, R1csError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            find: Arc::new(find),
            find_of_key: Arc::new(Footprint::plain_of_key),
        }
    }

    /// The same with another way for circuits that are not compiled.
    pub fn with_keys(
        self,
        find_of_key: impl Fn(&Parameters) -> Footprint + Send + Sync + 'static,
    ) -> Self {
        Self {
            find_of_key: Arc::new(find_of_key),
            ..self
        }
    }

    /// That of a circuit that is not compiled.
    pub fn of_key(&self, key: &Parameters) -> Footprint {
        (self.find_of_key)(key)
    }

    /// A circuit's.
    ///
    /// Errors: those of [`CompactR1cs::density`].
    pub fn of(&self, r1cs: &CompactR1cs) -> Result<Footprint, R1csError> {
        (self.find)(r1cs)
    }
}

impl Default for Footprints {
    fn default() -> Self {
        Self::new(Footprint::plain)
    }
}

impl fmt::Debug for Footprints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Footprints")
    }
}
