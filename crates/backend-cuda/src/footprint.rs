//! What a circuit takes of a device's memory, before it is there.

use cuzk_curve::{G1, G2, Group};
use cuzk_r1cs::{CompactR1cs, Density, R1csError, VariableSet};

use crate::memory::Element;
use crate::msm::{Plan, sums};
use crate::residency::extras_of;

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
    let by_class = |variables: &VariableSet| {
        let fields = field_points(variables, r1cs);
        (fields, variables.len() - fields)
    };
    let (l, a, b) = (
        by_class(&Density::l(shape)),
        by_class(&density.a(shape)),
        by_class(&density.b()),
    );
    let key = section::<G1>(memory, (domain - 1, 0))
        + section::<G1>(memory, l)
        + section::<G1>(memory, a)
        + section::<G1>(memory, b)
        + section::<G2>(memory, b);
    let scalar = size_of::<Element>();
    let packed = slots * scalar + shape.aux / 8;
    Ok(DeviceBytes {
        resident: r1cs.matrices.size_bytes() + key.min(memory / 2),
        work: 2 * packed + VECTORS * domain * scalar,
    })
}

/// The points of a query that are multiplied by scalars: those of inputs and of the field class.
fn field_points(variables: &VariableSet, r1cs: &CompactR1cs) -> usize {
    let class = r1cs.field_class.bits().words();
    let both = variables.aux.words().iter().zip(class);
    let fields = both.map(|(present, class)| (present & class).count_ones() as usize);
    variables.inputs.count_ones() + fields.sum::<usize>()
}

/// A section of a key: the points that are multiplied by scalars and their tables, and the sums of those that bits
/// select, which take a number each besides.
fn section<G: Group>(memory: usize, (scalars, bits): (usize, usize)) -> usize {
    let extras = extras_of::<G>((memory, memory), scalars, bits, None);
    let tables = Plan::new(scalars, extras.tables).tables as usize;
    (scalars * tables + sums(bits, extras.cluster)) * G::UNCOMPRESSED_BYTES
        + bits * size_of::<u32>()
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
        let points = 96 * g1 + 192 * b;
        // All of its variables are of the field class, so that none has a number.
        assert_eq!(found.resident, matrices + points);
        assert!(found.work >= 6 * 8 * 32);
    }

    #[test]
    fn tables_are_counted_and_half_of_the_memory_stays_free() {
        let points = 1 << 22;
        let alone = points * 96;
        assert!(section::<G1>(1 << 40, (points, 0)) > 8 * alone);
        assert_eq!(section::<G1>(2 * alone, (points, 0)), alone);
        let numbers = points * 4;
        assert_eq!(
            section::<G1>(1 << 40, (0, points)),
            alone / 4 * 15 + numbers
        );
        assert_eq!(
            section::<G1>(8 * alone, (0, points)),
            alone / 2 * 3 + numbers
        );
        assert_eq!(section::<G1>(2 * alone, (0, points)), alone + numbers);
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let found = device_bytes(pce.r1cs(), 100).unwrap();
        assert_eq!(found.resident, pce.r1cs().matrices.size_bytes() + 50);
    }
}
