//! Decisions of Presto; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::{List, Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;

/// Flowcells of a flow ([`Packet::cell`]) that take the paths of a list `L` in turn, from a random one on.
pub struct Presto<L: ?Sized = [u16]>(PhantomData<L>);

impl Presto {
    /// Payload of a flowcell in the public ns-3 implementation that comparisons with Presto used: ten packets of 1,400
    /// bytes. The paper's is [`super::Flowcell::BYTES`].
    pub const CELL_BYTES_AS_PUBLISHED: u32 = 14_000;
}

/// State of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    begun: bool,
    /// Position in the list at which the flow began.
    start: u32,
}

impl<L: List<u16> + ?Sized> Pick for Presto<L> {
    const NAME: &'static str = "presto";
    const NEEDS: u32 = capability::RANDOM;
    /// Paths, each as often as its weight says.
    type Plan = L;
    type State = State;
    type Feedback = ();

    /// Skips a path that is known to be dead, and takes the next of the list that is not.
    #[inline(always)]
    fn pick<E: Env>(list: &L, state: &mut State, packet: &mut Packet, env: &mut E) -> u16 {
        if !state.begun {
            *state = State { begun: true, start: random_below(env, list.len() as u32) };
        }
        let turn = (u64::from(state.start) + u64::from(packet.cell)).checked_rem(list.len() as u64);
        let turn = turn.unwrap_or(0) as usize;
        let own = list.get(turn).copied().unwrap_or(0);
        if env.up(own) { own } else { list.next(turn, |&path| env.up(path)).copied().unwrap_or(own) }
    }
}
