//! What the direct witnesses of Filecoin's circuits share: Poseidon trees and columns, and paths in the form of the
//! gadgets.

use cuzk_curve::Fr;
use cuzk_gadgets::merkle::{Level, NodeHash};
use cuzk_gadgets::{Poseidon, Writer};
use filecoin_hashers::Hasher;
use storage_proofs_core::merkle::MerkleProofTrait;

use crate::poseidon;
pub use crate::poseidon::prepare;

/// The Poseidon trees of replicas, of arity 2, 4 or 8 at each level.
#[derive(Copy, Clone, Debug)]
pub struct PoseidonTree;

impl NodeHash for PoseidonTree {
    /// # Panics
    /// Where there are neither 2 nor 4 nor 8 children for each writer.
    fn parents(&self, writers: &mut [Writer], children: &[Fr]) -> Vec<Fr> {
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
pub fn hash(poseidon: &Poseidon, writers: &mut [Writer], preimages: &[Fr]) -> Vec<Fr> {
    let mut witnesses = cuzk_curve::zeros(writers.len() * poseidon.witness_len());
    poseidon.witnesses(preimages, &mut witnesses);
    let witnesses = witnesses.chunks_exact(poseidon.witness_len());
    writers
        .iter_mut()
        .zip(witnesses)
        .map(|(writer, witness)| {
            writer.numbers(witness);
            witness[witness.len() - 1]
        })
        .collect()
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
