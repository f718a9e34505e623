#![doc = include_str!("../luopan.md")]

pub mod probe;
mod table;

use super::paths::Paths;
use super::store::Store;
use super::{Packet, Scheme};
use crate::{Env, capability};
use core::marker::PhantomData;
pub use table::{Entry, Sample, State};

/// What becomes of samples older than [`Parameters::expiry_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stale {
    /// They are used until the answers of the next round are there.
    #[default]
    Keep,
    /// They are dropped, and until the answers are there paths are drawn at random: the letter of section 3.1.
    Random,
}

/// Which paths the next round samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Resample {
    /// All drawn anew.
    #[default]
    Independent,
    /// The best of the round before and others drawn anew, as Hermes and DRILL remember.
    KeepBest,
}

/// How paths are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Paths sampled of each destination (d).
    pub samples: u16,
    /// Age at which samples expire (T), in nanoseconds.
    pub expiry_ns: u64,
    /// Time after which a probe without an answer counts as lost, in nanoseconds.
    pub patience_ns: u64,
    /// Pause after which nothing more is asked about a destination, in nanoseconds.
    pub idle_ns: u64,
    /// What becomes of expired samples.
    pub stale: Stale,
    /// Which paths come next.
    pub resample: Resample,
    /// Bytes in one step of the 7-bit metric; zero compares bytes.
    pub step_bytes: u32,
}

impl Default for Parameters {
    /// Section 4.1: two samples, 40 us; twice that for an answer.
    fn default() -> Self {
        Self {
            samples: 2,
            expiry_ns: 40_000,
            patience_ns: 80_000,
            idle_ns: 1_000_000,
            stale: Stale::Keep,
            resample: Resample::Independent,
            step_bytes: 0,
        }
    }
}

/// Parameters and living paths.
#[derive(Clone, Debug)]
pub struct Plan<P> {
    /// How paths are sampled.
    pub parameters: Parameters,
    /// Living paths by destination.
    pub paths: P,
}

/// What the answer to a probe tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Where the probe had gone.
    pub destination: u32,
    /// The path it had taken.
    pub path: u16,
    /// Sum of the backlogs along it, in bytes.
    pub backlog_bytes: u32,
}

/// The least congested of a few sampled paths. Within [`super::Units`] over flowcells it is the paper's scheme.
///
/// The place calls [`State::ask`] when a destination comes into use, after each answer, and when the call before said.
pub struct Luopan<P, S>(PhantomData<(P, S)>);

impl<P: Paths, S: Store> Scheme for Luopan<P, S> {
    const NAME: &'static str = "luopan";
    const NEEDS: u32 =
        capability::CLOCK | capability::RANDOM | capability::TIMER | capability::PROBE | capability::TAG;
    type Plan = Plan<P>;
    type State = State<S>;
    type Feedback = Answer;

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<P>, state: &mut State<S>, packet: &mut Packet, env: &mut E) -> u16 {
        state.choose(plan.paths.living(packet.destination), packet.destination, env)
    }

    fn learn<E: Env>(plan: &Plan<P>, state: &mut State<S>, answer: &Answer, env: &mut E) {
        state.answered(&plan.parameters, answer, env.now_ns());
    }
}

#[cfg(test)]
mod tests;
