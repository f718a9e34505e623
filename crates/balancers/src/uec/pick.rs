//! Decisions of UEC spraying; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::acknowledgement::{Acknowledged, Feedback};
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;

/// Pick that gives each packet the next entropy value of a random order of all, whatever the feedback.
pub struct Oblivious;

/// Pick of [`Oblivious`] that skips values with penalties, which are in `P`, one byte per value.
pub struct Bitmap<P>(PhantomData<P>);

/// Number of paths to distinguish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Number of entropy values: a power of two, at most 65,536.
    pub entropies: u32,
}

impl Parameters {
    /// Default of 64 values.
    pub const DEFAULT: Self = Self { entropies: 64 };

    /// Mask of the bits of entropy values that vary within a flow.
    #[inline]
    const fn mask(&self) -> u16 {
        let bounded = if self.entropies > 1 << 16 { 1 << 16 } else { self.entropies };
        (bounded.next_power_of_two() - 1) as u16
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Permutation of all values of a mask, in another order each round: a counter XOR bits drawn for the round. The bits
/// beyond the mask are drawn once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Permutation {
    begun: bool,
    count: u16,
    flips: u16,
    high: u16,
}

impl Permutation {
    /// Draws the first order, once.
    #[inline]
    pub(crate) fn begin<E: Env>(&mut self, mask: u16, env: &mut E) {
        if !self.begun {
            let drawn = env.random_u32();
            *self = Self {
                begun: true,
                count: 0,
                flips: drawn as u16 & mask,
                high: (drawn >> 16) as u16 & !mask,
            };
        }
    }

    /// Value of the current turn, without its fixed bits.
    #[inline]
    pub(crate) const fn low(&self, mask: u16) -> u16 {
        (self.count ^ self.flips) & mask
    }

    /// Passes the turn on.
    #[inline]
    pub(crate) fn step<E: Env>(&mut self, mask: u16, env: &mut E) {
        self.count = self.count.wrapping_add(1) & mask;
        if self.count == 0 {
            self.flips = env.random_u32() as u16 & mask;
        }
    }
}

impl Pick for Oblivious {
    const NAME: &'static str = "uec-oblivious";
    const NEEDS: u32 = capability::RANDOM;
    type Plan = Parameters;
    type State = Permutation;
    type Feedback = Feedback;

    #[inline]
    fn pick<E: Env>(plan: &Parameters, state: &mut Permutation, _packet: &mut Packet, env: &mut E) -> u16 {
        let mask = plan.mask();
        state.begin(mask, env);
        let value = state.low(mask) | state.high;
        state.step(mask, env);
        value
    }
}

/// Largest number of penalty points of a value.
const PENALTY_MAX: u8 = 15;
/// Penalty for a packet that arrived marked.
const PENALTY_MARKED: u8 = 1;
/// Penalty for a packet that was trimmed.
const PENALTY_TRIMMED: u8 = 4;

/// Order and penalties of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct State<P> {
    order: Permutation,
    penalties: P,
}

impl<P> State<P> {
    /// Makes a state with `penalties` of zero, one for each entropy value.
    pub fn new(penalties: P) -> Self {
        Self { order: Permutation::default(), penalties }
    }
}

impl<P: AsMut<[u8]>> Pick for Bitmap<P> {
    const NAME: &'static str = "uec-bitmap";
    const NEEDS: u32 = capability::RANDOM | capability::FEEDBACK;
    type Plan = Parameters;
    type State = State<P>;
    type Feedback = Feedback;

    /// Skips values with penalties; the first one skipped is forgiven a point.
    fn pick<E: Env>(plan: &Parameters, state: &mut State<P>, _packet: &mut Packet, env: &mut E) -> u16 {
        let mask = plan.mask();
        let State { order, penalties } = state;
        order.begin(mask, env);
        for skipped in 0..=mask {
            match penalties.as_mut().get_mut(usize::from(order.low(mask))) {
                Some(penalty) if *penalty > 0 => *penalty -= u8::from(skipped == 0),
                _ => break,
            }
            order.step(mask, env);
        }
        let value = order.low(mask) | order.high;
        order.step(mask, env);
        value
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State<P>, feedback: &Feedback, _env: &mut E) {
        let (entropy, points) = match feedback {
            Feedback::Acknowledged(Acknowledged { entropy, marked: true, .. }) => (*entropy, PENALTY_MARKED),
            Feedback::Acknowledged(_) => (None, 0),
            Feedback::Trimmed { entropy } => (Some(*entropy), PENALTY_TRIMMED),
            Feedback::TimedOut { entropy } => (*entropy, PENALTY_MAX),
        };
        let Some(entropy) = entropy else { return };
        if let Some(penalty) = state.penalties.as_mut().get_mut(usize::from(entropy & plan.mask())) {
            *penalty = penalty.saturating_add(points).min(PENALTY_MAX);
        }
    }
}
