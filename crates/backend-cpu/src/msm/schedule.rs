//! Which points each step of a batch adds to which sums.

use cuzk_curve::Wiped;

use super::tasks::Task;

/// The entries of a batch's tasks, step after step, the longest task first: those of a step lie side by side, and the
/// tasks that have one come before those that have none. Each step fills whole rows.
#[derive(Default)]
pub(crate) struct Schedule {
    /// For each position, the place of its task in the batch.
    places: Vec<u32>,
    /// For each step, the number of tasks that have an entry.
    active: Vec<u32>,
    /// Where each step's entries start.
    starts: Vec<u32>,
    /// They tell the scalars, which may be secret.
    entries: Wiped<Vec<u32>>,
}

/// The entries that a step has for a row of positions.
#[derive(Copy, Clone)]
pub(crate) struct Row<'a> {
    /// One for each lane. Those of the lanes that have none are zero.
    pub(crate) entries: &'a [u32],
    /// How many lanes have one: the first ones.
    pub(crate) present: usize,
}

impl Schedule {
    /// Lays out the entries of `tasks` in rows of `lanes`.
    pub(crate) fn fill(&mut self, lanes: usize, tasks: &[Task], entries: &[u32]) {
        let longest = tasks.iter().map(|task| task.len).max().unwrap_or(0) as usize;
        // How many tasks have each length; then how many are longer, which is where those of the length begin.
        let mut positions = vec![0u32; longest + 1];
        for task in tasks {
            positions[task.len as usize] += 1;
        }
        let mut longer = 0;
        for position in positions.iter_mut().rev() {
            longer += std::mem::replace(position, longer);
        }
        // A step has an entry of each task that is longer.
        self.active.clear();
        self.active.extend_from_slice(&positions[..longest]);
        self.starts.clear();
        let mut total = 0;
        for active in &self.active {
            self.starts.push(total);
            total += active.next_multiple_of(lanes as u32);
        }
        if self.entries.capacity() < total as usize {
            self.entries = Wiped::default();
            self.entries.reserve_exact(total as usize);
        }
        self.entries.clear();
        self.entries.resize(total as usize, 0);
        self.places.clear();
        self.places.resize(tasks.len(), 0);
        for (place, task) in (0..).zip(tasks) {
            let position = positions[task.len as usize];
            positions[task.len as usize] += 1;
            self.places[position as usize] = place;
            for (step, start) in (0..task.len).zip(&self.starts) {
                self.entries[(start + position) as usize] = entries[task.entry(step)];
            }
        }
    }

    /// The places of the batch's tasks, in the order of the positions.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Number of steps: the length of the longest task.
    pub(crate) fn steps(&self) -> usize {
        self.active.len()
    }

    /// The number of tasks that have an entry in a step.
    pub(crate) fn active(&self, step: usize) -> usize {
        self.active.get(step).map_or(0, |&active| active as usize)
    }

    /// What a step has for row `row` of `lanes` positions, as many as the entries were laid out in. `None` where no
    /// task goes on.
    #[inline(always)]
    pub(crate) fn row(&self, lanes: usize, row: usize, step: usize) -> Option<Row<'_>> {
        let present = self.active(step).checked_sub(row * lanes)?;
        let start = self.starts.get(step).copied().unwrap_or(0) as usize + row * lanes;
        (present > 0).then(|| Row {
            entries: &self.entries[start..start + lanes],
            present: present.min(lanes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_the_entries_of_the_tasks_that_go_on() {
        let entries: Vec<u32> = (100..200).collect();
        let task = |start, step, len| Task { start, step, len };
        let tasks = [task(0, 1, 2), task(9, 9, 0), task(10, 3, 4), task(50, 1, 2)];
        let mut schedule = Schedule::default();
        for _ in 0..2 {
            schedule.fill(2, &tasks, &entries);
            assert_eq!(schedule.places(), [2, 0, 3, 1]);
            assert_eq!(schedule.steps(), 4);
            let active: Vec<usize> = (0..6).map(|step| schedule.active(step)).collect();
            assert_eq!(active, [3, 3, 1, 1, 0, 0]);
            let row = |row, step| {
                let row = schedule.row(2, row, step)?;
                Some((row.entries.to_vec(), row.present))
            };
            assert_eq!(row(0, 1), Some((vec![113, 101], 2)));
            assert_eq!(row(1, 1), Some((vec![151, 0], 1)));
            assert_eq!(row(2, 1), None);
            assert_eq!(row(0, 3), Some((vec![119, 0], 1)));
            assert_eq!(row(0, 4), None);
        }
        schedule.fill(2, &[], &entries);
        assert_eq!((schedule.steps(), schedule.active(0)), (0, 0));
    }
}
