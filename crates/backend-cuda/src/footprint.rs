//! What a circuit takes of a device's memory, before it is there.

use cuzk_curve::{G1, G2, Group};
use cuzk_r1cs::{CompactR1cs, Density, R1csError, VariableSet};

use crate::mat_vec::matrices_bytes;
use crate::memory::Element;
use crate::msm::{DECODED, Plan, sums, workspace};
use crate::residency::{NUMBER, extras_of, part_bytes, spare, streaming_bytes};

/// Vectors of the domain that a proof has at a time before the first multiplication: a, b, the transforms' scratch and the
/// quotient. One is left then.
const VECTORS: usize = 4;

/// Bytes that a circuit takes on a device.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeviceBytes {
    /// Matrices and key with its tables, at most, and what loading these takes besides.
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
    let by_class = |variables: &VariableSet| {
        let fields = field_points(variables, r1cs);
        (fields, variables.len() - fields)
    };
    let b = by_class(&density.b());
    let sections = [
        Section::of::<G1>(memory, (domain - 1, 0)),
        Section::of::<G1>(memory, by_class(&Density::l(shape))),
        Section::of::<G1>(memory, by_class(&density.a(shape))),
        Section::of::<G1>(memory, b),
        Section::of::<G2>(memory, b),
    ];
    let matrices = matrices_bytes(r1cs)?;
    let packed = slots * size_of::<Element>() + shape.aux / 8;
    Ok(in_all(
        &sections, matrices, shape.aux, packed, domain, memory,
    ))
}

/// What sections take that are loaded in their order after matrices, which take so many bytes and, where their rows are
/// streamed, so many. A witness takes `packed` bytes.
fn in_all(
    sections: &[Section],
    (matrices, kept): (usize, usize),
    aux: usize,
    packed: usize,
    domain: usize,
    memory: usize,
) -> DeviceBytes {
    let most = kept.max(memory / 2);
    let (mut all, mut resident) = (matrices, matrices.min(most));
    // For each 32 variables four words say which points are whose.
    let words = aux.div_ceil(64) * 8 * size_of::<u32>();
    for section in sections {
        all += section.resident;
        resident = resident.max(all.min(most) + section.loading.map_or(0, |bytes| bytes + words));
    }
    let workspace = sections.iter().map(|section| section.workspace).max();
    let vector = domain * size_of::<Element>();
    let parts = if all > memory / 2 {
        streaming_bytes(memory)
    } else {
        0
    };
    let multiplication = vector + workspace.unwrap_or(0) + parts;
    DeviceBytes {
        resident,
        work: 2 * packed + (VECTORS * vector).max(multiplication),
    }
}

/// What the key of a circuit takes that is not compiled, at most, with a proof whose rows come evaluated: whatever classes its
/// variables will have. `h`, `l`, `a` and `b` are the points of the key's sections, `inputs` the circuit's.
pub fn device_bytes_of_key([h, l, a, b]: [usize; 4], inputs: usize, memory: usize) -> DeviceBytes {
    let sections = [
        Section::at_most::<G1>(memory, h),
        Section::at_most::<G1>(memory, l),
        Section::at_most::<G1>(memory, a),
        Section::at_most::<G1>(memory, b),
        Section::at_most::<G2>(memory, b),
    ];
    let packed = (inputs + l) * size_of::<Element>() + l / 8;
    in_all(&sections, (0, 0), l, packed, h + 1, memory)
}

/// The points of a query that are multiplied by scalars: those of inputs and of the field class.
fn field_points(variables: &VariableSet, r1cs: &CompactR1cs) -> usize {
    let class = r1cs.field_class.bits().words();
    let both = variables.aux.words().iter().zip(class);
    let fields = both.map(|(present, class)| (present & class).count_ones() as usize);
    variables.inputs.count_ones() + fields.sum::<usize>()
}

/// What a section of a key takes.
struct Section {
    /// The points that are multiplied by scalars and their tables, and the sums of those that bits select. Each point of a
    /// query takes a number besides: its variable or its slot.
    resident: usize,
    /// Loading it besides: the points that are being decoded, and the place of each. `None` where it is streamed.
    loading: Option<usize>,
    /// Its multiplication.
    workspace: usize,
}

impl Section {
    /// Of so many points, whichever of them are multiplied by scalars.
    fn at_most<G: Group>(memory: usize, points: usize) -> Self {
        let (scalars, bits) = (
            Self::of::<G>(memory, (points, 0)),
            Self::of::<G>(memory, (0, points)),
        );
        let bytes = points * (G::UNCOMPRESSED_BYTES + NUMBER);
        Self {
            resident: bytes + spare((memory, memory), points * G::UNCOMPRESSED_BYTES),
            loading: scalars.loading,
            workspace: scalars.workspace + bits.workspace,
        }
    }

