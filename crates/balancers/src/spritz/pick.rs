//! Decisions of Spritz; its rule and where it differs from the published code stand on `page.md`.

use crate::explicit::pick::drawn_below;
use anabranch_split::{Env, Packet, Pick, capability};
use core::marker::PhantomData;

/// Paths that a pair of hosts remembers as good, at most.
pub const CACHED_MAX: usize = 9;

/// Bits of a weight behind the point, and the largest: the sum over all paths of a pair is below 2^64.
const POINT: u32 = 16;
const WEIGHT_MAX: u64 = 1 << 47;

/// Pick of a remembered good path, or of one drawn by weight; what is known of each is in `P`.
pub struct Spritz<P>(PhantomData<P>);

/// How paths are drawn, remembered and left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Whether a remembered path is used once for each packet that arrived by it; else the first one is used until it fails.
    pub spray: bool,
    /// Good paths remembered, at most [`CACHED_MAX`].
    pub cached: u8,
    /// Packets of a flow above which the next is drawn, though paths are remembered; zero: none is.
    pub explore_threshold: u16,
    /// Marks of a flow's packets on remembered paths above which the last marked one is forgotten.
    pub ecn_threshold: u16,
    /// Factor of the weights of all but the longest paths; zero: all weigh the same.
    pub weight_scaling: u32,
    /// Flows of fewer bytes draw the shortest paths with [`Self::small_flow_weight`].
    pub small_flow_bytes: u64,
    /// Weight of the shortest paths for small flows, where all others weigh 1.
    pub small_flow_weight: u32,
    /// Time after a timeout in which its path is not drawn, in nanoseconds; none: for good.
    pub block_ns: Option<u64>,
    /// Silence after which a new flow begins without what others remembered, in nanoseconds; none: a round trip on the
    /// longest path.
    pub memory_ns: Option<u64>,
}

impl Parameters {
    /// Spritz-Scout with the settings of the published runs.
    pub const SCOUT: Self = Self {
        spray: false,
        cached: CACHED_MAX as u8,
        explore_threshold: 44,
        ecn_threshold: 8,
        weight_scaling: 3,
        small_flow_bytes: 1 << 19,
        small_flow_weight: 100,
        block_ns: None,
        memory_ns: None,
    };
    /// Spritz-Spray with the same.
    pub const SPRAY: Self = Self { spray: true, ..Self::SCOUT };
}

/// One path of a pair of hosts, by its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Weights for large and for small flows.
    weights: [u64; 2],
    /// Until when it is not drawn.
    blocked_until_ns: u64,
}

impl Path {
    /// The path of this delay among paths from the `least` to the `most` delay of the pair, with the weight that its table
    /// gives it.
    #[must_use]
    pub fn new(plan: &Parameters, delay_ps: u64, least_ps: u64, most_ps: u64, weight: u32) -> Self {
        let one = u128::from(weight) << POINT;
        let scaled = if plan.weight_scaling == 0 || delay_ps == most_ps {
            one
        } else {
            one * u128::from(most_ps) * u128::from(plan.weight_scaling) / u128::from(delay_ps.max(1))
        };
        let preferred = if delay_ps == least_ps { one * u128::from(plan.small_flow_weight) } else { one };
        let weights = [scaled, preferred].map(|weight| weight.min(WEIGHT_MAX.into()) as u64);
        Self { weights, blocked_until_ns: 0 }
    }
}

/// What a flow has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    small: bool,
    /// Packets since one was drawn in spite of remembered paths.
    packets: u16,
    /// Marks since a path was forgotten for them.
    marks: u16,
}

/// News about a packet that was sent on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived.
    Arrived {
        /// Its path.
        path: u16,
        /// Whether it came with a congestion mark.
        marked: bool,
    },
    /// A switch cut it to its header.
    Trimmed {
        /// Its path.
        path: u16,
    },
    /// Nothing was heard of it until it timed out.
    TimedOut {
        /// Its path.
        path: u16,
    },
}

/// Paths of one pair of hosts, and the flow whose packet or news is looked at.
#[derive(Clone, Debug)]
pub struct State<P> {
    /// The flow: hosts put it in before they pick or learn, and take it back.
    pub flow: Flow,
    paths: P,
    /// Good paths, the next to be used first.
    good: [u16; CACHED_MAX],
    known: usize,
    /// When anything was heard of a packet last.
    heard_ns: u64,
    blocked: u64,
    drawn: u64,
}

impl<P: AsRef<[Path]> + AsMut<[Path]>> State<P> {
    /// Nothing sent yet. Paths come by ascending delay.
    pub fn new(paths: P, now_ns: u64) -> Self {
        let flow = Flow::default();
        Self { flow, paths, good: [0; CACHED_MAX], known: 0, heard_ns: now_ns, blocked: 0, drawn: 0 }
    }

