//! Decisions of Hermes; its rule and where it differs from the paper stand on `page.md`.

mod parameters;
mod path;

use anabranch_split::picks::dre::Register;
use anabranch_split::picks::least::Least;
use anabranch_split::picks::{Flows, Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;
pub use parameters::{ONE, Parameters};
pub use path::{Class, Path};

/// Flows that move with caution; flows in `M`, paths (members) in `C`.
pub struct Hermes<M, C>(PhantomData<(M, C)>);

/// Note on a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Note {
    sent_bytes: u64,
    rate: Register,
    last_ns: u64,
    /// Time at which it came to its path, and the path it came from.
    moved_ns: u64,
    before: u16,
    /// Time at which it last asked whether to move.
    tried_ns: u64,
    /// Whether any packet sent on its path was acknowledged.
    answered: bool,
    timed_out: bool,
    closed: bool,
}

/// Flows and paths towards one rack.
#[derive(Clone, Debug, Default)]
pub struct State<M, C> {
    /// Path and note of each flow.
    pub flows: M,
    /// State of each path.
    pub paths: C,
    /// Shortest round trip that was measured, in nanoseconds; zero before the first.
    least_rtt_ns: u32,
}

/// News from hosts about the packets they sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// A packet of a flow was acknowledged.
    Acknowledged {
        /// Flow of the packet.
        flow: u64,
        /// Destination of the flow.
        destination: u32,
        /// Time at which the acknowledged packet was sent, in nanoseconds.
        sent_ns: u64,
        /// Whether `sent_ns` gives a round trip: it does not if the packet was sent twice.
        timed: bool,
        /// Whether congestion was experienced.
        marked: bool,
    },
    /// A probe came back.
    Probed {
        /// Path of the probe.
        path: u16,
        /// Round trip of the probe in nanoseconds.
        rtt_ns: u32,
        /// Whether congestion was experienced.
        marked: bool,
    },
    /// A packet of a flow is sent again.
    Retransmitted(u64),
    /// The retransmission timer of a flow expired.
    TimedOut {
        /// Flow of the timer.
        flow: u64,
        /// Destination of the flow.
        destination: u32,
    },
    /// A flow ended.
    Closed(u64),
}

/// Number of table entries that are searched for ended flows with each packet that looks for a path.
const SWEPT_PER_CHOICE: usize = 8;
/// Time without packets after which a flow has ended, in nanoseconds.
const IDLE_NS: u64 = 1_000_000_000;

impl<M: Flows<Note = Note>, C: AsRef<[Path]> + AsMut<[Path]>> Pick for Hermes<M, C> {
    const NAME: &'static str = "hermes";
    const NEEDS: u32 = capability::CLOCK | capability::RANDOM | capability::FEEDBACK | capability::PROBE;
    type Plan = Parameters;
    type State = State<M, C>;
    type Feedback = Feedback;

    #[inline(always)]
    fn pick<E: Env>(plan: &Parameters, state: &mut State<M, C>, packet: &mut Packet, env: &mut E) -> u16 {
        let now_ns = env.now_ns();
        let base_ns = state.base_ns(plan);
        let State { flows, paths, .. } = state;
        let paths = paths.as_mut();
        let mut began = false;
        let path = flows.upsert(packet.flow, |known| {
            let (path, mut note) = match known {
                Some((path, mut note)) if stays_usable(plan, paths, path, &note, env) => {
                    match may_move(plan, paths, path, &mut note, base_ns, env) {
                        Some(better) => (better, moved(note, path, paths, better, now_ns)),
                        None => (path, note),
                    }
                }
                Some((path, note)) => {
                    let better = path::pick_path(plan, paths, base_ns, env);
                    (better, moved(note, path, paths, better, now_ns))
                }
                None => {
                    began = true;
                    let path = path::pick_path(plan, paths, base_ns, env);
                    if let Some(path) = paths.get_mut(usize::from(path)) {
                        path.flows += 1;
                    }
                    (path, Note { moved_ns: now_ns, before: path, ..Note::default() })
                }
            };
            note.sent_bytes = note.sent_bytes.saturating_add(packet.bytes.into());
            note.rate.add(&plan.estimator, packet.bytes, now_ns);
            note.last_ns = now_ns;
            (path, note)
        });
        if let Some(path) = paths.get_mut(usize::from(path)) {
            path.send(plan, packet.bytes, base_ns, now_ns);
        }
        if began {
            state.forget(SWEPT_PER_CHOICE, now_ns);
        }
        path
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State<M, C>, feedback: &Feedback, env: &mut E) {
        let now_ns = env.now_ns();
        match *feedback {
            Feedback::Acknowledged { flow, destination, sent_ns, timed, marked } => {
                let Some((path, note)) = state.flows.get(flow) else { return };
                // What was sent before the flow moved speaks of the path it left.
                let here = sent_ns >= note.moved_ns;
                let rtt_ns = timed.then(|| now_ns.saturating_sub(sent_ns).min(u32::MAX.into()) as u32);
                let about = if here { path } else { note.before };
                state.hear(plan, about, rtt_ns, marked, now_ns);
                if let Some(path) = state.paths.as_mut().get_mut(usize::from(about)) {
                    path.answer(destination);
                }
                if here && !note.answered {
                    state.renote(flow, |note| note.answered = true);
                }
            }
            Feedback::Probed { path, rtt_ns, marked } => {
                state.hear(plan, path, Some(rtt_ns), marked, now_ns);
            }
            Feedback::Retransmitted(flow) => {
                let base_ns = state.base_ns(plan);
                let Some((path, note)) = state.flows.get(flow) else { return };
                // Within a long round trip of a move, what was lost was sent before it.
                let before_ns = base_ns.saturating_add(plan.rtt_high_ns);
                let here = now_ns.saturating_sub(note.moved_ns) > before_ns;
                let path = if here { path } else { note.before };
                if let Some(path) = state.paths.as_mut().get_mut(usize::from(path)) {
                    path.lose();
                }
            }
            Feedback::TimedOut { flow, destination } => {
                let Some((path, note)) = state.flows.get(flow) else { return };
                if let Some(path) = state.paths.as_mut().get_mut(usize::from(path))
                    && !note.answered
                {
                    path.time_out(plan, destination, now_ns);
                }
                state.renote(flow, |note| note.timed_out = true);
            }
            Feedback::Closed(flow) if state.flows.get(flow).is_some() => {
                state.renote(flow, |note| note.closed = true);
            }
            Feedback::Closed(_) => {}
        }
    }

