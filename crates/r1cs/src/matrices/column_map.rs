//! Maps by column.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::Column;

/// A hasher for keys that are one integer and come from no adversary who gains by collisions.
#[derive(Clone, Debug, Default)]
pub struct ColumnHasher(u64);

impl Hasher for ColumnHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(26) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

/// A map by column.
pub type ColumnMap<V> = HashMap<Column, V, BuildHasherDefault<ColumnHasher>>;
