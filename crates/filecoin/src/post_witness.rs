//! A PoSt partition's assignment computed directly, in the order in which `FallbackPoStCircuit` allocates.

use cuzk_curve::Fr;
use cuzk_gadgets::merkle::{self, Level};
use cuzk_gadgets::{Part, Poseidon, Sink, Slots, insert, join};
use cuzk_r1cs::Assignment;
use filecoin_hashers::Hasher;
use filecoin_hashers::poseidon::PoseidonDomain;
use rayon::prelude::*;
use storage_proofs_core::merkle::{MerkleProofTrait, MerkleTreeTrait};
use storage_proofs_post::fallback::{PublicSector, SectorProof};

use crate::direct::{PoseidonTree, hash, levels};
use crate::{SectorTree, poseidon};

/// Sectors that a task takes, and openings that ascend side by side: as many as the widest vector has lanes.
const GROUP: usize = 8;

/// A sector and its openings.
pub(crate) type Opened<'a, Tree> = (
    &'a PublicSector<PoseidonDomain>,
    &'a SectorProof<<Tree as MerkleTreeTrait>::Proof>,
);

/// How many numbers a sector allocates.
struct Layout {
    commitment: &'static Poseidon,
    /// The arities of a path's levels, from the leaf up.
    arities: Vec<usize>,
    openings: usize,
    head_len: usize,
    opening_len: usize,
}

/// The assignment of a circuit of `count` sectors, the last of `sectors` repeated until it is full; None where there is
/// no direct way.
pub(crate) fn assignment<Tree: SectorTree>(
    sectors: &[Opened<'_, Tree>],
    count: usize,
) -> Option<Assignment> {
    let layout = Layout::of::<Tree>(sectors.first()?)?;
    let len = layout.sector_len();
    let missing = count.saturating_sub(sectors.len());
    let mut numbers = cuzk_curve::zeros((sectors.len() + missing) * len);
    let (computed, repeated) = numbers.split_at_mut(sectors.len() * len);
    let parts: Vec<Vec<Part>> = sectors
        .par_chunks(GROUP)
        .zip(computed.par_chunks_mut(GROUP * len))
        .map(|(sectors, numbers)| layout.group::<Tree>(sectors, numbers))
        .collect::<Option<_>>()?;
    let parts = parts.concat();
    let last = &computed[computed.len() - len..];
    let copies = repeated.par_chunks_mut(len);
    copies.for_each(|copy| copy.copy_from_slice(last));
    let copies = parts.last().into_iter().cycle().take(missing);
    join(parts.iter().chain(copies), numbers).ok()
}

impl Layout {
    fn of<Tree: SectorTree>((_, proof): &Opened<'_, Tree>) -> Option<Self> {
        let path = levels(proof.inclusion_proofs.first()?);
        let arities: Vec<usize> = path.iter().map(|level| level.siblings.len() + 1).collect();
        let mut opening_len = 1;
        for &arity in &arities {
            opening_len += arity - 1 + insert::numbers(arity)? + poseidon(arity)?.witness_len();
        }
        let commitment = poseidon(2)?;
        Some(Self {
            commitment,
            arities,
            openings: proof.inclusion_proofs.len(),
            head_len: 3 + commitment.witness_len(),
            opening_len,
        })
    }

    fn sector_len(&self) -> usize {
        self.head_len + self.openings * self.opening_len
    }

    /// What the circuit allocates for some sectors, a part a sector; None where an opening is of another shape.
    fn group<Tree: SectorTree>(
        &self,
        sectors: &[Opened<'_, Tree>],
        numbers: &mut [Fr],
    ) -> Option<Vec<Part>> {
        let (mut heads, mut bodies) = (Vec::new(), Vec::new());
        for numbers in numbers.chunks_mut(self.sector_len()) {
            let (head, openings) = numbers.split_at_mut(self.head_len);
            heads.push(Slots::new(head));
            bodies.extend(openings.chunks_mut(self.opening_len).map(Slots::new));
        }
        self.heads::<Tree>(sectors, &mut heads);
        self.openings::<Tree>(sectors, &mut bodies)?;
        let mut bodies = bodies.into_iter().map(Slots::finish);
        let whole = heads.into_iter().map(|head| {
            let mut part = head.finish();
            let openings = bodies.by_ref().take(self.openings);
            openings.for_each(|opening| part.append(&opening));
            part
        });
        Some(whole.collect())
    }

    /// CommR, an input, is the hash of CommC and CommRLast.
    fn heads<Tree: SectorTree>(&self, sectors: &[Opened<'_, Tree>], heads: &mut [Slots<'_>]) {
        let mut preimages = Vec::with_capacity(2 * sectors.len());
        for (head, (public, proof)) in heads.iter_mut().zip(sectors) {
            let (comm_c, comm_r_last) = (proof.comm_c.into(), proof.comm_r_last.into());
            let comm_r = public.comm_r.into();
            head.numbers(&[comm_r_last, comm_c, comm_r]);
            head.input(comm_r);
            preimages.extend([comm_c, comm_r_last]);
        }
        hash(self.commitment, heads, &preimages);
    }

    /// The paths of all openings.
    fn openings<Tree: SectorTree>(
        &self,
        sectors: &[Opened<'_, Tree>],
        bodies: &mut [Slots<'_>],
    ) -> Option<()> {
        let count = |(_, proof): &Opened<'_, Tree>| proof.inclusion_proofs.len();
        if sectors.iter().any(|sector| count(sector) != self.openings) {
            return None;
        }
        let proofs = sectors
            .iter()
            .flat_map(|(_, proof)| &proof.inclusion_proofs);
        let proofs: Vec<_> = proofs.collect();
        bodies
            .par_chunks_mut(GROUP)
            .zip(proofs.par_chunks(GROUP))
            .map(|(bodies, proofs)| self.ascend(proofs, bodies))
            .collect()
    }

    /// The paths of some openings, side by side; None where one is of another shape.
    fn ascend<P: MerkleProofTrait>(&self, proofs: &[&P], bodies: &mut [Slots<'_>]) -> Option<()>
    where
        Fr: From<<P::Hasher as Hasher>::Domain>,
    {
        let paths: Vec<Vec<Level>> = proofs.iter().map(|proof| levels(*proof)).collect();
        let arity = |level: &Level| level.siblings.len() + 1;
        let fits = |path: &Vec<Level>| path.iter().map(arity).eq(self.arities.iter().copied());
        if !paths.iter().all(fits) {
            return None;
        }
        let paths: Vec<&[Level]> = paths.iter().map(Vec::as_slice).collect();
        let leaves: Vec<Fr> = proofs.iter().map(|proof| proof.leaf().into()).collect();
        for (body, leaf) in bodies.iter_mut().zip(&leaves) {
            body.number(*leaf);
        }
        merkle::prove_inclusion(bodies, leaves, &paths, &PoseidonTree);
        Some(())
    }
}
