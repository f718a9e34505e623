//! VMS at work in virtual switches: packets and marks counted by channel at one end, and read at the other.

use crate::GravityRule;
use crate::hosts::few_paths::Fork;
use crate::hosts::relayed::Relayed;
use crate::vms::pick::{Channel, Feedback, Parameters, Selection, State, Vms};
use anabranch_sim::{Packet, marks};
use anabranch_split::picks::relay::NEWS_BITS;
use anabranch_split::picks::{Pick, score};
use anabranch_split::{Env, picks};

type Under = Vms<Box<[Channel]>, Vec<score::Entry>>;

/// Bits of a count of packets as it travels; the marked have the rest of the news.
const PACKET_BITS: u32 = 10;
const MARKED_BITS: u32 = NEWS_BITS - PACKET_BITS;

/// All that virtual switches of two leaves share.
pub(crate) struct VirtualSwitch(pub(crate) Parameters, pub(crate) GravityRule);

/// Counts that wrap round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    packets: u32,
    marked: u32,
}

impl Counts {
    const fn written(self) -> u32 {
        (self.packets % (1 << PACKET_BITS)) | ((self.marked % (1 << MARKED_BITS)) << PACKET_BITS)
    }

    const fn read(news: u32) -> Self {
        Self { packets: news % (1 << PACKET_BITS), marked: news >> PACKET_BITS }
    }

    /// Counts since `before`, both as read.
    const fn since(self, before: Self) -> Self {
        Self {
            packets: self.packets.wrapping_sub(before.packets) % (1 << PACKET_BITS),
            marked: self.marked.wrapping_sub(before.marked) % (1 << MARKED_BITS),
        }
    }
}

/// The channels to one destination, and what it last said of each.
pub(crate) struct Channels {
    state: State<Box<[Channel]>, Vec<score::Entry>>,
    said: Box<[Counts]>,
}

impl VirtualSwitch {
    pub(crate) const NEEDS: u32 = Under::NEEDS;
}

impl Relayed for VirtualSwitch {
    type State = Channels;
    type Flow = ();
    type News = Counts;

    fn state(&self, paths: usize) -> Channels {
        Channels {
            state: State::new(vec![Channel::new(&self.0); paths].into()),
            said: vec![Counts::default(); paths].into(),
        }
    }

    fn by_marks(&self) -> bool {
        true
    }

    #[inline]
    fn pick(
        &self,
        Channels { state, .. }: &mut Channels,
        _flow: &mut (),
        asked: &mut picks::Packet,
        env: &mut Fork<'_>,
    ) -> u16 {
        let scored = matches!(self.0.selection, Selection::ScoreOfUnit | Selection::ScoreOfFlow);
        if scored && state.scored.due(env.now_ns(), self.0.round_ns) {
            let all = (0..).zip(&state.channels);
            let weight = |(channel, known): (u16, &Channel)| {
                if env.up(channel) { known.weight.into() } else { 0 }
            };
            state.scored.entries = self.1.entries(&all.map(weight).collect::<Vec<u64>>());
        }
        picks::pick::<Under, _>(&self.0, state, asked, env)
    }

    #[inline]
    fn hear(&self, known: Counts, packet: &Packet) -> Option<Counts> {
        let marked = u32::from(packet.marks & marks::EXPERIENCED != 0);
        Some(Counts { packets: known.packets.wrapping_add(1), marked: known.marked.wrapping_add(marked) })
    }

    fn written(&self, news: Counts) -> u32 {
        news.written()
    }

    fn learn(&self, state: &mut Channels, channel: u16, news: u32, env: &mut Fork<'_>) {
        let Some(said) = state.said.get_mut(usize::from(channel)) else { return };
        let says = Counts::read(news);
        let Counts { packets, marked } = says.since(*said);
        *said = says;
        Under::learn(&self.0, &mut state.state, &Feedback { channel, packets, marked }, env);
    }

    fn changed(&self, state: &mut Channels, channel: u16, env: &mut Fork<'_>) {
        let up = env.up(channel);
        Under::port_changed(&self.0, &mut state.state, channel, up, env);
    }
}
