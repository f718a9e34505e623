//! Decisions of MRC's spraying; its rule and where it differs from the specification stand on `page.md`.

use crate::uec::pick::Permutation;
use anabranch_split::{Env, Packet, Pick, capability};
use core::marker::PhantomData;

/// Doublings of the time between probes of a value, at most.
pub const DOUBLINGS: u8 = 6;

/// Pick of the next good entropy value in a random order of all; what is known of each is in `P`.
pub struct Mrc<P>(PhantomData<P>);

/// Number of paths to distinguish, and how dead ones are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Number of entropy values: a power of two, at most 65,536.
    pub entropies: u32,
    /// Time from a loss to the first probe of its value, in nanoseconds; each probe doubles it.
    pub probe_ns: u64,
}

impl Parameters {
    /// Defaults: 128 values, 100 us.
    pub const DEFAULT: Self = Self { entropies: 128, probe_ns: 100_000 };

    /// Mask of the bits that tell values apart.
    #[inline]
    pub(crate) const fn mask(&self) -> u16 {
        let bounded = if self.entropies > 1 << 16 { 1 << 16 } else { self.entropies };
        (bounded.next_power_of_two() - 1) as u16
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Health of a value, by the names of the specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// In use.
    #[default]
    Good,
    /// Congested: the next turn passes it over.
    Skip,
    /// A packet was lost: out of use until a probe is answered (`ASSUMED_BAD`).
    AssumedBad,
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Value {
    health: Health,
    /// Number of probes since it was taken out.
    probes: u8,
    /// When the packet left that tells its health: the lost one, or the one that brought it back.
    told_ns: u64,
    /// When the next probe is due.
    due_ns: u64,
}

/// News about a packet or a probe that was sent with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived.
    Arrived {
        /// The value.
        value: u16,
        /// Whether it came with a congestion mark.
        marked: bool,
        /// When it left.
        sent_ns: u64,
    },
    /// A switch cut it to its header: a sign of congestion, and of life.
    Trimmed {
        /// The value.
        value: u16,
    },
    /// It is sent again, though nothing told that it was trimmed.
    Lost {
        /// The value.
        value: u16,
        /// When it left.
        sent_ns: u64,
    },
}

/// Order and health of the values of one queue pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct State<P> {
    order: Permutation,
    values: P,
    /// Number of times that a value was taken out, and that one came back.
    taken_out: u64,
    brought_back: u64,
}

impl<P: AsRef<[Value]> + AsMut<[Value]>> State<P> {
    /// All good, one of `values` for each entropy value.
    pub fn new(values: P) -> Self {
        Self { order: Permutation::default(), values, taken_out: 0, brought_back: 0 }
    }

    /// Health of a value.
    #[must_use]
    pub fn health(&self, value: u16) -> Health {
        self.values.as_ref().get(usize::from(value)).map_or(Health::Good, |known| known.health)
    }

    /// Numbers of times that a value was taken out, and that one came back.
    #[must_use]
    pub const fn counts(&self) -> (u64, u64) {
        (self.taken_out, self.brought_back)
    }

    /// When the next probe is due, if a value is out.
    #[must_use]
    pub fn next_probe_ns(&self) -> Option<u64> {
        let out = |known: &&Value| known.health == Health::AssumedBad;
        self.values.as_ref().iter().filter(out).map(|known| known.due_ns).min()
    }

    /// A value that is to be probed now. It is not due again before twice the time has gone by.
    pub fn due(&mut self, plan: &Parameters, now_ns: u64) -> Option<u16> {
        let due = |known: &Value| known.health == Health::AssumedBad && known.due_ns <= now_ns;
        let number = self.values.as_ref().iter().position(due)?;
        let known = self.values.as_mut().get_mut(number)?;
        known.probes = (known.probes + 1).min(DOUBLINGS);
        known.due_ns = now_ns.saturating_add(plan.probe_ns.max(1) << known.probes);
        Some(number as u16)
    }

    fn of(&mut self, value: u16) -> Option<&mut Value> {
        self.values.as_mut().get_mut(usize::from(value))
    }
}

impl<P: AsRef<[Value]> + AsMut<[Value]>> Pick for Mrc<P> {
    const NAME: &'static str = "mrc";
    const NEEDS: u32 = capability::RANDOM | capability::CLOCK | capability::FEEDBACK;
    type Plan = Parameters;
    type State = State<P>;
    type Feedback = Feedback;

    /// The next good value. The first congested one on the way is good again, for the packets that follow.
    fn pick<E: Env>(plan: &Parameters, state: &mut State<P>, _packet: &mut Packet, env: &mut E) -> u16 {
        let mask = plan.mask();
        state.order.begin(mask, env);
        let mut forgiven = false;
        // Two rounds hold a whole one, in which each value has its turn.
        for _ in 0..2 * (u32::from(mask) + 1) {
            let value = state.order.low(mask);
            state.order.step(mask, env);
            match state.of(value) {
                Some(known) if known.health == Health::Skip => {
                    if !forgiven {
                        known.health = Health::Good;
                        forgiven = true;
                    }
                }
                Some(known) if known.health == Health::AssumedBad => {}
                _ => return value,
            }
        }
        // Nothing is known to work: the packet itself is the probe.
        let value = state.order.low(mask);
        state.order.step(mask, env);
        value
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State<P>, feedback: &Feedback, env: &mut E) {
        match *feedback {
            Feedback::Arrived { value, marked, sent_ns } => {
                let Some(known) = state.of(value) else { return };
                let back = known.health == Health::AssumedBad;
                // What left before the lost packet says nothing about what became of the path.
                if back && sent_ns < known.told_ns {
                    return;
                }
                if back {
                    *known = Value { told_ns: sent_ns, ..Value::default() };
                }
                if marked {
                    known.health = Health::Skip;
                }
                state.brought_back += u64::from(back);
            }
            Feedback::Trimmed { value } => {
                if let Some(known) = state.of(value).filter(|known| known.health == Health::Good) {
                    known.health = Health::Skip;
                }
            }
            Feedback::Lost { value, sent_ns } => {
                let due_ns = env.now_ns().saturating_add(plan.probe_ns);
                // Nor is it news that a packet was lost that left before the path came back.
                let Some(known) = state.of(value).filter(|known| known.told_ns <= sent_ns) else { return };
                known.told_ns = sent_ns;
                if known.health != Health::AssumedBad {
                    *known = Value { health: Health::AssumedBad, probes: 0, told_ns: sent_ns, due_ns };
                    state.taken_out += 1;
                }
            }
        }
    }
}
