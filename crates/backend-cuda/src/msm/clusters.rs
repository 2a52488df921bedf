//! Points that bits select, kept in clusters of neighbours with all sums of a cluster's points.

use cuzk_gpu::Argument;

/// Points that bits select.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clusters {
    /// Points of a cluster: 1, 2 or 4.
    pub size: u32,
    /// Points of all clusters.
    pub count: usize,
    /// The place of the first cluster's first sum.
    pub first: usize,
}

impl Clusters {
    /// No such points, behind so many others.
    pub fn none(first: usize) -> Self {
        Self {
            size: 1,
            count: 0,
            first,
        }
    }

    /// Number of clusters.
    pub fn number(&self) -> usize {
        self.count.div_ceil(self.size as usize)
    }

    /// The place behind the last sum.
    pub fn end(&self) -> usize {
        self.first + sums(self.count, self.size)
    }

    /// The place of a point alone, which is the sum of one.
    pub fn alone(&self, point: usize) -> usize {
        let (size, subsets) = (self.size as usize, sums(1, self.size));
        self.first + point / size * subsets + (1 << (point % size)) - 1
    }

    /// What the kernels call `size`, `count` and `first`.
    pub fn arguments(&self) -> [Argument<'static>; 3] {
        [
            self.size.into(),
            (self.count as u32).into(),
            (self.first as u32).into(),
        ]
    }
}

/// The sums that are kept of `count` points in clusters of `size`, the points themselves among them.
pub(crate) fn sums(count: usize, size: u32) -> usize {
    count
        .div_ceil(size as usize)
        .saturating_mul((1 << size) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_alone_have_places_of_their_own() {
        for (size, count, wanted) in [
            (1, 3, vec![10, 11, 12]),
            (2, 5, vec![10, 11, 13, 14, 16]),
            (4, 6, vec![10, 11, 13, 17, 25, 26]),
        ] {
            let clusters = Clusters {
                size,
                count,
                first: 10,
            };
            let places: Vec<usize> = (0..count).map(|point| clusters.alone(point)).collect();
            assert_eq!(places, wanted);
            assert!(clusters.end() > wanted[count - 1]);
        }
        assert_eq!(
            [sums(7, 1), sums(7, 2), sums(7, 4), sums(0, 4)],
            [7, 12, 30, 0]
        );
    }
}
