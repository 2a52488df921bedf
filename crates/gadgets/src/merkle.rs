//! Merkle paths, as `storage-proofs-core`'s PoR gadgets compute them.

use cuzk_curve::Fr;

use crate::{Writer, insert};

/// A level of a Merkle path: the siblings, one fewer than the arity (a power of two), and the node's place among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The siblings.
    pub siblings: Vec<Fr>,
    /// The place, below the arity.
    pub index: usize,
}

impl Level {
    /// Bits of a place.
    pub fn index_bits(&self) -> u32 {
        (self.siblings.len() + 1).trailing_zeros()
    }

    /// The parent of `node`, from siblings and a place that are allocated already.
    pub fn parent(
        &self,
        writer: &mut Writer,
        node: Fr,
        hash: impl FnOnce(&mut Writer, &[Fr]) -> Fr,
    ) -> Fr {
        let children = insert::insert(writer, node, self.index, &self.siblings);
        hash(writer, &children)
    }
}

/// Ascends from a leaf to its root, allocating places and siblings level by level, and then, as an input, the leaf's
/// index: `PoRCircuit` of a leaf and a root that are allocated already.
pub fn prove_inclusion(
    writer: &mut Writer,
    leaf: Fr,
    path: &[Level],
    mut hash: impl FnMut(&mut Writer, &[Fr]) -> Fr,
) -> Fr {
    let (mut node, mut leaf_index, mut bits) = (leaf, 0u64, 0);
    for level in path {
        writer.bits(level.index as u64, level.index_bits() as usize);
        level
            .siblings
            .iter()
            .for_each(|&sibling| writer.number(sibling));
        node = level.parent(writer, node, &mut hash);
        leaf_index |= (level.index as u64).checked_shl(bits).unwrap_or(0);
        bits += level.index_bits();
    }
    if bits > 0 {
        writer.input(Fr::from(leaf_index));
    }
    node
}

/// Ascends from a leaf to its root where all siblings and places are allocated already: `por_no_challenge_input`.
pub fn ascend(
    writer: &mut Writer,
    leaf: Fr,
    path: &[Level],
    mut hash: impl FnMut(&mut Writer, &[Fr]) -> Fr,
) -> Fr {
    path.iter()
        .fold(leaf, |node, level| level.parent(writer, node, &mut hash))
}
