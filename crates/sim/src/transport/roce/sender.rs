//! The sending half of a queue pair.

use super::{Recovery, Roce, Semantics};
use crate::transport::alarm::Alarm;
use crate::transport::control::{Answer, CongestionControl, Kept, PathFacts, SharedLaw, Unlimited};
use crate::transport::ranges::Ranges;
use crate::transport::rtt::Rtt;
use crate::transport::{Bounds, Host, SenderCounters, SendingHalf};
use crate::{Framing, Kind, Packet, marks};

/// Bits of a byte times picoseconds of a second.
const BIT_PS_PER_BYTE_S: u128 = 8_000_000_000_000;

/// Timeouts in a row that double the time to the next: a path that is gone is asked for less and less.
const DOUBLINGS: u32 = 6;

/// Packets in flight up to which a selective sender waits for the lower timeout.
const FEW: u64 = 3;

/// The sending half.
pub(crate) struct RoceSender {
    /// Lowest byte that is not acknowledged.
    una: u64,
    /// Next byte to be sent: go-back-N returns it to `una`.
    next: u64,
    /// End of the message.
    written: u64,
    /// End of what was ever sent.
    highest: u64,
    /// What arrived beyond `una`, and what is missing and not sent again yet. Both only where recovery is selective.
    sacked: Ranges,
    missing: Ranges,
    /// End of what was looked through for gaps, and of the present recovery: gaps are found once in each.
    searched: u64,
    law: Box<dyn CongestionControl + Send>,
    /// Payload of the messages before on the same queue pair.
    sent_before: u64,
    link_bps: u64,
    window_bytes: u64,
    /// Round trip measured last; that of the empty fabric before the first.
    rtt_ps: u64,
    /// When the rate allows the next packet.
    next_at_ps: u64,
    rto_at_ps: u64,
    /// Timeouts since the last answer.
    silent: u32,
    alarm: Alarm,
    pub(super) counters: SenderCounters,
}

/// Context of a step.
#[derive(Clone, Copy)]
struct Context<'a> {
    roce: &'a Roce,
    framing: Framing,
}

impl Context<'_> {
    fn packet_bytes(self) -> u64 {
        self.roce.payload_bytes_max.unwrap_or(self.framing.payload_bytes_max).into()
    }

    fn selective(self) -> bool {
        matches!(self.roce.recovery, Recovery::Selective { .. })
    }
}

impl Default for RoceSender {
    fn default() -> Self {
        Self {
            una: 0,
            next: 0,
            written: 0,
            highest: 0,
            sacked: Ranges::default(),
            missing: Ranges::default(),
            searched: 0,
            law: Box::new(Unlimited),
            sent_before: 0,
            link_bps: u64::MAX,
            window_bytes: u64::MAX,
            rtt_ps: 0,
            next_at_ps: 0,
            rto_at_ps: u64::MAX,
            silent: 0,
            alarm: Alarm::default(),
            counters: SenderCounters::default(),
        }
    }
}

impl SendingHalf<Roce> for RoceSender {
    fn begin<H: Host>(
        &mut self,
        roce: &Roce,
        framing: Framing,
        bytes: u64,
        kept: Option<Kept>,
        host: &mut H,
    ) {
        let cx = Context { roce, framing };
        let packet_bytes = cx.packet_bytes();
        let path = PathFacts {
            rate_bps: host.link_bps(),
            rtt_ps: roce.rtt_ps,
            frame_bytes: packet_bytes + u64::from(framing.header_bytes),
            header_bytes: framing.header_bytes.into(),
            began_ps: host.now_ps(),
        };
        self.link_bps = path.rate_bps;
        self.rtt_ps = path.rtt_ps;
        self.window_bytes = match roce.window_bytes {
            Some(bytes) => bytes,
            None if cx.selective() => path.bdp_bytes().max(packet_bytes),
            None => u64::MAX,
        };
        Kept { law: self.law, sent_bytes: self.sent_before, next_at_ps: self.next_at_ps } =
            Kept::or_begin(kept, &roce.law, &path);
        self.written = bytes;
        self.transmit(cx, host);
    }

