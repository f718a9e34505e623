//! Clove at work in hypervisors: what marks, or the levels that switches raise, are worth in its own terms.

use crate::GravityRule;
use crate::clove::pick::{Clove, Feedback, Note, Parameters, Path, Selection, State};
use crate::hosts::few_paths::Fork;
use crate::hosts::one_flow::OneFlow;
use crate::hosts::relayed::Relayed;
use anabranch_sim::{Packet, marks};
use anabranch_split::picks::relay::Tag;
use anabranch_split::picks::{Pick, score};
use anabranch_split::{Env, picks};

type Flow = OneFlow<Note>;
type Under = Clove<Flow, Box<[Path]>, Vec<score::Entry>>;

/// All that hypervisors of two leaves share.
pub(crate) struct CloveHypervisor(pub(crate) Parameters, pub(crate) GravityRule);

impl CloveHypervisor {
    pub(crate) const NEEDS: u32 = Under::NEEDS;
}

impl Relayed for CloveHypervisor {
    type State = State<Flow, Box<[Path]>, Vec<score::Entry>>;
    type Flow = Flow;
    /// The level, where paths are chosen by it.
    type News = u8;

    fn state(&self, paths: usize) -> Self::State {
        State { paths: vec![Path::default(); paths].into(), ..State::default() }
    }

    fn by_marks(&self) -> bool {
        self.0.selection != Selection::LeastUtilised
    }

    #[inline]
    fn pick(
        &self,
        state: &mut Self::State,
        flow: &mut Flow,
        asked: &mut picks::Packet,
        env: &mut Fork<'_>,
    ) -> u16 {
        if self.0.selection == Selection::Score && state.scored.due(env.now_ns(), self.0.interval_ns) {
            let living = (0..).zip(&state.paths);
            let weight = |(path, known): (u16, &Path)| if env.up(path) { known.weight.into() } else { 0 };
            state.scored.entries = self.1.entries(&living.map(weight).collect::<Vec<u64>>());
        }
        std::mem::swap(&mut state.flows, flow);
        let path = picks::pick::<Under, _>(&self.0, state, asked, env);
        std::mem::swap(&mut state.flows, flow);
        path
    }

    #[inline]
    fn hear(&self, _known: u8, packet: &Packet) -> Option<u8> {
        if self.by_marks() {
            (packet.marks & marks::EXPERIENCED != 0).then_some(0)
        } else {
            Some(Tag(packet.tag).level())
        }
    }

    fn written(&self, level: u8) -> u32 {
        level.into()
    }

    fn learn(&self, state: &mut Self::State, path: u16, news: u32, env: &mut Fork<'_>) {
        // Above the level there is that of the packet that brought the news.
        let level = (news & 0xff) as u8;
        let feedback =
            if self.by_marks() { Feedback::Marked(path) } else { Feedback::Utilisation { path, level } };
        Under::learn(&self.0, state, &feedback, env);
    }

    fn changed(&self, state: &mut Self::State, path: u16, env: &mut Fork<'_>) {
        let up = env.up(path);
        Under::port_changed(&self.0, state, path, up, env);
    }
}
