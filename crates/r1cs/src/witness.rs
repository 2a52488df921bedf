//! Assignments: as a synthesis yields them, and packed by the classes that a circuit was compiled with.

use std::fmt;

use cuzk_curve::Fr;
use ff::Field;
use rayon::prelude::*;

use crate::{Bitmap, Classes, Column, CompactR1cs, Products, R1csError, RankedBitmap};

/// A value of a variable, small where it is a bit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// 0 or 1.
    Bit(bool),
    /// Any other element.
    Field(Fr),
}

impl From<Fr> for Value {
    #[inline]
    fn from(value: Fr) -> Self {
        if bool::from(value.is_zero()) {
            Self::Bit(false)
        } else if value == Fr::ONE {
            Self::Bit(true)
        } else {
            Self::Field(value)
        }
    }
}

impl From<Value> for Fr {
    fn from(value: Value) -> Self {
        match value {
            Value::Bit(bit) => Fr::from(u64::from(bit)),
            Value::Field(value) => value,
        }
    }
}

/// An assignment in which each aux value is stored by what it is: a bit or a field element.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Assignment {
    /// The public inputs, ONE first.
    pub inputs: Vec<Fr>,
    /// Which aux values are neither 0 nor 1.
    wide: Bitmap,
    /// The aux values that are 0 or 1; zero where `wide`.
    bits: Bitmap,
    /// The aux values that are neither, in order.
    fields: Vec<Fr>,
}

/// Counts: the values are secret but for the inputs, and many.
impl fmt::Debug for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assignment")
            .field("inputs", &self.inputs.len())
            .field("aux", &self.bits.len())
            .finish_non_exhaustive()
    }
}

impl Assignment {
    /// The assignment of these inputs, ONE first, and aux values.
    pub fn new(inputs: Vec<Fr>, aux: impl IntoIterator<Item = Fr>) -> Self {
        let mut assignment = Self {
            inputs,
            ..Self::default()
        };
        aux.into_iter().for_each(|value| assignment.push_aux(value));
        assignment
    }

    /// The assignment whose aux values are those of `fields` where `wide` has a one, and bits of `bits` elsewhere. A field
    /// may be 0 or 1.
    ///
    /// Errors: [`R1csError::Count`] where the lengths do not fit, or a bit is one where a field stands.
    pub fn from_parts(
        inputs: Vec<Fr>,
        wide: Bitmap,
        bits: Bitmap,
        fields: Vec<Fr>,
    ) -> Result<Self, R1csError> {
        check("aux bits", wide.len(), bits.len())?;
        check("aux fields", wide.count_ones(), fields.len())?;
        let words = wide.words().iter().zip(bits.words());
        check(
            "bits of fields",
            0,
            words.filter(|(w, b)| *w & *b != 0).count(),
        )?;
        let small = |value: &Fr| matches!(Value::from(*value), Value::Bit(_));
        let whole = Self {
            inputs,
            wide,
            bits,
            fields,
        };
        if !whole
            .fields
            .par_chunks(1 << 14)
            .any(|run| run.iter().any(small))
        {
            return Ok(whole);
        }
        let aux: Vec<Fr> = whole.iter_aux().collect();
        Ok(Self::new(whole.inputs, aux))
    }

    /// Appends an aux value.
    #[inline]
    pub fn push_aux(&mut self, value: Fr) {
        match Value::from(value) {
            Value::Bit(bit) => self.push_bits(u64::from(bit), 1),
            Value::Field(value) => {
                self.wide.push(true);
                self.bits.push(false);
                self.fields.push(value);
            }
        }
    }

    /// Appends aux values in order. It is fast where few of them are 0 or 1.
    pub fn push_all_aux(&mut self, values: &[Fr]) {
        for values in values.chunks(64) {
            let small = |value: &Fr| matches!(Value::from(*value), Value::Bit(_));
            if values.iter().any(small) {
                values.iter().for_each(|value| self.push_aux(*value));
            } else {
                self.wide.push_bits(u64::MAX, values.len());
                self.bits.push_bits(0, values.len());
                self.fields.extend_from_slice(values);
            }
        }
    }

