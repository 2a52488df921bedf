//! Interned coefficients: a circuit of a hundred million constraints uses a few thousand distinct ones.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use cuzk_curve::Fr;
use ff::{Field, PrimeField};

/// A table of distinct coefficients in the order of their first use; 1 and -1 are always the first two.
#[derive(Clone, Debug)]
pub struct Coefficients {
    values: Vec<Fr>,
    index: HashMap<[u8; 32], u32, BuildHasherDefault<CoefficientHasher>>,
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
        let index = *self.index.entry(value.to_repr()).or_insert(next);
        if index == next {
            self.values.push(value);
        }
        index
    }
}

/// Mixes a coefficient's own bytes. Coefficients come from the circuit's author, not from an adversary.
#[derive(Clone, Debug, Default)]
struct CoefficientHasher(u64);

impl Hasher for CoefficientHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let mixed = self.0.rotate_left(23) ^ u64::from_le_bytes(word);
            self.0 = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 ^= self.0 >> 29;
        }
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