    fn receive<H: Host>(&mut self, roce: &Roce, framing: Framing, packet: &Packet, host: &mut H) {
        let cx = Context { roce, framing };
        let now_ps = host.now_ps();
        self.law.wake(now_ps);
        if packet.kind == Kind::Cnp {
            self.law.on_mark(now_ps);
            return self.arm(host);
        }
        self.silent = 0;
        if packet.kind == Kind::NotReady {
            return self.wait_for_receive(cx, host);
        }
        let before = self.una + self.sacked.bytes();
        self.advance(packet.seq);
        if packet.kind == Kind::Sack {
            self.take_selective(cx, packet, now_ps);
        }
        if packet.kind == Kind::Nack && self.next > self.una {
            self.next = self.una;
            self.law.on_loss(now_ps);
        }
        let again = packet.marks & marks::RETRANSMITTED != 0;
        let marked = packet.marks & marks::ECHO != 0;
        let bytes = self.una + self.sacked.bytes() - before;
        let rtt_ps = (!again).then(|| Rtt::since(packet.stamp_ns, now_ps));
        self.rtt_ps = rtt_ps.unwrap_or(self.rtt_ps);
        self.law.on_ack(&Answer {
            now_ps,
            bytes: frames_bytes(cx, bytes),
            marked,
            rtt_ps,
            una: self.sent_before + self.una,
            next: self.sent_before + self.next,
            in_flight_bytes: frames_bytes(cx, self.flight()),
            hops: host.telemetry().hops(),
        });
        if marked {
            self.law.on_mark(now_ps);
        }
        self.rto_at_ps = u64::MAX;
        self.watch_answers(cx, now_ps);
        self.transmit(cx, host);
    }

    fn wake<H: Host>(&mut self, roce: &Roce, framing: Framing, host: &mut H) {
        let cx = Context { roce, framing };
        let now_ps = host.now_ps();
        self.alarm.rang();
        self.law.wake(now_ps);
        if self.rto_at_ps <= now_ps {
            if host.waits() {
                // What has not left the host is not lost.
                self.watch_answers(cx, now_ps);
            } else {
                self.timed_out(cx, host);
            }
        }
        self.transmit(cx, host);
    }

    fn resume<H: Host>(&mut self, roce: &Roce, framing: Framing, host: &mut H) {
        self.transmit(Context { roce, framing }, host);
    }

    fn is_idle(&self) -> bool {
        self.una == self.written
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }

    fn bounds(&self, roce: &Roce) -> Bounds {
        Bounds {
            window_bytes: self.law.window_bytes().min(self.window_bytes),
            rate_bps: self.law.rate_bps(),
            rtt_ps: self.rtt_ps,
            empty_rtt_ps: roce.rtt_ps,
        }
    }

    fn is_sent(&self, roce: &Roce) -> bool {
        match roce.semantics {
            Semantics::Write => self.highest == self.written,
            // The next message must not overtake one whose receive is not posted yet.
            Semantics::Send { .. } => self.is_idle(),
        }
    }

    fn share(&mut self, roce: &Roce, framing: Framing) -> Option<Kept> {
        let in_flight_bytes = frames_bytes(Context { roce, framing }, self.flight());
        let law = SharedLaw::split(&mut self.law, in_flight_bytes);
        Some(self.kept(law))
    }

    fn leave(&mut self) -> Option<Kept> {
        let law = SharedLaw::take(&mut self.law);
        Some(self.kept(law))
    }
}

impl RoceSender {
    fn kept(&self, law: Box<dyn CongestionControl + Send>) -> Kept {
        Kept { law, sent_bytes: self.sent_before + self.written, next_at_ps: self.next_at_ps }
    }

    fn advance(&mut self, una: u64) {
        self.una = self.una.max(una);
        self.sacked.remove_below(self.una);
        self.missing.remove_below(self.una);
        self.next = self.next.max(self.una);
        self.searched = self.searched.max(self.una);
    }

    /// IRN: the packet named arrived. What is missing before the highest that arrived is sent again, once.
    fn take_selective(&mut self, cx: Context<'_>, packet: &Packet, now_ps: u64) {
        let arrivals = packet.arrivals();
        let first = u64::from(arrivals.cause) * cx.packet_bytes();
        if first < self.una {
            return;
        }
        let end = (first + cx.packet_bytes()).min(self.written);
        self.sacked.insert(first..end);
        self.missing.remove(first..end);
        if first > self.searched {
            let found = self.missing.insert_except(self.searched..first, &self.sacked);
            if found > 0 {
                self.law.on_loss(now_ps);
            }
        }
        self.searched = self.searched.max(end);
    }

