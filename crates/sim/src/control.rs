//! Control: what happens to the fabric while it runs, when routing learns of it, and when books are written.

use crate::queue::NEVER_PS;
use crate::{Settings, Window};
use anabranch_fabric::{Change, Fabric, What};

/// A control event. The order decides between those of the same time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Control {
    /// Something happens to the fabric.
    Change(What),
    /// Routing learns of these changes.
    Reroute(Vec<What>),
    /// An interval of port records ends.
    EndInterval,
    /// Backlogs are sampled.
    Sample,
    /// What applications have received so far counts no longer.
    Omit,
}

/// When the next control event comes, and which.
pub(crate) struct Schedule {
    changes: Vec<Change>,
    next_change: usize,
    /// Changes that routing learns, at the times when it learns them, ascending.
    reroutes: Vec<Change>,
    next_reroute: usize,
    routing_delay_ps: u64,
    interval: Periodic,
    sample: Periodic,
    omit_ps: u64,
    /// Times beside its multiples at which an interval ends, the next one last.
    cuts_ps: Vec<u64>,
}

/// Something at every multiple of a period; never if the period is zero.
struct Periodic {
    period_ps: u64,
    next_ps: u64,
}

impl Periodic {
    fn new(period_ps: u64, first_ps: u64) -> Self {
        Self { period_ps, next_ps: if period_ps == 0 { NEVER_PS } else { first_ps } }
    }
}

impl Schedule {
    pub(crate) fn new<B>(settings: &Settings<B>) -> Self {
        let delay_ps = settings.routing_delay_ps;
        let mut changes = settings.changes.clone();
        changes.sort_by_key(|change| change.at_ps);
        let reroutes = changes.iter().filter_map(|change| learned(change, delay_ps)).collect();
        let sample_ps =
            if settings.observe.queue_ports.is_empty() { 0 } else { settings.observe.queue_sample_ps };
        Self {
            changes,
            next_change: 0,
            reroutes,
            next_reroute: 0,
            routing_delay_ps: delay_ps,
            interval: Periodic::new(settings.observe.interval_ps, settings.observe.interval_ps),
            sample: Periodic::new(sample_ps, 0),
            omit_ps: if settings.observe.omit_ps == 0 { NEVER_PS } else { settings.observe.omit_ps },
            cuts_ps: cuts_ps(settings.observe.measure, settings.observe.interval_ps),
        }
    }

    /// Adds a change that is not before the last event, after those of the same time.
    pub(crate) fn add(&mut self, change: Change) {
        let insert = |changes: &mut Vec<Change>, change: Change| {
            let place = changes.partition_point(|other| other.at_ps <= change.at_ps);
            changes.insert(place, change);
        };
        insert(&mut self.changes, change);
        if let Some(learned) = learned(&change, self.routing_delay_ps) {
            insert(&mut self.reroutes, learned);
        }
    }

    fn cut_ps(&self) -> u64 {
        self.cuts_ps.last().copied().unwrap_or(NEVER_PS)
    }

    fn change_ps(&self) -> u64 {
        self.changes.get(self.next_change).map_or(NEVER_PS, |change| change.at_ps)
    }

    fn reroute_ps(&self) -> u64 {
        self.reroutes.get(self.next_reroute).map_or(NEVER_PS, |change| change.at_ps)
    }

    /// Time of the next event; [`NEVER_PS`] if there is none.
    pub(crate) fn next_ps(&self) -> u64 {
        let interval_ps = self.interval.next_ps.min(self.cut_ps());
        let recorded_ps = interval_ps.min(self.sample.next_ps).min(self.omit_ps);
        self.change_ps().min(self.reroute_ps()).min(recorded_ps)
    }

    /// Takes the next event.
    pub(crate) fn take(&mut self) -> Control {
        let at_ps = self.next_ps();
        if self.change_ps() == at_ps {
            self.next_change += 1;
            return Control::Change(self.changes[self.next_change - 1].what);
        }
        if self.reroute_ps() == at_ps {
            let learned =
                self.reroutes[self.next_reroute..].iter().take_while(|change| change.at_ps == at_ps);
            let learned: Vec<What> = learned.map(|change| change.what).collect();
            self.next_reroute += learned.len();
            return Control::Reroute(learned);
        }
        if self.omit_ps == at_ps {
            self.omit_ps = NEVER_PS;
            return Control::Omit;
        }
        if self.cut_ps() == at_ps {
            self.cuts_ps.pop();
            return Control::EndInterval;
        }
        let (periodic, control) = if self.interval.next_ps == at_ps {
            (&mut self.interval, Control::EndInterval)
        } else {
            (&mut self.sample, Control::Sample)
        };
        periodic.next_ps += periodic.period_ps;
        control
    }
}

/// A change at the time when routing learns of it; `None` if it never does.
fn learned(change: &Change, delay_ps: u64) -> Option<Change> {
    let silent = matches!(change.what, What::PortLoss(..) | What::NodeBlackhole(..));
    (!silent).then(|| Change { at_ps: change.at_ps.saturating_add(delay_ps), ..*change })
}

/// Ends of a window at which no interval ends by itself, the first one last.
fn cuts_ps(window: Window, interval_ps: u64) -> Vec<u64> {
    let by_itself = |at_ps: u64| at_ps == 0 || interval_ps != 0 && at_ps.is_multiple_of(interval_ps);
    let ends = [window.to_ps, window.from_ps];
    ends.into_iter().filter(|&at_ps| at_ps != u64::MAX && !by_itself(at_ps)).collect()
}

/// The ports that a change concerns, and what becomes of them.
pub(crate) fn ports_changed(fabric: &Fabric, what: What) -> Vec<u32> {
    match what {
        What::PortDown(port) | What::PortUp(port) | What::PortRate(port, _) | What::PortLoss(port, _) => {
            vec![port]
        }
        What::NodeDown(node) | What::NodeUp(node) => fabric
            .ports_of(node)
            .iter()
            .flat_map(|&port| [port, fabric.ports()[port as usize].reverse])
            .collect(),
        What::NodeBlackhole(..) => Vec::new(),
    }
}
