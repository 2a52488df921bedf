//! Registered proof numbers and the configurations of `filecoin-proofs` that belong to them.
//!
//! The numbers are those of `filecoin-proofs-api`, of the Lotus actors and of Curio: a row (version and
//! feature) of five sector sizes each.

use crate::{Kind, SectorSize, SynthError};
use filecoin_proofs::{PoRepConfig, PoStConfig, PoStType};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use storage_proofs_core::api_version::{ApiFeature, ApiVersion};

/// How a PoRep draws its challenges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoRepFeature {
    /// From the replica id and a seed of the chain.
    #[default]
    Interactive,
    /// By a seed of the chain out of a set that CommR determines.
    Synthetic,
    /// From CommR alone, with 12.8 times as many challenges.
    NonInteractive,
}

impl PoRepFeature {
    /// All features.
    pub const ALL: [PoRepFeature; 3] = [
        PoRepFeature::Interactive,
        PoRepFeature::Synthetic,
        PoRepFeature::NonInteractive,
    ];

    /// The name, which is also its form in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PoRepFeature::Interactive => "interactive",
            PoRepFeature::Synthetic => "synthetic",
            PoRepFeature::NonInteractive => "non-interactive",
        }
    }
}

impl fmt::Display for PoRepFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PoRepFeature {
    type Err = SynthError;

    fn from_str(text: &str) -> Result<Self, SynthError> {
        Self::ALL
            .into_iter()
            .find(|feature| feature.name() == text)
            .ok_or_else(|| SynthError::Name {
                what: "PoRep feature",
                wanted: "interactive, synthetic, non-interactive",
                found: text.to_owned(),
            })
    }
}

/// A registered seal proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SealProof {
    size: SectorSize,
    /// 0: V1, 1: V1_1, 2: Synthetic-PoRep, 3: non-interactive PoRep.
    row: usize,
}

impl SealProof {
    /// The current proof of a feature.
    pub(crate) fn current(size: SectorSize, feature: PoRepFeature) -> Self {
        let row = match feature {
            PoRepFeature::Interactive => 1,
            PoRepFeature::Synthetic => 2,
            PoRepFeature::NonInteractive => 3,
        };
        SealProof { size, row }
    }

    /// The proof of that number, if it is one of this sector size.
    pub(crate) fn from_number(size: SectorSize, number: u64) -> Result<Self, SynthError> {
        match row_of(size, number) {
            Some(row @ 0..4) => Ok(SealProof { size, row }),
            _ => Err(SynthError::RegisteredProof {
                kind: Kind::PoRep,
                size,
                found: number,
            }),
        }
    }

    /// The number.
    pub(crate) fn number(self) -> u64 {
        number_of(self.size, self.row)
    }

    /// The name in the JSON of commit phase 1.
    pub(crate) fn name(self) -> String {
        let suffix = [
            "V1",
            "V1_1",
            "V1_1_Feat_SyntheticPoRep",
            "V1_2_Feat_NonInteractivePoRep",
        ][self.row];
        format!("StackedDrg{}{suffix}", self.size)
    }

    /// The configuration for `filecoin-proofs`.
    pub(crate) fn config(self) -> PoRepConfig {
        let mut porep_id = [0; 32];
        porep_id[..8].copy_from_slice(&self.number().to_le_bytes());
        let version = [
            ApiVersion::V1_0_0,
            ApiVersion::V1_1_0,
            ApiVersion::V1_2_0,
            ApiVersion::V1_2_0,
        ][self.row];
        let mut config = PoRepConfig::new_groth16(self.size.bytes(), porep_id, version);
        match self.row {
            2 => config.api_features.push(ApiFeature::SyntheticPoRep),
            3 => {
                let partitions =
                    filecoin_proofs::get_porep_non_interactive_partitions(self.size.bytes());
                config.partitions = filecoin_proofs::PoRepProofPartitions(partitions);
                config.api_features.push(ApiFeature::NonInteractivePoRep);
            }
            _ => {}
        }
        config
    }
}

/// The current number of a PoSt or SnapDeals proof, or of an interactive PoRep.
pub(crate) fn current_number(kind: Kind, size: SectorSize) -> u64 {
    let row = match kind {
        Kind::PoRep => 1,
        Kind::WindowPost => 2,
        Kind::WinningPost | Kind::Snap => 0,
    };
    number_of(size, row)
}

/// Whether `number` is a registered proof of that kind and sector size.
pub(crate) fn check_number(kind: Kind, size: SectorSize, number: u64) -> Result<(), SynthError> {
    let known = match (kind, row_of(size, number)) {
        (Kind::PoRep, Some(row)) => row < 4,
        (Kind::WindowPost, Some(row)) => row == 1 || row == 2,
        (Kind::WinningPost | Kind::Snap, Some(row)) => row == 0,
        (_, None) => false,
    };
    if known {
        Ok(())
    } else {
        Err(SynthError::RegisteredProof {
            kind,
            size,
            found: number,
        })
    }
}

