//! The payload as Curio sends it: a JSON envelope around the JSON of SealCommitPhase1Output.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cuzk_filecoin::{InclusionProof, List, Node, SectorSize, Within, wrong};
use cuzk_proof_api::ProofApiError;
use serde::Deserialize;

/// The envelope.
#[derive(Deserialize)]
pub struct Envelope<'a> {
    /// The sector.
    #[serde(rename = "SectorNum")]
    pub sector_num: u64,
    /// Base64, with padding, of the JSON of [`Phase1`].
    #[serde(rename = "Phase1Out", borrow)]
    pub phase1_out: Cow<'a, str>,
    /// Bytes of the sector.
    #[serde(rename = "SectorSize")]
    pub sector_size: u64,
}

/// SealCommitPhase1Output of `filecoin-proofs-api`.
#[derive(Deserialize)]
pub struct Phase1 {
    /// The name of the registered seal proof.
    pub registered_proof: String,
    /// The challenges' proofs, by partition.
    pub vanilla_proofs: VanillaProofs,
    /// The replica's commitment.
    pub comm_r: Node,
    /// The data's commitment.
    pub comm_d: Node,
    /// The replica's id.
    pub replica_id: Node,
    /// The chain randomness that the challenges come from.
    pub seed: [u8; 32],
    /// The chain randomness that went into the replica id.
    pub ticket: [u8; 32],
}

/// At most 126 partitions of 18 challenges: non-interactive PoRep.
pub type Partitions = List<List<WireProof, 18>, 126>;

/// Tagged by sector size; the tag says V1 for all versions.
#[derive(Deserialize)]
pub enum VanillaProofs {
    /// 2 KiB.
    StackedDrg2KiBV1(Partitions),
    /// 8 MiB.
    StackedDrg8MiBV1(Partitions),
    /// 512 MiB.
    StackedDrg512MiBV1(Partitions),
    /// 32 GiB.
    StackedDrg32GiBV1(Partitions),
    /// 64 GiB.
    StackedDrg64GiBV1(Partitions),
}

impl VanillaProofs {
    /// The sector size of the tag, and the partitions.
    pub fn split(self) -> (SectorSize, Partitions) {
        match self {
            Self::StackedDrg2KiBV1(partitions) => (SectorSize::KiB2, partitions),
            Self::StackedDrg8MiBV1(partitions) => (SectorSize::MiB8, partitions),
            Self::StackedDrg512MiBV1(partitions) => (SectorSize::MiB512, partitions),
            Self::StackedDrg32GiBV1(partitions) => (SectorSize::GiB32, partitions),
            Self::StackedDrg64GiBV1(partitions) => (SectorSize::GiB64, partitions),
        }
    }
}

/// The proof of one challenge.
#[derive(Deserialize)]
pub struct WireProof {
    /// The data node in tree D.
    pub comm_d_proofs: InclusionProof,
    /// The replica node in tree R.
    pub comm_r_last_proof: InclusionProof,
    /// The columns of labels in tree C.
    pub replica_column_proofs: WireColumns,
    /// A label a layer.
    pub labeling_proofs: List<WireLabel, 11>,
    /// The label that encodes the data node.
    pub encoding_proof: WireLabel,
}

/// The columns of a challenge and its parents.
#[derive(Deserialize)]
pub struct WireColumns {
    /// The challenge's.
    pub c_x: WireColumnProof,
    /// The base parents'.
    pub drg_parents: List<WireColumnProof, 6>,
    /// The expander parents'.
    pub exp_parents: List<WireColumnProof, 8>,
}

/// A column and its proof in tree C.
#[derive(Deserialize)]
pub struct WireColumnProof {
    /// The labels.
    pub column: WireColumn,
    /// The proof of their hash.
    pub inclusion_proof: InclusionProof,
}

/// The labels of a node, one a layer.
#[derive(Deserialize)]
pub struct WireColumn {
    /// The node.
    pub index: u32,
    /// The labels.
    pub rows: List<Node, 11>,
}

/// What a label is the hash of.
#[derive(Deserialize)]
pub struct WireLabel {
    /// The parents' labels, repeated to 37.
    pub parents: List<Node, 37>,
    /// The layer, from 1.
    pub layer_index: u32,
    /// The node.
    pub node: u64,
}

/// Parses the envelope.
///
/// Errors: [`ProofApiError::Field`], its field relative to the document.
pub fn parse_envelope(bytes: &[u8]) -> Result<Envelope<'_>, ProofApiError> {
    parse_json(bytes, "JSON {SectorNum, Phase1Out, SectorSize}")
}

/// Decodes what is inside the envelope.
///
/// Errors: [`ProofApiError::Field`], its field relative to the inner document.
pub fn parse_phase1(base64: &str) -> Result<Phase1, ProofApiError> {
    let json = STANDARD
        .decode(base64)
        .map_err(|error| wrong("base64 with padding", error))?;
    parse_json(&json, "the JSON of SealCommitPhase1Output")
}

fn parse_json<'a, T: Deserialize<'a>>(bytes: &'a [u8], wanted: &str) -> Result<T, ProofApiError> {
    serde_json::from_slice(bytes).or_else(|plain| {
        // Paths cost time, so only what failed is read again to find the place.
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        match serde_path_to_error::deserialize::<_, T>(&mut reader) {
            Ok(_) => Err(wrong(wanted, plain)),
            Err(error) => {
                // A question mark stands for a field whose name could not be read.
                let path = error.path().to_string();
                Err(wrong(wanted, error.inner())).within(path.trim_end_matches(['.', '?']))
            }
        }
    })
}
