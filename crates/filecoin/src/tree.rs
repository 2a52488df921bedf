//! The shapes of replica trees.

use filecoin_hashers::poseidon::PoseidonHasher;
use filecoin_proofs::constants::{SectorShapeBase, SectorShapeSub8, SectorShapeTop2};
use storage_proofs_core::merkle::{MerkleProof, MerkleTreeTrait};

/// The tree of 2 KiB, 8 MiB and 512 MiB sectors: arity 8 throughout.
pub type Base = SectorShapeBase;

/// The tree of 32 GiB sectors: eight trees of arity 8.
pub type Sub8 = SectorShapeSub8;

/// The tree of 64 GiB sectors: twice eight trees of arity 8.
pub type Top2 = SectorShapeTop2;

/// Which of the three tree types a sector size has.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TreeShape {
    /// [`Base`].
    Base,
    /// [`Sub8`].
    Sub8,
    /// [`Top2`].
    Top2,
}

/// A replica tree of a Filecoin sector.
pub trait SectorTree: MerkleTreeTrait<Hasher = PoseidonHasher> + 'static {}

impl<Tree: MerkleTreeTrait<Hasher = PoseidonHasher> + 'static> SectorTree for Tree {}

/// An inclusion proof in a replica tree.
pub type TreeProof<Tree> = MerkleProof<
    PoseidonHasher,
    <Tree as MerkleTreeTrait>::Arity,
    <Tree as MerkleTreeTrait>::SubTreeArity,
    <Tree as MerkleTreeTrait>::TopTreeArity,
>;

/// Evaluates an expression with a type alias for the replica tree of a [`crate::SectorSize`].
///
/// ```
/// use cuzk_filecoin::{SectorSize, with_tree};
/// use storage_proofs_core::merkle::MerkleTreeTrait;
///
/// let name = with_tree!(SectorSize::GiB32, Tree => Tree::display());
/// assert_eq!(name, "merkletree-poseidon_hasher-8-8-0");
/// ```
#[macro_export]
macro_rules! with_tree {
    ($size:expr, $tree:ident => $body:expr) => {
        match $crate::SectorSize::shape($size) {
            $crate::TreeShape::Base => {
                type $tree = $crate::Base;
                $body
            }
            $crate::TreeShape::Sub8 => {
                type $tree = $crate::Sub8;
                $body
            }
            $crate::TreeShape::Top2 => {
                type $tree = $crate::Top2;
                $body
            }
        }
    };
}
