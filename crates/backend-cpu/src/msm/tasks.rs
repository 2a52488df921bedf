//! Cutting lists of points into tasks of bounded length, so that one long list keeps all lanes and threads busy.

use super::buckets::Lists;

/// Shortest limit of a task's length.
const MIN_LIMIT: usize = 64;

/// Entries to be summed to one point: `len` of them, every `step`-th from `start`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) start: u32,
    pub(crate) step: u32,
    pub(crate) len: u32,
}

impl Task {
    /// The place of this task's entry `k`.
    #[inline]
    pub(crate) fn entry(&self, k: u32) -> usize {
        (self.start + k * self.step) as usize
    }
}

/// The tasks for some lists.
#[derive(Default)]
pub(crate) struct Tasks {
    /// One a list. It is empty for a list that is longer than the limit.
    pub(crate) whole: Vec<Task>,
    /// The long lists.
    pub(crate) long: Vec<u32>,
    /// The parts of the long lists, list after list.
    pub(crate) parts: Vec<Task>,
    /// Where each long list's parts start, and where the last one's end.
    pub(crate) part_offsets: Vec<u32>,
}

impl Tasks {
    /// Cuts `lists` so that no task is much longer than the average of at least `wanted` tasks.
    pub(crate) fn new(lists: &Lists, wanted: usize) -> Self {
        let average = lists.entries.len() / wanted.max(lists.len()).max(1);
        let limit = (2 * average).max(MIN_LIMIT);
        let mut tasks = Self::default();
        tasks.whole.reserve_exact(lists.len());
        for list in 0..lists.len() {
            let range = lists.range(list);
            let (start, len) = (range.start as u32, range.len() as u32);
            if range.len() <= limit {
                tasks.whole.push(Task {
                    start,
                    step: 1,
                    len,
                });
                continue;
            }
            tasks.whole.push(Task::default());
            tasks.long.push(list as u32);
            tasks.part_offsets.push(tasks.parts.len() as u32);
            tasks.cut(start, len, range.len().div_ceil(limit) as u32);
        }
        tasks.part_offsets.push(tasks.parts.len() as u32);
        tasks
    }

    /// Cuts a list into `parts` interleaved tasks: neighbouring tasks then read neighbouring entries in each step.
    fn cut(&mut self, start: u32, len: u32, parts: u32) {
        self.parts.extend((0..parts).map(|part| Task {
            start: start + part,
            step: parts,
            len: (len - part).div_ceil(parts),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_cover_each_entry_once() {
        let lengths = [0u32, 1, 16, 17, 0, 1000, 3, 33, 0];
        let mut lists = Lists {
            entries: Vec::new(),
            offsets: vec![0],
        };
        for len in lengths {
            lists.entries.resize(lists.entries.len() + len as usize, 0);
            lists.offsets.push(lists.entries.len() as u32);
        }
        for wanted in [1, 64, 4096] {
            let tasks = Tasks::new(&lists, wanted);
            let mut seen = vec![0; lists.entries.len()];
            for task in tasks.whole.iter().chain(&tasks.parts) {
                (0..task.len).for_each(|k| seen[task.entry(k)] += 1);
            }
            assert!(seen.iter().all(|&times| times == 1), "wanted {wanted}");
            assert_eq!(tasks.whole.len(), lists.len());
            for (i, &list) in tasks.long.iter().enumerate() {
                let parts = tasks.part_offsets[i] as usize..tasks.part_offsets[i + 1] as usize;
                let sum: u32 = tasks.parts[parts].iter().map(|part| part.len).sum();
                assert_eq!(sum, lengths[list as usize]);
            }
        }
    }
}
