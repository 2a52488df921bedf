//! Pseudo-random digests by place: all that a synthetic sector holds and that nothing determines.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use sha2::{Digest, Sha256};

/// What a digest stands for, so that no two uses meet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Data = 1,
    Label = 2,
    TreeC = 3,
    TreeR = 4,
    Replica = 5,
    CommC = 6,
    Ticket = 7,
    Seed = 8,
    Randomness = 9,
    Sector = 10,
}

/// A keyed function from places to digests below 2^254, which are canonical field elements.
#[derive(Clone)]
pub(crate) struct Prf {
    key: [u8; 32],
}

impl Prf {
    /// The function of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Prf {
            key: ChaCha20Rng::seed_from_u64(seed).r#gen(),
        }
    }

    /// The function of one sector among many.
    pub(crate) fn sector(&self, number: u64) -> Self {
        Prf {
            key: self.digest(Purpose::Sector, 0, number),
        }
    }

    /// The digest at `(level, index)`.
    pub(crate) fn digest(&self, purpose: Purpose, level: usize, index: u64) -> [u8; 32] {
        let hash = Sha256::new()
            .chain_update(self.key)
            .chain_update([purpose as u8])
            .chain_update((level as u64).to_le_bytes())
            .chain_update(index.to_le_bytes())
            .finalize();
        let mut digest: [u8; 32] = hash.into();
        digest[31] &= 0x3f;
        digest
    }
}
