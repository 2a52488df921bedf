//! The vanilla proof of one sector's PoSt: bincode of `FallbackPoStSectorProof`.

use cuzk_proof_api::ProofApiError;
use filecoin_hashers::poseidon::PoseidonDomain;
use serde::Deserialize;
use storage_proofs_core::merkle::{MerkleProofTrait, MerkleTreeTrait};
use storage_proofs_post::fallback::{PublicSector, SectorProof};

use crate::{InclusionProof, List, Node, SectorSize, SectorTree, Within, decode_bincode, wrong};

/// A sector whose replica was opened at some challenges.
pub struct OpenedSector<Tree: SectorTree> {
    pub(crate) public: PublicSector<PoseidonDomain>,
    pub(crate) proof: SectorProof<<Tree as MerkleTreeTrait>::Proof>,
}

#[derive(Deserialize)]
struct WireProof {
    sector_id: u64,
    comm_r: Node,
    vanilla_proof: WireSectors,
}

#[derive(Deserialize)]
struct WireSectors {
    sectors: List<WireSector, 1>,
}

/// At most 66 openings: WinningPoSt; WindowPoSt has 10.
#[derive(Deserialize)]
struct WireSector {
    inclusion_proofs: List<InclusionProof, 66>,
    comm_c: Node,
    comm_r_last: Node,
}

impl<Tree: SectorTree> OpenedSector<Tree> {
    /// Decodes an item of a request's `vanilla_proofs` that opens `challenges` nodes of a sector.
    ///
    /// Errors: [`ProofApiError::Field`], its field relative to the item.
    pub fn decode(
        bytes: &[u8],
        size: SectorSize,
        challenges: usize,
    ) -> Result<Self, ProofApiError> {
        let wire: WireProof = decode_bincode(bytes, "FallbackPoStSectorProof")?;
        let sectors = wire.vanilla_proof.sectors;
        let sectors = sectors.exactly(1, "sector", |sector| sector.check::<Tree>(size, challenges));
        let mut sectors = sectors.within("vanilla_proof.sectors")?;
        let public = PublicSector {
            id: wire.sector_id.into(),
            comm_r: wire.comm_r.domain().within("comm_r")?,
        };
        let proof = sectors.swap_remove(0);
        Ok(Self { public, proof })
    }

    /// The same sector once for each opening, as the WinningPoSt circuit takes it.
    pub fn unroll(self) -> Vec<Self> {
        let Self { public, proof } = self;
        let single = |opening| Self {
            public: public.clone(),
            proof: SectorProof {
                inclusion_proofs: vec![opening],
                comm_c: proof.comm_c,
                comm_r_last: proof.comm_r_last,
            },
        };
        proof.inclusion_proofs.into_iter().map(single).collect()
    }
}

impl WireSector {
    fn check<Tree: SectorTree>(
        self,
        size: SectorSize,
        challenges: usize,
    ) -> Result<SectorProof<Tree::Proof>, ProofApiError> {
        let comm_r_last: PoseidonDomain = self.comm_r_last.domain().within("comm_r_last")?;
        let openings = self
            .inclusion_proofs
            .exactly(challenges, "challenges", |opening| {
                let proof = opening.in_tree::<Tree>(size.nodes())?;
                // The vanilla verifier reads the root from the opening, the circuit from the field beside it.
                if proof.root() != comm_r_last {
                    return Err(wrong("the root comm_r_last", "another root"));
                }
                Ok(proof)
            });
        Ok(SectorProof {
            inclusion_proofs: openings.within("inclusion_proofs")?,
            comm_c: self.comm_c.domain().within("comm_c")?,
            comm_r_last,
        })
    }
}
