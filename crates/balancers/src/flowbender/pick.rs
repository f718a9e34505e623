//! Decisions of FlowBender; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::acknowledgement::{Feedback, Marked};
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability};

/// Pick that keeps a flow on its path until too many of its bytes come back marked. It picks the number that enters the
/// hash beside the flow's identity (V in the paper), zero at first.
pub struct FlowBender;

/// Conditions for a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Fraction of marked bytes above which a round trip is congested (T), in millionths.
    pub threshold_ppm: u32,
    /// Number of consecutive congested round trips after which the flow moves (N).
    pub rounds: u16,
}

impl Parameters {
    /// Defaults: T = 5 %, N = 1.
    pub const DEFAULT: Self = Self { threshold_ppm: 50_000, rounds: 1 };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    value: u16,
    congested_rounds: u16,
    marked: Marked,
}

impl State {
    fn bend(&mut self) {
        self.value = self.value.wrapping_add(1);
        self.congested_rounds = 0;
    }
}

impl Pick for FlowBender {
    const NAME: &'static str = "flowbender";
    const NEEDS: u32 = capability::FEEDBACK;
    type Plan = Parameters;
    type State = State;
    type Feedback = Feedback;

    #[inline(always)]
    fn pick<E: Env>(_: &Parameters, state: &mut State, _packet: &mut Packet, _env: &mut E) -> u16 {
        state.value
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State, feedback: &Feedback, _env: &mut E) {
        match feedback {
            Feedback::Acknowledged(acknowledged) => {
                let Some(round) = state.marked.count(acknowledged) else { return };
                if !round.above(plan.threshold_ppm, 1_000_000) {
                    state.congested_rounds = 0;
                    return;
                }
                state.congested_rounds = state.congested_rounds.saturating_add(1);
                if state.congested_rounds >= plan.rounds {
                    state.bend();
                }
            }
            Feedback::TimedOut { .. } => {
                state.marked = Marked::default();
                state.bend();
            }
            Feedback::Trimmed { .. } => {}
        }
    }
}
