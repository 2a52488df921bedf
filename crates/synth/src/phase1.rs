//! The output of commit phase 1 as Curio sends it: a JSON object that wraps the base64 of another one.

use crate::payload::Bytes32;
use crate::registered::SealProof;
use crate::sector_size::{Arity, Tree};
use crate::{SectorSize, SynthError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use filecoin_hashers::poseidon::PoseidonDomain;
use filecoin_proofs::DefaultPieceHasher;
use serde::{Deserialize, Serialize};
use storage_proofs_porep::stacked;

/// The vanilla proof of one challenge.
pub(crate) type ChallengeProof<V, W> = stacked::Proof<Tree<V, W>, DefaultPieceHasher>;

/// The vanilla proofs by partition and challenge, under the name that `filecoin-proofs-api` gives the
/// sector size (the V1 name for every version).
#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "ChallengeProof<V, W>: Serialize",
    deserialize = "ChallengeProof<V, W>: Deserialize<'de>"
))]
pub(crate) enum VanillaSealProof<V: Arity, W: Arity> {
    /// Of 2 KiB.
    StackedDrg2KiBV1(Vec<Vec<ChallengeProof<V, W>>>),
    /// Of 8 MiB.
    StackedDrg8MiBV1(Vec<Vec<ChallengeProof<V, W>>>),
    /// Of 512 MiB.
    StackedDrg512MiBV1(Vec<Vec<ChallengeProof<V, W>>>),
    /// Of 32 GiB.
    StackedDrg32GiBV1(Vec<Vec<ChallengeProof<V, W>>>),
    /// Of 64 GiB.
    StackedDrg64GiBV1(Vec<Vec<ChallengeProof<V, W>>>),
}

impl<V: Arity, W: Arity> VanillaSealProof<V, W> {
    /// Names the proofs by the sector size.
    pub(crate) fn new(size: SectorSize, proofs: Vec<Vec<ChallengeProof<V, W>>>) -> Self {
        match size {
            SectorSize::MIB_8 => Self::StackedDrg8MiBV1(proofs),
            SectorSize::MIB_512 => Self::StackedDrg512MiBV1(proofs),
            SectorSize::GIB_32 => Self::StackedDrg32GiBV1(proofs),
            SectorSize::GIB_64 => Self::StackedDrg64GiBV1(proofs),
            _ => Self::StackedDrg2KiBV1(proofs),
        }
    }

    /// The sector size by which the proofs are named, and the proofs.
    fn into_parts(self) -> (SectorSize, Vec<Vec<ChallengeProof<V, W>>>) {
        match self {
            Self::StackedDrg2KiBV1(proofs) => (SectorSize::KIB_2, proofs),
            Self::StackedDrg8MiBV1(proofs) => (SectorSize::MIB_8, proofs),
            Self::StackedDrg512MiBV1(proofs) => (SectorSize::MIB_512, proofs),
            Self::StackedDrg32GiBV1(proofs) => (SectorSize::GIB_32, proofs),
            Self::StackedDrg64GiBV1(proofs) => (SectorSize::GIB_64, proofs),
        }
    }
}

/// The inner object, field for field that of `filecoin-proofs-api`.
#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "ChallengeProof<V, W>: Serialize",
    deserialize = "ChallengeProof<V, W>: Deserialize<'de>"
))]
pub(crate) struct SealCommitPhase1Output<V: Arity, W: Arity> {
    /// The name of the registered proof.
    pub(crate) registered_proof: String,
    /// The vanilla proofs.
    pub(crate) vanilla_proofs: VanillaSealProof<V, W>,
    /// The replica commitment.
    pub(crate) comm_r: Bytes32,
    /// The data commitment.
    pub(crate) comm_d: Bytes32,
    /// The replica's id.
    pub(crate) replica_id: PoseidonDomain,
    /// The challenge seed.
    pub(crate) seed: Bytes32,
    /// The sealing ticket.
    pub(crate) ticket: Bytes32,
}

/// The outer object, as Curio's client writes it.
#[derive(Serialize, Deserialize)]
struct Wrapper {
    #[serde(rename = "SectorNum")]
    sector_number: u64,
    #[serde(rename = "Phase1Out")]
    phase1_output: String,
    #[serde(rename = "SectorSize")]
    sector_size: u64,
}

impl<V: Arity, W: Arity> SealCommitPhase1Output<V, W> {
    /// The bytes of the field `vanilla_proof`.
    pub(crate) fn to_vanilla_proof(
        &self,
        sector_number: u64,
        size: SectorSize,
    ) -> Result<Vec<u8>, SynthError> {
        let json = |what| move |source| SynthError::Json { what, source };
        let inner = serde_json::to_vec(self).map_err(json("the output of commit phase 1"))?;
        let wrapper = Wrapper {
            sector_number,
            phase1_output: BASE64.encode(inner),
            sector_size: size.bytes(),
        };
        serde_json::to_vec(&wrapper).map_err(json("the wrapper of commit phase 1"))
    }

    /// Reads the field `vanilla_proof`.
    ///
    /// # Errors
    /// Another sector number, sector size or registered proof than wanted; anything that is not the wanted JSON.
    pub(crate) fn from_vanilla_proof(
        bytes: &[u8],
        sector_number: u64,
        size: SectorSize,
        proof: SealProof,
    ) -> Result<Self, SynthError> {
        let json = |what| move |source| SynthError::Json { what, source };
        let wrapper: Wrapper =
            serde_json::from_slice(bytes).map_err(json("the wrapper of commit phase 1"))?;
        same("SectorNum", sector_number, wrapper.sector_number)?;
        same("SectorSize", size.bytes(), wrapper.sector_size)?;
        let inner = BASE64
            .decode(&wrapper.phase1_output)
            .map_err(|source| SynthError::Base64 {
                field: "Phase1Out",
                source,
            })?;
        let output: Self =
            serde_json::from_slice(&inner).map_err(json("the output of commit phase 1"))?;
        same(
            "registered_proof",
            proof.name(),
            output.registered_proof.clone(),
        )?;
        Ok(output)
    }

    /// The vanilla proofs by partition and challenge.
    ///
    /// # Errors
    /// [`SynthError::Mismatch`] when they are named by another sector size.
    pub(crate) fn into_proofs(
        self,
        size: SectorSize,
    ) -> Result<Vec<Vec<ChallengeProof<V, W>>>, SynthError> {
        let (found, proofs) = self.vanilla_proofs.into_parts();
        same("vanilla_proofs", size, found)?;
        Ok(proofs)
    }
}

/// Fails unless the two values are equal.
pub(crate) fn same<T: PartialEq + ToString>(
    field: &'static str,
    wanted: T,
    found: T,
) -> Result<(), SynthError> {
    if wanted == found {
        return Ok(());
    }
    Err(SynthError::Mismatch {
        field,
        wanted: wanted.to_string(),
        found: found.to_string(),
    })
}