    /// Appends `count` aux values that are bits, at most 64: the lowest of `word`, least significant first.
    ///
    /// # Panics
    /// Where `count` is over 64.
    #[inline]
    pub fn push_bits(&mut self, word: u64, count: usize) {
        self.wide.push_bits(0, count);
        self.bits.push_bits(word, count);
    }

    /// Appends all inputs and all aux values of `other`.
    pub fn append(&mut self, other: &Self) {
        self.inputs.extend_from_slice(&other.inputs);
        self.append_aux(other);
    }

    /// All inputs and all aux values of the parts, one part after the other, copied in parallel.
    pub fn concat(parts: Vec<Self>) -> Self {
        let bits = |of: fn(&Self) -> &Bitmap| {
            let bits: Vec<&Bitmap> = parts.iter().map(of).collect();
            Bitmap::concat(&bits)
        };
        let inputs = parts.iter().flat_map(|part| &part.inputs).copied();
        let whole = Self {
            inputs: inputs.collect(),
            wide: bits(|part| &part.wide),
            bits: bits(|part| &part.bits),
            fields: Self::concat_fields(&parts),
        };
        parts.into_par_iter().for_each(drop);
        whole
    }

    fn concat_fields(parts: &[Self]) -> Vec<Fr> {
        let mut fields = cuzk_curve::zeros(parts.iter().map(|part| part.fields.len()).sum());
        let lens = parts.iter().map(|part| part.fields.len()).collect();
        let places = split(&mut fields, lens).into_par_iter().zip(parts);
        places.for_each(|(place, part)| place.copy_from_slice(&part.fields));
        fields
    }

    /// Number of aux values.
    pub fn aux_len(&self) -> usize {
        self.bits.len()
    }

    /// Appends the inputs of `other` but its first, and all its aux values.
    pub fn extend_child(&mut self, other: &Self) {
        self.inputs.extend(other.inputs.iter().skip(1));
        self.append_aux(other);
    }

    fn append_aux(&mut self, other: &Self) {
        self.wide.extend(&other.wide);
        self.bits.extend(&other.bits);
        self.fields.extend_from_slice(&other.fields);
    }

    /// The aux values in order.
    pub fn iter_aux(&self) -> impl Iterator<Item = Fr> + '_ {
        let mut fields = self.fields.iter();
        (0..self.aux_len()).map(move |j| {
            if self.wide.get(j) {
                fields.next().copied().unwrap_or(Fr::ZERO)
            } else {
                Fr::from(u64::from(self.bits.get(j)))
            }
        })
    }

    /// Which aux values are neither 0 nor 1.
    pub fn wide(&self) -> &Bitmap {
        &self.wide
    }

    /// Aux value `aux` where `rank` of those before it are neither 0 nor 1; zero past the end.
    #[inline]
    pub fn value(&self, aux: usize, rank: impl FnOnce() -> usize) -> Value {
        if self.wide.get(aux) {
            let value = self.fields.get(rank()).copied();
            return Value::Field(value.unwrap_or(Fr::ZERO));
        }
        Value::Bit(self.bits.get(aux))
    }

    /// Packs by the classes of a compiled circuit: [`Assignment::pack_by`].
    ///
    /// Errors: as that.
    pub fn pack(self, r1cs: &CompactR1cs) -> Result<PackedWitness, R1csError> {
        self.pack_by(r1cs.classes())
    }

    /// Packs by these classes, in parallel.
    ///
    /// Errors: [`R1csError::Count`] where the circuit has other numbers of inputs or aux variables.
    pub fn pack_by(self, classes: Classes<'_>) -> Result<PackedWitness, R1csError> {
        check("inputs", classes.shape.inputs, self.inputs.len())?;
        check("aux", classes.shape.aux, self.aux_len())?;
        Ok(self.packed(classes.field))
    }

    fn packed(mut self, classes: &RankedBitmap) -> PackedWitness {
        let inputs = self.inputs.len();
        let mut slots = cuzk_curve::zeros(inputs + classes.count_ones());
        let (first, rest) = slots.split_at_mut(inputs);
        first.copy_from_slice(&self.inputs);
        let class_words = classes.bits().words().par_chunks(PACK_WORDS);
        let wide_words = self.wide.words().par_chunks(PACK_WORDS);
        let slots_of = class_words.clone().map(ones).collect();
        let fields_of = wide_words.clone().map(ones).collect();
        let escapes: Vec<Vec<Escape>> = self
            .bits
            .words_mut()
            .par_chunks_mut(PACK_WORDS)
            .zip(class_words)
            .zip(wide_words)
            .zip(split(rest, slots_of))
            .zip(split(&mut self.fields, fields_of))
            .enumerate()
            .map(|(run, ((((bits, class), wide), slots), fields))| {
                pack_run(run * PACK_WORDS, [class, wide], bits, slots, fields)
            })
            .collect();
        PackedWitness {
            inputs,
            slots,
            bits: self.bits,
            escapes: escapes.concat(),
            products: None,
        }
    }
}