    /// Removes ended flows from their paths.
    fn tick<E: Env>(_plan: &Parameters, state: &mut State<M, C>, env: &mut E) {
        state.forget(usize::MAX, env.now_ns());
    }

    /// Forgets a path that returns; flows on a dead path look for another with their next packet.
    fn port_changed<E: Env>(
        _plan: &Parameters,
        state: &mut State<M, C>,
        member: u16,
        _up: bool,
        _env: &mut E,
    ) {
        if let Some(path) = state.paths.as_mut().get_mut(usize::from(member)) {
            *path = path.forgotten();
        }
    }
}

impl<M, C> State<M, C> {
    /// Makes a state without knowledge.
    pub const fn new(flows: M, paths: C) -> Self {
        Self { flows, paths, least_rtt_ns: 0 }
    }
}

impl<M: Flows<Note = Note>, C: AsMut<[Path]>> State<M, C> {
    fn base_ns(&self, plan: &Parameters) -> u64 {
        plan.rtt_base_ns.unwrap_or(self.least_rtt_ns.into())
    }

    fn hear(&mut self, plan: &Parameters, path: u16, rtt_ns: Option<u32>, marked: bool, now_ns: u64) {
        if let Some(rtt_ns) = rtt_ns
            && (self.least_rtt_ns == 0 || rtt_ns < self.least_rtt_ns)
        {
            self.least_rtt_ns = rtt_ns.max(1);
        }
        if let Some(path) = self.paths.as_mut().get_mut(usize::from(path)) {
            path.hear(plan, rtt_ns, marked, now_ns);
        }
    }

    /// Searches the next table entries for ended flows.
    fn forget(&mut self, slots: usize, now_ns: u64) {
        let Self { flows, paths, .. } = self;
        let ended = |_, note: &Note| note.closed || now_ns.saturating_sub(note.last_ns) > IDLE_NS;
        flows.sweep(slots, ended, |member| {
            if let Some(path) = paths.as_mut().get_mut(usize::from(member)) {
                path.flows = path.flows.saturating_sub(1);
            }
        });
    }

    /// Changes the note of a flow that is known.
    fn renote(&mut self, flow: u64, change: impl FnOnce(&mut Note)) {
        self.flows.upsert(flow, |known| {
            let (path, mut note) = known.unwrap_or_default();
            change(&mut note);
            (path, note)
        });
    }
}

/// Whether a flow may stay on its path.
fn stays_usable<E: Env>(plan: &Parameters, paths: &[Path], path: u16, note: &Note, env: &mut E) -> bool {
    let now_ns = env.now_ns();
    let failed = paths.get(usize::from(path)).is_none_or(|path| path.has_failed(plan, now_ns));
    !note.timed_out && env.up(path) && !failed
}

/// Finds a better path for a flow on a congested one, if it has sent enough to be worth it and is slow enough to gain.
#[inline(always)]
fn may_move<E: Env>(
    plan: &Parameters,
    paths: &mut [Path],
    path: u16,
    note: &mut Note,
    base_ns: u64,
    env: &mut E,
) -> Option<u16> {
    let now_ns = env.now_ns();
    if note.sent_bytes <= plan.sent_min_bytes
        || paths.get(usize::from(path))?.class(plan, base_ns, now_ns) != Class::Congested
        || note.rate.bytes(&plan.estimator, now_ns) >= plan.rate_max_bytes()
        || now_ns.saturating_sub(note.tried_ns) < plan.guard_ns
    {
        return None;
    }
    note.tried_ns = now_ns;
    (plan.move_probability >= ONE || random_below(env, ONE) < plan.move_probability)
        .then(|| path::replace(plan, paths, path, base_ns, env))
        .flatten()
}

/// Makes the note of a flow that leaves `from` for `to`.
fn moved(note: Note, from: u16, paths: &mut [Path], to: u16, now_ns: u64) -> Note {
    if let Some(path) = paths.get_mut(usize::from(from)) {
        path.flows = path.flows.saturating_sub(1);
    }
    if let Some(path) = paths.get_mut(usize::from(to)) {
        path.flows += 1;
    }
    let note = Note { timed_out: false, ..note };
    if from == to { note } else { Note { before: from, moved_ns: now_ns, answered: false, ..note } }
}
