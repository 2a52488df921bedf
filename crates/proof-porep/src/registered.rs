//! Registered seal proofs: their numbers, names and configurations.

use cuzk_filecoin::{SectorSize, library};
use cuzk_proof_api::ProofApiError;
use filecoin_proofs::PoRepConfig;
use storage_proofs_core::api_version::{ApiFeature, ApiVersion};

/// Rows of registered seal proofs: V1, V1_1, V1_1 with Synthetic-PoRep, V1_2 with non-interactive PoRep.
const ROWS: std::ops::Range<u64> = 0..4;

/// A registered seal proof.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SealProof {
    /// Its sector size.
    pub size: SectorSize,
    row: u64,
}

impl SealProof {
    /// The proof with this number, which must be one for `size`.
    ///
    /// Errors: [`ProofApiError::Field`].
    pub fn new(size: SectorSize, number: u64) -> Result<Self, ProofApiError> {
        let row = size.row_of(number, ROWS)?;
        Ok(Self { size, row })
    }

    /// The usual proof, V1_1.
    pub fn interactive(size: SectorSize) -> Self {
        Self { size, row: 1 }
    }

    /// The number.
    pub fn number(self) -> u64 {
        self.row * SectorSize::ALL.len() as u64 + self.size as u64
    }

    /// The name in the JSON of SealCommitPhase1Output.
    pub fn name(self) -> String {
        let version = match self.row {
            0 => "V1",
            1 => "V1_1",
            2 => "V1_1_Feat_SyntheticPoRep",
            _ => "V1_2_Feat_NonInteractivePoRep",
        };
        format!("StackedDrg{}{version}", self.size.name())
    }

    /// The PoRep id: the number, little-endian, and a nonce that is zero for all proofs so far.
    pub fn porep_id(self) -> [u8; 32] {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&self.number().to_le_bytes());
        id
    }

    /// The configuration: 1 partition below 32 GiB and 10 from there; 13 and 126 for non-interactive PoRep.
    pub fn config(self) -> Result<PoRepConfig, ProofApiError> {
        let (version, features) = match self.row {
            0 => (ApiVersion::V1_0_0, vec![]),
            1 => (ApiVersion::V1_1_0, vec![]),
            2 => (ApiVersion::V1_2_0, vec![ApiFeature::SyntheticPoRep]),
            _ => (ApiVersion::V1_2_0, vec![ApiFeature::NonInteractivePoRep]),
        };
        PoRepConfig::new_groth16_with_features(
            self.size.bytes(),
            self.porep_id(),
            version,
            features,
        )
        .map_err(library("PoRep configuration"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuzk_filecoin::Base;

    #[test]
    fn numbers_and_names() {
        let name = |size, number| SealProof::new(size, number).map(SealProof::name).ok();
        assert_eq!(
            name(SectorSize::KiB2, 0).as_deref(),
            Some("StackedDrg2KiBV1")
        );
        assert_eq!(
            name(SectorSize::GiB32, 8).as_deref(),
            Some("StackedDrg32GiBV1_1")
        );
        assert_eq!(
            name(SectorSize::GiB64, 14).as_deref(),
            Some("StackedDrg64GiBV1_1_Feat_SyntheticPoRep")
        );
        assert_eq!(
            name(SectorSize::MiB8, 16).as_deref(),
            Some("StackedDrg8MiBV1_2_Feat_NonInteractivePoRep")
        );
        assert_eq!(name(SectorSize::KiB2, 20), None);
        assert_eq!(name(SectorSize::KiB2, 6), None);
        for size in SectorSize::ALL {
            for number in 0..20 {
                let found = SealProof::new(size, number).map(SealProof::number).ok();
                assert_eq!(found, (number % 5 == size as u64).then_some(number));
            }
        }
    }

    /// One circuit serves the features: as many challenges a partition, more partitions.
    #[test]
    fn features_share_the_circuit() {
        let shape = |number| {
            let config = SealProof::new(SectorSize::KiB2, number)
                .unwrap()
                .config()
                .unwrap();
            (
                usize::from(config.partitions),
                config.get_cache_identifier::<Base>().unwrap(),
            )
        };
        let (interactive, synthetic, non_interactive) = (shape(5), shape(10), shape(15));
        assert_eq!((interactive.0, synthetic.0, non_interactive.0), (1, 1, 13));
        assert_eq!(interactive.1, synthetic.1);
        assert_eq!(interactive.1, non_interactive.1);
    }
}
