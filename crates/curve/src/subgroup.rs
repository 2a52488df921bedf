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

use blst::{blst_p1_affine, blst_p1s_add, blst_p2_affine, blst_p2s_add};
use group::{Curve, Group as _};
use rand_core::{CryptoRng, RngCore};
use rayon::prelude::*;

use crate::encoding::Encoding;
use crate::{G1, G1Affine, G1Projective, G2, G2Affine, G2Projective};

/// A check of one set of points misses a point outside with a probability below `2^-128`; the two bits more pay for
/// the sums' own checks.
const ERROR_BITS: u32 = 130;

/// Below this many points each is checked by itself.
const DIRECT: usize = 2048;

/// What the check needs of a group beyond its encoding.
pub trait Subgroup: Encoding {
    /// The sum of the points with these indices.
    ///
    /// # Panics
    /// Where an index is past the end.
    fn sum_selected(points: &[Self::Affine], indices: &[u32]) -> Self::Projective;
}

macro_rules! subgroup {
    ($group:ty, $affine:ty, $projective:ty, $raw:ty, $add:path) => {
        impl Subgroup for $group {
            fn sum_selected(points: &[$affine], indices: &[u32]) -> $projective {
                let pointers: Vec<*const $raw> = indices
                    .iter()
                    .map(|&i| std::ptr::from_ref(points[i as usize].as_ref()))
                    .collect();
                let mut sum = <$projective>::identity();
                // SAFETY: each of the `pointers.len()` pointers is that of an element of `points`, which outlives the
                // call; none is null; `sum` is a valid place to write.
                #[allow(unsafe_code)]
                unsafe {
                    $add(sum.as_mut(), pointers.as_ptr(), pointers.len());
                }
                sum
            }
        }
    };
}

subgroup!(G1, G1Affine, G1Projective, blst_p1_affine, blst_p1s_add);
subgroup!(G2, G2Affine, G2Projective, blst_p2_affine, blst_p2s_add);

/// Whether all `points`, which must lie on the curve, are in the subgroup. `true` is wrong with a probability below
/// `2^-128`, `false` never. Runs on rayon's current pool.
pub fn all_in_subgroup<G: Subgroup>(
    points: &[G::Affine],
    rng: &mut (impl RngCore + CryptoRng),
) -> bool {
    if points.len() < DIRECT || u32::try_from(points.len()).is_err() {
        return points.par_iter().all(G::in_subgroup);
    }
    let bits = bucket_bits(points.len());
    let passes: Vec<Buckets> = (0..ERROR_BITS.div_ceil(bits))
        .map(|_| Buckets::random(points.len(), bits, rng))
        .collect();
    let sums: Vec<G::Affine> = passes
        .par_iter()
        .flat_map(|pass| (0..pass.len()).into_par_iter().map(move |i| pass.get(i)))
        .map(|bucket| G::sum_selected(points, bucket).to_affine())
        .collect();
    all_in_subgroup::<G>(&sums, rng)
}

/// The index of the first of `points`, which must lie on the curve, that is outside the subgroup. A point found is
/// outside; `None` is wrong with a probability below `2^-128`.
pub fn first_outside<G: Subgroup>(
    points: &[G::Affine],
    rng: &mut (impl RngCore + CryptoRng),
) -> Option<usize> {
    if all_in_subgroup::<G>(points, rng) {
        return None;
    }
    points.par_iter().position_first(|point| !G::in_subgroup(point))
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
        let bucket = |pair: &[u8]| usize::from(u16::from_le_bytes([pair[0], pair[1]]) >> (16 - bits));
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
