//! What Hermes senses of one path: round trips, marks, losses, and how much goes there from here.

use super::{Least, Parameters};
use crate::Env;
use crate::scheme::dre::Register;

/// What a path is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Few marks and a short round trip.
    Good,
    /// Neither, or nothing is known.
    Grey,
    /// Many marks and a long round trip.
    Congested,
}

/// What is known of one path, as far as hosts of one rack told each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// Average round trip in nanoseconds, and average fraction of marks in units of 1 / [`super::ONE`]; of no meaning before
    /// anything was heard.
    pub(super) rtt_ns: u32,
    pub(super) marked: u32,
    /// When something was last heard, in nanoseconds.
    heard_ns: Option<u64>,
    /// Bytes sent from here.
    pub(super) rate: Register,
    /// Flows that are on it.
    pub(super) flows: u32,
    /// Packets sent in this interval of losses, those sent again, and when it began.
    sent: u32,
    again: u32,
    counted_ns: u64,
    /// Timeouts towards one destination since it last answered.
    unanswered: u8,
    destination: u32,
    /// When it was found to have failed.
    failed_ns: Option<u64>,
}

/// Weight of a new sample in the averages, as a power of one half.
const AVERAGE_SHIFT: u32 = 3;

impl Path {
    /// A path of which nothing is known, with the flows that are on this.
    pub(super) fn forgotten(&self) -> Self {
        Self { flows: self.flows, ..Self::default() }
    }

    /// One round trip, and whether its packet was marked.
    pub(super) fn hear(&mut self, plan: &Parameters, rtt_ns: Option<u32>, marked: bool, now_ns: u64) {
        let fraction = if marked { super::ONE } else { 0 };
        if self.is_known(plan, now_ns) {
            self.rtt_ns = rtt_ns.map_or(self.rtt_ns, |rtt_ns| average(self.rtt_ns, rtt_ns));
            self.marked = average(self.marked, fraction);
        } else if let Some(rtt_ns) = rtt_ns {
            (self.rtt_ns, self.marked) = (rtt_ns, fraction);
        } else {
            return;
        }
        self.heard_ns = Some(now_ns);
    }

    /// Whether anything is known that is not too old.
    fn is_known(&self, plan: &Parameters, now_ns: u64) -> bool {
        let too_old = |heard_ns: u64| {
            plan.ageing_ns.is_some_and(|ageing_ns| now_ns.saturating_sub(heard_ns) > ageing_ns)
        };
        self.heard_ns.is_some_and(|heard_ns| !too_old(heard_ns))
    }

    /// What it is good for, `base_ns` being the round trip of an empty path.
    pub(super) fn class(&self, plan: &Parameters, base_ns: u64, now_ns: u64) -> Class {
        if !self.is_known(plan, now_ns) {
            return Class::Grey;
        }
        let few_marks = self.marked < plan.marked_high;
        let over_ns = u64::from(self.rtt_ns).saturating_sub(base_ns);
        if over_ns < plan.rtt_low_ns && (few_marks || !plan.by_marks) {
            Class::Good
        } else if over_ns > plan.rtt_high_ns && (!few_marks || !plan.by_marks) {
            Class::Congested
        } else {
            Class::Grey
        }
    }

    /// Whether it is notably better than `other`, which is congested and hence known.
    pub(super) fn is_notably_better(&self, other: &Self, plan: &Parameters, now_ns: u64) -> bool {
        let margin_ns = plan.better_rtt_ns.saturating_add(self.rtt_ns.into());
        let margin_marks = self.marked.saturating_add(plan.better_marked);
        self.is_known(plan, now_ns)
            && u64::from(other.rtt_ns) > margin_ns
            && (other.marked > margin_marks || !plan.by_marks)
    }

    /// What is compared between paths of one class.
    pub(super) fn load(&mut self, plan: &Parameters, now_ns: u64) -> u64 {
        if plan.by_flows { self.flows.into() } else { self.rate.bytes(&plan.estimator, now_ns) }
    }