    fn of<G: Group>(memory: usize, (scalars, bits): (usize, usize)) -> Self {
        let extras = extras_of::<G>((memory, memory), scalars, bits, None);
        let plan = Plan::new(scalars, extras.tables);
        let points = scalars * plan.tables as usize + sums(bits, extras.cluster);
        let selected = bits.div_ceil(extras.cluster as usize);
        let (count, each) = (scalars + bits, G::UNCOMPRESSED_BYTES);
        let fits = part_bytes((memory, memory), count * each).is_none();
        Self {
            resident: points * each + count * NUMBER,
            loading: fits.then(|| count.min(DECODED) * each + count * size_of::<u32>()),
            workspace: workspace::<G>(plan, scalars, selected, memory),
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
        let (matrices, kept) = matrices_bytes(pce.r1cs()).unwrap();
        // A row of A and of B each start somewhere and end.
        assert!(matrices >= kept + 2 * 4 * shape.constraints && kept > 32);
        let (points, numbers) = (96 * g1 + 192 * b, 4 * (g1 + b));
        // The last section is loaded beside all others, from its encoded points, their places and the words.
        let loading = 192 * b + 4 * b + 32;
        assert_eq!(found.resident, matrices + points + numbers + loading);
        assert!(found.work >= VECTORS * 8 * 32);
    }

    #[test]
    fn tables_are_counted_and_half_of_the_memory_stays_free() {
        let points = 1 << 22;
        let alone = points * 96;
        let of = |memory, scalars, bits| Section::of::<G1>(memory, (scalars, bits));
        assert!(of(1 << 40, points, 0).resident > 8 * alone);
        let numbers = points * 4;
        assert_eq!(of(2 * alone, points, 0).resident, alone + numbers);
        let sums = |memory| of(memory, 0, points).resident - numbers;
        assert_eq!(sums(1 << 40), alone / 4 * 15);
        assert_eq!(sums(8 * alone), alone / 2 * 3);
        assert_eq!(sums(2 * alone), alone);
        // Digits take a sixth of the memory at most, and buckets come besides.
        assert!(of(2 * alone, points, 0).workspace < 3 * alone);
        assert!(of(1 << 40, points, 0).workspace > 12 * points * 96);
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let (_, kept) = matrices_bytes(pce.r1cs()).unwrap();
        assert!(kept > 50);
        let of = |memory| device_bytes(pce.r1cs(), memory).unwrap().resident;
        assert_eq!((of(0), of(100)), (kept, kept));
        // One window of digits takes more than a sixth of the memory, and is not cut.
        let (points, memory) = ((1usize << 27) - 1, 42_400_000_000);
        let workspace = Section::of::<G1>(memory, (points, 0)).workspace;
        assert!(workspace > points * 96 && points * 96 > memory / 6);
    }

    /// Whatever the classes, a key takes no more than is said before they are known.
    #[test]
    fn keys_of_unknown_classes_take_at_most_what_is_said() {
        let inputs = 3;
        for log_points in [4, 11, 20, 24] {
            let points = 1usize << log_points;
            for memory in [100 * points, 1000 * points, 1 << 37] {
                let most =
                    device_bytes_of_key([points - 1, points, points, points], inputs, memory);
                for share in [0, 1, 7, 16] {
                    let by_class = (points * share / 16, points - points * share / 16);
                    let sections = [
                        Section::of::<G1>(memory, (points - 1, 0)),
                        Section::of::<G1>(memory, by_class),
                        Section::of::<G1>(memory, by_class),
                        Section::of::<G1>(memory, by_class),
                        Section::of::<G2>(memory, by_class),
                    ];
                    let resident: usize = sections.iter().map(|s| s.resident).sum();
                    assert!(
                        resident.min(memory / 2) <= most.resident,
                        "{points} {share}"
                    );
                    let work = sections.iter().map(|s| s.workspace).max().unwrap();
                    assert!(
                        32 * points + work <= most.work,
                        "{points} {share} of {memory}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_streamed_takes_its_parts() {
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let of = |memory| device_bytes(pce.r1cs(), memory).unwrap();
        let loading = 196 * pce.r1cs().density().unwrap().b().len() + 32;
        let fits = 2 * (of(1 << 30).resident - loading);
        let (resident, streamed) = (of(fits), of(fits - 2));
        assert_eq!(resident.resident, streamed.resident + 1);
        // A sixth of the memory may be a byte less, too.
        let parts = streamed.work - resident.work;
        assert!(parts.abs_diff(streaming_bytes(fits - 2)) <= 1, "{parts}");
        assert!(parts > 2 * fits / 33);
    }
}
