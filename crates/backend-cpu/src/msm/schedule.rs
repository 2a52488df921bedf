//! Which points each step of a batch adds to which sums.

use super::tasks::Task;

/// The entries of a batch's tasks, step after step, the longest task first: those of a step lie side by side, and the
/// tasks that have one come before those that have none.
#[derive(Default)]
pub(crate) struct Schedule {
    /// For each position, the place of its task in the batch.
    places: Vec<u32>,
    /// Where each step's entries start, and where the last one's end.
    starts: Vec<usize>,
    entries: Vec<u32>,
}

impl Schedule {
    /// Lays out the entries of `tasks`.
    pub(crate) fn fill(&mut self, tasks: &[Task], entries: &[u32]) {
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
        self.starts.clear();
        self.starts.push(0);
        let mut total = 0;
        for &longer in &positions[..longest] {
            total += longer as usize;
            self.starts.push(total);
        }
        self.entries.clear();
        self.entries.resize(total, 0);
        self.places.clear();
        self.places.resize(tasks.len(), 0);
        for (place, task) in (0..).zip(tasks) {
            let position = positions[task.len as usize];
            positions[task.len as usize] += 1;
            self.places[position as usize] = place;
            for (step, start) in (0..task.len).zip(&self.starts) {
                self.entries[start + position as usize] = entries[task.entry(step)];
            }
        }
    }

    /// The places of the batch's tasks, in the order of the positions.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Number of steps: the length of the longest task.
    pub(crate) fn steps(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The entries of a step; none past the last.
    fn step(&self, step: usize) -> &[u32] {
        match (self.starts.get(step), self.starts.get(step + 1)) {
            (Some(&start), Some(&end)) => &self.entries[start..end],
            _ => &[],
        }
    }

    /// The number of tasks that have an entry in a step.
    pub(crate) fn active(&self, step: usize) -> usize {
        self.step(step).len()
    }

    /// The entries of row `row` of `lanes` positions in a step: fewer, or none, where tasks have ended.
    #[inline(always)]
    pub(crate) fn row(&self, lanes: usize, row: usize, step: usize) -> &[u32] {
        let rest = self.step(step).get(row * lanes..).unwrap_or_default();
        &rest[..lanes.min(rest.len())]
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
            schedule.fill(&tasks, &entries);
            assert_eq!(schedule.places(), [2, 0, 3, 1]);
            let steps: Vec<&[u32]> = (0..6).map(|step| schedule.step(step)).collect();
            assert_eq!(
                steps,
                [&[110, 100, 150][..], &[113, 101, 151], &[116], &[119], &[], &[]]
            );
            assert_eq!(schedule.steps(), 4);
            assert_eq!(schedule.row(2, 0, 1), [113, 101]);
            assert_eq!(schedule.row(2, 1, 1), [151]);
            assert_eq!(schedule.row(2, 2, 1), []);
        }
        schedule.fill(&[], &entries);
        assert_eq!((schedule.steps(), schedule.active(0)), (0, 0));
    }
}
