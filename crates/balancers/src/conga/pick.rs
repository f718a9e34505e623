//! Decisions of CONGA; its rule and where it differs from the paper stand on `page.md`.

use crate::conga::tag::{Item, Tag};
use anabranch_split::picks::dre::{Estimator, Register};
use anabranch_split::picks::{Flows, Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;

/// The leaf's half of CONGA; a member is an uplink of the leaf. `U` holds a number per uplink, `D` a register per
/// uplink, `T` a metric per leaf and uplink, `R` a byte per leaf.
pub struct Conga<U, D, T, R, M>(PhantomData<(U, D, T, R, M)>);

/// Parameters of CONGA.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Time between two losses of the registers, in nanoseconds.
    pub period_ns: u64,
    /// Fraction that registers lose each time, at least 1/32.
    pub alpha: f64,
    /// Bits of a level (Q), 1 to 7.
    pub level_bits: u8,
    /// Whether a link is measured by its own rate; if not, by that of the fastest link between switches.
    pub own_rates: bool,
    /// Longest pause within a flowlet, in nanoseconds.
    pub gap_ns: u64,
    /// Age at which a metric counts as zero, in nanoseconds.
    pub age_ns: u64,
    /// Number of uplinks that are compared for a new flowlet, consecutive ones from a random one on; all of them if
    /// zero.
    pub candidates: u16,
    /// Whether they go on from the last uplink to the first.
    pub wrap: bool,
    /// Whether packets without payload take no part.
    pub data_only: bool,
}

impl Default for Parameters {
    /// Defaults: registers look back over 150 us, near the 160 us of the paper; 3 bits, 500 us and 10 ms as in the
    /// paper.
    fn default() -> Self {
        Self {
            period_ns: 30_000,
            alpha: 0.2,
            level_bits: 3,
            own_rates: true,
            gap_ns: 500_000,
            age_ns: 10_000_000,
            candidates: 0,
            wrap: true,
            data_only: false,
        }
    }
}

impl Parameters {
    /// Estimator by which links are measured.
    #[must_use]
    pub const fn estimator(&self) -> Estimator {
        Estimator {
            period_ns: self.period_ns,
            alpha: Estimator::alpha(self.alpha),
            level_bits: self.level_bits,
        }
    }
}

/// Plan of a leaf.
#[derive(Clone, Debug)]
pub struct Plan<U> {
    /// Estimator by which links are measured.
    pub estimator: Estimator,
    /// Value of each uplink's register when the link is fully busy: [`Estimator::full_bytes`].
    pub full_bytes: U,
    /// Number of uplinks of the leaf that has most: the length of a row of metrics.
    pub row: u16,
    /// Longest pause within a flowlet: [`Parameters::gap_ns`].
    pub gap_ns: u64,
    /// Age of metrics: [`Parameters::age_ns`].
    pub age_ns: u64,
    /// Number of uplinks that are compared: [`Parameters::candidates`].
    pub candidates: u16,
    /// Whether they go on from the last to the first: [`Parameters::wrap`].
    pub wrap: bool,
}

/// Metric of one path between two leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metric {
    level: u8,
    known: bool,
    /// Whether it changed since it was last sent.
    changed: bool,
    heard_ns: u64,
}

impl Metric {
    #[inline(always)]
    fn is_fresh(&self, age_ns: u64, now_ns: u64) -> bool {
        self.known && now_ns.saturating_sub(self.heard_ns) <= age_ns
    }

    #[inline(always)]
    fn hear(&mut self, level: u8, now_ns: u64) {
        self.changed |= !self.known || self.level != level;
        *self = Self { level, known: true, heard_ns: now_ns, ..*self };
    }
}

/// State of a leaf. Rows of metrics are indexed by leaf, then uplink.
#[derive(Clone, Debug, Default)]
pub struct State<D, T, R, M> {
    /// Load of each uplink.
    pub registers: D,
    /// Metrics of the paths to other leaves, by own uplink (Congestion-To-Leaf).
    pub to_leaf: T,
    /// Metrics of the paths from other leaves, by their uplink (Congestion-From-Leaf).
    pub from_leaf: T,
    /// Next metric in the rotation of feedback to each leaf.
    pub turns: R,
    /// Uplink and time of the last packet of each flow.
    pub flowlets: M,
}

/// Packet that arrives at its destination leaf.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Leaf that the packet comes from.
    pub leaf: u32,
    /// Header in its [`Packet::tag`].
    pub tag: u32,
}

/// Number of table entries that are searched for forgotten flows with each new flowlet.
const SWEPT_PER_FLOWLET: usize = 8;

/// Row of a leaf; empty if the leaf has none.
#[inline(always)]
fn row(metrics: &mut [Metric], leaf: u32, row: u16) -> &mut [Metric] {
    let first = leaf as usize * usize::from(row);
    metrics.get_mut(first..first + usize::from(row)).unwrap_or_default()
}

