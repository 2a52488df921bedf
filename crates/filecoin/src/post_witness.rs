//! A PoSt partition's assignment computed directly, in the order in which `FallbackPoStCircuit` allocates.

use cuzk_curve::Fr;
use cuzk_gadgets::merkle::{self, Level};
use cuzk_gadgets::{Poseidon, Writer};
use cuzk_r1cs::Assignment;
use ff::Field;
use filecoin_hashers::poseidon::PoseidonDomain;
use rayon::prelude::*;
use storage_proofs_core::merkle::{MerkleProofTrait, MerkleTreeTrait};
use storage_proofs_post::fallback::{PublicSector, SectorProof};

use crate::direct::{PoseidonTree, hash, levels};
use crate::{SectorTree, poseidon};

/// Sectors whose openings ascend side by side: as many as the widest vector has lanes, since a WinningPoSt opens each
/// once.
const GROUP: usize = 8;

/// Groups a thread that are computed before they are appended: what is in memory twice.
const GROUPS_A_THREAD: usize = 8;

/// A sector and its openings.
pub(crate) type Opened<'a, Tree> = (
    &'a PublicSector<PoseidonDomain>,
    &'a SectorProof<<Tree as MerkleTreeTrait>::Proof>,
);

/// The assignment of a circuit of `count` sectors, the last of `sectors` repeated until it is full; None where there is
/// no direct way.
///
/// Groups of sectors are computed in parallel, while one thread appends those that are ready.
pub(crate) fn assignment<Tree: SectorTree>(
    sectors: &[Opened<'_, Tree>],
    count: usize,
) -> Option<Assignment> {
    let commitment = poseidon(2)?;
    let mut whole = Writer::default();
    whole.input(Fr::ONE);
    let group = |sectors: &[_]| group::<Tree>(commitment, sectors);
    let mut ready: Vec<Writer> = Vec::new();
    for wave in sectors.chunks(GROUP * GROUPS_A_THREAD * rayon::current_num_threads()) {
        let compute = || wave.par_chunks(GROUP).map(group).collect();
        let append = || ready.iter().for_each(|part| whole.append(part));
        (ready, ()) = rayon::join(compute, append);
    }
    ready.iter().for_each(|part| whole.append(part));
    let missing = count.saturating_sub(sectors.len());
    if missing > 0 {
        let last = group(&sectors[sectors.len().saturating_sub(1)..]);
        (0..missing).for_each(|_| whole.append(&last));
    }
    Some(whole.finish())
}

/// What the circuit allocates for some sectors, one after the other.
fn group<Tree: SectorTree>(commitment: &Poseidon, sectors: &[Opened<'_, Tree>]) -> Writer {
    let mut heads = vec![Writer::default(); sectors.len()];
    let mut preimages = Vec::with_capacity(2 * sectors.len());
    for (head, (public, proof)) in heads.iter_mut().zip(sectors) {
        let (comm_c, comm_r_last) = (proof.comm_c.into(), proof.comm_r_last.into());
        let comm_r = public.comm_r.into();
        head.numbers(&[comm_r_last, comm_c, comm_r]);
        head.input(comm_r);
        preimages.extend([comm_c, comm_r_last]);
    }
    hash(commitment, &mut heads, &preimages);

    let openings = sectors
        .iter()
        .flat_map(|(_, proof)| &proof.inclusion_proofs);
    let leaves: Vec<Fr> = openings
        .clone()
        .map(|opening| opening.leaf().into())
        .collect();
    let paths: Vec<Vec<Level>> = openings.map(levels).collect();
    let paths: Vec<&[Level]> = paths.iter().map(Vec::as_slice).collect();
    let mut bodies = vec![Writer::default(); leaves.len()];
    for (body, leaf) in bodies.iter_mut().zip(&leaves) {
        body.number(*leaf);
    }
    merkle::prove_inclusion(&mut bodies, leaves, &paths, &PoseidonTree);

    let mut whole = Writer::default();
    let mut bodies = bodies.iter();
    for (head, (_, proof)) in heads.iter().zip(sectors) {
        whole.append(head);
        let openings = bodies.by_ref().take(proof.inclusion_proofs.len());
        openings.for_each(|body| whole.append(body));
    }
    whole
}
