//! Loss detection by time (RACK, RFC 8985, section 6): lost is what was sent long enough before something that has
//! arrived.
//!
//! Once reordering was seen, the reordering window is a quarter of the least round trip; where receivers report
//! duplicates (DSACK), it grows by as much in each round trip that has one. Tail loss probes (section 7) are not modelled.

use super::ranges::Ranges;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use std::collections::VecDeque;
use std::ops::Range;

/// Recoveries after the last duplicate at which the window is a quarter of a round trip again (section 6.2.4).
const PERSISTENCE: u8 = 16;

/// A segment in the network.
#[derive(Clone, Debug)]
struct Sent {
    /// How many were sent before it: what RFC 8985 has times and, where they tie, sequence numbers for.
    order: u64,
    span: Range<u64>,
    at_ps: u64,
    again: bool,
}

/// Record of the segments that were sent, and of those that arrived.
#[derive(Debug)]
pub(super) struct Rack {
    /// In the order of sending, without what arrived or was found lost.
    sent: VecDeque<Sent>,
    /// How many were sent.
    count: u64,
    /// Order of the segment sent last among those that arrived.
    newest: u64,
    /// Its round trip.
    rtt_ps: u64,
    /// Highest end of all that arrived.
    highest: u64,
    reordering_seen: bool,
    /// Quarters of the least round trip in the reordering window (RACK.reo_wnd_mult).
    quarters: u16,
    /// Recoveries for which it stays so (RACK.reo_wnd_persist).
    persistence: u8,
    /// Byte to be acknowledged before a duplicate widens it again (RACK.dsack_round).
    round_end: u64,
    due_at_ps: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent: VecDeque::new(),
            count: 0,
            newest: 0,
            rtt_ps: 0,
            highest: 0,
            reordering_seen: false,
            quarters: 1,
            persistence: PERSISTENCE,
            round_end: 0,
            due_at_ps: u64::MAX,
        }
    }
}

impl Rack {
    /// Resets to a new sender's; what is allocated stays.
    pub(super) fn reset(&mut self) {
        let mut sent = std::mem::take(&mut self.sent);
        sent.clear();
        *self = Self { sent, ..Self::default() };
    }

    /// When segments are to be looked at again; `u64::MAX` if never.
    #[inline(always)]
    pub(super) fn due_at_ps(&self) -> u64 {
        self.due_at_ps
    }

    /// A segment goes out.
    #[inline]
    pub(super) fn sent(&mut self, span: Range<u64>, at_ps: u64, again: bool) {
        self.count += 1;
        self.sent.push_back(Sent { order: self.count, span, at_ps, again });
    }

    /// Steps 2 and 3: an acknowledgement that echoes `stamp_ns` acknowledged all below `una` and SACKed `sacked`.
    pub(super) fn arrived(&mut self, una: u64, sacked: &Ranges, stamp_ns: u32, rtt: &Rtt, now_ps: u64) {
        while let Some(first) = self.sent.front().filter(|first| first.span.end <= una).cloned() {
            self.sent.pop_front();
            self.note(&first, stamp_ns, rtt, now_ps);
        }
        if sacked.is_empty() && self.sent.front().is_none_or(|first| !first.again) {
            return;
        }
        let mut kept = std::mem::take(&mut self.sent);
        kept.retain(|sent| {
            let arrived = sent.span.end <= una
                || sacked.around(sent.span.start.max(una)).is_some_and(|r| r.end >= sent.span.end);
            if arrived {
                self.note(sent, stamp_ns, rtt, now_ps);
            }
            !arrived
        });
        self.sent = kept;
    }

    fn note(&mut self, arrived: &Sent, stamp_ns: u32, rtt: &Rtt, now_ps: u64) {
        let end = arrived.span.end;
        if end > self.highest {
            self.highest = end;
        } else if end < self.highest && !arrived.again {
            self.reordering_seen = true;
        }
        let rtt_ps = now_ps - arrived.at_ps;
        // The answer may be to the first copy: then it echoes an older stamp, or comes too soon.
        let sent_ns = (arrived.at_ps / 1000) as u32;
        let older = (stamp_ns.wrapping_sub(sent_ns) as i32) < 0;
        if arrived.again && (older || rtt_ps < rtt.least_ps()) {
            return;
        }
        if arrived.order > self.newest {
            self.newest = arrived.order;
            self.rtt_ps = rtt_ps;
        }
    }

