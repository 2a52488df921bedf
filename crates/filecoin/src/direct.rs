//! What the direct witnesses of Filecoin's circuits share: Poseidon trees and columns, and paths in the form of the
//! gadgets.

use cuzk_curve::Fr;
use cuzk_gadgets::merkle::{Level, NodeHash};
use cuzk_gadgets::{Poseidon, Sink};
use filecoin_hashers::Hasher;
use storage_proofs_core::merkle::MerkleProofTrait;

use crate::poseidon;
pub use crate::poseidon::prepare;

/// Preimages that are hashed at once: as many as the widest vector has lanes, so that their witnesses stay in a cache.
const BATCH: usize = 8;

/// The Poseidon trees of replicas, of arity 2, 4 or 8 at each level.
#[derive(Copy, Clone, Debug)]
pub struct PoseidonTree;

impl<S: Sink> NodeHash<S> for PoseidonTree {
    /// # Panics
    /// Where there are neither 2 nor 4 nor 8 children for each writer.
    fn parents(&self, writers: &mut [S], children: &[Fr]) -> Vec<Fr> {
        let arity = children.len() / writers.len().max(1);
        match poseidon(arity) {
            Some(poseidon) => hash(poseidon, writers, children),
            None => panic!("no tree has arity {arity}"),
        }
    }
}

/// Allocates for each writer what Poseidon's circuit does for as many preimages, one after the other. Returns the
/// hashes.
///
/// # Panics
/// Where the preimages are not of the permutation's arity, one for each writer.
pub fn hash<S: Sink>(poseidon: &Poseidon, writers: &mut [S], preimages: &[Fr]) -> Vec<Fr> {
    let (arity, len) = (poseidon.arity(), poseidon.witness_len());
    assert_eq!(
        preimages.len(),
        writers.len() * arity,
        "a preimage a writer"
    );
    let mut hashes = Vec::with_capacity(writers.len());
    let mut scratch = cuzk_curve::zeros(BATCH.min(writers.len()) * len);
    let preimages = preimages.chunks(BATCH * arity);
    for (writers, preimages) in writers.chunks_mut(BATCH).zip(preimages) {
        let witnesses = &mut scratch[..writers.len() * len];
        poseidon.witnesses(preimages, witnesses);
        for (writer, witness) in writers.iter_mut().zip(witnesses.chunks_exact(len)) {
            writer.numbers(witness);
            hashes.push(witness[len - 1]);
        }
    }
    hashes
}

/// The levels of a path.
pub fn levels<P: MerkleProofTrait>(proof: &P) -> Vec<Level>
where
    Fr: From<<P::Hasher as Hasher>::Domain>,
{
    proof
        .path()
        .into_iter()
        .map(|(siblings, index)| Level {
            siblings: siblings.into_iter().map(Fr::from).collect(),
            index,
        })
        .collect()
}
