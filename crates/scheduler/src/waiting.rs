//! Jobs with units whose witness is not started: a fair queue between tenants for each priority.

use std::collections::{BTreeSet, HashMap};

use crate::types::{Instant, JobId, Priority, TenantId};

/// The queues, the most urgent first.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    classes: [FairQueue; 4],
}

/// Start-time fair queueing: each tenant has a tag that grows by what it is charged, and the least goes first. A tenant that
/// comes back is given no credit for its absence.
#[derive(Debug, Default)]
struct FairQueue {
    tenants: HashMap<TenantId, Tenant>,
    /// Tenants with jobs, by tag.
    present: BTreeSet<(u64, TenantId)>,
    /// Tenants without jobs whose tag is ahead of the clock, by tag.
    absent: BTreeSet<(u64, TenantId)>,
    /// The greatest tag that has been served.
    clock: u64,
}

#[derive(Debug, Default)]
struct Tenant {
    tag: u64,
    jobs: BTreeSet<(Instant, JobId)>,
}

impl Waiting {
    pub(crate) fn insert(&mut self, class: Priority, tenant: TenantId, order: (Instant, JobId)) {
        self.classes[class.rank()].insert(tenant, order);
    }

    pub(crate) fn remove(&mut self, class: Priority, tenant: TenantId, order: (Instant, JobId)) {
        self.classes[class.rank()].remove(tenant, order);
    }

    /// The job whose turn it is among the critical, or among the others.
    pub(crate) fn head(&self, critical: bool) -> Option<JobId> {
        let classes = if critical {
            &self.classes[..1]
        } else {
            &self.classes[1..]
        };
        classes.iter().find_map(FairQueue::head)
    }

    /// Makes a tenant of this class pay for a turn.
    pub(crate) fn charge(&mut self, class: Priority, tenant: TenantId, cost: u64) {
        self.classes[class.rank()].charge(tenant, cost);
    }

    /// Makes a tenant's turn cost what it took instead of what was charged.
    pub(crate) fn correct(&mut self, class: Priority, tenant: TenantId, charged: u64, taken: u64) {
        self.classes[class.rank()].correct(tenant, charged, taken);
    }
}

impl FairQueue {
    fn correct(&mut self, id: TenantId, charged: u64, taken: u64) {
        let Some(tenant) = self.tenants.get_mut(&id) else {
            return;
        };
        let before = (tenant.tag, id);
        tenant.tag = tenant.tag.saturating_sub(charged).saturating_add(taken);
        let after = (tenant.tag, id);
        for set in [&mut self.present, &mut self.absent] {
            if set.remove(&before) {
                set.insert(after);
            }
        }
        self.forget_paid();
    }

    fn insert(&mut self, id: TenantId, order: (Instant, JobId)) {
        let tenant = self.tenants.entry(id).or_default();
        if tenant.jobs.is_empty() {
            self.absent.remove(&(tenant.tag, id));
            tenant.tag = tenant.tag.max(self.clock);
            self.present.insert((tenant.tag, id));
        }
        tenant.jobs.insert(order);
    }

    fn remove(&mut self, id: TenantId, order: (Instant, JobId)) {
        let Some(tenant) = self.tenants.get_mut(&id) else {
            return;
        };
        if !tenant.jobs.remove(&order) || !tenant.jobs.is_empty() {
            return;
        }
        self.present.remove(&(tenant.tag, id));
        if tenant.tag > self.clock {
            self.absent.insert((tenant.tag, id));
        } else {
            self.tenants.remove(&id);
        }
    }

    fn head(&self) -> Option<JobId> {
        let (_, id) = self.present.first()?;
        let (_, job) = self.tenants.get(id)?.jobs.first()?;
        Some(*job)
    }

    fn charge(&mut self, id: TenantId, cost: u64) {
        let Some(tenant) = self.tenants.get_mut(&id) else {
            return;
        };
        self.clock = self.clock.max(tenant.tag);
        let present = self.present.remove(&(tenant.tag, id));
        self.absent.remove(&(tenant.tag, id));
        tenant.tag = tenant.tag.saturating_add(cost);
        let set = if present {
            &mut self.present
        } else {
            &mut self.absent
        };
        set.insert((tenant.tag, id));
        self.forget_paid();
    }

    /// Forgets the absent whose tag the clock has passed: they would come back with the clock's.
    fn forget_paid(&mut self) {
        while let Some(&(tag, id)) = self.absent.first() {
            if tag > self.clock {
                break;
            }
            self.absent.pop_first();
            self.tenants.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(job: u64) -> (Instant, JobId) {
        (Instant(job), JobId(job))
    }

    #[test]
    fn tenants_take_turns_whatever_they_have_queued() {
        let mut waiting = Waiting::default();
        for job in 0..10 {
            waiting.insert(Priority::Low, TenantId(1), order(job));
        }
        waiting.insert(Priority::Low, TenantId(2), order(20));
        waiting.insert(Priority::Low, TenantId(2), order(21));
        let mut served = Vec::new();
        for _ in 0..5 {
            let job = waiting.head(false).unwrap();
            let tenant = TenantId(if job.0 < 10 { 1 } else { 2 });
            served.push(job.0);
            waiting.charge(Priority::Low, tenant, 7);
            waiting.remove(Priority::Low, tenant, order(job.0));
        }
        assert_eq!(served, [0, 20, 1, 21, 2]);
    }

    #[test]
    fn who_leaves_and_comes_back_gains_nothing() {
        let mut queue = FairQueue::default();
        queue.insert(TenantId(2), order(1));
        queue.insert(TenantId(3), order(2));
        queue.insert(TenantId(1), order(3));
        for _ in 0..2 {
            // Tenant 1 is served when it is there and leaves; 2 and 3 are owed a turn before it is served again.
            assert_eq!(queue.head(), Some(JobId(3)));
            queue.charge(TenantId(1), 10);
            queue.remove(TenantId(1), order(3));
            queue.insert(TenantId(1), order(3));
            for job in [1, 2] {
                assert_eq!(queue.head(), Some(JobId(job)));
                queue.charge(TenantId(job + 1), 10);
            }
        }
    }

    #[test]
    fn tenants_without_jobs_are_forgotten() {
        let mut queue = FairQueue::default();
        queue.insert(TenantId(0), order(0));
        for tenant in 1..100 {
            queue.insert(TenantId(tenant), order(tenant));
            queue.charge(TenantId(tenant), 5);
            queue.remove(TenantId(tenant), order(tenant));
            queue.charge(TenantId(0), 5);
        }
        assert!(queue.tenants.len() < 4, "{}", queue.tenants.len());
    }
}
