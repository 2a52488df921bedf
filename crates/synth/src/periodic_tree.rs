//! A Merkle tree whose leaves repeat, so that any leaf can be opened after the root is fixed.
//!
//! The leaves are cut into blocks; inside a block they repeat with a period. Two nodes of one block with
//! the same leaves below them have the same hash, so that only one of each class is computed.

use crate::merkle::{self, Path};
use filecoin_hashers::Hasher;
use rayon::prelude::*;
use std::collections::HashMap;

/// How the leaves repeat. Both numbers are powers of two, and `period <= block`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repetition {
    /// The leaves in one block; blocks differ from one another.
    pub(crate) block: u64,
    /// The leaves after which a block repeats itself.
    pub(crate) period: u64,
}

/// A block and a place in it; or, for nodes above blocks, the node itself.
type Class = (u64, u64);

impl Repetition {
    /// The class of a node with `span` leaves below it.
    fn class(self, span: u64, index: u64) -> Class {
        if span > self.block {
            return (index, 0);
        }
        let nodes_per_block = self.block / span;
        let nodes_per_period = (self.period / span).max(1);
        (
            index / nodes_per_block,
            index % nodes_per_block % nodes_per_period,
        )
    }
}

/// A tree over the leaves that a function gives.
pub(crate) struct PeriodicTree<H: Hasher> {
    arities: Vec<u64>,
    repetition: Repetition,
    /// One node of each class of each level.
    levels: Vec<HashMap<Class, H::Domain>>,
    root: H::Domain,
}

impl<H: Hasher> PeriodicTree<H> {
    /// The tree over `leaf(0), leaf(1), …`, which repeat as `repetition` says.
    pub(crate) fn new(
        arities: Vec<u64>,
        repetition: Repetition,
        leaf: impl Fn(u64) -> H::Domain + Sync,
    ) -> Self {
        let representatives = representatives(&arities, repetition);
        let mut tree = PeriodicTree {
            arities,
            repetition,
            levels: Vec::new(),
            root: H::Domain::default(),
        };
        for (level, nodes) in representatives.into_iter().enumerate() {
            let value = |&(class, index): &(Class, u64)| {
                let Some(below) = level.checked_sub(1) else {
                    return (class, leaf(index));
                };
                let arity = tree.arities[below];
                let children: Vec<H::Domain> = (0..arity)
                    .map(|child| tree.node(below, index * arity + child))
                    .collect();
                (class, merkle::hash_children::<H>(&children, below))
            };
            let values = nodes.par_iter().map(value).collect();
            tree.levels.push(values);
        }
        tree.root = tree.node(tree.arities.len(), 0);
        tree
    }

    /// The root.
    pub(crate) fn root(&self) -> H::Domain {
        self.root
    }

    /// The node of a level; level 0 holds the leaves.
    pub(crate) fn node(&self, level: usize, index: u64) -> H::Domain {
        self.levels[level][&self
            .repetition
            .class(merkle::span(&self.arities, level), index)]
    }

    /// The path from a leaf to the root.
    pub(crate) fn path(&self, leaf: u64) -> Path<H::Domain> {
        merkle::path(&self.arities, leaf, |level, index| self.node(level, index))
    }
}

/// One node of each class, by level from the leaves up: the children of the representatives above.
fn representatives(arities: &[u64], repetition: Repetition) -> Vec<Vec<(Class, u64)>> {
    let mut levels = vec![vec![(
        repetition.class(merkle::span(arities, arities.len()), 0),
        0,
    )]];
    for level in (0..arities.len()).rev() {
        let (arity, span) = (arities[level], merkle::span(arities, level));
        let above = levels.last().map(Vec::as_slice).unwrap_or_default();
        let mut found = HashMap::new();
        for index in above
            .iter()
            .flat_map(|&(_, parent)| (0..arity).map(move |child| parent * arity + child))
        {
            found.entry(repetition.class(span, index)).or_insert(index);
        }
        levels.push(found.into_iter().collect());
    }
    levels.reverse();
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prf::{Prf, Purpose};
    use filecoin_hashers::poseidon::PoseidonHasher;
    use filecoin_hashers::sha256::Sha256Hasher;

    /// The root when every node is hashed.
    fn naive_root<H: Hasher>(arities: &[u64], leaf: impl Fn(u64) -> H::Domain) -> H::Domain {
        let leaves = arities.iter().product();
        let mut row: Vec<H::Domain> = (0..leaves).map(leaf).collect();
        for (level, &arity) in arities.iter().enumerate() {
            row = row
                .chunks(arity as usize)
                .map(|children| merkle::hash_children::<H>(children, level))
                .collect();
        }
        row[0]
    }

    #[test]
    fn root_equals_that_of_all_nodes_hashed() {
        let prf = Prf::new(3);
        for (arities, block, period) in [
            (vec![8, 8, 2], 128, 16),
            (vec![8, 8, 2], 32, 16),
            (vec![8, 8, 2], 16, 16),
            (vec![8, 8, 8], 64, 1),
            (vec![8, 8], 1, 1),
            (vec![2; 6], 64, 8),
            (vec![2; 6], 64, 64),
        ] {
            let repetition = Repetition { block, period };
            let place = move |leaf: u64| (leaf / block, leaf % period);
            let digest = |leaf| prf.digest(Purpose::Data, place(leaf).0 as usize, place(leaf).1);
            let poseidon = |leaf| digest(leaf).into();
            let tree = PeriodicTree::<PoseidonHasher>::new(arities.clone(), repetition, poseidon);
            assert_eq!(
                tree.root(),
                naive_root::<PoseidonHasher>(&arities, poseidon),
                "{arities:?} {block} {period}"
            );
            if arities[0] == 2 {
                let sha = |leaf| digest(leaf).into();
                let tree = PeriodicTree::<Sha256Hasher>::new(arities.clone(), repetition, sha);
                assert_eq!(
                    tree.root(),
                    naive_root::<Sha256Hasher>(&arities, sha),
                    "{block} {period}"
                );
            }
        }
    }
}
