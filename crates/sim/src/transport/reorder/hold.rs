//! Gaps held open: a segment beyond a gap waits until the gap fills, or for so long, so that TCP sees neither.
//!
//! With flowcells it is Presto's receive offload (SIGCOMM 2015, algorithm 2): within a flowcell, whose packets take
//! one path, a gap is a loss and passes at once; only at the border of a flowcell may it be reordering. How long that is
//! waited for adapts to what reordering took before.

use super::Segment;
use super::patience::Patience;
use crate::marks;
use crate::transport::tcp::{Context, Reorder, Tcp};
use anabranch_split::picks::flowcell;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Held {
    segment: Segment,
    arrived_ps: u64,
}

/// Segments that wait, and what is passed on next.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Hold {
    /// Segments by ascending position.
    held: VecDeque<Held>,
    /// End of what was passed on.
    next: u64,
    /// Flowcell of what was passed on last.
    cell: u64,
    /// When the one that waits longest came.
    oldest_ps: u64,
    /// When the last one came that waits.
    newest_ps: u64,
    patience: Patience,
}

impl Hold {
    pub(in super::super) fn reset(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        *self = Self { held, ..Self::default() };
    }

    fn cell_of(cx: Context<'_>, seq: u64) -> Option<u64> {
        match cx.tcp.reorder {
            Reorder::Flowcell { cell_bytes, .. } => Some(flowcell::number(seq, cell_bytes)),
            Reorder::Hold { .. } | Reorder::None => None,
        }
    }

    /// Whether nothing is to be waited for before this segment.
    fn due(&self, cx: Context<'_>, segment: &Segment) -> bool {
        segment.seq <= self.next || Self::cell_of(cx, segment.seq).is_some_and(|cell| cell <= self.cell)
    }

    fn pass(&mut self, cx: Context<'_>, segment: &Segment) {
        self.next = self.next.max(segment.end());
        self.cell = Self::cell_of(cx, segment.seq).map_or(0, |cell| cell.max(self.cell));
    }

    /// A segment arrived. Whether it goes on to TCP; otherwise it is kept.
    pub(in super::super) fn passes(&mut self, cx: Context<'_>, segment: &Segment, now_ps: u64) -> bool {
        if self.due(cx, segment) {
            self.pass(cx, segment);
            // Karn's rule: what was sent again says nothing of reordering.
            if segment.marks & marks::RETRANSMITTED == 0 {
                self.patience.regret(segment.seq, now_ps);
                if self.held.front().is_some_and(|first| first.segment.seq <= self.next) {
                    self.patience.measure(now_ps - self.oldest_ps);
                }
            }
            return true;
        }
        if self.held.is_empty() {
            self.oldest_ps = now_ps;
        }
        self.newest_ps = now_ps;
        let at = self.held.iter().rposition(|h| h.segment.seq <= segment.seq).map_or(0, |i| i + 1);
        self.held.insert(at, Held { segment: *segment, arrived_ps: now_ps });
        false
    }

    /// The next one that need not wait any more because its gap is filled.
    pub(in super::super) fn released(&mut self, cx: Context<'_>) -> Option<Segment> {
        let first = self.held.front()?.segment;
        if self.due(cx, &first) { self.take_first(cx) } else { None }
    }

    /// The next one to go because it, or one behind it in the stream, has waited long enough.
    pub(in super::super) fn expired(&mut self, cx: Context<'_>, now_ps: u64) -> Option<Segment> {
        let waits_too_long = self.due_at_ps(cx.tcp) <= now_ps;
        let first = self.held.front()?.segment;
        if self.due(cx, &first) {
            return self.take_first(cx);
        }
        if waits_too_long {
            self.patience.give_up(first.seq, self.oldest_ps);
            return self.take_first(cx);
        }
        None
    }

    fn take_first(&mut self, cx: Context<'_>) -> Option<Segment> {
        let first = self.held.pop_front()?;
        self.pass(cx, &first.segment);
        if first.arrived_ps == self.oldest_ps {
            self.oldest_ps = self.held.iter().map(|h| h.arrived_ps).min().unwrap_or(0);
        }
        Some(first.segment)
    }

    /// When the one that waits longest may wait no more; `u64::MAX` while none waits.
    #[inline(always)]
    pub(in super::super) fn due_at_ps(&self, tcp: &Tcp) -> u64 {
        match tcp.reorder {
            _ if self.held.is_empty() => u64::MAX,
            Reorder::Hold { timeout_ps } => self.oldest_ps + timeout_ps,
            Reorder::Flowcell { timeout_ps, .. } => {
                self.patience.until_ps(self.oldest_ps, self.newest_ps, timeout_ps)
            }
            Reorder::None => u64::MAX,
        }
    }
}
