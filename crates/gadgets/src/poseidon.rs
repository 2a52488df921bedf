//! The values that neptune's `circuit::poseidon_hash` allocates.
//!
//! Grassi et al., "Poseidon: A New Hash Function for Zero-Knowledge Proof Systems" (2021), in neptune's form: round keys
//! are added after the S-boxes, and the dense matrix of each partial round is replaced by a sparse one. The circuit
//! allocates for each S-box its input l, then l², l⁴ and l⁴·l + key, and at the end the hash. The S-box of the domain
//! tag is a constant and allocates nothing, and the preimage is allocated already, so the first round leaves out l.
//!
//! One instance is computed after the other, or as many at once as the machine has lanes.

mod permutation;
#[cfg(test)]
mod tests;

use std::any::Any;

use cuzk_curve::Fr;
use cuzk_curve::simd::{Arch, Kernel, dispatch};

use permutation::{Batches, Tables};

/// The largest number of elements of a state.
pub const MAX_WIDTH: usize = 16;

/// The constants of a permutation of `width` elements, as neptune's `PoseidonConstants` has them.
#[derive(Copy, Clone, Debug)]
pub struct PoseidonConstants<'a> {
    /// The first element of the state.
    pub domain_tag: Fr,
    /// Number of full rounds: even, half of them before the partial ones.
    pub full_rounds: usize,
    /// Number of partial rounds.
    pub partial_rounds: usize,
    /// The compressed round keys: `width` before the first S-boxes, `width` after those of each full round but the last,
    /// one after each of a partial round, in the order of the rounds.
    pub round_keys: &'a [Fr],
    /// The matrix of the full rounds, by rows; the state is a row vector.
    pub mds: &'a [Vec<Fr>],
    /// The matrix of the last full round before the partial ones.
    pub pre_sparse: &'a [Vec<Fr>],
    /// The matrices of the partial rounds.
    pub sparse: &'a [Sparse<'a>],
}

/// A matrix whose first row and column are dense, and which is the identity elsewhere.
#[derive(Copy, Clone, Debug)]
pub struct Sparse<'a> {
    /// The first column.
    pub column: &'a [Fr],
    /// The first row without its first element.
    pub row: &'a [Fr],
}

/// A permutation, ready to compute.
pub struct Poseidon {
    width: usize,
    witness_len: usize,
    /// The `Tables` of the architecture that [`dispatch`] chooses.
    tables: Box<dyn Any + Send + Sync>,
}

impl Poseidon {
    /// Prepares a permutation.
    ///
    /// # Panics
    /// Where the lengths do not fit one another, or the state has more than [`MAX_WIDTH`] elements.
    pub fn new(constants: &PoseidonConstants<'_>) -> Self {
        let width = constants.mds.len();
        assert!((2..=MAX_WIDTH).contains(&width), "a state of {width}");
        let (full, partial) = (constants.full_rounds, constants.partial_rounds);
        assert!(full >= 4 && full.is_multiple_of(2), "{full} full rounds");
        assert_eq!(constants.round_keys.len(), width * full + partial);
        for matrix in [constants.mds, constants.pre_sparse] {
            assert_eq!(matrix.len(), width);
            assert!(matrix.iter().all(|row| row.len() == width));
        }
        assert_eq!(constants.sparse.len(), partial);
        for sparse in constants.sparse {
            assert_eq!([sparse.column.len(), sparse.row.len()], [width, width - 1]);
        }
        Self {
            width,
            witness_len: 3 * (width - 1) + 4 * (width * (full - 1) + partial) + 1,
            tables: dispatch(Prepare(constants)),
        }
    }

    /// Number of elements that are hashed.
    pub fn arity(&self) -> usize {
        self.width - 1
    }

    /// Number of values that the circuit allocates; the last is the hash.
    pub fn witness_len(&self) -> usize {
        self.witness_len
    }

    /// Writes the witness of each preimage of [`Poseidon::arity`] elements in `preimages`, one after the other, to
    /// `witnesses`, [`Poseidon::witness_len`] values each.
    ///
    /// Eight at once cost hardly more than one.
    ///
    /// # Panics
    /// Where the lengths are not those of the same number of preimages and witnesses.
    pub fn witnesses(&self, preimages: &[Fr], witnesses: &mut [Fr]) {
        assert!(
            preimages.len().is_multiple_of(self.arity()),
            "whole preimages"
        );
        let count = preimages.len() / self.arity();
        assert_eq!(
            witnesses.len(),
            count * self.witness_len,
            "{count} witnesses"
        );
        dispatch(Compute {
            poseidon: self,
            preimages,
            witnesses,
        });
    }

    /// The witness of one preimage, the hash last.
    ///
    /// # Panics
    /// Where the preimage has not [`Poseidon::arity`] elements.
    pub fn witness(&self, preimage: &[Fr]) -> Vec<Fr> {
        let mut witness = cuzk_curve::zeros(self.witness_len);
        self.witnesses(preimage, &mut witness);
        witness
    }
}

struct Prepare<'a>(&'a PoseidonConstants<'a>);

impl Kernel for Prepare<'_> {
    type Output = Box<dyn Any + Send + Sync>;

    #[inline(always)]
    fn run<A: Arch>(self, arch: A) -> Self::Output {
        Box::new(Tables::<A>::new(arch, self.0))
    }
}

struct Compute<'a> {
    poseidon: &'a Poseidon,
    preimages: &'a [Fr],
    witnesses: &'a mut [Fr],
}

impl Kernel for Compute<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arch>(self, arch: A) {
        let tables: Option<&Tables<A>> = self.poseidon.tables.downcast_ref();
        let batches = Batches {
            tables: tables.expect("dispatch chooses the same architecture whenever it is called"),
            preimages: self.preimages,
            witnesses: self.witnesses,
        };
        batches.run(arch);
    }
}
