//! Decisions of ConWeave; its rule and where it differs from the paper stand on `page.md`.

use crate::conweave::header::{Control, Epoch, Flag, Header, Stamp};
use anabranch_split::picks::{Flows, Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;

/// The source leaf's half of ConWeave; a member is a path to the packet's leaf. `P` holds a time per path.
pub struct ConWeave<P, M>(PhantomData<(P, M)>);

/// Parameters of ConWeave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Time that a reply may take beyond the round trip of an empty fabric, in nanoseconds.
    pub extra_reply_ns: u64,
    /// Time for which a path is not chosen after a marked packet came by it, in nanoseconds.
    pub pause_ns: u64,
    /// Time that the last packets on the old path may take beyond the predicted time, in nanoseconds.
    pub extra_hold_ns: u64,
    /// Time for which packets of the new path are held if no packet of the old path allows a prediction, in
    /// nanoseconds.
    pub default_hold_ns: u64,
    /// Pause after which a flow begins a round, and may choose a path, in nanoseconds.
    pub expiry_ns: u64,
    /// Pause after which a flow is forgotten, in nanoseconds.
    pub age_ns: u64,
    /// Frame of a control packet, in bytes.
    pub control_bytes: u16,
}

impl Default for Parameters {
    /// Defaults of the authors' simulation of a leaf-spine fabric at 100 Gbit/s.
    fn default() -> Self {
        Self {
            extra_reply_ns: 4_000,
            pause_ns: 16_000,
            extra_hold_ns: 16_000,
            default_hold_ns: 200_000,
            expiry_ns: 300_000,
            age_ns: 2_000_000,
            control_bytes: 64,
        }
    }
}

/// Parameters, and the paths to a leaf.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Parameters of ConWeave.
    pub parameters: Parameters,
    /// Number of paths to the leaf.
    pub paths: u16,
    /// Round trip to the leaf through an empty fabric, in nanoseconds.
    pub round_trip_ns: u64,
}

/// State of a flow's round, beside its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    epoch: Epoch,
    /// Whether the flow was rerouted in this epoch.
    rerouted: bool,
    /// Whether the epoch's request is answered, so that the next packet may begin another epoch.
    settled: bool,
    /// Time at which a reply is overdue; `None` if none is awaited.
    deadline_ns: Option<u64>,
    last_ns: u64,
    /// Time at which the tail was sent.
    tail: Stamp,
}

/// State of a source leaf.
#[derive(Clone, Debug, Default)]
pub struct State<P, M> {
    /// Time until which each path to this leaf is not chosen, in nanoseconds.
    pub paused_ns: P,
    /// Path and round of each flow.
    pub flows: M,
}

/// Control packet that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Flow that it is about.
    pub flow: u64,
    /// Message of the packet.
    pub control: Control,
}

/// Number of table entries that are searched for flows to forget with each new flow.
const SWEPT_PER_FLOW: usize = 8;

impl<P: AsMut<[u64]>, M: Flows<Note = Round>> Pick for ConWeave<P, M> {
    const NAME: &'static str = "conweave";
    const NEEDS: u32 = capability::CLOCK
        | capability::RANDOM
        | capability::TAG
        | capability::TIMER
        | capability::PROBE
        | capability::FEEDBACK;
    type Plan = Plan;
    type State = State<P, M>;
    type Feedback = Arrived;

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan, state: &mut State<P, M>, packet: &mut Packet, env: &mut E) -> u16 {
        let now_ns = env.now_ns();
        let parameters = &plan.parameters;
        let State { paused_ns, flows } = state;
        let paused_ns = paused_ns.as_mut();
        let (mut began, mut header) = (false, Header::default());
        let mut path = 0;
        flows.upsert(packet.flow, |known| {
            let known = known.filter(|(_, round)| idle(round, now_ns) <= parameters.age_ns);
            began = known.is_none();
            let (old, mut round) =
                known.map_or((None, Round::default()), |(path, round)| (Some(path), round));
            let alive = old.filter(|&path| env.up(path));
            let expired = alive.is_none() || idle(&round, now_ns) > parameters.expiry_ns;
            round.last_ns = now_ns;
            if expired || round.settled {
                // An expired flow has nothing on the way that a new path could overtake; a settled one stays.
                path =
                    if expired { fresh_path(plan.paths, paused_ns, alive, env) } else { alive.unwrap_or(0) };
                let deadline_ns = now_ns + plan.round_trip_ns + parameters.extra_reply_ns;
                round = Round {
                    epoch: round.epoch.next(),
                    deadline_ns: Some(deadline_ns),
                    last_ns: now_ns,
                    ..Round::default()
                };
                header = Header { flag: Flag::Init, ..header };
            } else {
                path = alive.unwrap_or(0);
            }
            let overdue = round.deadline_ns.is_some_and(|deadline_ns| deadline_ns < now_ns);
            let rerouted = round.rerouted;
            let mut next = path;
            if overdue {
                // This packet is the last on the old path; those after it may take another.
                round = Round { rerouted: true, deadline_ns: None, tail: Stamp::of(now_ns), ..round };
                next = fresh_path(plan.paths, paused_ns, Some(path), env);
                header = Header { flag: Flag::Tail, ..header };
            }
            let sent = if rerouted { round.tail } else { Stamp::of(now_ns) };
            header = Header { epoch: round.epoch, rerouted, path, sent, ..header };
            (next, round)
        });
        if began {
            flows.sweep(SWEPT_PER_FLOW, |_, round| idle(round, now_ns) > parameters.age_ns, |_| ());
        }
        packet.tag = header.pack();
        path
    }

    /// Settles the epoch if a reply is in time or the tail arrived: then no packet is on its path that could be
    /// overtaken.
    fn learn<E: Env>(plan: &Plan, state: &mut State<P, M>, arrived: &Arrived, env: &mut E) {
        let now_ns = env.now_ns();
        let settles = |round: &Round| match arrived.control {
            Control::Reply(epoch) => {
                epoch == round.epoch
                    && !round.rerouted
                    && round.deadline_ns.is_some_and(|deadline_ns| now_ns < deadline_ns)
            }
            Control::Clear(epoch) => epoch == round.epoch && round.rerouted,
            Control::Notify(_) => false,
        };
        if let Control::Notify(path) = arrived.control
            && let Some(until_ns) = state.paused_ns.as_mut().get_mut(usize::from(path))
        {
            *until_ns = now_ns + plan.parameters.pause_ns;
        }
        if let Some((path, round)) = state.flows.get(arrived.flow)
            && settles(&round)
        {
            let settled = Round { settled: true, deadline_ns: None, ..round };
            state.flows.upsert(arrived.flow, |_| (path, settled));
        }
    }
}

#[inline(always)]
fn idle(round: &Round, now_ns: u64) -> u64 {
    now_ns.saturating_sub(round.last_ns)
}

/// Draws two paths and returns the first that is not paused; if both are paused, `old`, or one of the two if there is
/// no old path.
#[inline(always)]
fn fresh_path<E: Env>(paths: u16, paused_ns: &[u64], old: Option<u16>, env: &mut E) -> u16 {
    let now_ns = env.now_ns();
    let living = (0..paths).filter(|&path| env.up(path)).count() as u32;
    let mut drawn = 0;
    for _ in 0..2 {
        let wanted = random_below(env, living) as usize;
        drawn = (0..paths).filter(|&path| env.up(path)).nth(wanted).unwrap_or(0);
        let paused = paused_ns.get(usize::from(drawn)).is_some_and(|&until_ns| until_ns > now_ns);
        if !paused {
            return drawn;
        }
    }
    old.unwrap_or(drawn)
}
