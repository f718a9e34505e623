//! Decisions of Luopan; its rule and where it differs from the paper stand on `page.md`.

pub mod probe;
mod table;

use anabranch_split::picks::paths::Paths;
use anabranch_split::picks::store::Store;
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;
pub use table::{Entry, Sample, State};

/// Treatment of samples older than [`Parameters::expiry_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stale {
    /// Uses them until the answers of the next round have arrived.
    #[default]
    Keep,
    /// Drops them, and draws paths at random until the answers have arrived: the letter of section 3.1.
    Random,
}

/// Choice of the paths that the next round samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Resample {
    /// Draws all paths anew.
    #[default]
    Independent,
    /// Keeps the best of the round before and draws the others anew, as Hermes and DRILL do.
    KeepBest,
}

/// Sample that a choice takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Preference {
    /// The least congested.
    #[default]
    Least,
    /// The most congested (a mutation).
    Most,
    /// None: any path at random, as if there were no samples (a mutation).
    Ignored,
}

/// Parameters of sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Number of paths sampled of each destination (d).
    pub samples: u16,
    /// Age at which samples expire (T), in nanoseconds.
    pub expiry_ns: u64,
    /// Time after which a probe without an answer counts as lost, in nanoseconds.
    pub patience_ns: u64,
    /// Pause after which a destination is not probed any more, in nanoseconds.
    pub idle_ns: u64,
    /// Treatment of expired samples.
    pub stale: Stale,
    /// Choice of the paths that are sampled next.
    pub resample: Resample,
    /// Sample that a choice takes.
    pub preference: Preference,
    /// Number of bytes in one step of the 7-bit metric; zero compares bytes.
    pub step_bytes: u32,
}

impl Default for Parameters {
    /// Defaults of section 4.1: two samples, 40 us; twice that for an answer.
    fn default() -> Self {
        Self {
            samples: 2,
            expiry_ns: 40_000,
            patience_ns: 80_000,
            idle_ns: 1_000_000,
            stale: Stale::Keep,
            resample: Resample::Independent,
            preference: Preference::Least,
            step_bytes: 0,
        }
    }
}

/// Parameters and living paths.
#[derive(Clone, Debug)]
pub struct Plan<P> {
    /// Parameters of sampling.
    pub parameters: Parameters,
    /// Living paths by destination.
    pub paths: P,
}

/// Answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Destination of the probe.
    pub destination: u32,
    /// Path of the probe.
    pub path: u16,
    /// Sum of the backlogs along it, in bytes.
    pub backlog_bytes: u32,
}

/// Choices so far, and what they rested on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Units that a sample placed.
    pub sampled: u64,
    /// Units placed at random, for want of samples.
    pub random: u64,
    /// Ages of the samples that placed units, all together, from the probe on, in nanoseconds.
    pub age_ns: u64,
}

/// Pick of the least congested of a few sampled paths. Within [`super::Units`] over flowcells it is the paper's scheme.
///
/// The environment calls [`State::ask`] when a destination comes into use, after each answer, and at the times that the
/// last call returned.
pub struct Luopan<P, S>(PhantomData<(P, S)>);

impl<P: Paths, S: Store> Pick for Luopan<P, S> {
    const NAME: &'static str = "luopan";
    const NEEDS: u32 =
        capability::CLOCK | capability::RANDOM | capability::TIMER | capability::PROBE | capability::TAG;
    type Plan = Plan<P>;
    type State = State<S>;
    type Feedback = Answer;

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<P>, state: &mut State<S>, packet: &mut Packet, env: &mut E) -> u16 {
        let living = plan.paths.living(packet.destination);
        state.choose(plan.parameters.preference, living, packet.destination, env)
    }

    fn learn<E: Env>(plan: &Plan<P>, state: &mut State<S>, answer: &Answer, env: &mut E) {
        state.answered(&plan.parameters, answer, env.now_ns());
    }
}

#[cfg(test)]
mod balls;
#[cfg(test)]
mod tests;
