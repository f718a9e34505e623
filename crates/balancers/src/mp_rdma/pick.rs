//! Decisions of MP-RDMA; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::acknowledgement::{Acknowledged, Feedback};
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability, random_below};

/// Unit of [`Parameters::probe`].
pub const PROBE_UNIT: u32 = 1_000_000;

/// Pick that sends a packet by the virtual path whose acknowledgement let it go.
pub struct MpRdma;

/// Parameters of MP-RDMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Number of virtual paths, at most 65,536.
    pub entropies: u32,
    /// Probability with which a packet tries a new virtual path, in millionths.
    pub probe: u32,
    /// Packets by which an acknowledged one may lie behind the highest so that its path goes on (delta).
    pub reordering: u32,
}

impl Parameters {
    /// Defaults: the 16,384 dynamic ports, one packet in a hundred, 32 packets.
    pub const DEFAULT: Self = Self { entropies: 1 << 14, probe: PROBE_UNIT / 100, reordering: 32 };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Virtual path of the acknowledgement that came last and lets packets go; `None` before the first.
    clock: Option<u16>,
    /// Highest packet that was acknowledged.
    highest: u32,
}

impl Pick for MpRdma {
    const NAME: &'static str = "mp-rdma";
    const NEEDS: u32 = capability::RANDOM | capability::FEEDBACK;
    type Plan = Parameters;
    type State = State;
    type Feedback = Feedback;

    #[inline]
    fn pick<E: Env>(plan: &Parameters, state: &mut State, _packet: &mut Packet, env: &mut E) -> u16 {
        match state.clock {
            Some(path) if plan.probe == 0 || random_below(env, PROBE_UNIT) >= plan.probe => path,
            _ => random_below(env, plan.entropies) as u16,
        }
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State, feedback: &Feedback, env: &mut E) {
        let &Feedback::Acknowledged(Acknowledged { entropy: Some(path), marked, packet, .. }) = feedback
        else {
            if matches!(feedback, Feedback::TimedOut { .. }) {
                state.clock = None;
            }
            return;
        };
        if let Some(packet) = packet {
            if packet.saturating_add(plan.reordering) < state.highest {
                // The path is too slow: nothing follows on it.
                return;
            }
            state.highest = state.highest.max(packet);
        }
        // A mark takes half a packet from the window: every other one lets none go.
        if !marked || random_below(env, 2) == 0 {
            state.clock = Some(path);
        }
    }
}