    /// A flow of so many bytes begins. After a silence of more than `memory_ns` nothing is remembered.
    pub fn begin(&mut self, plan: &Parameters, bytes: u64, memory_ns: u64, now_ns: u64) -> Flow {
        if now_ns > self.heard_ns.saturating_add(memory_ns) {
            self.known = 0;
        }
        Flow { small: bytes < plan.small_flow_bytes, ..Flow::default() }
    }

    /// Good paths, the next to be used first.
    #[must_use]
    pub fn good(&self) -> &[u16] {
        self.good.get(..self.known).unwrap_or_default()
    }

    /// Whether a path is not drawn at this time.
    #[must_use]
    pub fn is_blocked(&self, path: u16, now_ns: u64) -> bool {
        self.paths.as_ref().get(usize::from(path)).is_some_and(|known| now_ns < known.blocked_until_ns)
    }

    /// Numbers of times that a path was blocked, and that one was drawn.
    #[must_use]
    pub const fn counts(&self) -> (u64, u64) {
        (self.blocked, self.drawn)
    }

    fn insert(&mut self, at: usize, path: u16) {
        if self.known < CACHED_MAX && at <= self.known {
            self.good.copy_within(at..self.known, at + 1);
            self.known += 1;
            if let Some(slot) = self.good.get_mut(at) {
                *slot = path;
            }
        }
    }

    fn remove(&mut self, at: usize) {
        if at < self.known {
            self.good.copy_within(at + 1..self.known, at);
            self.known -= 1;
        }
    }

    fn place(&self, path: u16) -> Option<usize> {
        self.good().iter().position(|&known| known == path)
    }

    fn block(&mut self, plan: &Parameters, path: u16, now_ns: u64) {
        let until_ns = plan.block_ns.map_or(u64::MAX, |block_ns| now_ns.saturating_add(block_ns));
        if let Some(known) = self.paths.as_mut().get_mut(usize::from(path)) {
            self.blocked += u64::from(known.blocked_until_ns <= now_ns && until_ns > now_ns);
            known.blocked_until_ns = until_ns;
        }
    }

    /// A path by weight, of those that are not blocked; of all, if all are.
    fn draw<E: Env>(&mut self, env: &mut E) -> u16 {
        self.drawn += 1;
        let (now_ns, size) = (env.now_ns(), usize::from(self.flow.small));
        let paths = self.paths.as_ref();
        let all = paths.iter().all(|path| now_ns < path.blocked_until_ns);
        let weight = |path: &Path| match path.weights.get(size) {
            Some(&weight) if all || now_ns >= path.blocked_until_ns => weight,
            _ => 0,
        };
        let mut left = drawn_below(env, paths.iter().map(weight).sum());
        for (index, path) in paths.iter().enumerate() {
            let weight = weight(path);
            if left < weight {
                return index as u16;
            }
            left -= weight;
        }
        0
    }
}

impl<P: AsRef<[Path]> + AsMut<[Path]>> Pick for Spritz<P> {
    const NAME: &'static str = "spritz";
    const NEEDS: u32 = capability::RANDOM | capability::CLOCK | capability::FEEDBACK;
    type Plan = Parameters;
    type State = State<P>;
    type Feedback = Feedback;

    fn pick<E: Env>(plan: &Parameters, state: &mut State<P>, _packet: &mut Packet, env: &mut E) -> u16 {
        if plan.explore_threshold > 0 && state.flow.packets > plan.explore_threshold {
            state.flow.packets = 0;
            return state.draw(env);
        }
        let first = state.good().first().copied();
        if plan.spray || first.is_some() {
            state.flow.packets = state.flow.packets.saturating_add(1);
        }
        match first {
            Some(path) => {
                if plan.spray {
                    state.remove(0);
                }
                path
            }
            None => state.draw(env),
        }
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State<P>, feedback: &Feedback, env: &mut E) {
        let now_ns = env.now_ns();
        if !matches!(feedback, Feedback::TimedOut { .. }) {
            state.heard_ns = now_ns;
        }
        let has_room = state.known < usize::from(plan.cached).min(CACHED_MAX);
        match *feedback {
            Feedback::Arrived { path, marked: false } if plan.spray && has_room => {
                state.insert(state.known, path);
            }
            Feedback::Arrived { path, marked: false } if has_room && state.place(path).is_none() => {
                let at = state.good().iter().position(|&known| known > path);
                state.insert(at.unwrap_or(state.known), path);
            }
            Feedback::Arrived { path, marked: true } if !plan.spray => {
                let Some(at) = state.place(path) else { return };
                state.flow.marks = state.flow.marks.saturating_add(1);
                if state.flow.marks > plan.ecn_threshold {
                    state.flow.marks = 0;
                    state.remove(at);
                }
            }
            Feedback::Arrived { .. } => {}
            Feedback::Trimmed { path } | Feedback::TimedOut { path } => {
                if let Some(at) = state.place(path).filter(|_| !plan.spray) {
                    state.flow.marks = 0;
                    state.remove(at);
                }
                if matches!(feedback, Feedback::TimedOut { .. }) {
                    state.block(plan, path, now_ns);
                }
            }
        }
    }
}
