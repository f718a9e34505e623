//! Decisions of REPS; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::acknowledgement::Feedback;
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability, random_below};

/// Number of entropy values remembered.
const REMEMBERED: u8 = 8;

/// Pick that uses entropy values whose packets arrived unmarked once more each.
pub struct Reps;

/// Which entropy values are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recycling {
    /// Those whose packets arrived unmarked.
    Unmarked,
    /// Those whose packets arrived (a mutation).
    Arrived,
    /// None (a mutation).
    Never,
}

/// What a timeout does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freezing {
    /// It freezes the flow.
    OnTimeout,
    /// Nothing (a mutation).
    Never,
}

/// Number of paths to distinguish, and the behaviour after a timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Number of entropy values, at most 65,536.
    pub entropies: u32,
    /// Time after a timeout during which only remembered values are used, in nanoseconds.
    pub freeze_ns: u64,
    /// Number of packets with random values after that.
    pub explored: u16,
    /// Values that are used again; others than unmarked ones only as a mutation.
    pub recycling: Recycling,
    /// What a timeout does; nothing only as a mutation.
    pub freezing: Freezing,
}

impl Parameters {
    /// Defaults: 64 values, 10 ms, 16 packets.
    pub const DEFAULT: Self = Self {
        entropies: 64,
        freeze_ns: 10_000_000,
        explored: 16,
        recycling: Recycling::Unmarked,
        freezing: Freezing::OnTimeout,
    };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Ring of values, written at `head`.
    ring: [u16; REMEMBERED as usize],
    head: u8,
    /// Number of ring slots written so far.
    known: u8,
    /// Number of values before `head` that were not used again yet.
    fresh: u8,
    /// Ring slot whose turn it is while frozen.
    turn: u8,
    /// Number of packets still to be sent with random values.
    exploring: u16,
    /// End of the freeze; zero unless frozen.
    frozen_until_ns: u64,
}

impl State {
    #[inline]
    fn at(&self, slot: u8) -> u16 {
        self.ring.get(usize::from(slot % REMEMBERED)).copied().unwrap_or(0)
    }

    fn remember(&mut self, entropy: u16) {
        if let Some(slot) = self.ring.get_mut(usize::from(self.head)) {
            *slot = entropy;
        }
        self.head = (self.head + 1) % REMEMBERED;
        self.known = (self.known + 1).min(REMEMBERED);
        self.fresh = (self.fresh + 1).min(REMEMBERED);
    }

    /// Ends the freeze if it is over.
    #[inline]
    fn thaw(&mut self, explored: u16, now_ns: u64) {
        if self.frozen_until_ns != 0 && now_ns > self.frozen_until_ns {
            *self = Self { exploring: explored, ..Self::default() };
        }
    }
}

impl Pick for Reps {
    const NAME: &'static str = "reps";
    const NEEDS: u32 = capability::RANDOM | capability::CLOCK | capability::FEEDBACK;
    type Plan = Parameters;
    type State = State;
    type Feedback = Feedback;

    #[inline]
    fn pick<E: Env>(plan: &Parameters, state: &mut State, _packet: &mut Packet, env: &mut E) -> u16 {
        state.thaw(plan.explored, env.now_ns());
        if state.exploring > 0 {
            state.exploring -= 1;
        } else if state.frozen_until_ns != 0 && state.known > 0 {
            let value = state.at(state.turn);
            state.turn = (state.turn + 1) % state.known;
            return value;
        } else if state.frozen_until_ns == 0 && state.fresh > 0 {
            let value = state.at(state.head + REMEMBERED - state.fresh);
            state.fresh -= 1;
            return value;
        }
        random_below(env, plan.entropies) as u16
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State, feedback: &Feedback, env: &mut E) {
        let now_ns = env.now_ns();
        if matches!(feedback, Feedback::TimedOut { .. })
            && plan.freezing == Freezing::OnTimeout
            && state.frozen_until_ns == 0
            && state.exploring == 0
        {
            state.frozen_until_ns = now_ns.saturating_add(plan.freeze_ns).max(1);
        }
        state.thaw(plan.explored, now_ns);
        let entropy = match plan.recycling {
            Recycling::Unmarked => feedback.good(),
            Recycling::Arrived => feedback.arrived(),
            Recycling::Never => None,
        };
        if let Some(entropy) = entropy {
            state.remember(entropy);
        }
    }
}