    /// A packet goes there. At the end of an interval in which too many were sent again although the path is not congested,
    /// it has failed: a switch drops at random.
    pub(super) fn send(&mut self, plan: &Parameters, bytes: u32, base_ns: u64, now_ns: u64) {
        self.rate.add(&plan.estimator, bytes, now_ns);
        self.sent = self.sent.saturating_add(1);
        if now_ns.saturating_sub(self.counted_ns) < plan.loss_interval_ns {
            return;
        }
        let too_many = u64::from(self.again) * u64::from(super::ONE)
            > u64::from(self.sent) * u64::from(plan.loss_high)
            && self.sent >= plan.loss_packets_min;
        if too_many && self.class(plan, base_ns, now_ns) != Class::Congested {
            self.failed_ns = Some(now_ns);
        }
        (self.sent, self.again, self.counted_ns) = (0, 0, now_ns);
    }

    /// A packet that went there is sent again.
    pub(super) fn lose(&mut self) {
        self.again = self.again.saturating_add(1);
    }

    /// Something that went there was acknowledged by `destination`.
    pub(super) fn answer(&mut self, destination: u32) {
        if self.destination == destination {
            self.unanswered = 0;
        }
    }

    /// A flow to `destination` timed out of which nothing was acknowledged here. Often enough in a row, the path has failed:
    /// a switch drops all that goes there.
    pub(super) fn time_out(&mut self, plan: &Parameters, destination: u32, now_ns: u64) {
        if self.destination != destination {
            self.unanswered = 0;
        }
        self.destination = destination;
        self.unanswered = self.unanswered.saturating_add(1);
        if self.unanswered >= plan.timeouts_max {
            self.failed_ns = Some(now_ns);
        }
    }

    /// Whether it is to be avoided altogether.
    #[must_use]
    pub fn has_failed(&self, plan: &Parameters, now_ns: u64) -> bool {
        let forgiven =
            |at_ns: u64| plan.forgive_ns.is_some_and(|after_ns| now_ns.saturating_sub(at_ns) >= after_ns);
        self.failed_ns.is_some_and(|at_ns| !forgiven(at_ns))
    }
}

fn average(old: u32, new: u32) -> u32 {
    let sum = u64::from(old) * ((1 << AVERAGE_SHIFT) - 1) + u64::from(new);
    (sum >> AVERAGE_SHIFT) as u32
}

/// For a flow that needs a path: the good one with least load, else the grey one, else one at random that has not failed,
/// else one at random that lives.
pub(super) fn place<E: Env>(plan: &Parameters, paths: &mut [Path], base_ns: u64, env: &mut E) -> u16 {
    let now_ns = env.now_ns();
    let [mut good, mut grey] = [Least::default(); 2];
    let [mut working, mut living] = [Least::default(); 2];
    for (member, path) in (0u16..).zip(paths) {
        if !env.up(member) {
            continue;
        }
        living.offer(member, (), env);
        if path.has_failed(plan, now_ns) {
            continue;
        }
        working.offer(member, (), env);
        let load = path.load(plan, now_ns);
        match path.class(plan, base_ns, now_ns) {
            Class::Good => good.offer(member, load, env),
            Class::Grey => grey.offer(member, load, env),
            Class::Congested => {}
        }
    }
    let by_class = good.member().or(grey.member());
    by_class.or(working.member()).or(living.member()).unwrap_or(0)
}

/// For a flow on the congested path `from`: the good path with least load that is notably better, else such a grey one.
pub(super) fn replace<E: Env>(
    plan: &Parameters,
    paths: &mut [Path],
    from: u16,
    base_ns: u64,
    env: &mut E,
) -> Option<u16> {
    let now_ns = env.now_ns();
    let here = *paths.get(usize::from(from))?;
    let [mut good, mut grey] = [Least::default(); 2];
    for (member, path) in (0u16..).zip(paths) {
        if member == from || !env.up(member) || path.has_failed(plan, now_ns) {
            continue;
        }
        let better = path.is_notably_better(&here, plan, now_ns);
        let load = path.load(plan, now_ns);
        match path.class(plan, base_ns, now_ns) {
            Class::Good if better || plan.any_good => good.offer(member, load, env),
            Class::Grey if better => grey.offer(member, load, env),
            _ => {}
        }
    }
    good.member().or(grey.member())
}
