//! What the two kinds of trees share: arities, hashing and paths.

use crate::sector_size::{SectorSize, Shape};
use filecoin_hashers::Hasher;
use merkletree::hash::Algorithm;

/// The siblings at each level from the leaves up, each with the place of the path among them.
pub(crate) type Path<D> = Vec<(Vec<D>, usize)>;

/// The arities of a replica tree, from the leaves up.
pub(crate) fn replica_arities(size: SectorSize) -> Vec<u64> {
    let upper: &[u64] = match size.shape() {
        Shape::Base => &[],
        Shape::Sub8 => &[8],
        Shape::Top2 => &[8, 2],
    };
    let base_leaves = size.nodes() / upper.iter().product::<u64>();
    let mut arities = vec![8; base_leaves.trailing_zeros() as usize / 3];
    arities.extend(upper);
    arities
}

/// The arities of a data tree, from the leaves up.
pub(crate) fn data_arities(size: SectorSize) -> Vec<u64> {
    vec![2; size.nodes().trailing_zeros() as usize]
}

/// The number of leaves below one node of a level.
pub(crate) fn span(arities: &[u64], level: usize) -> u64 {
    arities[..level].iter().product()
}

/// The hash of the children of a node whose children are at `level`.
pub(crate) fn hash_children<H: Hasher>(children: &[H::Domain], level: usize) -> H::Domain {
    let mut function = H::Function::default();
    function.reset();
    function.multi_node(children, level)
}

/// The path from a leaf to the root of a tree with the given nodes.
pub(crate) fn path<D>(arities: &[u64], leaf: u64, node: impl Fn(usize, u64) -> D) -> Path<D> {
    let mut index = leaf;
    let mut path = Vec::with_capacity(arities.len());
    for (level, &arity) in arities.iter().enumerate() {
        let (parent, place) = (index / arity, index % arity);
        let siblings = (0..arity).filter(|&child| child != place);
        path.push((
            siblings
                .map(|child| node(level, parent * arity + child))
                .collect(),
            place as usize,
        ));
        index = parent;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arities_multiply_to_the_leaves() {
        for size in SectorSize::ALL {
            for arities in [replica_arities(size), data_arities(size)] {
                assert_eq!(arities.iter().product::<u64>(), size.nodes(), "{size}");
                assert_eq!(span(&arities, arities.len()), size.nodes());
            }
        }
        assert_eq!(
            replica_arities(SectorSize::GIB_64),
            [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 2]
        );
    }
}