impl<U, D, T, R, M> Pick for Conga<U, D, T, R, M>
where
    U: AsRef<[u64]>,
    D: AsMut<[Register]>,
    T: AsMut<[Metric]>,
    R: AsMut<[u8]>,
    M: Flows<Note = u64>,
{
    const NAME: &'static str = "conga";
    const NEEDS: u32 = capability::CLOCK | capability::RANDOM | capability::TAG | capability::FEEDBACK;
    type Plan = Plan<U>;
    type State = State<D, T, R, M>;
    type Feedback = Arrived;

    /// Asks the environment which uplinks lead to the packet's leaf, and writes the packet's tag.
    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<U>, state: &mut Self::State, packet: &mut Packet, env: &mut E) -> u16 {
        let Plan { estimator, gap_ns, age_ns, candidates, wrap, .. } = *plan;
        let now_ns = env.now_ns();
        let State { registers, to_leaf, from_leaf, turns, flowlets } = state;
        let metrics = row(to_leaf.as_mut(), packet.destination, plan.row);
        let mut began = false;
        // A flow idle for longer than metrics are believed is a new one, remembered or not.
        let forget_ns = gap_ns.max(age_ns);
        let uplink = flowlets.upsert(packet.flow, |known| {
            let idle = |last_ns| now_ns.saturating_sub(last_ns);
            let old = known.filter(|&(uplink, last)| idle(last) <= forget_ns && env.up(uplink));
            if let Some((uplink, last_ns)) = old
                && idle(last_ns) <= gap_ns
            {
                return (uplink, now_ns);
            }
            began = true;
            let level = |uplink: usize| {
                let local = match (registers.as_mut().get_mut(uplink), plan.full_bytes.as_ref().get(uplink)) {
                    (Some(register), Some(&full)) => register.level(&estimator, full, now_ns),
                    _ => return None,
                };
                let remote = metrics.get(uplink).filter(|metric| metric.is_fresh(age_ns, now_ns));
                Some(local.max(remote.map_or(0, |metric| metric.level)))
            };
            let uplinks = plan.full_bytes.as_ref().len() as u16;
            (least(level, uplinks, (candidates, wrap), old.map(|(uplink, _)| uplink), env), now_ns)
        });
        if began {
            flowlets.sweep(
                SWEPT_PER_FLOWLET,
                |_, &last_ns| now_ns.saturating_sub(last_ns) > forget_ns,
                |_| (),
            );
        }
        let heard = row(from_leaf.as_mut(), packet.destination, plan.row);
        let feedback = turns
            .as_mut()
            .get_mut(packet.destination as usize)
            .and_then(|turn| next_feedback(heard, turn, age_ns, now_ns));
        packet.tag = Tag { uplink: uplink as u8, level: 0, feedback }.pack();
        uplink
    }

    #[inline(always)]
    fn depart<E: Env>(
        plan: &Plan<U>,
        state: &mut Self::State,
        member: u16,
        packet: &mut Packet,
        env: &mut E,
    ) {
        if let Some(register) = state.registers.as_mut().get_mut(usize::from(member)) {
            register.add(&plan.estimator, packet.bytes, env.now_ns());
        }
    }

    #[inline(always)]
    fn learn<E: Env>(plan: &Plan<U>, state: &mut Self::State, arrived: &Arrived, env: &mut E) {
        let Some(Tag { uplink, level, feedback }) = Tag::unpack(arrived.tag) else { return };
        let now_ns = env.now_ns();
        let from = row(state.from_leaf.as_mut(), arrived.leaf, plan.row);
        if let Some(metric) = from.get_mut(usize::from(uplink)) {
            metric.hear(level, now_ns);
        }
        let to = row(state.to_leaf.as_mut(), arrived.leaf, plan.row);
        if let Some(item) = feedback
            && let Some(metric) = to.get_mut(usize::from(item.uplink))
        {
            metric.hear(item.level, now_ns);
        }
    }

    fn port_changed<E: Env>(_: &Plan<U>, state: &mut Self::State, member: u16, up: bool, _env: &mut E) {
        if !up {
            state.flowlets.purge(member);
        }
    }
}

/// Finds the living uplink of least level: the old one if it is among them, else one of them at random.
#[inline(always)]
fn least<E: Env>(
    mut level: impl FnMut(usize) -> Option<u8>,
    uplinks: u16,
    (candidates, wrap): (u16, bool),
    old: Option<u16>,
    env: &mut E,
) -> u16 {
    let all = candidates == 0 || candidates >= uplinks;
    let firsts = if wrap { uplinks } else { uplinks.saturating_sub(candidates) + 1 };
    let first = if all { 0 } else { random_below(env, firsts.into()) as u16 };
    let (mut best, mut lowest, mut alike, mut seen) = (0, u8::MAX, 0, 0);
    for step in 0..uplinks {
        let uplink = ((u32::from(first) + u32::from(step)) % u32::from(uplinks.max(1))) as u16;
        if !env.up(uplink) {
            continue;
        }
        let Some(level) = level(uplink.into()) else { continue };
        if level < lowest || alike == 0 {
            (best, lowest, alike) = (uplink, level, 1);
        } else if level == lowest && old != Some(best) {
            // The n-th of them replaces the one that is held with probability 1/n: each is as likely in the
            // end.
            alike += 1;
            if old == Some(uplink) || random_below(env, alike) == 0 {
                best = uplink;
            }
        }
        seen += 1;
        if !all && seen == candidates {
            break;
        }
    }
    best
}

/// Next item to feed back, in rotation: changed metrics before unchanged ones.
#[inline(always)]
fn next_feedback(heard: &mut [Metric], turn: &mut u8, age_ns: u64, now_ns: u64) -> Option<Item> {
    let rotated = |step: usize| (usize::from(*turn) + step) % heard.len().max(1);
    let fresh = |&at: &usize| heard.get(at).is_some_and(|metric| metric.is_fresh(age_ns, now_ns));
    let changed = |&at: &usize| heard.get(at).is_some_and(|metric| metric.changed);
    let order = || (0..heard.len()).map(rotated).filter(fresh);
    let at = order().find(changed).or_else(|| order().next())?;
    *turn = ((at + 1) % heard.len().max(1)) as u8;
    let metric = heard.get_mut(at)?;
    metric.changed = false;
    Some(Item { uplink: at as u8, level: metric.level })
}