/// Words of an assignment that are packed at a time.
const PACK_WORDS: usize = 1 << 12;

fn ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// Consecutive pieces of these lengths.
fn split<T>(mut rest: &mut [T], lens: Vec<usize>) -> Vec<&mut [T]> {
    lens.into_iter()
        .map(|len| {
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(len);
            rest = after;
            piece
        })
        .collect()
}

/// Packs words of aux values, the first of which is word `first`: fills the slots of the field class, clears its bits,
/// and returns what is not of its class.
fn pack_run(
    first: usize,
    [classes, wide]: [&[u64]; 2],
    bits: &mut [u64],
    slots: &mut [Fr],
    fields: &[Fr],
) -> Vec<Escape> {
    let mut escapes = Vec::new();
    let (mut slots, mut fields) = (slots.iter_mut(), fields.iter());
    let words = classes.iter().zip(wide).zip(bits);
    for (word, ((&class, &wide), bits)) in words.enumerate() {
        let mut rest = class | wide;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let value = if wide >> bit & 1 == 1 {
                fields.next().copied().unwrap_or(Fr::ZERO)
            } else {
                Fr::from(*bits >> bit & 1)
            };
            if class >> bit & 1 == 0 {
                let aux = ((first + word) * 64) as u32 + bit;
                escapes.push(Escape { aux, value });
            } else if let Some(slot) = slots.next() {
                *slot = value;
            }
        }
        *bits &= !class;
    }
    escapes
}

fn check(what: &'static str, wanted: usize, found: usize) -> Result<(), R1csError> {
    if wanted == found {
        Ok(())
    } else {
        Err(R1csError::Count {
            what,
            wanted,
            found,
        })
    }
}

/// An aux variable of the boolean class whose value is neither 0 nor 1.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Escape {
    /// The aux variable.
    pub aux: u32,
    /// Its value.
    pub value: Fr,
}

/// A witness packed by class: a bit for each aux variable of the boolean class, a slot for each input and each aux
/// variable of the field class, and a list of the boolean-class values that are not bits. A satisfied witness has none.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedWitness {
    inputs: usize,
    slots: Vec<Fr>,
    bits: Bitmap,
    escapes: Vec<Escape>,
    products: Option<Products>,
}

/// Counts: the values are secret but for the inputs, and many.
impl fmt::Debug for PackedWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackedWitness")
            .field("inputs", &self.inputs)
            .field("aux", &self.bits.len())
            .finish_non_exhaustive()
    }
}

impl PackedWitness {
    /// The same with A·w and B·w, which then need no matrices.
    pub fn with_products(self, products: Products) -> Self {
        Self {
            products: Some(products),
            ..self
        }
    }

    /// A·w and B·w, where they came with it.
    pub fn products(&self) -> Option<&Products> {
        self.products.as_ref()
    }

    /// The public inputs, ONE first.
    pub fn inputs(&self) -> &[Fr] {
        &self.slots[..self.inputs]
    }

    /// The inputs, then the values of the field class in ascending order of their variables.
    pub fn slots(&self) -> &[Fr] {
        &self.slots
    }

    /// The values of the field class in ascending order of their variables.
    pub fn fields(&self) -> &[Fr] {
        &self.slots[self.inputs..]
    }

    /// A bit for each aux variable: its value in the boolean class, zero in the field class and at escapes.
    pub fn bits(&self) -> &Bitmap {
        &self.bits
    }

    /// The boolean-class values that are neither 0 nor 1, in ascending order of their variables.
    pub fn escapes(&self) -> &[Escape] {
        &self.escapes
    }