    fn timed_out<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        let now_ps = host.now_ps();
        self.counters.timeouts += 1;
        self.silent += 1;
        host.timed_out();
        self.law.on_timeout(now_ps, cx.packet_bytes() + u64::from(cx.framing.header_bytes));
        if cx.selective() {
            self.missing.insert_except(self.una..self.next, &self.sacked);
            self.searched = self.next;
        } else {
            self.next = self.una;
        }
        self.rto_at_ps = u64::MAX;
    }

    /// The receiver has no receive for the message: all of it goes again, after the time that the receiver asks for. While
    /// nothing is in flight the sender waits already.
    fn wait_for_receive<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        let now_ps = host.now_ps();
        let Semantics::Send { rnr_ps } = cx.roce.semantics else { return };
        if self.una > 0 || self.flight() == 0 {
            return;
        }
        self.counters.not_ready += 1;
        if cx.selective() {
            self.missing.insert_except(self.una..self.next, &self.sacked);
            self.searched = self.next;
        } else {
            self.next = self.una;
        }
        self.next_at_ps = now_ps + rnr_ps;
        self.rto_at_ps = u64::MAX;
        self.arm(host);
    }

    /// Payload in flight.
    fn flight(&self) -> u64 {
        self.next - self.una - self.sacked.bytes() - self.missing.bytes()
    }

    /// Starts the timer anew if an answer is to come.
    fn watch_answers(&mut self, cx: Context<'_>, now_ps: u64) {
        let flight = self.flight();
        if flight == 0 {
            return;
        }
        let after_ps = match cx.roce.recovery {
            Recovery::Selective { rto_low_ps } if flight <= FEW * cx.packet_bytes() => rto_low_ps,
            _ => cx.roce.rto_ps,
        };
        self.rto_at_ps = now_ps.saturating_add(after_ps.saturating_mul(1 << self.silent.min(DOUBLINGS)));
    }

    /// Sends what window, rate and card allow: what is missing first.
    fn transmit<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        let now_ps = host.now_ps();
        let others_bytes = self.law.others_bytes();
        let others_payload = payload_in(cx, others_bytes);
        while self.next_at_ps <= now_ps {
            let first = self.missing.first().map_or(self.next, |gap| gap.start);
            let payload = cx.packet_bytes().min(self.written - first);
            let flight = self.flight();
            if payload == 0
                || flight.saturating_add(payload + others_payload) > self.window_bytes.max(payload)
                || frames_bytes(cx, flight + payload) + others_bytes
                    > self.law.window_bytes().max(frames_bytes(cx, payload))
            {
                break;
            }
            let frame_bytes = cx.framing.frame_bytes(payload as u16);
            if !host.room(frame_bytes) {
                break;
            }
            self.send(cx, first, payload as u16, host);
            self.pace(frame_bytes, cx.framing, host);
            self.watch_answers(cx, now_ps);
        }
        self.law.on_flight(frames_bytes(cx, self.flight()));
        self.arm(host);
    }

    fn send<H: Host>(&mut self, cx: Context<'_>, first: u64, payload: u16, host: &mut H) {
        let end = first + u64::from(payload);
        let again = first < self.highest;
        host.send(Packet {
            seq: first,
            stamp_ns: (host.now_ps() / 1000) as u32,
            frame_bytes: cx.framing.frame_bytes(payload),
            payload_bytes: payload,
            kind: Kind::Data,
            marks: marks::CAPABLE | if again { marks::RETRANSMITTED } else { 0 },
            ..Packet::default()
        });
        if first < self.next {
            self.missing.remove(first..end);
        } else {
            self.next = end;
        }
        self.highest = self.highest.max(end);
        self.counters.sent_bytes += u64::from(payload);
        self.counters.sent_packets += 1;
        self.counters.retransmitted_packets += u64::from(again);
    }

    /// A rate below the link's spaces packets; at the link's rate the host's card does, or, if it has no bound, the link's
    /// own time.
    fn pace<H: Host>(&mut self, frame_bytes: u16, framing: Framing, host: &mut H) {
        let wire_bytes = u32::from(frame_bytes) + u32::from(framing.gap_bytes);
        let rate_bps = self.law.rate_bps();
        let frame_ps = if rate_bps < self.link_bps {
            (u128::from(wire_bytes) * BIT_PS_PER_BYTE_S / u128::from(rate_bps.max(1))) as u64
        } else {
            host.unbounded_frame_ps(wire_bytes).unwrap_or(0)
        };
        self.next_at_ps = self.next_at_ps.max(host.now_ps()) + frame_ps;
    }

    fn arm<H: Host>(&mut self, host: &mut H) {
        let now_ps = host.now_ps();
        let paced_ps =
            if self.next_at_ps > now_ps && self.una < self.written { self.next_at_ps } else { u64::MAX };
        let due_ps = if self.is_idle() { u64::MAX } else { self.law.due_ps() };
        self.alarm.set(self.rto_at_ps.min(paced_ps).min(due_ps), host);
    }
}

/// Payload in so many bytes of frames.
fn payload_in(cx: Context<'_>, frames_bytes: u64) -> u64 {
    let header_bytes = u64::from(cx.framing.header_bytes);
    frames_bytes - frames_bytes.div_ceil(cx.packet_bytes() + header_bytes) * header_bytes
}

/// Frames around so much payload.
fn frames_bytes(cx: Context<'_>, payload: u64) -> u64 {
    payload + payload.div_ceil(cx.packet_bytes()) * u64::from(cx.framing.header_bytes)
}
