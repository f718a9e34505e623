//! Decisions of PLB; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::acknowledgement::{Feedback, Marked};
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability, random_below};

/// Pick that moves a flow under sustained congestion, at once or, earlier, when nothing of it is in flight. It picks
/// the flow's label, zero at first.
pub struct Plb;

/// Conditions for a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Fraction of marked bytes from which on a round trip is congested, in 256ths.
    pub threshold_256ths: u32,
    /// Number of consecutive congested round trips after which the flow moves when it is idle; it never moves for that
    /// if zero.
    pub idle_rounds: u16,
    /// Number of consecutive congested round trips after which the flow moves in any case.
    pub rounds: u16,
    /// Shortest time after a timeout during which congestion does not move the flow, in nanoseconds; the longest is
    /// twice that.
    pub suspend_ns: u64,
}

impl Parameters {
    /// Defaults of Linux: 128/256, 3 and 12 round trips, 60 s.
    pub const DEFAULT: Self =
        Self { threshold_256ths: 128, idle_rounds: 3, rounds: 12, suspend_ns: 60_000_000_000 };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    label: u16,
    congested_rounds: u16,
    idle: bool,
    marked: Marked,
    suspended_until_ns: u64,
}

impl State {
    /// Moves the flow if it must and may move.
    fn check<E: Env>(&mut self, plan: &Parameters, env: &mut E) {
        let forced = self.congested_rounds >= plan.rounds;
        let gently = self.idle && plan.idle_rounds > 0 && self.congested_rounds >= plan.idle_rounds;
        if (forced || gently) && env.now_ns() >= self.suspended_until_ns {
            self.repath(env);
        }
    }

    fn repath<E: Env>(&mut self, env: &mut E) {
        self.label = env.random_u32() as u16;
        self.congested_rounds = 0;
    }
}

impl Pick for Plb {
    const NAME: &'static str = "plb";
    const NEEDS: u32 = capability::FEEDBACK | capability::RANDOM | capability::CLOCK;
    type Plan = Parameters;
    type State = State;
    type Feedback = Feedback;

    /// Checks, before it sends, whether a flow that was idle should move.
    #[inline(always)]
    fn pick<E: Env>(plan: &Parameters, state: &mut State, _packet: &mut Packet, env: &mut E) -> u16 {
        if state.idle {
            state.check(plan, env);
            state.idle = false;
        }
        state.label
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State, feedback: &Feedback, env: &mut E) {
        match feedback {
            Feedback::Acknowledged(acknowledged) => {
                state.idle = acknowledged.idle;
                let Some(round) = state.marked.count(acknowledged) else { return };
                if !round.at_least(plan.threshold_256ths, 256) {
                    state.congested_rounds = 0;
                } else if state.congested_rounds < plan.rounds {
                    state.congested_rounds += 1;
                }
                state.check(plan, env);
            }
            Feedback::TimedOut { .. } => {
                let least = plan.suspend_ns.min(u64::MAX / 4);
                // The random part in 2^-16ths of the whole: no clock reads finer.
                let more = (u128::from(least) * u128::from(random_below(env, 1 << 16))) >> 16;
                state.suspended_until_ns = env.now_ns().saturating_add(least).saturating_add(more as u64);
                state.marked = Marked::default();
                state.repath(env);
            }
            Feedback::Trimmed { .. } => {}
        }
    }
}
