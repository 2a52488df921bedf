//! Merkle paths, as `storage-proofs-core`'s PoR gadgets compute them.
//!
//! Paths of one shape ascend side by side, each with a writer of its own, so that a hash that computes several nodes at
//! once gets them together.

use cuzk_curve::Fr;

use crate::{Sink, Writer, insert, number, sha256};

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
}

/// Computes the parents of one level: given a writer and the children of each node, one node's after the other's,
/// allocates what the hash's gadget does and returns the parents.
pub trait NodeHash<S> {
    /// The parents.
    fn parents(&self, writers: &mut [S], children: &[Fr]) -> Vec<Fr>;
}

/// Filecoin's binary SHA-256 trees.
#[derive(Copy, Clone, Debug)]
pub struct Sha256Tree;

impl NodeHash<Writer> for Sha256Tree {
    fn parents(&self, writers: &mut [Writer], children: &[Fr]) -> Vec<Fr> {
        let nodes = writers.iter_mut().zip(children.as_chunks::<2>().0);
        nodes
            .map(|(writer, &[left, right])| sha256::hash_numbers(writer, left, right))
            .collect()
    }
}

/// Ascends from leaves to their roots, allocating places and siblings level by level, and then, as an input, the leaf's
/// index: `PoRCircuit` of a leaf and a root that are allocated already. Returns the roots.
///
/// # Panics
/// Where the numbers of writers, leaves and paths differ, or the shapes of the paths.
pub fn prove_inclusion<S: Sink>(
    writers: &mut [S],
    leaves: Vec<Fr>,
    paths: &[&[Level]],
    hash: &impl NodeHash<S>,
) -> Vec<Fr> {
    let roots = climb(writers, leaves, paths, hash, |writer, level| {
        writer.bits(level.index as u64, level.index_bits() as usize);
        writer.numbers(&level.siblings);
    });
    for (writer, path) in writers.iter_mut().zip(paths) {
        pack_index(writer, path);
    }
    roots
}

/// Ascends from leaves to their roots where all siblings and places are allocated already: `por_no_challenge_input`.
/// Returns the roots.
///
/// # Panics
/// As [`prove_inclusion`].
pub fn ascend<S: Sink>(
    writers: &mut [S],
    leaves: Vec<Fr>,
    paths: &[&[Level]],
    hash: &impl NodeHash<S>,
) -> Vec<Fr> {
    climb(writers, leaves, paths, hash, |_, _| {})
}

fn climb<S: Sink>(
    writers: &mut [S],
    mut nodes: Vec<Fr>,
    paths: &[&[Level]],
    hash: &impl NodeHash<S>,
    enter: impl Fn(&mut S, &Level),
) -> Vec<Fr> {
    assert_eq!([writers.len(), nodes.len()], [paths.len(); 2]);
    let levels = paths.first().map_or(0, |path| path.len());
    assert!(paths.iter().all(|path| path.len() == levels), "one height");
    let mut children = Vec::new();
    for depth in 0..levels {
        children.clear();
        for ((writer, &node), path) in writers.iter_mut().zip(&nodes).zip(paths) {
            let level = &path[depth];
            enter(writer, level);
            let inserted = insert::insert(writer, node, level.index, &level.siblings);
            children.extend(inserted);
        }
        nodes = hash.parents(writers, &children);
    }
    nodes
}

/// Allocates the leaf's index as inputs of at most [`number::CAPACITY`] bits.
fn pack_index(writer: &mut impl Sink, path: &[Level]) {
    let (mut packed, mut bits) = (Fr::from(0), 0);
    let mut power = Fr::from(1);
    for level in path {
        for bit in 0..level.index_bits() {
            if bits == number::CAPACITY {
                writer.input(packed);
                (packed, bits, power) = (Fr::from(0), 0, Fr::from(1));
            }
            if level.index >> bit & 1 == 1 {
                packed += power;
            }
            power += power;
            bits += 1;
        }
    }
    if bits > 0 {
        writer.input(packed);
    }
}
