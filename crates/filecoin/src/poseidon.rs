//! Filecoin's Poseidon permutations for direct witnesses.

use std::sync::LazyLock;

use cuzk_curve::Fr;
use cuzk_gadgets::{Poseidon, PoseidonConstants, Sparse};
use filecoin_hashers::PoseidonArity;
use generic_array::typenum::{U2, U4, U8, U11};

static ARITY_2: LazyLock<Poseidon> = LazyLock::new(|| prepare(U2::PARAMETERS()));
static ARITY_4: LazyLock<Poseidon> = LazyLock::new(|| prepare(U4::PARAMETERS()));
static ARITY_8: LazyLock<Poseidon> = LazyLock::new(|| prepare(U8::PARAMETERS()));
static ARITY_11: LazyLock<Poseidon> = LazyLock::new(|| prepare(U11::PARAMETERS()));

/// The permutation that hashes `arity` elements: 2, 4 or 8 as trees do, 11 as columns do. None for another arity.
pub fn poseidon(arity: usize) -> Option<&'static Poseidon> {
    match arity {
        2 => Some(&ARITY_2),
        4 => Some(&ARITY_4),
        8 => Some(&ARITY_8),
        11 => Some(&ARITY_11),
        _ => None,
    }
}

/// Prepares a permutation from neptune's constants.
///
/// # Panics
/// Where a state of it has more elements than [`Poseidon`] takes.
pub fn prepare<A: PoseidonArity>(
    constants: &neptune::poseidon::PoseidonConstants<Fr, A>,
) -> Poseidon {
    let sparse: Vec<Sparse<'_>> = constants
        .sparse_matrixes
        .iter()
        .map(|matrix| Sparse {
            column: &matrix.w_hat,
            row: &matrix.v_rest,
        })
        .collect();
    Poseidon::new(&PoseidonConstants {
        domain_tag: constants.domain_tag,
        full_rounds: constants.full_rounds,
        partial_rounds: constants.partial_rounds,
        round_keys: &constants.compressed_round_constants,
        mds: &constants.mds_matrices.m,
        pre_sparse: &constants.pre_sparse_matrix,
        sparse: &sparse,
    })
}
