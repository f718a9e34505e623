//! Scores over weights that move: the control half makes new entries when enough has changed and time has passed.

use super::score::Entry;
use super::{Packet, Pick, Score, mix};
use crate::Still;

/// Entries of [`Score`] in `G`, and whether they are outdated.
#[derive(Clone, Debug, Default)]
pub struct Scored<G> {
    /// Gravities of the living members (VALO Eq. 16), from the weights at the time they were made.
    pub entries: G,
    moved: bool,
    made_ns: Option<u64>,
}

impl<G> Scored<G> {
    /// Records that the weights have moved.
    #[inline(always)]
    pub fn move_on(&mut self) {
        self.moved = true;
    }

    /// Records that members died or returned: entries are due at once.
    #[inline(always)]
    pub fn renew(&mut self) {
        self.made_ns = None;
    }

    /// Whether to make entries now: there are none yet, or weights have moved and `interval_ns` has passed since the
    /// last. The caller must make them if so.
    #[inline(always)]
    pub fn due(&mut self, now_ns: u64, interval_ns: u64) -> bool {
        let due =
            self.made_ns.is_none_or(|made_ns| self.moved && now_ns.saturating_sub(made_ns) >= interval_ns);
        if due {
            self.moved = false;
            self.made_ns = Some(now_ns);
        }
        due
    }
}

impl<G: AsRef<[Entry]>> Scored<G> {
    /// Member of the `number`-th unit of a flow: highest score, the key being (flow, number). `None` without entries.
    #[inline(always)]
    pub fn pick(&self, flow: u64, number: u32) -> Option<u16> {
        let entries = self.entries.as_ref();
        let key = mix::finalise(mix::absorb(flow as u32, number));
        let mut unit = Packet { flow: key.into(), ..Packet::default() };
        (!entries.is_empty()).then(|| Score::pick(entries, &mut (), &mut unit, &mut Still))
    }
}
