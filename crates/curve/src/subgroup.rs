//! The subgroup check of many points at once.
//!
//! A point on the curve is in the subgroup of prime order exactly when its class in the quotient E / G is zero. Put
//! the points into `2^w` buckets at random and add up each bucket: were one point outside, then, whatever the other
//! points and their buckets are, at most one choice of its own bucket makes every sum land in the subgroup. A pass thus
//! misses with a probability of at most `2^-w`, also for points of order 3, on which random multiples would fail a
//! third of the time. Passes are repeated until the product is below `2^-ERROR_BITS`, and all their sums are checked
//! the same way, so that a point costs a dozen affine additions in place of a multiplication by a 128-bit number.
//!
//! The buckets must be unpredictable to whoever made the points: give a cryptographic generator with a fresh seed.

use group::prime::PrimeCurveAffine;
use rand_core::{CryptoRng, RngCore, SeedableRng};
use rayon::prelude::*;

use crate::encoding::Encoding;
use crate::simd::{Arch, Kernel, dispatch};

mod sums;

/// A check of one set of points misses a point outside with a probability below `2^-128`; the two bits more pay for
/// the sums' own checks.
const ERROR_BITS: u32 = 130;

/// Below this many points each is checked by itself.
const DIRECT: usize = 1024;

/// Whether all `points`, which must lie on the curve, are in the subgroup. `true` is wrong with a probability below
/// `2^-128`, `false` never. Runs on rayon's current pool.
pub fn all_in_subgroup<G: Encoding>(
    points: &[G::Affine],
    rng: &mut (impl RngCore + CryptoRng + SeedableRng + Send),
) -> bool {
    let identity = |point: &G::Affine| bool::from(point.is_identity());
    if points.par_iter().any(identity) {
        let others: Vec<_> = points
            .par_iter()
            .filter(|point| !identity(point))
            .copied()
            .collect();
        return all_in_subgroup::<G>(&others, rng);
    }
    if points.len() < DIRECT || u32::try_from(points.len()).is_err() {
        return points.par_iter().all(G::in_subgroup);
    }
    let bits = bucket_bits(points.len());
    let passes: Vec<_> = (0..ERROR_BITS.div_ceil(bits)).map(|_| child(rng)).collect();
    let passes: Vec<Buckets> = passes
        .into_par_iter()
        .map(|mut rng| Buckets::random(points.len(), bits, &mut rng))
        .collect();
    let buckets: Vec<&[u32]> = passes
        .iter()
        .flat_map(|pass| (0..pass.len()).map(|bucket| pass.get(bucket)))
        .collect();
    let sums = dispatch(Sums::<G> {
        points,
        buckets: &buckets,
    });
    all_in_subgroup::<G>(&sums, rng)
}

/// A generator of its own for a pass.
fn child<R: RngCore + SeedableRng>(rng: &mut R) -> R {
    let mut seed = R::Seed::default();
    rng.fill_bytes(seed.as_mut());
    R::from_seed(seed)
}

/// Sums buckets with the widest arithmetic that the machine has.
struct Sums<'a, G: Encoding> {
    points: &'a [G::Affine],
    buckets: &'a [&'a [u32]],
}

impl<G: Encoding> Kernel for Sums<'_, G> {
    type Output = Vec<G::Affine>;

    #[inline(always)]
    fn run<A: Arch>(self, arch: A) -> Vec<G::Affine> {
        sums::sum_buckets::<A, G>(arch, self.points, self.buckets)
    }
}

/// The index of the first of `points`, which must lie on the curve, that is outside the subgroup. A point found is
/// outside; `None` is wrong with a probability below `2^-128`.
pub fn first_outside<G: Encoding>(
    points: &[G::Affine],
    rng: &mut (impl RngCore + CryptoRng + SeedableRng + Send),
) -> Option<usize> {
    if all_in_subgroup::<G>(points, rng) {
        return None;
    }
    points
        .par_iter()
        .position_first(|point| !G::in_subgroup(point))
}

/// Bits of a bucket's number, for buckets of 64 to 128 points: fuller ones would need more passes, emptier ones leave
/// more sums to check.
fn bucket_bits(points: usize) -> u32 {
    points.ilog2().saturating_sub(6).clamp(1, 16)
}

/// One pass: the indices of all points, ordered by bucket.
struct Buckets {
    order: Vec<u32>,
    ends: Vec<u32>,
}

impl Buckets {
    /// Puts each of `points` (fewer than 2^32) into one of `2^bits` buckets, `bits` being at most 16.
    fn random(points: usize, bits: u32, rng: &mut impl RngCore) -> Self {
        let mut bytes = vec![0; points * 2];
        rng.fill_bytes(&mut bytes);
        let bucket =
            |pair: &[u8]| usize::from(u16::from_le_bytes([pair[0], pair[1]]) >> (16 - bits));
        let mut ends = vec![0u32; 1 << bits];
        for pair in bytes.chunks_exact(2) {
            ends[bucket(pair)] += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        let mut order = vec![0; points];
        for (i, pair) in (0u32..).zip(bytes.chunks_exact(2)) {
            let place = &mut ends[bucket(pair)];
            order[*place as usize] = i;
            *place += 1;
        }
        Self { order, ends }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, bucket: usize) -> &[u32] {
        let start = bucket.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.order[start as usize..self.ends[bucket] as usize]
    }
}

#[cfg(test)]
mod tests;
