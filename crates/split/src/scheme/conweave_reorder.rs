//! The destination leaf's half of ConWeave: packets of the new path wait until the old path is empty.
//!
//! The state of one flow, without the packets themselves: the place holds those, in order, and does as it is
//! told.

use super::conweave::Parameters;
use super::conweave_header::{Control, Epoch, Flag, Header, Stamp};

/// A flow at its destination leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reordering {
    known: bool,
    epoch: Epoch,
    /// Whether the old path of this epoch is taken for empty.
    cleared: bool,
    /// When the last packet before the reroute arrived and was sent, if one has in this epoch.
    before: Option<(u64, Stamp)>,
    /// When the tail was, or will have been, sent.
    tail: Option<Stamp>,
    /// When what is held is let go, in nanoseconds; `None` if nothing is held.
    deadline_ns: Option<u64>,
    last_ns: u64,
}

/// What to do with a packet and with those that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Let go what is held, before this packet.
    pub release_before: bool,
    /// Hold this packet, behind what is held.
    pub hold: bool,
    /// Let go what is held, after this packet.
    pub release_after: bool,
    /// Send this back.
    pub answer: Option<Control>,
}

impl Reordering {
    /// When what is held is let go if nothing comes before, in nanoseconds.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        self.deadline_ns
    }

    /// Whether the flow may be forgotten. Sooner than the source does, which numbers epochs from the start
    /// again when it forgets.
    #[must_use]
    pub fn is_over(&self, parameters: &Parameters, now_ns: u64) -> bool {
        self.deadline_ns.is_none() && now_ns.saturating_sub(self.last_ns) > parameters.age_ns / 2
    }

    /// A packet arrives.
    #[inline]
    pub fn arrive(&mut self, parameters: &Parameters, header: &Header, now_ns: u64) -> Verdict {
        if !self.known || self.is_over(parameters, now_ns) {
            *self = Self { known: true, epoch: header.epoch, ..Self::default() };
        }
        self.last_ns = now_ns;
        let mut verdict = Verdict {
            answer: match header.flag {
                Flag::Plain => None,
                Flag::Init => Some(Control::Reply(header.epoch)),
                Flag::Tail => Some(Control::Clear(header.epoch)),
            },
            ..Verdict::default()
        };
        if self.epoch.is_after(header.epoch) {
            return Verdict { answer: None, ..verdict };
        }
        if header.epoch != self.epoch {
            verdict.release_before = self.deadline_ns.is_some();
            *self = Self { known: true, epoch: header.epoch, last_ns: now_ns, ..Self::default() };
        }
        if header.rerouted {
            self.tail = Some(header.sent);
            verdict.hold = !self.cleared;
            if verdict.hold && self.deadline_ns.is_none() {
                self.deadline_ns = Some(self.predicted_ns(parameters, now_ns));
            }
            return verdict;
        }
        self.before = Some((now_ns, header.sent));
        if header.flag == Flag::Tail {
            self.cleared = true;
            verdict.release_after = self.deadline_ns.take().is_some();
        } else if self.deadline_ns.is_some() {
            self.deadline_ns = Some(self.predicted_ns(parameters, now_ns));
        }
        verdict
    }

    /// When the tail should be here: as long after the last packet before it as it was sent after that one.
    fn predicted_ns(&self, parameters: &Parameters, now_ns: u64) -> u64 {
        let due_ns = match (self.before, self.tail) {
            (Some((arrived_ns, sent)), Some(tail)) => arrived_ns + tail.since(sent),
            _ => now_ns + parameters.default_hold_ns,
        };
        (due_ns + parameters.extra_hold_ns).max(now_ns)
    }

    /// The deadline has come: whether what is held is to be let go. The tail is taken for lost.
    #[must_use]
    pub fn expire(&mut self, now_ns: u64) -> bool {
        let expired = self.deadline_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns);
        if expired {
            self.cleared = true;
            self.deadline_ns = None;
        }
        expired
    }
}
