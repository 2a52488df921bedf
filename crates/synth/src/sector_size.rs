//! Sector sizes and the shapes of their Merkle trees.

use crate::SynthError;
use filecoin_hashers::PoseidonArity;
use filecoin_hashers::poseidon::PoseidonHasher;
use generic_array::typenum::U8;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use storage_proofs_core::merkle::{LCTree, MerkleProof};

/// An arity of a replica tree.
pub(crate) trait Arity: PoseidonArity + 'static {}

impl<T: PoseidonArity + 'static> Arity for T {}

/// The Merkle tree of a sector's replica: base arity 8, sub-tree arity `V`, top-tree arity `W`.
pub(crate) type Tree<V, W> = LCTree<PoseidonHasher, U8, V, W>;

/// An opening of a [`Tree`].
pub(crate) type TreeProof<V, W> = MerkleProof<PoseidonHasher, U8, V, W>;

/// One of the five sector sizes of Filecoin's networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SectorSize(u64);

/// The arities above the base trees, as `(sub-tree, top-tree)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One base tree: 2 KiB, 8 MiB, 512 MiB.
    Base,
    /// Eight base trees: 32 GiB.
    Sub8,
    /// Two times eight base trees: 64 GiB.
    Top2,
}

/// Calls the generic function `$f::<V, W>` with the arities that belong to a sector size.
macro_rules! for_shape {
    ($size:expr, $f:ident($($argument:expr),* $(,)?)) => {{
        use generic_array::typenum::{U0, U2, U8};
        match $size.shape() {
            $crate::sector_size::Shape::Base => $f::<U0, U0>($($argument),*),
            $crate::sector_size::Shape::Sub8 => $f::<U8, U0>($($argument),*),
            $crate::sector_size::Shape::Top2 => $f::<U8, U2>($($argument),*),
        }
    }};
}
pub(crate) use for_shape;

impl SectorSize {
    /// 2 KiB, the smallest test sector.
    pub const KIB_2: SectorSize = SectorSize(2 << 10);
    /// 8 MiB, the larger test sector.
    pub const MIB_8: SectorSize = SectorSize(8 << 20);
    /// 512 MiB, the sector of the calibration network.
    pub const MIB_512: SectorSize = SectorSize(512 << 20);
    /// 32 GiB, the usual sector of the main network.
    pub const GIB_32: SectorSize = SectorSize(32 << 30);
    /// 64 GiB, the large sector of the main network.
    pub const GIB_64: SectorSize = SectorSize(64 << 30);

    /// All sizes, ascending. The place in this list is the last part of a registered proof number.
    pub const ALL: [SectorSize; 5] = [
        Self::KIB_2,
        Self::MIB_8,
        Self::MIB_512,
        Self::GIB_32,
        Self::GIB_64,
    ];

    /// The names of all sizes.
    pub const NAMES: &'static str = "2KiB, 8MiB, 512MiB, 32GiB, 64GiB";

    /// The sector size of that many bytes.
    ///
    /// # Errors
    /// [`SynthError::SectorBytes`] for any other number.
    pub fn from_bytes(bytes: u64) -> Result<Self, SynthError> {
        Self::ALL
            .into_iter()
            .find(|size| size.0 == bytes)
            .ok_or(SynthError::SectorBytes { bytes })
    }

    /// The size in bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// The number of 32-byte nodes, which is the number of leaves of each tree.
    pub fn nodes(self) -> u64 {
        self.0 / 32
    }

    /// The name, such as "32GiB".
    pub fn name(self) -> &'static str {
        ["2KiB", "8MiB", "512MiB", "32GiB", "64GiB"][self.index()]
    }

    /// The place in [`SectorSize::ALL`].
    pub(crate) fn index(self) -> usize {
        Self::ALL.iter().take_while(|size| size.0 < self.0).count()
    }

    /// The shape of the sector's replica tree.
    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::GIB_32 => Shape::Sub8,
            Self::GIB_64 => Shape::Top2,
            _ => Shape::Base,
        }
    }
}

impl fmt::Display for SectorSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SectorSize {
    type Err = SynthError;

    fn from_str(text: &str) -> Result<Self, SynthError> {
        Self::ALL
            .into_iter()
            .find(|size| size.name() == text)
            .ok_or_else(|| SynthError::Name {
                what: "sector size",
                wanted: Self::NAMES,
                found: text.to_owned(),
            })
    }
}

impl TryFrom<String> for SectorSize {
    type Error = SynthError;

    fn try_from(text: String) -> Result<Self, SynthError> {
        text.parse()
    }
}

impl From<SectorSize> for String {
    fn from(size: SectorSize) -> String {
        size.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_bytes_and_places_agree() -> Result<(), SynthError> {
        for (place, size) in SectorSize::ALL.into_iter().enumerate() {
            assert_eq!(size.index(), place);
            assert_eq!(size.name().parse::<SectorSize>()?, size);
            assert_eq!(SectorSize::from_bytes(size.bytes())?, size);
            assert_eq!(SectorSize::NAMES.split(", ").nth(place), Some(size.name()));
        }
        assert!(matches!(
            SectorSize::from_bytes(4096),
            Err(SynthError::SectorBytes { bytes: 4096 })
        ));
        assert!("4KiB".parse::<SectorSize>().is_err());
        Ok(())
    }
}
