//! What a circuit takes of a device's memory, before it is there.

use cuzk_curve::{G1, G2, Group};
use cuzk_r1cs::{CompactR1cs, R1csError};

use crate::memory::Element;
use crate::msm::Plan;
use crate::residency;

/// Vectors of the domain that a proof has at a time: a, b, the transforms' scratch and the quotient, and a
/// multiplication's workspace of as much as two, which is smaller where less is free.
const VECTORS: usize = 6;

/// Bytes that a circuit takes on a device.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeviceBytes {
    /// Matrices and key with its tables, at most.
    pub resident: usize,
    /// A proof.
    pub work: usize,
}

/// What a circuit takes of a device of which `memory` bytes may be used and nothing is. Where other keys are resident
/// already, its own takes less: there are fewer tables, and what does not fit half of the memory is streamed.
///
/// Errors: those of [`CompactR1cs::density`].
pub fn device_bytes(r1cs: &CompactR1cs, memory: usize) -> Result<DeviceBytes, R1csError> {
    let (shape, slots, density) = (r1cs.shape, r1cs.slots(), r1cs.density()?);
    let domain = shape.domain();
    let b = density.b().len();
    let a = shape.inputs + density.a_aux.count_ones();
    let key = section::<G1>(memory, domain - 1, domain - 1)
        + section::<G1>(memory, shape.aux, slots)
        + section::<G1>(memory, a, slots)
        + section::<G1>(memory, b, slots)
        + section::<G2>(memory, b, slots);
    let scalar = size_of::<Element>();
    let packed = slots * scalar + shape.aux / 8;
    Ok(DeviceBytes {
        resident: r1cs.matrices.size_bytes() + key.min(memory / 2),
        work: 2 * packed + VECTORS * domain * scalar,
    })
}

/// A section of a key: its points, and the tables of those that are multiplied by field elements.
fn section<G: Group>(memory: usize, count: usize, fields: usize) -> usize {
    let tabulated = fields.min(count);
    let most = residency::tables_of::<G>((memory, memory), count, tabulated);
    let tables = Plan::new(tabulated, most).tables as usize;
    (count + (tables - 1) * tabulated) * G::UNCOMPRESSED_BYTES
}

#[cfg(test)]
mod tests {
    use cuzk_pce::Pce;
    use cuzk_testing::circuits::Cubic;

    use super::*;

    #[test]
    fn small_circuits_take_what_their_points_do() {
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let found = device_bytes(pce.r1cs(), 1 << 30).unwrap();
        // Five constraints with their inputs: a domain of 8; too few points for tables.
        let shape = pce.r1cs().shape;
        assert_eq!(shape.domain(), 8);
        let density = pce.r1cs().density().unwrap();
        let b = density.b().len();
        let g1 = 7 + shape.aux + shape.inputs + density.a_aux.count_ones() + b;
        let matrices = pce.r1cs().matrices.size_bytes();
        assert_eq!(found.resident, matrices + 96 * g1 + 192 * b);
        assert!(found.work >= 6 * 8 * 32);
    }

    #[test]
    fn tables_are_counted_and_half_of_the_memory_stays_free() {
        let points = 1 << 20;
        let alone = points * 96;
        assert!(section::<G1>(1 << 40, points, points) > 8 * alone);
        assert_eq!(section::<G1>(1 << 40, points, 0), alone);
        assert_eq!(section::<G1>(2 * alone, points, points), alone);
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let found = device_bytes(pce.r1cs(), 100).unwrap();
        assert_eq!(found.resident, pce.r1cs().matrices.size_bytes() + 50);
    }
}
