//! What a circuit takes of a device's memory, before it is there.

use cuzk_curve::{G1, G2, Group};
use cuzk_r1cs::{CompactR1cs, R1csError};

use crate::memory::Element;
use crate::msm::{Plan, workspace};
use crate::residency;

/// Vectors of the domain that a proof has at a time before the first multiplication: a, b, the transforms' scratch and the
/// quotient. One is left then.
const VECTORS: usize = 4;

/// Bytes that a circuit takes on a device.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeviceBytes {
    /// Matrices and key with its tables, at most.
    pub resident: usize,
    /// A proof, at most: so many times this let so many lanes work at once.
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
    let sections = [
        Section::of::<G1>(memory, domain - 1, domain - 1),
        Section::of::<G1>(memory, shape.aux, slots),
        Section::of::<G1>(memory, a, slots),
        Section::of::<G1>(memory, b, slots),
        Section::of::<G2>(memory, b, slots),
    ];
    let key: usize = sections.iter().map(|section| section.resident).sum();
    let workspace = sections.iter().map(|section| section.workspace).max();
    let scalar = size_of::<Element>();
    let packed = slots * scalar + shape.aux / 8;
    let vector = domain * scalar;
    Ok(DeviceBytes {
        resident: (r1cs.matrices.size_bytes() + key).min(memory / 2),
        work: 2 * packed + (VECTORS * vector).max(vector + workspace.unwrap_or(0)),
    })
}

/// What a section of a key takes.
struct Section {
    /// Its points, and the tables of those that are multiplied by field elements.
    resident: usize,
    /// Its multiplication.
    workspace: usize,
}

impl Section {
    fn of<G: Group>(memory: usize, count: usize, fields: usize) -> Self {
        let tabulated = fields.min(count);
        let most = residency::tables_of::<G>((memory, memory), count, tabulated);
        let plan = Plan::new(tabulated, most);
        let tables = plan.tables as usize;
        Self {
            resident: (count + (tables - 1) * tabulated) * G::UNCOMPRESSED_BYTES,
            workspace: workspace::<G>(plan, tabulated, count - tabulated, memory),
        }
    }
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
        assert!(found.work >= VECTORS * 8 * 32);
    }

    #[test]
    fn tables_are_counted_and_half_of_the_memory_stays_free() {
        let points = 1 << 20;
        let alone = points * 96;
        let of = |memory, fields| Section::of::<G1>(memory, points, fields);
        assert!(of(1 << 40, points).resident > 8 * alone);
        assert_eq!(of(1 << 40, 0).resident, alone);
        assert_eq!(of(2 * alone, points).resident, alone);
        // Digits take a sixth of the memory at most, and buckets come besides.
        assert!(of(2 * alone, points).workspace < 3 * alone);
        assert!(of(1 << 40, points).workspace > 12 * points * 96);
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let found = device_bytes(pce.r1cs(), 100).unwrap();
        assert_eq!(found.resident, 50);
    }
}