/// The configuration of a PoSt with that registered proof number.
pub(crate) fn post_config(
    kind: Kind,
    size: SectorSize,
    number: u64,
) -> Result<PoStConfig, SynthError> {
    check_number(kind, size, number)?;
    let (typ, challenge_count, sector_count) = match kind {
        Kind::WindowPost => (
            PoStType::Window,
            filecoin_proofs::WINDOW_POST_CHALLENGE_COUNT,
            window_sectors(size),
        ),
        Kind::WinningPost => (
            PoStType::Winning,
            filecoin_proofs::WINNING_POST_CHALLENGE_COUNT,
            filecoin_proofs::WINNING_POST_SECTOR_COUNT,
        ),
        Kind::PoRep | Kind::Snap => {
            return Err(SynthError::RegisteredProof {
                kind,
                size,
                found: number,
            });
        }
    };
    let api_version = if row_of(size, number) == Some(2) {
        ApiVersion::V1_2_0
    } else {
        ApiVersion::V1_0_0
    };
    let sector_size = filecoin_proofs::SectorSize(size.bytes());
    Ok(PoStConfig {
        sector_size,
        challenge_count,
        sector_count,
        typ,
        priority: true,
        api_version,
    })
}

/// The configuration under which SnapDeals proofs of a sector size are verified.
pub(crate) fn update_config(size: SectorSize) -> PoRepConfig {
    let mut porep_id = [0; 32];
    porep_id[..8].copy_from_slice(&current_number(Kind::Snap, size).to_le_bytes());
    PoRepConfig::new_groth16(size.bytes(), porep_id, ApiVersion::V1_1_0)
}

/// The most sectors that one WindowPoSt partition proves.
pub fn window_sectors(size: SectorSize) -> usize {
    match size {
        SectorSize::GIB_32 => 2349,
        SectorSize::GIB_64 => 2300,
        _ => 2,
    }
}

fn number_of(size: SectorSize, row: usize) -> u64 {
    (row * SectorSize::ALL.len() + size.index()) as u64
}

fn row_of(size: SectorSize, number: u64) -> Option<usize> {
    let row = usize::try_from(number).ok()? / SectorSize::ALL.len();
    (number_of(size, row) == number).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seal_numbers_and_names() {
        let proof = |number, size| {
            SealProof::from_number(size, number)
                .map(SealProof::name)
                .ok()
        };
        assert_eq!(
            proof(5, SectorSize::KIB_2).as_deref(),
            Some("StackedDrg2KiBV1_1")
        );
        assert_eq!(
            proof(8, SectorSize::GIB_32).as_deref(),
            Some("StackedDrg32GiBV1_1")
        );
        assert_eq!(
            proof(14, SectorSize::GIB_64).as_deref(),
            Some("StackedDrg64GiBV1_1_Feat_SyntheticPoRep")
        );
        assert_eq!(
            proof(16, SectorSize::MIB_8).as_deref(),
            Some("StackedDrg8MiBV1_2_Feat_NonInteractivePoRep")
        );
        for (number, size) in [
            (20, SectorSize::KIB_2),
            (6, SectorSize::KIB_2),
            (u64::MAX, SectorSize::GIB_64),
        ] {
            assert!(proof(number, size).is_none(), "{number} {size}");
        }
    }

    #[test]
    fn numbers_of_the_other_kinds() {
        assert_eq!(current_number(Kind::WindowPost, SectorSize::GIB_32), 13);
        assert_eq!(current_number(Kind::WinningPost, SectorSize::GIB_32), 3);
        assert_eq!(current_number(Kind::Snap, SectorSize::GIB_64), 4);
        assert!(check_number(Kind::WindowPost, SectorSize::KIB_2, 5).is_ok());
        assert!(check_number(Kind::WindowPost, SectorSize::KIB_2, 0).is_err());
        assert!(check_number(Kind::Snap, SectorSize::KIB_2, 5).is_err());
    }

    #[test]
    fn window_sector_counts_are_those_of_filecoin_proofs() -> Result<(), String> {
        let counts = filecoin_proofs::WINDOW_POST_SECTOR_COUNT
            .read()
            .map_err(|error| error.to_string())?;
        for size in SectorSize::ALL {
            assert_eq!(counts.get(&size.bytes()), Some(&window_sectors(size)));
        }
        Ok(())
    }

    #[test]
    fn features_change_partitions_and_challenges() {
        let of = |feature| SealProof::current(SectorSize::GIB_32, feature).config();
        let (plain, ni) = (
            of(PoRepFeature::Interactive),
            of(PoRepFeature::NonInteractive),
        );
        assert_eq!(
            (usize::from(plain.partitions), plain.minimum_challenges()),
            (10, 176)
        );
        assert_eq!(
            (usize::from(ni.partitions), ni.minimum_challenges()),
            (126, 2253)
        );
        assert!(of(PoRepFeature::Synthetic).feature_enabled(ApiFeature::SyntheticPoRep));
    }
}
