//! The variables of a query, cut into parts whose points can be brought to the device on their own.

use std::ops::Range;

use cuzk_r1cs::{CompactR1cs, VariableSet};

use crate::mat_vec::halves;

/// Aux variables of a word.
pub const WORD: usize = 32;

/// A run of a query's variables in words of 32 aux variables; the first also has the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The points of the query that are this part's.
    pub points: Range<usize>,
    /// Its first word.
    pub first_word: usize,
    /// Which aux variables have a point.
    pub words: Vec<u32>,
    /// The point of each word's first variable, counted from the part's first.
    pub before: Vec<u32>,
    /// The points of inputs and of variables of the field class, and the slots of their values.
    pub field_points: Vec<u32>,
    /// As many slots.
    pub field_slots: Vec<u32>,
}

impl Part {
    /// The point of an aux variable, counted from the part's first; `None` where it has none, or is not of the part.
    pub fn point_of(&self, aux: usize) -> Option<u32> {
        let word = (aux / WORD).checked_sub(self.first_word)?;
        let (bits, bit) = (*self.words.get(word)?, aux % WORD);
        let below = bits & ((1 << bit) - 1);
        (bits >> bit & 1 == 1).then(|| self.before[word] + below.count_ones())
    }
}

/// Cuts a query into parts of about `most` points at most: a word is never cut.
pub fn parts(variables: &VariableSet, r1cs: &CompactR1cs, most: usize) -> Vec<Part> {
    let words = halves(variables.aux.words());
    let inputs = variables.inputs.count_ones();
    let mut parts = Vec::new();
    let (mut first_word, mut first_point) = (0, 0);
    loop {
        let mut count = if first_word == 0 { inputs } else { 0 };
        let mut end = first_word;
        while end < words.len() && (end == first_word || count + WORD <= most) {
            count += words[end].count_ones() as usize;
            end += 1;
        }
        let points = first_point..first_point + count;
        parts.push(part(
            variables,
            r1cs,
            &words[first_word..end],
            (first_word, points),
        ));
        (first_word, first_point) = (end, first_point + count);
        if first_word == words.len() {
            return parts;
        }
    }
}

fn part(
    variables: &VariableSet,
    r1cs: &CompactR1cs,
    words: &[u32],
    (first_word, points): (usize, Range<usize>),
) -> Part {
    let mut part = Part {
        points,
        first_word,
        words: words.to_vec(),
        before: Vec::with_capacity(words.len()),
        field_points: Vec::new(),
        field_slots: Vec::new(),
    };
    let mut next = 0;
    if first_word == 0 {
        for slot in variables.inputs.iter_ones() {
            part.field_points.push(next);
            part.field_slots.push(slot as u32);
            next += 1;
        }
    }
    let class = &r1cs.field_class;
    for (word, &bits) in words.iter().enumerate() {
        part.before.push(next);
        let first_aux = (first_word + word) * WORD;
        let mut rest = bits;
        while rest != 0 {
            let aux = first_aux + rest.trailing_zeros() as usize;
            if class.bits().get(aux) {
                part.field_points.push(next);
                let slot = r1cs.shape.inputs + class.rank(aux);
                part.field_slots.push(slot as u32);
            }
            next += 1;
            rest &= rest - 1;
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use cuzk_pce::Pce;
    use cuzk_r1cs::Density;
    use cuzk_testing::circuits::{Step, StepCircuit};

    use super::*;

    fn circuit() -> Pce {
        let steps = (0..500).map(|i| match i % 5 {
            0 => Step::Aux(i as u64 * 0x1234_5678),
            1 if i < 100 => Step::Input(i as u64),
            2 => Step::Product(vec![(i, 3)], vec![(i / 3, 1)]),
            _ => Step::Bit(i % 3 == 0),
        });
        let circuit = StepCircuit {
            steps: steps.collect(),
            blank: true,
        };
        Pce::record(circuit).unwrap()
    }

    /// Every variable is in one part, with the point that it has in the query.
    #[test]
    fn parts_are_the_query() {
        let pce = circuit();
        let r1cs = pce.r1cs();
        let density = r1cs.density().unwrap();
        for variables in [Density::l(r1cs.shape), density.a(r1cs.shape), density.b()] {
            for most in [0, 1, 40, 64, 100, usize::MAX] {
                let parts = parts(&variables, r1cs, most);
                let mut next = 0;
                for part in &parts {
                    assert_eq!(part.points.start, next);
                    next = part.points.end;
                    let inputs = variables.inputs.count_ones();
                    assert!(part.points.len() <= most.max(inputs + WORD), "{most}");
                }
                assert_eq!(next, variables.len());
                assert!(most < usize::MAX || parts.len() == 1);
                for (index, aux) in variables.aux.iter_ones().enumerate() {
                    let found: Vec<usize> = parts
                        .iter()
                        .filter_map(|part| Some(part.points.start + part.point_of(aux)? as usize))
                        .collect();
                    assert_eq!(found, [variables.inputs.count_ones() + index]);
                }
                for aux in (0..r1cs.shape.aux).filter(|&aux| !variables.aux.get(aux)) {
                    assert!(parts.iter().all(|part| part.point_of(aux).is_none()));
                }
            }
        }
    }

    #[test]
    fn field_lists_name_points_and_slots_of_the_class() {
        let pce = circuit();
        let r1cs = pce.r1cs();
        let variables = r1cs.density().unwrap().a(r1cs.shape);
        let parts = parts(&variables, r1cs, 64);
        assert!(parts.len() > 2);
        let found: Vec<(u32, u32)> = parts
            .iter()
            .flat_map(|part| {
                let first = part.points.start as u32;
                let points = part.field_points.iter().map(move |point| first + point);
                points.zip(part.field_slots.iter().copied())
            })
            .collect();
        let mut wanted: Vec<(u32, u32)> = Vec::new();
        for (point, input) in variables.inputs.iter_ones().enumerate() {
            wanted.push((point as u32, input as u32));
        }
        let inputs = wanted.len();
        let mut slot = r1cs.shape.inputs;
        for aux in 0..r1cs.shape.aux {
            let is_field = r1cs.field_class.bits().get(aux);
            if is_field && variables.aux.get(aux) {
                let before = (0..aux).filter(|&other| variables.aux.get(other)).count();
                wanted.push(((inputs + before) as u32, slot as u32));
            }
            slot += usize::from(is_field);
        }
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_query_of_inputs_alone_is_one_part() {
        let pce = Pce::record(StepCircuit {
            steps: Vec::new(),
            blank: true,
        })
        .unwrap();
        let variables = pce.r1cs().density().unwrap().a(pce.shape);
        let parts = parts(&variables, pce.r1cs(), 1);
        assert_eq!(parts.len(), 1);
        assert_eq!((parts[0].points.clone(), parts[0].words.len()), (0..1, 0));
        assert_eq!(
            (&parts[0].field_points[..], &parts[0].field_slots[..]),
            (&[0][..], &[0][..])
        );
    }
}
