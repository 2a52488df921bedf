//! The points of a query by class, and sums of the clusters that bits select.

use cuzk_curve::{G1, G2, Group};
use group::prime::PrimeCurveAffine;
use group::{Curve, Group as _};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::host;
use crate::value::Value;
use crate::write_point;

/// Words of aux variables by class, the witness's bits, and the points in the query's order.
struct Query<G: Group> {
    first_word: usize,
    inputs: usize,
    bits: Vec<u32>,
    fields: Vec<u32>,
    witness: Vec<u32>,
    points: Vec<G::Affine>,
}

impl<G: Group<Coordinate: Value>> Query<G> {
    /// Neighbours are often equal, opposite or at infinity.
    fn random(rng: &mut ChaCha12Rng, words: usize, inputs: usize, dense: bool) -> Self {
        let first_word = rng.next_u32() as usize % 3;
        let mut word = || rng.next_u32() | if dense { rng.next_u32() } else { 0 };
        let bits: Vec<u32> = (0..words).map(|_| word()).collect();
        let fields = bits.iter().map(|bits| !bits & word()).collect();
        let witness = (0..first_word + words).map(|_| word()).collect();
        let mut query = Self {
            first_word,
            inputs,
            bits,
            fields,
            witness,
            points: Vec::new(),
        };
        let words = query.bits.iter().chain(&query.fields);
        let count = inputs + words.map(|word| word.count_ones() as usize).sum::<usize>();
        let generator = G::Affine::generator();
        for _ in 0..count {
            query.points.push(match rng.next_u32() % 6 {
                0 => generator,
                1 => -generator,
                2 => G::Affine::identity(),
                _ => G::Projective::random(&mut *rng).to_affine(),
            });
        }
        query
    }

    fn write(&self, size: u32, out: &mut Vec<u8>) {
        let fields: u32 = self.fields.iter().map(|word| word.count_ones()).sum();
        let head = [
            size,
            self.bits.len() as u32,
            self.first_word as u32,
            self.inputs as u32,
            fields,
        ];
        for words in [&head[..], &self.bits, &self.fields, &self.witness] {
            words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        }
        for point in &self.points {
            write_point::<G>(point, out);
        }
    }

    /// The sum that the bits select, and that of i + 1 times point i over inputs and field class.
    fn sums(&self) -> [G::Projective; 2] {
        let mut points = self.points.iter();
        let mut selected = G::Projective::identity();
        let mut others: Vec<G::Affine> = points.by_ref().take(self.inputs).copied().collect();
        for aux in 0..32 * self.bits.len() {
            let is_set = |words: &[u32], at: usize| words[at / 32] >> (at % 32) & 1 == 1;
            if is_set(&self.bits, aux) {
                let point = points.next().unwrap();
                if is_set(&self.witness, 32 * self.first_word + aux) {
                    selected += point;
                }
            } else if is_set(&self.fields, aux) {
                others.extend(points.next());
            }
        }
        assert!(points.next().is_none());
        // The sum of all, of all but the first, and so on.
        let mut weighted = G::Projective::identity();
        let mut sum = G::Projective::identity();
        for point in others.iter().rev() {
            sum += point;
            weighted += sum;
        }
        [selected, weighted]
    }
}

fn clusters_are_sums<G: Group<Coordinate: Value>>(operation: &str, words: &[usize]) {
    let mut rng = ChaCha12Rng::seed_from_u64(6);
    let (mut input, mut wanted) = (Vec::new(), Vec::new());
    for (case, &words) in words.iter().enumerate() {
        for size in [1, 2, 4] {
            let query = Query::<G>::random(&mut rng, words, case % 3, case % 2 == 0);
            query.write(size, &mut input);
            wanted.extend(query.sums());
        }
    }
    let output = host::run(operation, input);
    let size = G::Coordinate::BYTES;
    assert_eq!(output.len(), wanted.len() * 3 * size);
    for (index, (bytes, wanted)) in output.chunks(3 * size).zip(wanted).enumerate() {
        let [x, y, z] = [0, 1, 2].map(|k| G::Coordinate::read(&bytes[k * size..]));
        let found = G::from_jacobian(x, y, z);
        assert_eq!(found, wanted, "{operation}, result {index}");
    }
}

#[test]
fn clusters_are_sums_in_g1() {
    clusters_are_sums::<G1>("selections-g1", &[0, 1, 2, 7, 16, 30]);
}

#[test]
fn clusters_are_sums_in_g2() {
    clusters_are_sums::<G2>("selections-g2", &[1, 5]);
}