    /// Bytes in memory.
    pub fn size_bytes(&self) -> usize {
        let products = self.products.as_ref().map_or(0, Products::size_bytes);
        let values = size_of_val(self.slots()) + size_of_val(self.bits.words());
        values + size_of_val(self.escapes()) + products
    }

    /// The value in a column of a compiled matrix, or `None` for a column that the witness does not have.
    #[inline]
    pub fn value(&self, column: Column) -> Option<Value> {
        match column {
            Column::Dense(slot) => self.slots.get(slot as usize).copied().map(Value::Field),
            Column::Sparse(aux) if (aux as usize) < self.bits.len() => {
                if !self.escapes.is_empty()
                    && let Ok(found) = self.escapes.binary_search_by_key(&aux, |e| e.aux)
                {
                    return Some(Value::Field(self.escapes[found].value));
                }
                Some(Value::Bit(self.bits.get(aux as usize)))
            }
            Column::Sparse(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_equal_pushes() {
        for values in [[7u64, 8, 9], [7, 0, 9], [1, 8, 0], [1, 0, 1]] {
            let (mut wide, mut bits) = (Bitmap::default(), Bitmap::default());
            let mut expected = Assignment::new(vec![Fr::ONE], []);
            for (i, value) in values.into_iter().enumerate() {
                wide.push_bits(1 << 3, 4);
                bits.push_bits(i as u64, 4);
                expected.push_bits(i as u64, 3);
                expected.push_aux(Fr::from(value));
            }
            let fields = values.map(Fr::from).to_vec();
            let found = Assignment::from_parts(vec![Fr::ONE], wide.clone(), bits.clone(), fields);
            assert_eq!(found.unwrap(), expected);
            let fewer = vec![Fr::from(7); 2];
            let error = Assignment::from_parts(vec![], wide.clone(), bits, fewer).unwrap_err();
            assert!(matches!(
                error,
                R1csError::Count {
                    wanted: 3,
                    found: 2,
                    ..
                }
            ));
            let both = Assignment::from_parts(vec![], wide.clone(), wide, vec![Fr::ONE; 3]);
            assert!(both.is_err());
        }
    }

    #[test]
    fn runs_equal_single_values() {
        for len in [0, 1, 63, 64, 65, 200] {
            for small in [0, 40, 64, 199] {
                let value = |i: u64| if i == small { Fr::ONE } else { Fr::from(i + 2) };
                let values: Vec<Fr> = (0..len).map(value).collect();
                let mut found = Assignment::new(vec![], [Fr::from(9)]);
                let mut expected = found.clone();
                found.push_all_aux(&values);
                values.iter().for_each(|value| expected.push_aux(*value));
                assert_eq!(found, expected);
            }
        }
    }

    /// Over several runs of words, with numbers that are bits, bits of the field class and numbers of the boolean class.
    #[test]
    fn packing_equals_value_by_value() {
        let len = 2 * 64 * PACK_WORDS + 17;
        let mut classes = Bitmap::zeros(len);
        (0..len)
            .filter(|i| i % 7 == 3 || i % 640 < 70)
            .for_each(|i| classes.set(i));
        let aux = |i: usize| match i % 1001 {
            0 => Fr::from(i as u64),
            _ if classes.get(i) && !i.is_multiple_of(5) => Fr::from(i as u64 + 2),
            _ => Fr::from(i as u64 / 3 % 2),
        };
        let inputs = vec![Fr::ONE, Fr::from(77)];
        let assignment = Assignment::new(inputs.clone(), (0..len).map(aux));
        let packed = assignment.packed(&RankedBitmap::new(classes.clone()));

        let slots = inputs.iter().copied().chain(classes.iter_ones().map(aux));
        assert_eq!(packed.slots(), slots.collect::<Vec<_>>());
        let (mut bits, mut escapes) = (Bitmap::zeros(len), Vec::new());
        for i in (0..len).filter(|&i| !classes.get(i)) {
            match Value::from(aux(i)) {
                Value::Bit(true) => bits.set(i),
                Value::Bit(false) => {}
                Value::Field(value) => escapes.push(Escape {
                    aux: i as u32,
                    value,
                }),
            }
        }
        assert!(escapes.len() > 100);
        assert_eq!(packed.bits(), &bits);
        assert_eq!(packed.escapes(), escapes);
    }
}
