//! Sorting a window's digits by bucket.

use std::ops::Range;

use cuzk_curve::Wipe;

use super::digits::Digits;

/// The top bit of an entry: the point is to be subtracted. The other bits are the point's index.
pub(crate) const NEGATIVE: u32 = 1 << 31;

/// Entries of points, list after list: a list is summed to one point.
#[derive(Default)]
pub(crate) struct Lists {
    /// Point indices with [`NEGATIVE`].
    pub(crate) entries: Vec<u32>,
    /// Where each list starts, and where the last one ends.
    pub(crate) offsets: Vec<u32>,
}

impl Wipe for Lists {
    fn wipe(&mut self) {
        self.entries.wipe();
        self.offsets.wipe();
    }
}

impl Lists {
    /// No lists, and room for so many with so many entries.
    pub(crate) fn with_room(lists: usize, entries: usize) -> Self {
        Self {
            entries: Vec::with_capacity(entries),
            offsets: Vec::with_capacity(lists + 1),
        }
    }

    /// Number of lists.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The place of a list in the entries.
    pub(crate) fn range(&self, list: usize) -> Range<usize> {
        self.offsets[list] as usize..self.offsets[list + 1] as usize
    }

    /// Appends a list.
    pub(crate) fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.entries.extend(list);
        self.offsets.push(self.entries.len() as u32);
    }
}

/// Appends a list for each bucket of a window, by counting sort: the b-th holds the points with a digit of magnitude
/// b + 1.
pub(crate) fn sort_window(digits: &Digits, window: usize, lists: &mut Lists) {
    // Where each magnitude's entries end. Those of zero are in front, and left out.
    let mut ends = vec![0u32; digits.buckets() + 1];
    for &digit in digits.window(window).flatten() {
        ends[usize::from(digit.unsigned_abs())] += 1;
    }
    let first = lists.entries.len() as u32;
    ends[0] = first;
    for magnitude in 1..ends.len() {
        ends[magnitude] += ends[magnitude - 1];
    }
    if lists.offsets.is_empty() {
        lists.offsets.push(first);
    }
    lists.offsets.extend_from_slice(&ends[1..]);
    let total = lists.offsets.last().copied().unwrap_or_default();
    lists.entries.resize(total as usize, 0);
    // Filled from the back of the points, so that each list is in their order.
    let mut index = digits.len() as u32;
    for &digit in digits
        .window(window)
        .rev()
        .flat_map(|block| block.iter().rev())
    {
        index -= 1;
        let magnitude = usize::from(digit.unsigned_abs());
        if magnitude != 0 {
            ends[magnitude] -= 1;
            let sign = if digit < 0 { NEGATIVE } else { 0 };
            lists.entries[ends[magnitude] as usize] = index | sign;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuzk_curve::Fr;

    #[test]
    fn lists_hold_the_points_of_each_magnitude() {
        let values = [3i64, -3, 0, 1, 7, -8, 3, -1];
        let scalar = |value: i64| {
            let size = Fr::from(value.unsigned_abs());
            if value < 0 { -size } else { size }
        };
        let digits = Digits::new(&values.map(scalar), 4);
        let mut lists = Lists::default();
        sort_window(&digits, 0, &mut lists);
        sort_window(&digits, 0, &mut lists);
        assert_eq!(lists.len(), 16);
        for (list, magnitude) in (0..16).map(|list| (list, list % 8 + 1)) {
            let wanted: Vec<u32> = (0..)
                .zip(values)
                .filter(|(_, value)| value.unsigned_abs() == magnitude)
                .map(|(i, value)| if value < 0 { i | NEGATIVE } else { i })
                .collect();
            assert_eq!(lists.entries[lists.range(list as usize)], wanted);
        }
    }
}
