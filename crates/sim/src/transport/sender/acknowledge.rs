//! A sender's reaction to an acknowledgement.

use super::{Sender, State, Trouble};
use crate::transport::Host;
use crate::transport::acked::Acked;
use crate::transport::congestion::Signal;
use crate::transport::rtt::Rtt;
use crate::transport::tcp::Context;
use crate::{Packet, marks};

impl Sender {
    #[inline]
    pub(super) fn acknowledge<H: Host>(&mut self, cx: Context<'_>, packet: &Packet, host: &mut H) {
        debug_assert!(packet.seq <= self.next, "an acknowledgement of what was not sent");
        let now_ps = host.now_ps();
        let (ack, before) = (packet.seq, self.una);
        let advanced = ack > before;
        let echo = packet.marks & marks::ECHO != 0;
        let known = if cx.dsack() { self.known_trouble() } else { None };
        let lost_bytes = known.map_or(0, |trouble| trouble.board.lost_bytes());
        let mut rtt_ps = None;
        let mut delivered = 0;
        if advanced {
            delivered = ack - before;
            self.una = ack;
            self.same_acks = 0;
            if let Some(trouble) = self.known_trouble_mut()
                && !trouble.board.is_empty()
            {
                delivered -= trouble.board.advance(ack);
            }
            if packet.marks & marks::RETRANSMITTED == 0 {
                let sample = Rtt::since(packet.stamp_ns, now_ps);
                self.rtt.measure(sample);
                rtt_ps = Some(sample);
            }
            self.rtt.end_back_off();
            self.restart_timer(cx, now_ps);
        } else if ack == before && self.next > ack {
            self.same_acks = (self.same_acks + 1).min(4);
            self.triple_duplicates += u32::from(self.same_acks == 3);
        }
        let mut sacked = 0;
        if cx.tcp.sack && packet.sack[0].end != 0 {
            let (una, next) = (self.una, self.next);
            sacked = self.trouble().board.absorb(packet, una, next);
            delivered += sacked;
        }
        let mut lost = false;
        if cx.rack() && delivered > 0 {
            let (una, rtt) = (self.una, self.rtt);
            let Trouble { board, rack, .. } = self.trouble();
            rack.arrived(una, board.sacked(), packet.stamp_ns, &rtt, now_ps);
        }
        if cx.dsack() {
            self.take_back(packet, advanced, lost_bytes);
        }
        if cx.rack() && delivered > 0 {
            lost = self.find_lost_by_time(cx, now_ps);
        }
        // RFC 6675, section 2: with SACK, whatever SACKs something new. Without: RFC 5681, section 2.
        let duplicate = if cx.tcp.sack { sacked > 0 } else { ack == before && self.next > ack };
        let acked = Acked {
            delivered,
            advanced: self.una - before,
            una: self.una,
            next: self.next,
            rtt_ps,
            least_rtt_ps: self.rtt.least_ps(),
            now_ps,
            duplicate,
            lost,
            echo,
        };
        self.congestion.observe(&acked, cx.tcp.control);
        if (self.state == State::Open) & self.all_in_network() & advanced & !echo {
            self.dup_acks = 0;
            if before < self.limited_end {
                self.grow(cx, &acked, acked.advanced);
            }
        } else {
            self.react(cx, acked, host);
        }
        self.transmit(cx, host);
    }

    /// Everything but the acknowledgement of data in order.
    pub(super) fn react<H: Host>(&mut self, cx: Context<'_>, mut acked: Acked, host: &mut H) {
        let advanced = acked.advanced > 0;
        // What ends an episode of reduction does not grow the window yet.
        let before = self.state;
        if advanced {
            self.dup_acks = 0;
            if self.state != State::Open && self.una >= self.recover {
                self.end_episode(cx);
            }
        }
        let by_place = cx.tcp.sack && !cx.rack();
        let una = self.una;
        if by_place && let Some(trouble) = self.known_trouble_mut() {
            acked.lost = trouble.board.find_lost(una, cx.tcp.dup_ack_threshold, cx.segment());
        }
        // No second reduction for the same window: without SACK, duplicates of what a timeout sent twice say
        // nothing new (RFC 6582, section 3.2, step 1), nor do marks that come until the receiver has heard of the
        // first (RFC 3168, section 6.1.2).
        let passed = self.una > self.recover || self.recover == 0;
        if self.state == State::Open || self.state == State::Reduced {
            self.dup_acks += u32::from(acked.duplicate);
            let enough = match (cx.tcp.sack, cx.rack()) {
                (_, true) => self.known_trouble().is_some_and(|trouble| trouble.board.any_lost()),
                (true, false) => {
                    acked.duplicate
                        && (self.dup_acks >= cx.tcp.dup_ack_threshold
                            || self.known_trouble().is_some_and(|trouble| trouble.board.first_is_lost(una)))
                }
                (false, false) => acked.duplicate && self.dup_acks >= cx.tcp.dup_ack_threshold && passed,
            };
            if enough {
                self.enter_recovery(cx, acked.delivered, host);
                return;
            }
        }
        if acked.echo && self.state == State::Open && passed {
            self.begin_reduction(cx, Signal::Echo);
            self.state = State::Reduced;
        }
        let grows = advanced && !acked.echo && self.una - acked.advanced < self.limited_end;
        match (self.state, before) {
            (State::Open, State::Open) if grows => self.grow(cx, &acked, acked.advanced),
            // What was SACKed before the timeout is not counted again, as in Linux.
            (State::Open | State::Loss, State::Loss) if grows => self.grow(cx, &acked, acked.delivered),
            (State::Open | State::Loss, _) => {}
            (State::Recovery, _) if !cx.tcp.sack => {
                self.recover_by_inflation(cx, acked.advanced, acked.duplicate, host);
            }
            (State::Reduced | State::Recovery, _) => {
                self.pace_reduction(cx, acked.delivered, advanced && !acked.lost, 0);
            }
        }
    }

    #[inline]
    pub(super) fn grow(&mut self, cx: Context<'_>, acked: &Acked, bytes: u64) {
        let interval_bytes = self.known_trouble().map_or(0, |trouble| trouble.interval_bytes);
        self.congestion.grow(acked, bytes, cx.segment(), interval_bytes);
        self.congestion.window = self.congestion.window.min(cx.tcp.window_max_bytes.max(cx.segment()));
    }

    /// RFC 6298, 5.2 and 5.3.
    #[inline]
    pub(super) fn restart_timer(&mut self, cx: Context<'_>, now_ps: u64) {
        self.rto_at_ps = if self.una == self.next { u64::MAX } else { now_ps + self.rtt.timeout_ps(cx.tcp) };
    }
}
