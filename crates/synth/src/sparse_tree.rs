//! A Merkle tree of which only some leaves are known.
//!
//! The root of every subtree without a known leaf is a pseudo-random digest. The tree is consistent across
//! all its openings, and as many hashes are computed as there are nodes above known leaves.

use crate::merkle::{self, Path};
use crate::prf::{Prf, Purpose};
use filecoin_hashers::Hasher;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// A tree that can be opened at the leaves it was built with.
pub(crate) struct SparseTree<H: Hasher> {
    arities: Vec<u64>,
    prf: Prf,
    purpose: Purpose,
    /// The known nodes of each level; the root is alone at the last.
    levels: Vec<HashMap<u64, H::Domain>>,
    root: H::Domain,
}

impl<H: Hasher> SparseTree<H>
where
    H::Domain: From<[u8; 32]>,
{
    /// The tree over `leaves`, of which there is at least one.
    pub(crate) fn new(
        arities: Vec<u64>,
        prf: Prf,
        purpose: Purpose,
        leaves: &BTreeMap<u64, H::Domain>,
    ) -> Self {
        let known = leaves.iter().map(|(&index, &leaf)| (index, leaf)).collect();
        let mut tree = SparseTree {
            levels: vec![known],
            arities,
            prf,
            purpose,
            root: H::Domain::default(),
        };
        for level in 0..tree.arities.len() {
            let arity = tree.arities[level];
            let mut parents: Vec<u64> = tree.levels[level]
                .keys()
                .map(|index| index / arity)
                .collect();
            parents.sort_unstable();
            parents.dedup();
            let hash = |&parent: &u64| {
                let children: Vec<H::Domain> = (0..arity)
                    .map(|child| tree.node(level, parent * arity + child))
                    .collect();
                (parent, merkle::hash_children::<H>(&children, level))
            };
            let hashed: HashMap<u64, H::Domain> = parents.par_iter().map(hash).collect();
            tree.levels.push(hashed);
        }
        tree.root = tree.node(tree.arities.len(), 0);
        tree
    }

    /// The root.
    pub(crate) fn root(&self) -> H::Domain {
        self.root
    }

    /// The path from a leaf to the root.
    pub(crate) fn path(&self, leaf: u64) -> Path<H::Domain> {
        merkle::path(&self.arities, leaf, |level, index| self.node(level, index))
    }

    fn node(&self, level: usize, index: u64) -> H::Domain {
        let random = || self.prf.digest(self.purpose, level, index).into();
        self.levels[level]
            .get(&index)
            .copied()
            .unwrap_or_else(random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filecoin_hashers::poseidon::PoseidonHasher;
    use generic_array::typenum::{U0, U2, U8};
    use storage_proofs_core::merkle::{MerkleProof, MerkleProofTrait};

    #[test]
    fn openings_of_a_three_tier_tree_lead_to_one_root() {
        let arities = vec![8, 8, 8, 2];
        let prf = Prf::new(1);
        let leaves: BTreeMap<_, _> = [0u64, 1, 63, 64, 511, 512, 1023]
            .map(|leaf| (leaf, prf.digest(Purpose::Data, 0, leaf).into()))
            .into_iter()
            .collect();
        let tree = SparseTree::<PoseidonHasher>::new(arities, prf, Purpose::TreeR, &leaves);
        for (&leaf, &value) in &leaves {
            let proof = MerkleProof::<PoseidonHasher, U8, U8, U2>::from_parts(
                value,
                tree.root(),
                tree.path(leaf),
            );
            assert!(proof.validate(leaf as usize), "{leaf}");
            assert!(!proof.validate(leaf as usize ^ 1), "{leaf}");
        }
        let base =
            SparseTree::<PoseidonHasher>::new(vec![8, 8], Prf::new(2), Purpose::TreeR, &leaves);
        let proof = MerkleProof::<PoseidonHasher, U8, U0, U0>::from_parts(
            leaves[&63],
            base.root(),
            base.path(63),
        );
        assert!(proof.validate(63));
    }
}
