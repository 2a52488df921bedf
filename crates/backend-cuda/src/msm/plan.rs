//! How a multi-scalar multiplication is cut into windows.

/// Signed digits of `width` bits in `windows` windows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bits of a digit.
    pub width: u32,
    /// Number of digits of a scalar.
    pub windows: u32,
}

/// Field multiplications of an addition to a bucket, most of which are batched-affine, and of a full addition.
const MIXED: u64 = 7;
const FULL: u64 = 14;

impl Plan {
    /// The plan with the fewest field multiplications for `count` scalars.
    pub fn new(count: usize) -> Self {
        let cost = |plan: &Self| {
            let buckets = 1u64 << (plan.width - 1);
            u64::from(plan.windows) * (count as u64 * MIXED + 2 * buckets * FULL)
        };
        let plans = (3..=20).map(|width| Self {
            width,
            // One bit more than a scalar has, so that the last carry finds room.
            windows: 256u32.div_ceil(width),
        });
        plans.min_by_key(cost).unwrap_or(Self {
            width: 8,
            windows: 32,
        })
    }

    /// Buckets of a window, as a power of two: one for each size of a digit but zero.
    pub fn log_buckets(&self) -> u32 {
        self.width - 1
    }

    /// Buckets of all windows.
    pub fn buckets(&self) -> usize {
        (self.windows as usize) << self.log_buckets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_a_scalar_and_its_carry() {
        for log_count in 0..=28 {
            let plan = Plan::new(1 << log_count);
            assert!(plan.width * plan.windows >= 256);
            assert!((plan.windows - 1) * plan.width < 256);
        }
    }

    #[test]
    fn windows_widen_with_the_number_of_scalars() {
        let widths: Vec<_> = [4, 10, 16, 20, 24, 26]
            .map(|log| Plan::new(1 << log).width)
            .to_vec();
        assert!(widths.is_sorted(), "{widths:?}");
        assert!(widths[0] <= 5 && widths[5] >= 18, "{widths:?}");
    }
}
