//! Transmission of all that the window allows.

use super::{Sender, State, Trouble};
use crate::transport::Host;
use crate::transport::tcp::Context;
use crate::{Kind, Packet, marks};
use std::ops::Range;

impl Sender {
    /// Sends what the window lets out: first what is lost, then new data, then what is in doubt (RFC 6675, NextSeg
    /// rules 1 to 3; rule 4, the rescue retransmission, is left to the timeout as in Linux).
    #[inline]
    pub(super) fn transmit<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        let segment = cx.segment();
        if let Some(Trouble { bucket: Some(bucket), .. }) = self.known_trouble_mut() {
            bucket.rest();
        }
        let mut window = self.congestion.window;
        if self.dup_acks > 0 && !cx.tcp.sack && self.state == State::Open {
            // Limited transmit (RFC 3042). With SACK the pipe shrinks by itself.
            window += u64::from(self.dup_acks.min(2)) * segment;
        }
        let mut room = window.saturating_sub(self.pipe());
        if self.state == State::Recovery && self.owes_first && !self.pay_first(cx, host) {
            self.arm(host);
            return;
        }
        if matches!(self.state, State::Recovery | State::Loss) {
            while let Some(span) = self.trouble().board.first_lost(segment) {
                let span = self.of_one_message(span);
                let bytes = span.end - span.start;
                if bytes > room || !has_room(cx, bytes, host) {
                    self.arm(host);
                    return;
                }
                room -= bytes;
                self.send_again(cx, span, host);
            }
        }
        // Bytes of the next segment of new data: what was written, or else what the host has waiting.
        let mut bytes = self.next_bytes(cx, host);
        while bytes > 0 {
            if bytes > room {
                self.limited_end = self.next;
                break;
            }
            if self.next + bytes - self.una > cx.tcp.window_max_bytes && self.next > self.una {
                break;
            }
            if !has_room(cx, bytes, host) {
                break;
            }
            if self.next == self.written {
                if !host.take(bytes) {
                    break;
                }
                self.written += bytes;
            }
            room -= bytes;
            self.send_new(cx, bytes, host);
            bytes = self.next_bytes(cx, host);
        }
        if self.state == State::Recovery && bytes == 0 && !cx.rack() {
            while let Some(span) = self.first_doubtful(segment)
                && span.end - span.start <= room
                && has_room(cx, span.end - span.start, host)
            {
                // From here on the first copy counts as lost, so the pipe does not grow.
                room -= span.end - span.start;
                self.send_again(cx, span, host);
            }
        }
        self.arm(host);
    }

    /// The lowest bytes, at most a segment, that are in doubt.
    fn first_doubtful(&self, segment: u64) -> Option<Range<u64>> {
        let span = self.known_trouble()?.board.first_doubtful(self.una, segment)?;
        Some(self.of_one_message(span))
    }

    /// The beginning of a span that is of one message.
    fn of_one_message(&self, span: Range<u64>) -> Range<u64> {
        let end = self.before.as_ref().and_then(|before| before.end_of(span.start));
        span.start..end.map_or(span.end, |end| end.min(span.end))
    }

    /// Sends again what recovery without SACK owes, if the host's card has room for it.
    pub(super) fn pay_first<H: Host>(&mut self, cx: Context<'_>, host: &mut H) -> bool {
        let span = self.of_one_message(self.una..self.next.min(self.una + cx.segment()));
        let pays = has_room(cx, span.end - span.start, host);
        if pays && !span.is_empty() {
            self.send_again(cx, span, host);
        }
        self.owes_first = !pays;
        pays
    }

    /// Bytes of the next segment of new data, which is a full one or the last. Without a full one an application with a
    /// rate has nothing yet.
    #[inline(always)]
    fn next_bytes<H: Host>(&mut self, cx: Context<'_>, host: &mut H) -> u64 {
        let segment = cx.segment();
        let bytes = match self.written - self.next {
            0 => return host.waiting(segment),
            written => segment.min(written),
        };
        let (end, now_ps) = (self.next + bytes, host.now_ps());
        let bucket = self.known_trouble_mut().and_then(|trouble| trouble.bucket.as_mut());
        let is_written = bucket.is_none_or(|bucket| bucket.has(end, now_ps));
        if is_written { bytes } else { 0 }
    }

    #[inline]
    pub(super) fn send_new<H: Host>(&mut self, cx: Context<'_>, bytes: u64, host: &mut H) {
        let mut bits = if cx.tcp.ecn { marks::CAPABLE } else { 0 };
        if self.owes_reduced {
            bits |= marks::REDUCED;
            self.owes_reduced = false;
        }
        let seq = self.next;
        self.next += bytes;
        self.send(cx, seq, bytes, bits, host);
    }

    /// Sends a span of one message again.
    pub(super) fn send_again<H: Host>(&mut self, cx: Context<'_>, span: Range<u64>, host: &mut H) {
        if let Some(trouble) = self.known_trouble_mut() {
            trouble.board.sent_again(span.clone());
            trouble.undo.sent_again(host.now_ps());
        }
        match &mut self.before {
            Some(before) if before.end_of(span.start).is_some() => {
                before.sent.push((span.start, span.end - span.start));
                self.sent_packets = self.sent_packets.wrapping_sub(1);
            }
            _ => {
                self.retransmitted_packets += 1;
                self.sent_beyond_next = self.sent_beyond_next.wrapping_add(span.end - span.start);
            }
        }
        if span.start == self.una {
            // As Linux does, and RFC 6675, section 6, allows.
            self.rto_at_ps = u64::MAX;
        }
        let bits = marks::RETRANSMITTED | cx.control_marks();
        self.send(cx, span.start, span.end - span.start, bits, host);
    }

    #[inline]
    pub(super) fn send<H: Host>(&mut self, cx: Context<'_>, seq: u64, bytes: u64, bits: u8, host: &mut H) {
        let now_ps = host.now_ps();
        self.sent_packets = self.sent_packets.wrapping_add(1);
        self.congestion.sent(now_ps);
        if matches!(self.state, State::Reduced | State::Recovery) {
            self.prr.sent(bytes);
        }
        if self.rto_at_ps == u64::MAX {
            self.rto_at_ps = now_ps + self.rtt.timeout_ps(cx.tcp);
        }
        if cx.rack() {
            self.trouble().rack.sent(seq..seq + bytes, now_ps, bits & marks::RETRANSMITTED != 0);
        }
        let payload = bytes as u16;
        host.send(Packet {
            seq,
            stamp_ns: (now_ps / 1000) as u32,
            frame_bytes: cx.framing.frame_bytes(payload),
            payload_bytes: payload,
            kind: Kind::Data,
            marks: bits,
            ..Packet::default()
        });
    }

    pub(super) fn send_syn<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        let now_ps = host.now_ps();
        self.rto_at_ps = now_ps + self.rtt.timeout_ps(cx.tcp);
        let again = if self.timeouts > 0 { marks::RETRANSMITTED } else { 0 };
        host.send(Packet {
            stamp_ns: (now_ps / 1000) as u32,
            frame_bytes: cx.framing.frame_bytes(0),
            kind: Kind::Syn,
            marks: again | cx.control_marks(),
            ..Packet::default()
        });
    }
}

/// Whether the host's card has room for a segment of so many bytes.
#[inline(always)]
fn has_room<H: Host>(cx: Context<'_>, bytes: u64, host: &mut H) -> bool {
    host.room(cx.framing.frame_bytes(bytes as u16))
}
