//! Reductions of the window: what begins them, paces them, and ends them.

use super::{Phase, Sender, State, Trouble};
use crate::transport::Host;
use crate::transport::congestion::{Congestion, Signal};
use crate::transport::prr::Prr;
use crate::transport::tcp::Context;
use crate::transport::undo::Undo;
use crate::{Packet, marks};

impl Sender {
    pub(super) fn begin_reduction(&mut self, cx: Context<'_>, signal: Signal) {
        if cx.dsack() {
            let Congestion { window, threshold, .. } = self.congestion;
            let una = self.una;
            self.trouble().undo =
                if signal == Signal::Echo { Undo::default() } else { Undo::begin(window, threshold, una) };
        }
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
        if matches!(self.state, State::Recovery | State::Loss)
            && let Some(trouble) = self.known_trouble_mut()
        {
            trouble.rack.recovered();
        }
        self.state = State::Open;
        self.owes_first = false;
    }

    /// Learns what an acknowledgement says of segments that were sent again, and takes the last reduction back if it
    /// proves needless: each copy arrived twice, or the answer is to what was sent before the first. In the middle of a
    /// recovery an answer of the kind counts once no copy is in the network. `lost_bytes` were lost and not sent again before
    /// the acknowledgement.
    pub(super) fn take_back(&mut self, packet: &Packet, advanced: bool, lost_bytes: u64) {
        let (una, next, recover, state) = (self.una, self.next, self.recover, self.state);
        let Some(Trouble { board, rack, undo, .. }) = self.known_trouble_mut() else { return };
        if packet.marks & marks::DUPLICATE != 0 {
            rack.arrived_twice(una, next);
            undo.arrived_twice(packet.seq.wrapping_add_signed(i64::from(packet.sack[0].end as i32)));
        }
        let late = advanced && undo.answers_earlier(packet.stamp_ns);
        let partial = late && state == State::Recovery && una < recover;
        if partial || board.lost_bytes() < lost_bytes {
            rack.reordered();
        }
        let needless = match state {
            State::Open => undo.all_twice(),
            State::Reduced => false,
            State::Recovery => undo.all_twice() || late && !(partial && rack.has_copies(una)),
            State::Loss => undo.all_twice() || late,
        };
        if !needless {
            return;
        }
        if late {
            board.lose_none();
        }
        if let Some((window, threshold)) = undo.take() {
            self.congestion.window = self.congestion.window.max(window);
            self.congestion.threshold = self.congestion.threshold.max(threshold);
            self.state = State::Open;
            self.recover = 0;
            self.owes_reduced = false;
        }
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
            rack.timed_out(board, &rtt, (una, next), host.now_ps());
        } else {
            board.lose_all(una, next);
        }
        self.congestion.window = self.pipe() + cx.segment();
        self.limited_end = self.next;
        self.rto_at_ps = u64::MAX;
        self.transmit(cx, host);
    }
}
