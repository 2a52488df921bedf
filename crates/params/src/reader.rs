//! A cursor over the bytes of a key, bounded by what is left.

use std::path::Path;

use cuzk_curve::encoding::{Encoding, not_infinity};
use cuzk_curve::{Bytes, EncodedPoints};

use crate::{ParamsError, Section};

/// Bytes of a count.
pub(crate) const COUNT_BYTES: usize = 4;

/// Reads the parts of a key one after the other.
pub(crate) struct Reader<'a> {
    file: &'a Path,
    bytes: &'a Bytes,
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`; `file` is for errors.
    pub fn new(file: &'a Path, bytes: &'a Bytes) -> Self {
        Self {
            file,
            bytes,
            offset: 0,
        }
    }

    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    fn take(&mut self, section: Section, wanted: usize) -> Result<&'a [u8], ParamsError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let taken = rest.get(..wanted).ok_or_else(|| ParamsError::Truncated {
            file: self.file.to_path_buf(),
            section,
            offset: self.offset,
            wanted,
            found: rest.len(),
        })?;
        self.offset += wanted;
        Ok(taken)
    }

    /// The next point, with all checks, infinity refused.
    pub fn point<G: Encoding>(&mut self, section: Section) -> Result<G::Affine, ParamsError> {
        let bytes = self.take(section, G::UNCOMPRESSED_BYTES)?;
        G::read_uncompressed(bytes)
            .and_then(not_infinity)
            .map_err(|fault| ParamsError::Point {
                file: self.file.to_path_buf(),
                section,
                index: 0,
                fault,
            })
    }

    /// The next count and its points, unchecked and not copied.
    pub fn points<G: Encoding>(
        &mut self,
        section: Section,
    ) -> Result<EncodedPoints<G>, ParamsError> {
        let count = self.take(section, COUNT_BYTES)?;
        let count = count
            .iter()
            .fold(0usize, |n, &byte| n << 8 | usize::from(byte));
        let fits = self.left() / G::UNCOMPRESSED_BYTES;
        let past_end = || ParamsError::CountPastEnd {
            file: self.file.to_path_buf(),
            section,
            wanted: count,
            found: fits,
        };
        if count > fits {
            return Err(past_end());
        }
        let end = self.offset + count * G::UNCOMPRESSED_BYTES;
        let points = self.bytes.slice(self.offset..end);
        let points = points.and_then(EncodedPoints::new).ok_or_else(past_end)?;
        self.offset = end;
        Ok(points)
    }
}
