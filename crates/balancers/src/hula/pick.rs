//! Decisions of HULA; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::{Flowlet, Packet, Pick, Units, uniform};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;

/// Flowlets that each take the current best hop; `B` holds a [`Best`] per leaf.
pub type Hula<B, M> = Units<Flowlet, BestHop<B>, M>;

/// Pick of the best known hop.
pub struct BestHop<B>(PhantomData<B>);

/// Parameters of HULA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Longest pause within a flowlet, in nanoseconds.
    pub gap_ns: u64,
    /// Time between two probes of a leaf, in nanoseconds.
    pub period_ns: u64,
    /// Frame of a probe, in bytes.
    pub probe_bytes: u16,
    /// Time over which a link's utilisation looks back, in nanoseconds, below 2^32.
    pub tau_ns: u64,
    /// Age at which the best hop expires, in nanoseconds.
    pub keep_ns: u64,
}

impl Default for Parameters {
    /// Defaults: twice the period and three times it, where the paper says "at least twice" and "a few".
    fn default() -> Self {
        let period_ns = 200_000;
        Self { gap_ns: 100_000, period_ns, probe_bytes: 64, tau_ns: 2 * period_ns, keep_ns: 3 * period_ns }
    }
}

impl Parameters {
    /// Share of a link's rate that probes take, one from each of `leaves` in each period: preamble and gap not counted.
    #[must_use]
    pub fn overhead(&self, leaves: u32, rate_bps: u64) -> f64 {
        let bits = f64::from(self.probe_bytes) * 8.0 * f64::from(leaves);
        bits * 1e9 / (self.period_ns as f64 * rate_bps as f64)
    }
}

/// Members of a switch, and the age of their news.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of members.
    pub members: u16,
    /// Age at which the best hop expires: [`Parameters::keep_ns`].
    pub keep_ns: u64,
}

/// Best hop towards one leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Best {
    member: u16,
    utilisation: u16,
    known: bool,
    heard_ns: u64,
}

impl Best {
    #[inline(always)]
    fn is_fresh(&self, keep_ns: u64, now_ns: u64) -> bool {
        self.known && now_ns.saturating_sub(self.heard_ns) <= keep_ns
    }
}

/// Probe that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Leaf that sent it.
    pub leaf: u32,
    /// Member it came in by: data towards the leaf would leave there.
    pub member: u16,
    /// Highest utilisation on the path from here to the leaf, this member's link included.
    pub utilisation: u16,
}

/// Records a probe; returns whether its path is now the best, so that neighbours are to be notified.
#[inline(always)]
pub fn hear(best: &mut [Best], probe: &Probe, keep_ns: u64, now_ns: u64) -> bool {
    let Some(best) = best.get_mut(probe.leaf as usize) else { return false };
    let Probe { member, utilisation, .. } = *probe;
    // Worse news of the best hop counts too, or it would stay best on what it once was.
    let better = utilisation < best.utilisation || member == best.member;
    let taken = better || !best.is_fresh(keep_ns, now_ns);
    if taken {
        *best = Best { member, utilisation, known: true, heard_ns: now_ns };
    }
    taken
}

impl<B: AsRef<[Best]> + AsMut<[Best]>> Pick for BestHop<B> {
    const NAME: &'static str = "hula";
    const NEEDS: u32 = capability::CLOCK | capability::PROBE;
    type Plan = Plan;
    type State = B;
    type Feedback = Probe;

    /// Picks by hash among the members that are up if no probe has arrived.
    #[inline(always)]
    fn pick<E: Env>(plan: &Plan, state: &mut B, packet: &mut Packet, env: &mut E) -> u16 {
        let now_ns = env.now_ns();
        if let Some(best) = state.as_ref().get(packet.destination as usize)
            && best.is_fresh(plan.keep_ns, now_ns)
            && env.up(best.member)
        {
            return best.member;
        }
        let living = (0..plan.members).filter(|&member| env.up(member)).count();
        let wanted = uniform::index(packet.hash(), living);
        (0..plan.members).filter(|&member| env.up(member)).nth(wanted).unwrap_or(0)
    }

    fn learn<E: Env>(plan: &Plan, state: &mut B, probe: &Probe, env: &mut E) {
        hear(state.as_mut(), probe, plan.keep_ns, env.now_ns());
    }

    fn port_changed<E: Env>(_: &Plan, state: &mut B, member: u16, up: bool, _env: &mut E) {
        if !up {
            state
                .as_mut()
                .iter_mut()
                .filter(|best| best.member == member)
                .for_each(|best| best.known = false);
        }
    }
}
