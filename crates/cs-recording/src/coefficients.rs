//! Interned coefficients: a circuit of a hundred million constraints uses a few thousand distinct ones.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use cuzk_curve::{Fr, montgomery_limbs};
use cuzk_r1cs::ColumnHasher;
use ff::Field;

/// A table of distinct coefficients in the order of their first use; 1 and -1 are always the first two.
#[derive(Clone, Debug)]
pub struct Coefficients {
    values: Vec<Fr>,
    index: HashMap<Key, u32, BuildHasherDefault<ColumnHasher>>,
    one: Fr,
    minus_one: Fr,
}

impl Default for Coefficients {
    fn default() -> Self {
        let mut table = Self {
            values: Vec::new(),
            index: HashMap::default(),
            one: Fr::ONE,
            minus_one: -Fr::ONE,
        };
        table.insert(Fr::ONE);
        table.insert(-Fr::ONE);
        table
    }
}

impl Coefficients {
    /// The index of `value`, which is added where it is new.
    #[inline]
    pub fn intern(&mut self, value: &Fr) -> u32 {
        if *value == self.one {
            0
        } else if *value == self.minus_one {
            1
        } else {
            self.insert(*value)
        }
    }

    /// The distinct values, by index.
    pub fn values(&self) -> &[Fr] {
        &self.values
    }

    fn insert(&mut self, value: Fr) -> u32 {
        let next = self.values.len() as u32;
        let index = *self
            .index
            .entry(Key(montgomery_limbs(&value)))
            .or_insert(next);
        if index == next {
            self.values.push(value);
        }
        index
    }
}

/// A coefficient's limbs. Coefficients come from the circuit's author, not from an adversary, so half of them are enough
/// to tell where it is looked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Key([u64; 4]);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0[0]);
        state.write_u64(self.0[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_an_index() {
        let mut table = Coefficients::default();
        let values: Vec<Fr> = (0..500u64).map(|i| Fr::from(i % 100 + 1)).collect();
        let indices: Vec<u32> = values.iter().map(|v| table.intern(v)).collect();
        for (value, index) in values.iter().zip(&indices) {
            assert_eq!(table.values()[*index as usize], *value);
        }
        assert_eq!(table.values().len(), 101);
        assert_eq!(table.intern(&Fr::ONE), 0);
        assert_eq!(table.intern(&-Fr::ONE), 1);
    }
}
