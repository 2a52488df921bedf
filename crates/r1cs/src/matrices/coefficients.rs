//! What the rows of a matrix need to know of the coefficients' values.

use std::collections::HashMap;

use cuzk_curve::Fr;
use ff::Field;

use crate::small_integer;

/// Of each coefficient whether it is a small integer, and which is its double.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoefficientTable {
    /// Each coefficient as an integer, or [`CoefficientTable::LARGE`].
    pub(crate) small: Vec<i64>,
    /// The index of each coefficient's double, or [`CoefficientTable::NONE`].
    pub(crate) doubled: Vec<u32>,
}

impl CoefficientTable {
    /// Stands for a coefficient that is not small.
    pub(crate) const LARGE: i64 = i64::MIN;
    /// Stands for a coefficient whose double is not in the table.
    pub(crate) const NONE: u32 = u32::MAX;

    pub(super) fn new(coefficients: &[Fr]) -> Self {
        let numbers: HashMap<[u8; 32], u32> = (0..)
            .zip(coefficients)
            .map(|(number, value)| (value.to_bytes_le(), number))
            .collect();
        let double = |value: &Fr| numbers.get(&value.double().to_bytes_le()).copied();
        Self {
            small: coefficients
                .iter()
                .map(|value| small_integer(value).unwrap_or(Self::LARGE))
                .collect(),
            doubled: coefficients
                .iter()
                .map(|value| double(value).unwrap_or(Self::NONE))
                .collect(),
        }
    }

    /// Number of coefficients.
    pub(super) fn len(&self) -> usize {
        self.small.len()
    }

    /// Bytes in memory.
    pub(super) fn size_bytes(&self) -> usize {
        size_of_val(self.small.as_slice()) + size_of_val(self.doubled.as_slice())
    }
}
