//! The check of every point of a key.

use cuzk_curve::EncodedPoints;
use cuzk_curve::encoding::{Encoding, EncodingError, not_infinity};
use cuzk_curve::subgroup::first_outside;
use group::prime::PrimeCurveAffine;
use rand_chacha::ChaCha12Rng;
use rand_core::{OsRng, SeedableRng};
use rayon::prelude::*;

use crate::{Parameters, ParamsError, Section};

/// Points that are decoded at a time: enough for the subgroup check to be cheap, little enough for memory.
const BLOCK_POINTS: usize = 1 << 18;

/// How thorough a check of points is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PointCheck {
    /// The encoding is right, the point lies on the curve and is not at infinity.
    Curve,
    /// And it is in the subgroup of prime order (see [`cuzk_curve::subgroup`]: missed with a probability below 2^-128
    /// a section and block).
    Subgroup,
}

impl Parameters {
    /// Checks every point of every section on all threads of rayon's current pool. After each block `progress` is told
    /// how many points are done and how many there are.
    ///
    /// # Errors
    /// [`ParamsError::Point`] with the first bad point in the order of the file, or [`ParamsError::Random`] where the
    /// system offers no seed.
    pub fn check_points(
        &self,
        level: PointCheck,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), ParamsError> {
        let g1 = [self.h(), self.l(), self.a(), self.b_g1()];
        let total = g1.iter().map(|points| points.len()).sum::<usize>() + self.b_g2().len();
        let mut checker = Checker {
            key: self,
            level,
            rng: ChaCha12Rng::from_rng(OsRng)?,
            done: 0,
            report: &mut |done| progress(done, total),
        };
        for (section, points) in Section::QUERIES.into_iter().zip(g1) {
            checker.section(section, points)?;
        }
        checker.section(Section::BG2, self.b_g2())
    }
}

/// A check under way.
struct Checker<'a> {
    key: &'a Parameters,
    level: PointCheck,
    rng: ChaCha12Rng,
    done: usize,
    report: &'a mut dyn FnMut(usize),
}

impl Checker<'_> {
    fn section<G: Encoding>(
        &mut self,
        section: Section,
        points: &EncodedPoints<G>,
    ) -> Result<(), ParamsError> {
        let blocks = points.bytes().chunks(BLOCK_POINTS * G::UNCOMPRESSED_BYTES);
        for (block, bytes) in blocks.enumerate() {
            if let Some((index, fault)) = self.block::<G>(bytes) {
                return Err(ParamsError::Point {
                    file: self.key.file().to_path_buf(),
                    section,
                    index: block * BLOCK_POINTS + index,
                    fault,
                });
            }
            self.done += bytes.len() / G::UNCOMPRESSED_BYTES;
            (self.report)(self.done);
        }
        Ok(())
    }

    /// The first bad point of a block.
    fn block<G: Encoding>(&mut self, bytes: &[u8]) -> Option<(usize, EncodingError)> {
        let mut points = vec![G::Affine::identity(); bytes.len() / G::UNCOMPRESSED_BYTES];
        let fault = bytes
            .par_chunks_exact(G::UNCOMPRESSED_BYTES)
            .zip(&mut points)
            .enumerate()
            .with_min_len(256)
            .filter_map(|(index, (bytes, place))| {
                match G::read_on_curve(bytes).and_then(not_infinity) {
                    Ok(point) => {
                        *place = point;
                        None
                    }
                    Err(fault) => Some((index, fault)),
                }
            })
            .min_by_key(|(index, _)| *index);
        if self.level == PointCheck::Curve {
            return fault;
        }
        points.truncate(fault.map_or(points.len(), |(index, _)| index));
        match first_outside::<G>(&points, &mut self.rng) {
            Some(index) => Some((index, EncodingError::OutsideSubgroup)),
            None => fault,
        }
    }
}
