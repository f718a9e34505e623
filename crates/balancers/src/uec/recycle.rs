//! Recycled entropy values, first come first served: REPS before it had a ring and a freeze (`reps_legacy` of the
//! public UEC simulator), and `mixed`, which falls back on [`uec::Bitmap`] where REPS draws at random.

use crate::uec::pick as uec;
use anabranch_split::picks::acknowledgement::Feedback;
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;

/// Pick of recycled values: the first packets take all values in turn; later ones take unmarked values in the order of
/// their return, kept in `Q`, or a random one.
pub struct Recycle<Q>(PhantomData<Q>);

/// Pick of unmarked values in the order of their return, kept in `Q`, or else of [`uec::Bitmap`].
pub struct Mixed<Q, P>(PhantomData<(Q, P)>);

/// Values that wait to be used again. Beyond the length of `Q`, the oldest is forgotten.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue<Q> {
    values: Q,
    first: usize,
    len: usize,
}

impl<Q: AsRef<[u16]> + AsMut<[u16]>> Queue<Q> {
    /// Makes an empty queue in `values`.
    pub fn new(values: Q) -> Self {
        Self { values, first: 0, len: 0 }
    }

    fn push(&mut self, value: u16) {
        let room = self.values.as_ref().len();
        if room == 0 {
            return;
        }
        if let Some(slot) = self.values.as_mut().get_mut((self.first + self.len) % room) {
            *slot = value;
        }
        if self.len < room {
            self.len += 1;
        } else {
            self.first = (self.first + 1) % room;
        }
    }

    fn pop(&mut self) -> Option<u16> {
        self.len = self.len.checked_sub(1)?;
        let value = self.values.as_ref().get(self.first).copied();
        self.first = (self.first + 1) % self.values.as_ref().len().max(1);
        value
    }

    fn learn(&mut self, feedback: &Feedback) {
        if let Some(entropy) = feedback.good() {
            self.push(entropy);
        }
    }
}

/// State of one flow of [`Recycle`].
#[derive(Clone, Copy, Debug, Default)]
pub struct State<Q> {
    queue: Queue<Q>,
    /// Number of packets sent before the first feedback.
    first: u32,
    heard: bool,
}

impl<Q: AsRef<[u16]> + AsMut<[u16]>> State<Q> {
    /// Makes a state with room for returned values in `values`.
    pub fn new(values: Q) -> Self {
        Self { queue: Queue::new(values), first: 0, heard: false }
    }
}

impl<Q: AsRef<[u16]> + AsMut<[u16]>> Pick for Recycle<Q> {
    const NAME: &'static str = "reps-legacy";
    const NEEDS: u32 = capability::RANDOM | capability::FEEDBACK;
    type Plan = uec::Parameters;
    type State = State<Q>;
    type Feedback = Feedback;

    #[inline]
    fn pick<E: Env>(plan: &uec::Parameters, state: &mut State<Q>, _packet: &mut Packet, env: &mut E) -> u16 {
        if !state.heard && state.first < plan.entropies {
            state.first += 1;
            return (state.first % plan.entropies.max(1)) as u16;
        }
        state.queue.pop().unwrap_or_else(|| random_below(env, plan.entropies) as u16)
    }

    fn learn<E: Env>(_: &uec::Parameters, state: &mut State<Q>, feedback: &Feedback, _env: &mut E) {
        state.heard = true;
        state.queue.learn(feedback);
    }
}

/// State of one flow of [`Mixed`].
#[derive(Clone, Copy, Debug, Default)]
pub struct MixedState<Q, P> {
    queue: Queue<Q>,
    bitmap: uec::State<P>,
}

impl<Q: AsRef<[u16]> + AsMut<[u16]>, P> MixedState<Q, P> {
    /// Makes a state with room for returned values in `values`, and `penalties` of zero, one for each entropy value.
    pub fn new(values: Q, penalties: P) -> Self {
        Self { queue: Queue::new(values), bitmap: uec::State::new(penalties) }
    }
}

impl<Q: AsRef<[u16]> + AsMut<[u16]>, P: AsMut<[u8]>> Pick for Mixed<Q, P> {
    const NAME: &'static str = "uec-mixed";
    const NEEDS: u32 = <uec::Bitmap<P> as Pick>::NEEDS;
    type Plan = uec::Parameters;
    type State = MixedState<Q, P>;
    type Feedback = Feedback;

    #[inline]
    fn pick<E: Env>(
        plan: &uec::Parameters,
        state: &mut MixedState<Q, P>,
        packet: &mut Packet,
        env: &mut E,
    ) -> u16 {
        match state.queue.pop() {
            Some(value) => value,
            None => uec::Bitmap::pick(plan, &mut state.bitmap, packet, env),
        }
    }

    fn learn<E: Env>(plan: &uec::Parameters, state: &mut MixedState<Q, P>, feedback: &Feedback, env: &mut E) {
        uec::Bitmap::learn(plan, &mut state.bitmap, feedback, env);
        state.queue.learn(feedback);
    }
}
