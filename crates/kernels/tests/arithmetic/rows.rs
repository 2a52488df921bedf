//! The matrix-vector product's kernel logic: blocks at several places, bits, slots and escapes.

use cuzk_curve::Fr;
use ff::Field;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::host;
use crate::value::Value;

const DENSE: u32 = 1 << 31;
const INPUTS: u32 = 3;
const AUX: u32 = 700;
const SLOTS: u32 = 5;
const TILE: usize = 256;

/// A block's rows, each a list of columns and coefficients.
type Block = Vec<Vec<(u32, u32)>>;

/// Where a block stands: its number, the first aux variable, and the variables behind its slots.
struct Place {
    block: usize,
    aux: u32,
    slots: Vec<u32>,
}

fn random_block(rows: usize, rng: &mut impl RngCore) -> Block {
    let mut term = || {
        let column = if rng.next_u32().is_multiple_of(3) {
            rng.next_u32() % SLOTS | DENSE
        } else {
            rng.next_u32() % 60
        };
        (column, rng.next_u32() % 5)
    };
    (0..rows)
        .map(|row| (0..row % 6).map(|_| term()).collect())
        .collect()
}

fn write_words(words: impl IntoIterator<Item = u32>, size: usize, out: &mut Vec<u8>) {
    let words: Vec<u32> = words.into_iter().collect();
    out.extend(((words.len() / size) as u32).to_le_bytes());
    words.iter().for_each(|word| out.extend(word.to_le_bytes()));
}

fn write_values(values: &[Fr], out: &mut Vec<u8>) {
    out.extend((values.len() as u32).to_le_bytes());
    values.iter().for_each(|value| value.write(out));
}

/// Values of all variables, and which aux variables are of the field class and which are escapes.
struct Assignment {
    inputs: Vec<Fr>,
    aux: Vec<Fr>,
    fields: Vec<bool>,
}

impl Assignment {
    fn random(escapes: bool, rng: &mut impl RngCore) -> Self {
        let fields: Vec<bool> = (0..AUX).map(|_| rng.next_u32().is_multiple_of(4)).collect();
        let aux = fields.iter().map(|&field| {
            if field || escapes && rng.next_u32().is_multiple_of(50) {
                Fr::random(&mut *rng)
            } else {
                Fr::from(u64::from(rng.next_u32() & 1))
            }
        });
        let aux = aux.collect();
        Self {
            inputs: (0..INPUTS).map(|_| Fr::random(&mut *rng)).collect(),
            aux,
            fields,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut slots = self.inputs.clone();
        let (mut classes, mut bits) = (Vec::new(), Vec::new());
        let (mut escaped, mut escapes) = (Vec::new(), Vec::new());
        for (word, (values, fields)) in self.aux.chunks(32).zip(self.fields.chunks(32)).enumerate()
        {
            classes.extend([0, slots.len() as u32]);
            let (mut ones, class) = (0u32, classes.len() - 2);
            for (i, (&value, &field)) in values.iter().zip(fields).enumerate() {
                if field {
                    classes[class] |= 1 << i;
                    slots.push(value);
                } else if value == Fr::ONE {
                    ones |= 1 << i;
                } else if value != Fr::ZERO {
                    escaped.push((word * 32 + i) as u32);
                    escapes.push(value);
                }
            }
            bits.push(ones);
        }
        write_words(classes, 2, out);
        write_values(&slots, out);
        write_words(bits, 1, out);
        write_words(escaped, 1, out);
        write_values(&escapes, out);
    }

    fn value(&self, variable: u32) -> Fr {
        match variable & DENSE {
            0 => self.aux[variable as usize],
            _ => self.inputs[(variable & !DENSE) as usize],
        }
    }
}

fn check(rows: &[usize], escapes: bool) {
    let mut rng = ChaCha12Rng::seed_from_u64(8);
    let blocks: Vec<Block> = rows.iter().map(|&n| random_block(n, &mut rng)).collect();
    let mut coefficients = vec![Fr::ONE, -Fr::ONE];
    coefficients.extend((0..3).map(|_| Fr::random(&mut rng)));
    let places: Vec<Place> = (0..40)
        .map(|i| Place {
            block: i % blocks.len(),
            aux: rng.next_u32() % (AUX - 60),
            slots: (0..SLOTS)
                .map(|_| match rng.next_u32() % 2 {
                    0 => rng.next_u32() % AUX,
                    _ => rng.next_u32() % INPUTS | DENSE,
                })
                .collect(),
        })
        .collect();
    let assignment = Assignment::random(escapes, &mut rng);
    let (mut starts, mut terms, mut firsts) = (vec![0], Vec::new(), Vec::new());
    for block in &blocks {
        firsts.push(starts.len() as u32 - 1);
        for row in block {
            terms.extend(
                row.iter()
                    .flat_map(|&(column, coefficient)| [column, coefficient]),
            );
            starts.push(terms.len() as u32 / 2);
        }
    }
    let (mut instances, mut variables, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    let mut tiles = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let first = firsts[place.block];
        instances.extend([
            wanted.len() as u32,
            first,
            place.aux,
            variables.len() as u32,
        ]);
        for row in &blocks[place.block] {
            if wanted.len().is_multiple_of(TILE) {
                tiles.push(index as u32);
            }
            let term = |&(column, coefficient): &(u32, u32)| {
                let variable = match column & DENSE {
                    0 => place.aux + column,
                    _ => place.slots[(column & !DENSE) as usize],
                };
                coefficients[coefficient as usize] * assignment.value(variable)
            };
            wanted.push(row.iter().map(term).sum::<Fr>());
        }
        variables.extend(&place.slots);
    }
    tiles.push(places.len() as u32 - 1);
    let mut input = Vec::new();
    write_words(tiles, 1, &mut input);
    write_words(instances, 4, &mut input);
    write_words(variables, 1, &mut input);
    write_words(starts, 1, &mut input);
    write_words(terms, 2, &mut input);
    write_values(&coefficients, &mut input);
    assignment.write(&mut input);
    write_words(0..wanted.len() as u32, 1, &mut input);
    let output = host::run("rows", input);
    let found: Vec<Fr> = output.chunks_exact(32).map(Fr::read).collect();
    assert!(found == wanted, "{rows:?}, escapes: {escapes}");
}

#[test]
fn rows_of_blocks_are_evaluated() {
    for rows in [&[1usize][..], &[1, 7, 300], &[64, 256, 40]] {
        check(rows, false);
        check(rows, true);
    }
}