    /// Step 4. `impatient`: losses are being repaired, or as many segments were SACKed as duplicates are a loss.
    fn window_ps(&self, rtt: &Rtt, impatient: bool) -> u64 {
        if !self.reordering_seen && impatient {
            return 0;
        }
        (rtt.least_ps() / 4 * u64::from(self.quarters)).min(rtt.smoothed_ps())
    }

    /// What was found lost arrived without being sent again, or its first copy did.
    pub(super) fn reordered(&mut self) {
        self.reordering_seen = true;
    }

    /// Section 6.2.4: the receiver reports a duplicate. `una` and `next` of the sender. Before reordering was seen it says
    /// nothing of the window, as in Linux.
    pub(super) fn arrived_twice(&mut self, una: u64, next: u64) {
        if self.reordering_seen && una >= self.round_end {
            self.round_end = next;
            self.quarters = self.quarters.saturating_add(1);
            self.persistence = PERSISTENCE;
        }
    }

    /// Whether a copy of what was sent before, and is not acknowledged below `una`, is in the network.
    pub(super) fn has_copies(&self, una: u64) -> bool {
        self.sent.iter().any(|sent| sent.again && sent.span.end > una)
    }

    /// Section 6.2.4: a recovery ends.
    pub(super) fn recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.quarters = 1;
        }
    }

    /// Step 5: finds what is lost by now, and when to look again. Whether anything is newly lost.
    pub(super) fn find_lost(
        &mut self,
        board: &mut Scoreboard,
        rtt: &Rtt,
        una: u64,
        impatient: bool,
        now_ps: u64,
    ) -> bool {
        let patience_ps = self.rtt_ps + self.window_ps(rtt, impatient);
        let mut lost = 0;
        while let Some(first) = self.sent.front().filter(|s| s.order < self.newest).cloned() {
            if first.at_ps + patience_ps > now_ps {
                break;
            }
            self.sent.pop_front();
            // Segments sent again may have other borders, so part of it may be acknowledged.
            lost += board.lose(first.span.start.max(una)..first.span.end);
        }
        // The timer is for the last of those in question, so that it finds all.
        let last = self.sent.iter().take_while(|s| s.order < self.newest).last();
        self.due_at_ps = last.map_or(u64::MAX, |s| s.at_ps + patience_ps);
        lost > 0
    }

    /// A timeout (section 6.3): the segment at `una` is lost, and what was sent longer ago than a round trip; so is what was
    /// found lost before, and was not after all ([`Scoreboard::lose_none`]).
    pub(super) fn timed_out(
        &mut self,
        board: &mut Scoreboard,
        rtt: &Rtt,
        (una, next): (u64, u64),
        now_ps: u64,
    ) {
        let patience_ps = self.rtt_ps + self.window_ps(rtt, false);
        self.due_at_ps = u64::MAX;
        self.sent.retain(|sent| sent.span.start > una && sent.at_ps + patience_ps > now_ps);
        board.lose_all(una, next);
        for sent in &self.sent {
            board.sent_again(sent.span.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_of_a_round_trip_widen_the_window_once_and_sixteen_recoveries_narrow_it() {
        let mut rtt = Rtt::default();
        rtt.measure(400);
        let mut rack = Rack::default();
        rack.arrived_twice(0, 10);
        assert_eq!(rack.window_ps(&rtt, true), 0, "no reordering was seen");
        rack.reordered();
        assert_eq!(rack.window_ps(&rtt, true), 100);
        for (una, window_ps) in [(0, 200), (19, 200), (20, 300), (39, 300), (40, 400), (60, 400)] {
            rack.arrived_twice(una, una + 20);
            assert_eq!(rack.window_ps(&rtt, true), window_ps, "{una}: at most a round trip");
        }
        for recovery in 1..=16 {
            rack.recovered();
            assert_eq!(rack.window_ps(&rtt, true), if recovery < 16 { 400 } else { 100 }, "{recovery}");
        }
    }
}
