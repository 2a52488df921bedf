//! A proving key: a mapped file and where its sections lie.

use std::fs::File;
use std::path::{Path, PathBuf};

use cuzk_curve::{Bytes, EncodedPoints, G1, G2};
use memmap2::Mmap;

use crate::reader::Reader;
use crate::{Expected, ParamsError, Section, VerifyingKey};

/// A proving key whose points stay where they are: in a mapped file or in given bytes.
///
/// Opening checks the verifying key in full and the sections' counts against each other, and reads no other point:
/// [`Parameters::check_points`] does.
#[derive(Clone, Debug)]
pub struct Parameters {
    file: PathBuf,
    vk: VerifyingKey,
    h: EncodedPoints<G1>,
    l: EncodedPoints<G1>,
    a: EncodedPoints<G1>,
    b_g1: EncodedPoints<G1>,
    b_g2: EncodedPoints<G2>,
    trailing: usize,
}

impl Parameters {
    /// Maps a `.params` file. It must not be changed in place while it is in use: replace it by renaming.
    ///
    /// # Errors
    /// [`ParamsError::Missing`] where there is no such file; otherwise the section that is cut, too long, or does not
    /// go with the others.
    pub fn open(file: &Path) -> Result<Self, ParamsError> {
        Self::from_bytes(file, &map(file)?)
    }

    /// Takes the bytes of a `.params` file; `file` is for errors.
    ///
    /// # Errors
    /// As [`Parameters::open`].
    pub fn from_bytes(file: &Path, bytes: &Bytes) -> Result<Self, ParamsError> {
        let mut reader = Reader::new(file, bytes);
        let key = Self {
            file: file.to_path_buf(),
            vk: VerifyingKey::read_from(file, &mut reader)?,
            h: reader.points(Section::H)?,
            l: reader.points(Section::L)?,
            a: reader.points(Section::A)?,
            b_g1: reader.points(Section::BG1)?,
            b_g2: reader.points(Section::BG2)?,
            trailing: reader.left(),
        };
        key.check_counts()?;
        Ok(key)
    }

    /// The counts that must hold for every circuit.
    fn check_counts(&self) -> Result<(), ParamsError> {
        if !(self.h.len() + 1).is_power_of_two() {
            return Err(ParamsError::Domain {
                file: self.file.clone(),
                found: self.h.len(),
            });
        }
        let variables = self.vk.ic.len() + self.l.len();
        let count = |section, wanted, found| {
            if wanted == found {
                return Ok(());
            }
            Err(ParamsError::Count {
                file: self.file.clone(),
                section,
                wanted,
                found,
            })
        };
        let (a, b) = (self.a.len(), self.b_g1.len());
        count(Section::A, a.clamp(self.vk.ic.len(), variables), a)?;
        count(Section::BG1, b.min(variables), b)?;
        count(Section::BG2, b, self.b_g2.len())
    }

    /// Compares the counts with those of a circuit.
    ///
    /// # Errors
    /// [`ParamsError::Count`] with the first section that differs.
    pub fn check_shape(&self, expected: &Expected) -> Result<(), ParamsError> {
        expected.check(&self.file, self)
    }

    /// Compares the verifying key inside with another, read from `vk_file`.
    ///
    /// # Errors
    /// [`ParamsError::VerifyingKeyDiffers`].
    pub fn check_verifying_key(
        &self,
        vk: &VerifyingKey,
        vk_file: &Path,
    ) -> Result<(), ParamsError> {
        if self.vk == *vk {
            return Ok(());
        }
        Err(ParamsError::VerifyingKeyDiffers {
            file: self.file.clone(),
            vk: vk_file.to_path_buf(),
        })
    }

    /// The file, as it was given.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The verifying key inside.
    pub fn vk(&self) -> &VerifyingKey {
        &self.vk
    }

    /// The H query: one point fewer than the domain has elements.
    pub fn h(&self) -> &EncodedPoints<G1> {
        &self.h
    }

    /// The L query: one point for each aux variable.
    pub fn l(&self) -> &EncodedPoints<G1> {
        &self.l
    }

    /// The A query: inputs first, then the aux variables that stand in A.
    pub fn a(&self) -> &EncodedPoints<G1> {
        &self.a
    }

    /// The B query in G1: the variables that stand in B, inputs first.
    pub fn b_g1(&self) -> &EncodedPoints<G1> {
        &self.b_g1
    }

    /// The B query in G2, for the same variables.
    pub fn b_g2(&self) -> &EncodedPoints<G2> {
        &self.b_g2
    }

    /// Bytes after the last section, which no one reads.
    pub fn trailing_bytes(&self) -> usize {
        self.trailing
    }
}

/// Maps a file.
pub(crate) fn map(path: &Path) -> Result<Bytes, ParamsError> {
    let file = File::open(path).map_err(|source| ParamsError::io(path, "open", source))?;
    // SAFETY: the mapping is read-only and private to this process. Key files are replaced by renaming and never
    // written in place (`ParamsWriter` does so), which is what the documentation of `Parameters::open` asks of others.
    #[allow(unsafe_code)]
    let mapped = unsafe { Mmap::map(&file) };
    let mapped = mapped.map_err(|source| ParamsError::io(path, "map", source))?;
    Ok(Bytes::new(mapped))
}
