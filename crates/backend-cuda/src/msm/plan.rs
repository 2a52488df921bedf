//! How a multi-scalar multiplication is cut into windows, and windows into parts that fit the memory.

use std::ops::Range;

/// Signed digits in `windows` windows of about the same width, over `tables` tables of points.
///
/// Window t · groups + g is a window g of table t, which holds the points times 2^p for the position p of its first: its
/// digits go to the buckets of group g.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bits of a digit at most.
    pub width: u32,
    /// Number of digits of a scalar.
    pub windows: u32,
    /// How many of the first digits have so many bits; the others have one less. Where all windows share buckets, a
    /// narrow last one would bring all its digits to few of them.
    pub wide: u32,
    /// Number of tables, the points themselves among them.
    pub tables: u32,
}

/// Field multiplications of an addition to a bucket, most of which are batched-affine, and of one of a bucket's two in the
/// reduction.
const MIXED: u64 = 7;
const REDUCED: u64 = 13;
/// A level costs the latency of an inversion, so fewer buckets are reduced in XYZZ coordinates.
const MIN_LEVELLED: usize = 1 << 20;

/// Bits of all windows at least: one more than a scalar has, so that the last digit finds room.
const BITS: u32 = 256;

/// What is sorted and added up at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which windows.
    pub windows: Range<u32>,
    /// Which scalars.
    pub scalars: Range<usize>,
}

impl Plan {
    /// The plan with the fewest field multiplications for `count` scalars and at most so many tables.
    pub fn new(count: usize, most_tables: u32) -> Self {
        let plans = (3..=22u32).map(|width| {
            let windows = BITS.div_ceil(width);
            let groups = windows.div_ceil(most_tables.clamp(1, windows));
            let tables = windows.div_ceil(groups);
            // Where all windows share buckets they are about equally wide.
            let (width, wide) = if groups == 1 {
                let width = BITS.div_ceil(windows);
                (width, BITS - windows * (width - 1))
            } else {
                (width, windows)
            };
            Self {
                width,
                windows,
                wide,
                tables,
            }
        });
        let cost = |plan: &Self| {
            let additions = u64::from(plan.windows) * count as u64 * MIXED;
            additions + 2 * plan.buckets() as u64 * REDUCED
        };
        plans.min_by_key(cost).unwrap_or(Self {
            width: 8,
            windows: 32,
            wide: 32,
            tables: 1,
        })
    }

    /// Sets of buckets.
    pub fn groups(&self) -> u32 {
        self.windows.div_ceil(self.tables)
    }

    /// Buckets of a group, as a power of two: one for each size of a digit but zero.
    pub fn log_buckets(&self) -> u32 {
        self.width - 1
    }

    /// Buckets of all groups.
    pub fn buckets(&self) -> usize {
        (self.groups() as usize) << self.log_buckets()
    }

    /// Whether the buckets, once they are single points, are reduced by levels.
    pub fn by_levels(&self) -> bool {
        self.buckets() >= MIN_LEVELLED
    }

    /// Bits of a window's digit.
    pub fn bits(&self, window: u32) -> u32 {
        self.width - u32::from(window >= self.wide)
    }

    /// The first bit of a window.
    pub fn position(&self, window: u32) -> u32 {
        window * self.width - window.saturating_sub(self.wide)
    }

    /// What is added to a scalar so that its windows become its digits plus 2^(c - 1) for digits of c bits: that, in each
    /// window but the last.
    pub fn offset(&self) -> [u64; 4] {
        let mut words = [0; 4];
        for window in 1..self.windows {
            let bit = self.position(window) - 1;
            words[bit as usize / 64] |= 1 << (bit % 64);
        }
        words
    }

    /// Cuts the digits of `count` scalars into parts of about `limit` at most: by windows, each of which has its own
    /// buckets, or with tables, where windows share them, by scalars.
    pub fn parts(&self, count: usize, limit: usize) -> Vec<Part> {
        if self.tables > 1 {
            let each = (limit / self.windows as usize).max(1);
            let part = |start| Part {
                windows: 0..self.windows,
                scalars: start..count.min(start + each),
            };
            return (0..count).step_by(each).map(part).collect();
        }
        let most = (limit / count.max(1)).clamp(1, self.windows as usize) as u32;
        let each = self.windows.div_ceil(self.windows.div_ceil(most));
        let part = |start| Part {
            windows: start..self.windows.min(start + each),
            scalars: 0..count,
        };
        (0..self.windows).step_by(each as usize).map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_a_scalar_and_its_last_carry() {
        for (log_count, tables) in (0..=28).flat_map(|log| [(log, 1), (log, 3), (log, 99)]) {
            let plan = Plan::new(1 << log_count, tables);
            assert!(plan.position(plan.windows) >= 256);
            assert!(plan.position(plan.windows - 1) < 256);
            assert!((1..=plan.windows).contains(&plan.wide) && plan.width <= 24);
            for window in 0..plan.windows {
                let (start, end) = (plan.position(window), plan.position(window + 1));
                assert_eq!(end - start, plan.bits(window));
                assert!((plan.width - 1..=plan.width).contains(&(end - start)));
                // Windows of a group are as far from their tables' first.
                let (table, group) = (window / plan.groups(), window % plan.groups());
                let first = plan.position(table * plan.groups());
                assert_eq!(start - first, plan.position(group));
            }
            assert!(plan.tables <= tables && plan.groups() * plan.tables >= plan.windows);
            assert!((plan.windows - 1) / plan.groups() < plan.tables);
        }
    }

    #[test]
    fn windows_widen_with_the_number_of_scalars() {
        let widths: Vec<_> = [4, 10, 16, 20, 24, 26]
            .map(|log| Plan::new(1 << log, 1).width)
            .to_vec();
        assert!(widths.is_sorted(), "{widths:?}");
        assert!(widths[0] <= 5 && widths[5] >= 18, "{widths:?}");
    }

    #[test]
    fn parts_cover_every_digit_once() {
        for (count, tables, limit) in [
            (0, 1, 10),
            (1, 1, 1),
            (1000, 1, 2500),
            (1000, 1, 1 << 20),
            (1000, 5, 3000),
            (1000, 99, 1),
        ] {
            let plan = Plan::new(count, tables);
            let mut seen = vec![0; count * plan.windows as usize];
            for part in plan.parts(count, limit) {
                assert!(plan.tables == 1 || part.windows == (0..plan.windows));
                assert!(plan.tables > 1 || part.scalars == (0..count));
                for (window, scalar) in part
                    .windows
                    .flat_map(|window| part.scalars.clone().map(move |scalar| (window, scalar)))
                {
                    seen[window as usize * count + scalar] += 1;
                }
            }
            assert!(seen.iter().all(|&times| times == 1));
        }
    }
}
