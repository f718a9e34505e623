//! Barriers: flows that wait for all flows of a job.

use anabranch_traffic::{FlowSource, Start};
use std::collections::BTreeMap;

/// A job that flows wait for.
#[derive(Debug, Default)]
struct Job {
    /// Flows that are not delivered.
    left: u32,
    /// Flows that wait, and for how long after the last, in picoseconds.
    waiting: Vec<(u32, u64)>,
}

/// The jobs that flows wait for.
#[derive(Debug, Default)]
pub(crate) struct AwaitedJobs(BTreeMap<u32, Job>);

impl AwaitedJobs {
    pub(crate) fn of(flows: &dyn FlowSource) -> Self {
        let mut jobs: BTreeMap<u32, Job> = BTreeMap::new();
        for (index, flow) in (0..).zip(flows.pass()) {
            if let Start::AfterJob { job, delay_ps } = flow.start {
                jobs.entry(job).or_default().waiting.push((index, delay_ps));
            }
        }
        for job in flows.pass().filter_map(|flow| flow.job) {
            if let Some(job) = jobs.get_mut(&job) {
                job.left += 1;
            }
        }
        Self(jobs)
    }

    /// Whether no flow waits for a job.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Flows that wait for a job, with their delays in picoseconds.
    pub(crate) fn waiting(&self, job: Option<u32>) -> &[(u32, u64)] {
        job.and_then(|job| self.0.get(&job)).map_or(&[], |job| &job.waiting)
    }

    /// A flow of `job` is delivered. Returns the flows that may begin now, with their delays in picoseconds.
    pub(crate) fn delivered(&mut self, job: Option<u32>) -> &[(u32, u64)] {
        let Some(job) = job.and_then(|job| self.0.get_mut(&job)) else { return &[] };
        job.left -= 1;
        if job.left == 0 { &job.waiting } else { &[] }
    }
}
