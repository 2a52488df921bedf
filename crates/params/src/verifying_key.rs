//! The verifying key and its `.vk` file.

use std::path::Path;

use cuzk_curve::encoding::{Encoding, not_infinity};
use cuzk_curve::{Bytes, G1, G1Affine, G2, G2Affine, Group};

use crate::parameters::map;
use crate::reader::Reader;
use crate::{FileDigest, ParamsError, Section, digest_bytes};

/// What a verifier needs. A value of this type from [`VerifyingKey::read`] or [`VerifyingKey::from_bytes`] has passed
/// all checks: every point in the subgroup, none at infinity, gamma and delta different, ic not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    /// alpha in G1.
    pub alpha_g1: G1Affine,
    /// beta in G1.
    pub beta_g1: G1Affine,
    /// beta in G2.
    pub beta_g2: G2Affine,
    /// gamma in G2.
    pub gamma_g2: G2Affine,
    /// delta in G1.
    pub delta_g1: G1Affine,
    /// delta in G2.
    pub delta_g2: G2Affine,
    /// One point for each public input, ONE among them and first.
    pub ic: Vec<G1Affine>,
}

impl VerifyingKey {
    /// Bytes of the six points before ic.
    pub const FIXED_BYTES: usize = 3 * G1::UNCOMPRESSED_BYTES + 3 * G2::UNCOMPRESSED_BYTES;

    /// Reads and checks a `.vk` file, which must end with the key.
    ///
    /// # Errors
    /// [`ParamsError`] with the part of the key that is cut or wrong.
    pub fn read(file: &Path) -> Result<Self, ParamsError> {
        Self::from_bytes(file, &map(file)?)
    }

    /// Decodes and checks the bytes of a `.vk` file; `file` is for errors.
    ///
    /// # Errors
    /// As [`VerifyingKey::read`].
    pub fn from_bytes(file: &Path, bytes: &Bytes) -> Result<Self, ParamsError> {
        let mut reader = Reader::new(file, bytes);
        let key = Self::read_from(file, &mut reader)?;
        match reader.left() {
            0 => Ok(key),
            found => Err(ParamsError::TrailingBytes {
                file: file.to_path_buf(),
                found,
            }),
        }
    }

    /// Reads the key at the start of a `.params` or `.vk` file.
    pub(crate) fn read_from(file: &Path, reader: &mut Reader<'_>) -> Result<Self, ParamsError> {
        let alpha_g1 = reader.point::<G1>(Section::AlphaG1)?;
        let beta_g1 = reader.point::<G1>(Section::BetaG1)?;
        let beta_g2 = reader.point::<G2>(Section::BetaG2)?;
        let gamma_g2 = reader.point::<G2>(Section::GammaG2)?;
        let delta_g1 = reader.point::<G1>(Section::DeltaG1)?;
        let delta_g2 = reader.point::<G2>(Section::DeltaG2)?;
        if gamma_g2 == delta_g2 {
            return Err(ParamsError::GammaEqualsDelta {
                file: file.to_path_buf(),
            });
        }
        let encoded = reader.points::<G1>(Section::Ic)?;
        if encoded.is_empty() {
            return Err(ParamsError::Empty {
                file: file.to_path_buf(),
                section: Section::Ic,
            });
        }
        let points = encoded.bytes().chunks_exact(G1::UNCOMPRESSED_BYTES);
        let ic = points
            .enumerate()
            .map(|(index, bytes)| {
                let point = G1::read_uncompressed(bytes).and_then(not_infinity);
                point.map_err(|fault| ParamsError::Point {
                    file: file.to_path_buf(),
                    section: Section::Ic,
                    index,
                    fault,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            alpha_g1,
            beta_g1,
            beta_g2,
            gamma_g2,
            delta_g1,
            delta_g2,
            ic,
        })
    }

    /// The bytes of the key's `.vk` file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(Self::FIXED_BYTES + 4 + self.ic.len() * G1::UNCOMPRESSED_BYTES);
        G1::write_uncompressed(&self.alpha_g1, &mut out);
        G1::write_uncompressed(&self.beta_g1, &mut out);
        G2::write_uncompressed(&self.beta_g2, &mut out);
        G2::write_uncompressed(&self.gamma_g2, &mut out);
        G1::write_uncompressed(&self.delta_g1, &mut out);
        G2::write_uncompressed(&self.delta_g2, &mut out);
        out.extend_from_slice(&(self.ic.len() as u32).to_be_bytes());
        for point in &self.ic {
            G1::write_uncompressed(point, &mut out);
        }
        out
    }

    /// The digest of the key's `.vk` file.
    pub fn digest(&self) -> FileDigest {
        digest_bytes(&self.to_bytes())
    }
}
