//! Flows of a run: passes over them, any number of times, without a list of them all.

use crate::{Flow, Start};

/// Flows by number. Every pass yields the same.
pub trait FlowSource: Sync {
    /// What is known of all flows together.
    fn outline(&self) -> Outline;

    /// The flows, in the order of their numbers.
    fn pass(&self) -> Box<dyn Iterator<Item = Flow> + '_>;
}

/// What is known of all flows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Number of flows.
    pub flows: u64,
    /// Whether all begin at a time, and in the order of their numbers: none waits for another.
    pub in_order: bool,
    /// Whether any is pinned to a path.
    pub pinned: bool,
    /// Number of jobs: one more than the largest of a flow, or 0.
    pub jobs: u64,
    /// First and last start of the flows that begin at a time, in picoseconds.
    pub starts_ps: Option<(u64, u64)>,
}

impl Outline {
    /// Nothing.
    pub const NONE: Self = Self { flows: 0, in_order: true, pinned: false, jobs: 0, starts_ps: None };

    /// Outline of flows in the order of their numbers.
    #[must_use]
    pub fn of(flows: impl IntoIterator<Item = Flow>) -> Self {
        let mut outline = Self::NONE;
        flows.into_iter().for_each(|flow| outline.add(&flow));
        outline
    }

    /// Both together, jobs of the second after those of the first; in order if flows are merged by their starts.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        let starts_ps = match (self.starts_ps, other.starts_ps) {
            (Some((first, last)), Some((other_first, other_last))) => {
                Some((first.min(other_first), last.max(other_last)))
            }
            (one, other) => one.or(other),
        };
        Self {
            flows: self.flows + other.flows,
            in_order: self.in_order && other.in_order,
            pinned: self.pinned || other.pinned,
            jobs: self.jobs + other.jobs,
            starts_ps,
        }
    }

    /// Adds the next flow.
    fn add(&mut self, flow: &Flow) {
        self.flows += 1;
        self.pinned |= flow.path.is_some();
        self.jobs = self.jobs.max(flow.job.map_or(0, |job| u64::from(job) + 1));
        let Start::At(at_ps) = flow.start else {
            self.in_order = false;
            return;
        };
        let (first_ps, last_ps) = self.starts_ps.unwrap_or((at_ps, at_ps));
        self.in_order &= at_ps >= last_ps;
        self.starts_ps = Some((first_ps.min(at_ps), last_ps.max(at_ps)));
    }

    /// Time from the first start to the last, in picoseconds; `None` if all flows with a start time begin at once.
    #[must_use]
    pub fn arrival_window_ps(&self) -> Option<u64> {
        let (first_ps, last_ps) = self.starts_ps?;
        (last_ps > first_ps).then_some(last_ps - first_ps)
    }
}

impl FlowSource for [Flow] {
    fn outline(&self) -> Outline {
        Outline::of(self.iter().copied())
    }

    fn pass(&self) -> Box<dyn Iterator<Item = Flow> + '_> {
        Box::new(self.iter().copied())
    }
}

impl<const N: usize> FlowSource for [Flow; N] {
    fn outline(&self) -> Outline {
        self[..].outline()
    }

    fn pass(&self) -> Box<dyn Iterator<Item = Flow> + '_> {
        self[..].pass()
    }
}

impl FlowSource for Vec<Flow> {
    fn outline(&self) -> Outline {
        self[..].outline()
    }

    fn pass(&self) -> Box<dyn Iterator<Item = Flow> + '_> {
        self[..].pass()
    }
}

impl<S: FlowSource + ?Sized> FlowSource for &S {
    fn outline(&self) -> Outline {
        (**self).outline()
    }

    fn pass(&self) -> Box<dyn Iterator<Item = Flow> + '_> {
        (**self).pass()
    }
}
