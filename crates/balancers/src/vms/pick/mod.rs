//! Decisions of VMS; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::score::Entry;
use anabranch_split::picks::scored::Scored;
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;

mod channel;

pub use channel::{Channel, ONE};

/// Packets over weighted channels (members); channels in `C`, entries of scores in `G`.
pub struct Vms<C, G>(PhantomData<(C, G)>);

/// Rule by which a packet gets its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Selection {
    /// Heavier of two random channels: the VALO paper's reading.
    #[default]
    HeavierOfTwo,
    /// Channel with room in its virtual window.
    Window,
    /// Channel with the highest score by (flow, number of the 64 KB unit) over the gravities of the weights: VMS+VALO.
    ScoreOfUnit,
    /// Channel with the highest score by flow alone: VMS+VALO that keeps flows together while weights are constant.
    ScoreOfFlow,
}

/// Parameters of VMS. Fractions are in units of 1 / [`ONE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Rule by which a packet gets its channel.
    pub selection: Selection,
    /// Length of a round, in nanoseconds, after which weights and windows move: a round trip.
    pub round_ns: u64,
    /// Gain of a weight in a round without marks.
    pub gain: u32,
    /// Least weight. It is above zero, so that the channel is tried again.
    pub weight_min: u32,
    /// Time after which packets without feedback are lost, in nanoseconds.
    pub lost_after_ns: u64,
    /// Initial window, in packets.
    pub window_initial: u32,
    /// Least window, in packets.
    pub window_min: u32,
    /// Largest window, in packets.
    pub window_max: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            selection: Selection::HeavierOfTwo,
            round_ns: 80_000,
            gain: ONE / 8,
            weight_min: ONE / 20,
            lost_after_ns: 1_000_000,
            window_initial: 10,
            window_min: 1,
            window_max: 1 << 10,
        }
    }
}

/// Channels towards one destination.
#[derive(Clone, Debug, Default)]
pub struct State<C, G> {
    /// State of each channel.
    pub channels: C,
    /// Scores: the control half makes their `entries`.
    pub scored: Scored<G>,
    /// Start of the round, and time of the last look for losses.
    round_ns: u64,
    looked_ns: u64,
    /// Channel of the last packet.
    last: u16,
}

impl<C, G: Default> State<C, G> {
    /// Makes channels without knowledge.
    pub fn new(channels: C) -> Self {
        Self { channels, scored: Scored::default(), round_ns: 0, looked_ns: 0, last: 0 }
    }
}

/// News from the destination about one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Channel that the news is about.
    pub channel: u16,
    /// Number of packets that arrived since the last news of this channel.
    pub packets: u32,
    /// Number of those packets with congestion experienced.
    pub marked: u32,
}

impl<C, G> Pick for Vms<C, G>
where
    C: AsRef<[Channel]> + AsMut<[Channel]>,
    G: AsRef<[Entry]>,
{
    const NAME: &'static str = "vms";
    const NEEDS: u32 = capability::CLOCK | capability::RANDOM | capability::TAG | capability::FEEDBACK;
    type Plan = Parameters;
    type State = State<C, G>;
    type Feedback = Feedback;

    #[inline(always)]
    fn pick<E: Env>(plan: &Parameters, state: &mut State<C, G>, packet: &mut Packet, env: &mut E) -> u16 {
        keep_time(plan, state, env.now_ns());
        let channels = state.channels.as_mut();
        let channel = match plan.selection {
            Selection::HeavierOfTwo => heavier_of_two(channels, env),
            Selection::Window => with_room(channels, state.last, env),
            Selection::ScoreOfUnit | Selection::ScoreOfFlow => {
                let unit = if plan.selection == Selection::ScoreOfUnit { packet.cell } else { 0 };
                state.scored.pick(packet.flow, unit).unwrap_or_else(|| heavier_of_two(channels, env))
            }
        };
        if let Some(channel) = channels.get_mut(usize::from(channel)) {
            channel.sent = channel.sent.wrapping_add(1);
        }
        state.last = channel;
        channel
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State<C, G>, feedback: &Feedback, env: &mut E) {
        if let Some(channel) = state.channels.as_mut().get_mut(usize::from(feedback.channel)) {
            // What was given up and arrives after all is settled already.
            let settled = feedback.packets.min(channel.in_flight());
            channel.settled = channel.settled.wrapping_add(settled);
            channel.heard_since = channel.heard_since.wrapping_add(feedback.packets);
            channel.heard = channel.heard.wrapping_add(feedback.packets);
            channel.marked = channel.marked.wrapping_add(feedback.marked);
        }
        keep_time(plan, state, env.now_ns());
    }

    /// Resets a channel that dies or returns.
    fn port_changed<E: Env>(
        plan: &Parameters,
        state: &mut State<C, G>,
        member: u16,
        _up: bool,
        _env: &mut E,
    ) {
        if let Some(channel) = state.channels.as_mut().get_mut(usize::from(member)) {
            *channel = Channel::new(plan);
        }
        state.scored.renew();
    }
}

/// Ends the round and looks for losses if it is time. There is no timer: nothing moves while nothing is sent or
/// reported.
#[inline(always)]
fn keep_time<C: AsMut<[Channel]>, G>(plan: &Parameters, state: &mut State<C, G>, now_ns: u64) {
    let look = now_ns.saturating_sub(state.looked_ns) >= plan.lost_after_ns;
    let round_over = now_ns.saturating_sub(state.round_ns) >= plan.round_ns;
    if look {
        state.looked_ns = now_ns;
        state.channels.as_mut().iter_mut().for_each(Channel::look_for_losses);
    }
    if round_over {
        state.round_ns = now_ns;
        for channel in state.channels.as_mut() {
            let before = channel.weight;
            channel.end_round(plan);
            if channel.weight != before {
                state.scored.move_on();
            }
        }
    }
}

/// Draws two different living channels and returns the heavier one; the first drawn of equals.
#[inline(always)]
fn heavier_of_two<E: Env>(channels: &[Channel], env: &mut E) -> u16 {
    let living = (0u16..).zip(channels).filter(|&(member, _)| env.up(member)).count() as u32;
    if living == 0 {
        return 0;
    }
    let one = random_below(env, living);
    let other = if living == 1 { one } else { (one + 1 + random_below(env, living - 1)) % living };
    let nth = |n: u32| (0u16..).zip(channels).filter(|&(member, _)| env.up(member)).nth(n as usize);
    match (nth(one), nth(other)) {
        (Some((_, one)), Some((member, other))) if other.weight > one.weight => member,
        (Some((member, _)), _) => member,
        (None, _) => 0,
    }
}

/// Finds the channel of the last packet if it has room for one more, else the next in rotation that has; if none has,
/// the one with most room, however negative.
#[inline(always)]
fn with_room<E: Env>(channels: &mut [Channel], last: u16, env: &E) -> u16 {
    let mut roomiest = (i64::MIN, 0u16);
    // Two passes of the list are one rotation from `last` on.
    for turn in 0..2 {
        for (member, channel) in (0u16..).zip(channels.iter_mut()) {
            if (member < last) != (turn == 1) || !env.up(member) {
                continue;
            }
            let room = channel.room();
            if room >= i64::from(ONE) {
                return member;
            }
            channel.full = true;
            if room > roomiest.0 {
                roomiest = (room, member);
            }
        }
    }
    roomiest.1
}
