//! State of one path in Hermes: round trips, marks, losses, and the load sent there from here.

use crate::hermes::pick::{Least, Parameters};
use anabranch_split::Env;
use anabranch_split::picks::dre::Register;

/// Class of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Few marks and a short round trip.
    Good,
    /// Neither good nor congested, or unknown.
    Grey,
    /// Many marks and a long round trip.
    Congested,
}

/// Knowledge of one path that hosts of one rack share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// Average round trip in nanoseconds, and average fraction of marks in units of 1 / [`super::ONE`]; meaningless
    /// before the first sample.
    pub(super) rtt_ns: u32,
    pub(super) marked: u32,
    /// Time of the last sample, in nanoseconds.
    heard_ns: Option<u64>,
    /// Load sent from here.
    pub(super) rate: Register,
    /// Number of flows on the path.
    pub(super) flows: u32,
    /// Packets sent in this interval of losses, those sent again, and the start of the interval.
    sent: u32,
    again: u32,
    counted_ns: u64,
    /// Timeouts towards one destination since it last answered.
    unanswered: u8,
    destination: u32,
    /// Time at which the path was found to have failed.
    failed_ns: Option<u64>,
}

impl Path {
    /// Makes a path without knowledge, with the flows that are on this one.
    pub(super) fn forgotten(&self) -> Self {
        Self { flows: self.flows, ..Self::default() }
    }

    /// Records one round trip, and whether its packet was marked.
    pub(super) fn hear(&mut self, plan: &Parameters, rtt_ns: Option<u32>, marked: bool, now_ns: u64) {
        let fraction = if marked { super::ONE } else { 0 };
        if self.is_known(plan, now_ns) {
            self.rtt_ns = rtt_ns.map_or(self.rtt_ns, |rtt_ns| average(plan, self.rtt_ns, rtt_ns));
            self.marked = average(plan, self.marked, fraction);
        } else if let Some(rtt_ns) = rtt_ns {
            (self.rtt_ns, self.marked) = (rtt_ns, fraction);
        } else {
            return;
        }
        self.heard_ns = Some(now_ns);
    }

    /// Whether there is knowledge that is not too old.
    fn is_known(&self, plan: &Parameters, now_ns: u64) -> bool {
        let too_old = |heard_ns: u64| {
            plan.ageing_ns.is_some_and(|ageing_ns| now_ns.saturating_sub(heard_ns) > ageing_ns)
        };
        self.heard_ns.is_some_and(|heard_ns| !too_old(heard_ns))
    }

    /// Class of the path; `base_ns` is the round trip of an empty path.
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

    /// Load by which paths of one class are compared.
    pub(super) fn load(&mut self, plan: &Parameters, now_ns: u64) -> u64 {
        if plan.by_flows { self.flows.into() } else { self.rate.bytes(&plan.estimator, now_ns) }
    }

    /// Steps of the round trip that a grey path has; a path of which nothing is known comes first.
    fn steps(&self, plan: &Parameters, now_ns: u64) -> u64 {
        match plan.rtt_step_ns {
            Some(step_ns) if self.is_known(plan, now_ns) => u64::from(self.rtt_ns) / step_ns.max(1),
            _ => 0,
        }
    }

    /// Records a packet that goes there. A path that is not congested has failed if too many packets were sent again in
    /// an interval: a switch drops at random.
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

    /// Records that a packet that went there is sent again.
    pub(super) fn lose(&mut self) {
        self.again = self.again.saturating_add(1);
    }

    /// Records that `destination` acknowledged a packet that went there.
    pub(super) fn answer(&mut self, destination: u32) {
        if self.destination == destination {
            self.unanswered = 0;
        }
    }

    /// Records a timeout of a flow to `destination` without any acknowledgement on this path. After enough of them in a
    /// row the path has failed: a switch drops everything that goes there.
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

    /// Whether the path must be avoided.
    #[must_use]
    pub fn has_failed(&self, plan: &Parameters, now_ns: u64) -> bool {
        let forgiven =
            |at_ns: u64| plan.forgive_ns.is_some_and(|after_ns| now_ns.saturating_sub(at_ns) >= after_ns);
        self.failed_ns.is_some_and(|at_ns| !forgiven(at_ns))
    }
}

fn average(plan: &Parameters, old: u32, new: u32) -> u32 {
    let weight = plan.sample_weight.min(super::ONE);
    let sum = u64::from(old) * u64::from(super::ONE - weight) + u64::from(new) * u64::from(weight);
    (sum / u64::from(super::ONE)) as u32
}

/// Picks a path for a flow that needs one: the good path with least load, else such a grey one, else a random one that
/// has not failed, else a random one that lives.
pub(super) fn pick_path<E: Env>(plan: &Parameters, paths: &mut [Path], base_ns: u64, env: &mut E) -> u16 {
    let now_ns = env.now_ns();
    let mut good = Least::default();
    let mut grey = Least::default();
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
            Class::Grey => grey.offer(member, (path.steps(plan, now_ns), load), env),
            Class::Congested => {}
        }
    }
    let by_class = good.member().or(grey.member());
    by_class.or(working.member()).or(living.member()).unwrap_or(0)
}

/// Picks a path for a flow on the congested path `from`: the good path with least load that is notably better, else
/// such a grey one.
pub(super) fn replace<E: Env>(
    plan: &Parameters,
    paths: &mut [Path],
    from: u16,
    base_ns: u64,
    env: &mut E,
) -> Option<u16> {
    let now_ns = env.now_ns();
    let here = *paths.get(usize::from(from))?;
    let mut good = Least::default();
    let mut grey = Least::default();
    for (member, path) in (0u16..).zip(paths) {
        if member == from || !env.up(member) || path.has_failed(plan, now_ns) {
            continue;
        }
        let better = path.is_notably_better(&here, plan, now_ns);
        let load = path.load(plan, now_ns);
        match path.class(plan, base_ns, now_ns) {
            Class::Good if better || plan.any_good => good.offer(member, load, env),
            Class::Grey if better => grey.offer(member, (path.steps(plan, now_ns), load), env),
            _ => {}
        }
    }
    good.member().or(grey.member())
}
