//! The destination leaf's half of ConWeave: packets of the new path wait until the old path is empty.
//!
//! This is the state of one flow without its packets: the environment holds those, in order, and carries out the
//! verdicts.

use crate::conweave::header::{Control, Epoch, Flag, Header, Stamp};
use crate::conweave::pick::Parameters;

/// State of a flow at its destination leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reordering {
    known: bool,
    epoch: Epoch,
    /// Whether the old path of this epoch is considered empty.
    cleared: bool,
    /// Time of arrival and stamp of the last packet before the reroute, if one has arrived in this epoch.
    before: Option<(u64, Stamp)>,
    /// Time at which the tail was, or will have been, sent.
    tail: Option<Stamp>,
    /// Time at which held packets are released, in nanoseconds; `None` if none is held.
    deadline_ns: Option<u64>,
    last_ns: u64,
}

/// Verdict on a packet and on those that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Release the held packets before this packet.
    pub release_before: bool,
    /// Hold this packet, behind those already held.
    pub hold: bool,
    /// Release the held packets after this packet.
    pub release_after: bool,
    /// Send this message back.
    pub answer: Option<Control>,
}

impl Reordering {
    /// Time at which held packets are released if nothing happens before, in nanoseconds.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        self.deadline_ns
    }

    /// Whether the flow may be forgotten. This is sooner than at the source, which numbers epochs from the start again
    /// when it forgets a flow.
    #[must_use]
    pub fn is_over(&self, parameters: &Parameters, now_ns: u64) -> bool {
        self.deadline_ns.is_none() && now_ns.saturating_sub(self.last_ns) > parameters.age_ns / 2
    }

    /// Processes the arrival of a packet.
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

    /// Predicts when the tail arrives: it follows the last packet before it after the same time as it was sent.
    fn predicted_ns(&self, parameters: &Parameters, now_ns: u64) -> u64 {
        let due_ns = match (self.before, self.tail) {
            (Some((arrived_ns, sent)), Some(tail)) => arrived_ns + tail.since(sent),
            _ => now_ns + parameters.default_hold_ns,
        };
        (due_ns + parameters.extra_hold_ns).max(now_ns)
    }

    /// Processes the deadline: returns whether held packets are to be released. The tail is considered lost.
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
