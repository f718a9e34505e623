//! Reductions of the window: what begins them, paces them, and ends them.

use super::{Phase, Sender, State, Trouble};
use crate::transport::Host;
use crate::transport::congestion::Signal;
use crate::transport::prr::Prr;
use crate::transport::tcp::Context;

impl Sender {
    pub(super) fn begin_reduction(&mut self, cx: Context<'_>, signal: Signal) {
        let flight = self.next - self.una;
        self.congestion.reduce(signal, flight, cx.segment());
        self.prr = Prr::begin(flight);
        self.recover = self.next;
        self.owes_reduced = true;
    }

    pub(super) fn pace_reduction(&mut self, cx: Context<'_>, delivered: u64, safe: bool, least: u64) {
        let pipe = self.pipe();
        let allowance = self.prr.allowance(delivered, pipe, self.congestion.threshold, cx.segment(), safe);
        self.congestion.window = (pipe + allowance.max(least)).max(cx.segment());
    }

    /// Fast retransmit (RFC 6675, section 5, step 4; RFC 6582, section 3.2, step 2 without SACK).
    pub(super) fn enter_recovery<H: Host>(&mut self, cx: Context<'_>, delivered: u64, host: &mut H) {
        if self.state == State::Open {
            self.begin_reduction(cx, Signal::Loss);
        }
        // In the middle of a reduction it goes on, as in Linux: one window, one reduction.
        self.state = State::Recovery;
        self.recover = self.next;
        let segment = cx.segment();
        if cx.tcp.sack {
            let (una, next) = (self.una, self.next);
            self.trouble().board.lose_first(una, next, segment);
            self.pace_reduction(cx, delivered, false, segment);
        } else {
            self.congestion.window =
                self.congestion.threshold + u64::from(cx.tcp.dup_ack_threshold) * segment;
            self.retransmit_first(cx, host);
        }
    }

    /// Recovery without SACK (RFC 6582, section 3.2, steps 3 and 4): each duplicate lets one segment out, each
    /// partial acknowledgement sends the next hole again.
    pub(super) fn recover_by_inflation<H: Host>(
        &mut self,
        cx: Context<'_>,
        advance: u64,
        duplicate: bool,
        host: &mut H,
    ) {
        let segment = cx.segment();
        if duplicate {
            self.congestion.window += segment;
        } else if advance > 0 {
            let deflated = self.congestion.window.saturating_sub(advance);
            self.congestion.window = (deflated + if advance >= segment { segment } else { 0 }).max(segment);
            self.retransmit_first(cx, host);
        }
    }

    pub(super) fn retransmit_first<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        self.pay_first(cx, host);
    }

    pub(super) fn end_episode(&mut self, cx: Context<'_>) {
        let segment = cx.segment();
        match self.state {
            State::Recovery if !cx.tcp.sack => {
                // RFC 6582, section 3.2, step 3, option 1: no burst.
                let flight = self.next - self.una;
                self.congestion.window = self.congestion.threshold.min(flight.max(segment) + segment);
            }
            State::Reduced | State::Recovery => self.congestion.window = self.congestion.threshold,
            State::Loss | State::Open => {}
        }
        self.state = State::Open;
        self.owes_first = false;
    }

    pub(super) fn find_lost_by_time(&mut self, cx: Context<'_>, now_ps: u64) -> bool {
        let enough = u64::from(cx.tcp.dup_ack_threshold) * cx.segment();
        let (una, rtt) = (self.una, self.rtt);
        let repairs = matches!(self.state, State::Recovery | State::Loss);
        let Some(Trouble { board, rack, .. }) = self.known_trouble_mut() else { return false };
        let impatient = repairs || board.sacked().bytes() >= enough;
        rack.find_lost(board, &rtt, una, impatient, now_ps)
    }

    pub(super) fn timed_out<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        self.timeouts += 1;
        host.timed_out();
        if self.phase == Phase::Opening {
            self.rtt.back_off();
            self.rto_at_ps = u64::MAX;
            self.send_syn(cx, host);
            return;
        }
        // As Linux: a threshold is not lowered twice for one loss, which may time out again.
        if self.state == State::Open || (self.state == State::Loss && !self.rtt.backed_off()) {
            self.begin_reduction(cx, Signal::Timeout);
        }
        self.rtt.back_off();
        self.owes_first = false;
        self.state = State::Loss;
        self.recover = self.next;
        self.dup_acks = 0;
        let (una, next, rtt) = (self.una, self.next, self.rtt);
        let Trouble { board, rack, .. } = self.trouble();
        if cx.rack() {
            rack.timed_out(board, &rtt, una, host.now_ps());
        } else {
            board.lose_all(una, next);
        }
        self.congestion.window = self.pipe() + cx.segment();
        self.limited_end = self.next;
        self.rto_at_ps = u64::MAX;
        self.transmit(cx, host);
    }
}
