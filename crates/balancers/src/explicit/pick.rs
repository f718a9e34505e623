//! Decisions of explicit paths: turns by weight among those that answer probes; the rule stands on `page.md`.

use anabranch_split::{Env, Packet, Pick, capability, random_below};
use core::marker::PhantomData;

/// Pick of a path by turns in proportion to the weights, of those that are not silent; what is known of each is in `P`.
pub struct Explicit<P>(PhantomData<P>);

/// Unit that takes one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// All packets of a connection in one direction, as long as the path answers.
    #[default]
    Flows,
    /// Each packet by itself.
    Packets,
}

/// Unit that takes one path, and how paths are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Unit that takes one path.
    pub spread: Spread,
    /// Time between two probes of a path, in nanoseconds; zero: none is sent.
    pub probe_ns: u64,
    /// Time after which a probe without an answer makes its path silent, in nanoseconds.
    pub timeout_ns: u64,
}

impl Parameters {
    /// Defaults: flows, a probe each 100 us, a timeout of 500 us.
    pub const DEFAULT: Self = Self { spread: Spread::Flows, probe_ns: 100_000, timeout_ns: 500_000 };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    weight: u32,
    /// How far it is behind its share of the turns.
    credit: i64,
    /// When the latest probe left that was answered.
    answered_ns: Option<u64>,
    /// When the probe left whose answer was missed; nothing while the path answers.
    silent_ns: Option<u64>,
}

impl Path {
    /// A path of this weight of which nothing has been heard; it counts as one that answers.
    #[must_use]
    pub const fn new(weight: u32) -> Self {
        Self { weight, credit: 0, answered_ns: None, silent_ns: None }
    }
}

/// News about probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// A probe of a path was answered.
    Answered {
        /// The path.
        path: u16,
        /// When the probe left.
        sent_ns: u64,
    },
    /// The answers to the probes of all paths that left at this time are due.
    Due {
        /// When they left.
        sent_ns: u64,
    },
}

/// Paths of one pair of hosts.
#[derive(Clone, Debug, Default)]
pub struct State<P> {
    paths: P,
    /// Whether turns have begun since paths fell silent or came back last.
    begun: bool,
    /// Number of times that a path fell silent, and that one answered again.
    fell_silent: u64,
    came_back: u64,
}

impl<P: AsRef<[Path]> + AsMut<[Path]>> State<P> {
    /// No probe has been answered yet, nor missed.
    pub fn new(paths: P) -> Self {
        Self { paths, begun: false, fell_silent: 0, came_back: 0 }
    }

    /// Whether a path is silent.
    #[must_use]
    pub fn is_silent(&self, path: u16) -> bool {
        self.paths.as_ref().get(usize::from(path)).is_some_and(|known| known.silent_ns.is_some())
    }

    /// Numbers of times that a path fell silent, and that one answered again.
    #[must_use]
    pub const fn counts(&self) -> (u64, u64) {
        (self.fell_silent, self.came_back)
    }

    /// Turns begin anew, at a path that is drawn.
    fn begin_anew(&mut self) {
        self.begun = false;
        for path in self.paths.as_mut() {
            path.credit = 0;
        }
    }
}

impl<P: AsRef<[Path]> + AsMut<[Path]>> Pick for Explicit<P> {
    const NAME: &'static str = "explicit";
    const NEEDS: u32 = capability::RANDOM | capability::FEEDBACK;
    type Plan = Parameters;
    type State = State<P>;
    type Feedback = Feedback;

    /// Smooth weighted round robin. The first turn is drawn in proportion to the weights, or pairs of hosts with few flows
    /// would all take the first path of their lists.
    fn pick<E: Env>(_plan: &Parameters, state: &mut State<P>, _packet: &mut Packet, env: &mut E) -> u16 {
        let paths = state.paths.as_mut();
        // If none answers, all take their turns: packets themselves may find out what works.
        let all = paths.iter().all(|path| path.silent_ns.is_some());
        let takes = |path: &Path| all || path.silent_ns.is_none();
        let total: u64 = paths.iter().filter(|path| takes(path)).map(|path| u64::from(path.weight)).sum();
        for path in paths.iter_mut().filter(|path| takes(path)) {
            path.credit += i64::from(path.weight);
        }
        let mut chosen = 0;
        if state.begun {
            let mut most = i64::MIN;
            for (index, path) in paths.iter().enumerate().filter(|(_, path)| takes(path)) {
                if path.credit > most {
                    (chosen, most) = (index, path.credit);
                }
            }
        } else {
            state.begun = true;
            let mut left = drawn_below(env, total);
            for (index, path) in paths.iter().enumerate().filter(|(_, path)| takes(path)) {
                chosen = index;
                if left < u64::from(path.weight) {
                    break;
                }
                left -= u64::from(path.weight);
            }
        }
        if let Some(path) = paths.get_mut(chosen) {
            path.credit -= total as i64;
        }
        chosen as u16
    }

    fn learn<E: Env>(_plan: &Parameters, state: &mut State<P>, feedback: &Feedback, _env: &mut E) {
        match *feedback {
            Feedback::Answered { path, sent_ns } => {
                let Some(known) = state.paths.as_mut().get_mut(usize::from(path)) else { return };
                known.answered_ns = known.answered_ns.max(Some(sent_ns));
                // The answer to a probe that left before the missed one says nothing about the path as it is now.
                if known.silent_ns.is_some_and(|missed_ns| sent_ns >= missed_ns) {
                    known.silent_ns = None;
                    state.came_back += 1;
                    state.begin_anew();
                }
            }
            Feedback::Due { sent_ns } => {
                let before = state.fell_silent;
                for path in state.paths.as_mut() {
                    if path.silent_ns.is_none() && path.answered_ns.is_none_or(|at_ns| at_ns < sent_ns) {
                        path.silent_ns = Some(sent_ns);
                        state.fell_silent += 1;
                    }
                }
                if state.fell_silent != before {
                    state.begin_anew();
                }
            }
        }
    }
}

/// A number below `bound`, all equally likely but for less than one part in 2^32; 0 if the bound is 0.
pub(crate) fn drawn_below<E: Env>(env: &mut E, bound: u64) -> u64 {
    match u32::try_from(bound) {
        Ok(0) => 0,
        Ok(bound) => random_below(env, bound).into(),
        Err(_) => {
            let drawn = u64::from(env.random_u32()) << 32 | u64::from(env.random_u32());
            ((u128::from(drawn) * u128::from(bound)) >> 64) as u64
        }
    }
}
