#![doc = include_str!("presto.md")]

use super::{Packet, Scheme};
use crate::{Env, capability, random_below};

/// Flowcells of a flow ([`Packet::cell`]) take the paths of a list in turn, from a random one on.
pub struct Presto;

impl Presto {
    /// Payload of a flowcell in the public ns-3 implementation that comparisons with Presto were made with: ten packets of
    /// 1,400 bytes. The paper's is [`super::Flowcell::BYTES`].
    pub const CELL_BYTES_AS_PUBLISHED: u32 = 14_000;
}

/// One flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    begun: bool,
    /// Where in the list the flow began.
    start: u32,
}

impl Scheme for Presto {
    const NAME: &'static str = "presto";
    const NEEDS: u32 = capability::RANDOM;
    /// Paths, each as often as it weighs.
    type Plan = [u16];
    type State = State;
    type Feedback = ();

    /// A path that is known to be dead is passed over for the next of the list that is not.
    #[inline]
    fn pick<E: Env>(list: &[u16], state: &mut State, packet: &mut Packet, env: &mut E) -> u16 {
        if !state.begun {
            *state = State { begun: true, start: random_below(env, list.len() as u32) };
        }
        let turn =
            (u64::from(state.start) + u64::from(packet.cell)).checked_rem(list.len() as u64).unwrap_or(0);
        let (before, from) = list.split_at_checked(turn as usize).unwrap_or((list, &[]));
        let mut turns = from.iter().chain(before).copied();
        let own = from.first().copied().unwrap_or(0);
        turns.find(|&path| env.up(path)).unwrap_or(own)
    }
}
