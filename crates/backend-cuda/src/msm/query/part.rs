//! The variables of a query, cut into parts whose points can be brought to the device on their own.

use std::ops::Range;

use cuzk_r1cs::{Classes, VariableSet};

use crate::mat_vec::halves;

/// Aux variables of a word.
pub const WORD: usize = 32;

/// A run of a query's variables in words of 32 aux variables; the first also has the inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The points of the query that are this part's.
    pub points: Range<usize>,
    /// Its first word.
    pub first_word: usize,
    /// Inputs that have a point: the first points.
    pub inputs: usize,
    /// Which aux variables of the boolean class have a point, and which of the field class.
    pub bits: Vec<u32>,
    /// As many words.
    pub fields: Vec<u32>,
    /// For each word the points of these before it, the inputs' apart.
    pub bits_before: Vec<u32>,
    /// As many numbers.
    pub fields_before: Vec<u32>,
    /// The slots of the values of inputs and of variables of the field class that have a point.
    pub field_slots: Vec<u32>,
}

impl Part {
    /// How many points before an aux variable's are of the boolean class; `None` where it has no point, is of the field
    /// class, or is not of the part.
    pub fn bit_of(&self, aux: usize) -> Option<usize> {
        let word = (aux / WORD).checked_sub(self.first_word)?;
        let (bits, bit) = (*self.bits.get(word)?, aux % WORD);
        let below = bits & ((1 << bit) - 1);
        (bits >> bit & 1 == 1).then(|| (self.bits_before[word] + below.count_ones()) as usize)
    }

    /// Number of points of the boolean class.
    pub fn bit_points(&self) -> usize {
        self.points.len() - self.field_slots.len()
    }
}

/// Cuts a query into parts of about `most` points at most: a word is never cut.
pub fn parts(variables: &VariableSet, classes: Classes<'_>, most: usize) -> Vec<Part> {
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
            classes,
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
    classes: Classes<'_>,
    words: &[u32],
    (first_word, points): (usize, Range<usize>),
) -> Part {
    let mut part = Part {
        points,
        first_word,
        ..Part::default()
    };
    if first_word == 0 {
        let inputs = variables.inputs.iter_ones().map(|slot| slot as u32);
        part.field_slots.extend(inputs);
        part.inputs = part.field_slots.len();
    }
    let class = classes.field;
    let (mut bits_before, mut fields_before) = (0, 0);
    for (word, &present) in words.iter().enumerate() {
        let index = first_word + word;
        // A word of 64 holds two.
        let in_class = (class.bits().words()[index / 2] >> (index % 2 * WORD)) as u32;
        let (bits, fields) = (present & !in_class, present & in_class);
        part.bits.push(bits);
        part.fields.push(fields);
        part.bits_before.push(bits_before);
        part.fields_before.push(fields_before);
        bits_before += bits.count_ones();
        fields_before += fields.count_ones();
        let mut rest = fields;
        while rest != 0 {
            let aux = index * WORD + rest.trailing_zeros() as usize;
            let slot = classes.shape.inputs + class.rank(aux);
            part.field_slots.push(slot as u32);
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

    /// Every variable is in one part, with a point of its class.
    #[test]
    fn parts_are_the_query() {
        let pce = circuit();
        let r1cs = pce.r1cs();
        let density = r1cs.density().unwrap();
        for variables in [Density::l(r1cs.shape), density.a(r1cs.shape), density.b()] {
            let inputs = variables.inputs.count_ones();
            for most in [0, 1, 40, 64, 100, usize::MAX] {
                let parts = parts(&variables, r1cs.classes(), most);
                assert!(most < usize::MAX || parts.len() == 1);
                let (mut next, mut bits) = (0, Vec::new());
                for part in &parts {
                    assert_eq!(part.points.start, next);
                    assert_eq!(part.inputs, if next == 0 { inputs } else { 0 });
                    next = part.points.end;
                    assert!(part.points.len() <= most.max(inputs + WORD), "{most}");
                    let own = (0..r1cs.shape.aux).filter(|&aux| part.bit_of(aux).is_some());
                    let own: Vec<usize> = own.collect();
                    let ranks: Vec<_> = own.iter().filter_map(|&aux| part.bit_of(aux)).collect();
                    assert_eq!(ranks, (0..part.bit_points()).collect::<Vec<_>>());
                    bits.extend(own);
                }
                assert_eq!(next, variables.len());
                let is_bit = |&aux: &usize| !r1cs.field_class.bits().get(aux);
                let wanted: Vec<usize> = variables.aux.iter_ones().filter(is_bit).collect();
                assert_eq!(bits, wanted);
            }
        }
    }

    /// The slots of values are in the order of their points, and words count what lies before them.
    #[test]
    fn parts_name_the_slots_of_their_fields() {
        let pce = circuit();
        let r1cs = pce.r1cs();
        let variables = r1cs.density().unwrap().a(r1cs.shape);
        let parts = parts(&variables, r1cs.classes(), 64);
        assert!(parts.len() > 2);
        let mut wanted: Vec<usize> = variables.inputs.iter_ones().collect();
        let mut slot = r1cs.shape.inputs;
        for aux in 0..r1cs.shape.aux {
            let is_field = r1cs.field_class.bits().get(aux);
            if is_field && variables.aux.get(aux) {
                wanted.push(slot);
            }
            slot += usize::from(is_field);
        }
        let found = parts.iter().flat_map(|part| &part.field_slots);
        assert_eq!(found.map(|&slot| slot as usize).collect::<Vec<_>>(), wanted);
        for part in &parts {
            let before = |words: &[u32], word: usize| {
                let ones = words[..word].iter().map(|word| word.count_ones());
                ones.sum::<u32>()
            };
            for word in 0..part.bits.len() {
                assert_eq!(part.bits[word] & part.fields[word], 0);
                assert_eq!(part.bits_before[word], before(&part.bits, word));
                assert_eq!(part.fields_before[word], before(&part.fields, word));
            }
        }
    }

    #[test]
    fn a_query_of_inputs_alone_is_one_part() {
        let pce = Pce::record(StepCircuit {
            steps: Vec::new(),
            blank: true,
        })
        .unwrap();
        let variables = pce.r1cs().density().unwrap().a(pce.shape);
        let parts = parts(&variables, pce.r1cs().classes(), 1);
        let wanted = Part {
            points: 0..1,
            inputs: 1,
            field_slots: vec![0],
            ..Part::default()
        };
        assert_eq!(parts, [wanted]);
    }
}
