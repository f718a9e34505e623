#![doc = include_str!("reps.md")]

use super::acknowledgement::Feedback;
use super::{Packet, Scheme};
use crate::{Env, capability, random_below};

/// Entropy values remembered.
const REMEMBERED: u8 = 8;

/// Entropy values whose packets arrived unmarked are used once more each.
pub struct Reps;

/// How many paths to tell apart, and what follows a timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Entropy values there are, at most 65,536.
    pub entropies: u32,
    /// After a timeout, only remembered values are used for this long, in nanoseconds.
    pub freeze_ns: u64,
    /// Packets with random values after that.
    pub explored: u16,
}

impl Parameters {
    /// 64 values, 10 ms, 16 packets.
    pub const DEFAULT: Self = Self { entropies: 64, freeze_ns: 10_000_000, explored: 16 };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// A ring, written at `head`.
    ring: [u16; REMEMBERED as usize],
    head: u8,
    /// Places of the ring written so far.
    known: u8,
    /// Of the values before `head`, those not used again yet.
    fresh: u8,
    /// Place of the ring whose turn it is while frozen.
    turn: u8,
    /// Packets still to be sent with random values.
    exploring: u16,
    /// Zero unless frozen.
    frozen_until_ns: u64,
}

impl State {
    #[inline]
    fn at(&self, place: u8) -> u16 {
        self.ring.get(usize::from(place % REMEMBERED)).copied().unwrap_or(0)
    }

    fn remember(&mut self, entropy: u16) {
        if let Some(place) = self.ring.get_mut(usize::from(self.head)) {
            *place = entropy;
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

impl Scheme for Reps {
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
        if matches!(feedback, Feedback::TimedOut { .. }) && state.frozen_until_ns == 0 && state.exploring == 0
        {
            state.frozen_until_ns = now_ns.saturating_add(plan.freeze_ns).max(1);
        }
        state.thaw(plan.explored, now_ns);
        if let Some(entropy) = feedback.good() {
            state.remember(entropy);
        }
    }
}
