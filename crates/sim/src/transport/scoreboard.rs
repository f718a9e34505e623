//! The sender's knowledge of its outstanding bytes (RFC 6675, sections 3 and 4).
//!
//! A byte between the lowest unacknowledged one and the next to be sent is in one of three states: SACKed; lost and
//! not sent again since; or in the network. The pipe is the third.

use super::ranges::Ranges;
use crate::{Packet, marks};
use std::ops::Range;

/// SACKed and lost bytes.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    sacked: Ranges,
    /// Lost, and not sent again since.
    lost: Ranges,
    /// End of the bytes that were lost once unless they are SACKed, and are not declared lost by their
    /// position a second time: RFC 6675 leaves a lost retransmission to the timeout.
    lost_edge: u64,
}

impl Scoreboard {
    /// Forgets all.
    pub(super) fn reset(&mut self) {
        self.sacked.clear();
        self.lost.clear();
        self.lost_edge = 0;
    }

    /// Whether every outstanding byte is in the network.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.sacked.is_empty() & self.lost.is_empty()
    }

    /// SACKed bytes.
    pub(super) fn sacked(&self) -> &Ranges {
        &self.sacked
    }

    /// Bytes that are lost, and not sent again since.
    pub(super) fn lost_bytes(&self) -> u64 {
        self.lost.bytes()
    }

    /// Outstanding bytes that are not in the network.
    #[inline(always)]
    pub(super) fn absent_bytes(&self) -> u64 {
        self.sacked.bytes() + self.lost.bytes()
    }

    /// All below `una` is acknowledged. How many of those bytes were SACKed before.
    pub(super) fn advance(&mut self, una: u64) -> u64 {
        self.lost.remove_below(una);
        self.sacked.remove_below(una)
    }

    /// Takes the blocks of an acknowledgement, but one that reports a duplicate. How many bytes are newly SACKed.
    pub(super) fn absorb(&mut self, packet: &Packet, una: u64, next: u64) -> u64 {
        let mut newly = 0;
        let reports = usize::from(packet.marks & marks::DUPLICATE != 0);
        for block in packet.sack[reports..].iter().take_while(|block| block.end != 0) {
            let start = packet.seq + u64::from(block.start);
            let end = (packet.seq + u64::from(block.end)).min(next);
            let span = start.max(una)..end;
            if span.is_empty() {
                continue;
            }
            let added = self.sacked.insert(span.clone());
            if added > 0 && !self.lost.is_empty() {
                self.lost.remove(span);
            }
            newly += added;
        }
        newly
    }

    /// RFC 6675's IsLost for all bytes: lost is what has `threshold` SACKed ranges above it, or more than
    /// `threshold - 1` segments of SACKed bytes. Whether more is lost than before.
    pub(super) fn find_lost(&mut self, una: u64, threshold: u32, segment: u64) -> bool {
        let (mut ranges, mut bytes) = (0, 0);
        let enough = u64::from(threshold.saturating_sub(1)) * segment;
        for range in self.sacked.iter().rev() {
            if range.start <= self.lost_edge {
                return false;
            }
            ranges += 1;
            bytes += range.end - range.start;
            if ranges >= threshold || bytes > enough {
                let from = self.lost_edge.max(una);
                self.lost_edge = range.start;
                return self.lost.insert_except(from..range.start, &self.sacked) > 0;
            }
        }
        false
    }

    /// The segment at `una` is lost, whatever the ranges say (RFC 6675, section 5, step 4.3), unless others are.
    pub(super) fn lose_first(&mut self, una: u64, next: u64, segment: u64) {
        if !self.lost.is_empty() {
            return;
        }
        let end = self.sacked.first().map_or(next, |r| r.start).min(una + segment);
        self.lost.insert(una..end);
        self.lost_edge = self.lost_edge.max(end);
    }

    /// Marks all of a span that is not SACKed as lost. How many bytes are newly so.
    pub(super) fn lose(&mut self, span: Range<u64>) -> u64 {
        self.lost.insert_except(span, &self.sacked)
    }

    /// A timeout: all that is not SACKed is lost (RFC 6675, section 5.1, and Linux).
    pub(super) fn lose_all(&mut self, una: u64, next: u64) {
        self.lost.clear();
        self.lost.insert_except(una..next, &self.sacked);
        self.lost_edge = next;
    }

    /// Nothing is lost after all.
    pub(super) fn lose_none(&mut self) {
        self.lost.clear();
    }

    /// The lowest lost bytes, at most a segment (RFC 6675, NextSeg rule 1).
    #[inline]
    pub(super) fn first_lost(&self, segment: u64) -> Option<Range<u64>> {
        self.lost.first().map(|r| r.start..r.end.min(r.start + segment))
    }

    /// The lowest bytes, at most a segment, that are neither SACKed nor known to be lost, with SACKed ones above
    /// (NextSeg rule 3).
    pub(super) fn first_doubtful(&self, una: u64, segment: u64) -> Option<Range<u64>> {
        let mut start = self.lost_edge.max(una);
        while let Some(range) = self.sacked.after(start) {
            if start < range.start {
                return Some(start..range.start.min(start + segment));
            }
            start = range.end;
        }
        None
    }

    /// A span is sent again.
    #[inline]
    pub(super) fn sent_again(&mut self, span: Range<u64>) {
        self.lost_edge = self.lost_edge.max(span.end);
        self.lost.remove(span);
    }

    /// Whether anything is lost and not sent again since.
    pub(super) fn any_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Whether the byte at `una` is lost and not sent again since.
    pub(super) fn first_is_lost(&self, una: u64) -> bool {
        self.lost.first().is_some_and(|lost| lost.start <= una)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SackBlock;

    #[test]
    fn a_report_of_a_duplicate_hides_no_block_behind_it() {
        // The duplicate ends where the acknowledgement does: its end is at distance zero.
        let blocks = [500..1000, 1500..2000].map(|bytes| SackBlock::of(&bytes, 1000));
        let packet = Packet {
            seq: 1000,
            marks: marks::DUPLICATE,
            sack: [blocks[0], blocks[1], SackBlock::default()],
            ..Packet::default()
        };
        assert_eq!(Scoreboard::default().absorb(&packet, 1000, 5000), 500);
    }
}
