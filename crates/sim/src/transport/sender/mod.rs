//! The sending half of a TCP connection.

mod acknowledge;
mod recovery;
mod transmit;
mod trouble;

use super::congestion::Congestion;
use super::control::Kept;
use super::pace::Bucket;
use super::protocol::{Bounds, SendingHalf};
use super::prr::Prr;
use super::rtt::Rtt;
use super::tcp::Context;
use super::{Host, SenderCounters, Tcp};
use crate::{Framing, Kind, Packet, marks};
use std::collections::VecDeque;
use std::mem::offset_of;
use trouble::Trouble;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Closed,
    /// SYN sent; how often it was sent again is counted as timeouts.
    Opening,
    Open,
}

/// Linux's words, without Disorder, which is Open with duplicate acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    #[default]
    Open,
    /// The window shrinks after congestion marks (RFC 3168's once a window).
    Reduced,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// The sending half. Reusable: [`Sender::reset`] keeps what is allocated.
///
/// Laid out by how often it is needed: what every acknowledgement touches is in three cache lines, together with the
/// address before it ([`crate::connections`]) and the message; what reductions touch follows; and what only losses,
/// reordering, RACK and applications with a rate need is apart.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// Lowest byte not acknowledged.
    una: u64,
    /// Next byte to be sent for the first time.
    next: u64,
    /// End of the stream so far.
    written: u64,
    /// Deadline of the retransmission timer; `u64::MAX` while nothing is outstanding.
    rto_at_ps: u64,
    congestion: Congestion,
    /// The window was too small for what there was to send below this byte: only such windows grow (RFC 7661).
    limited_end: u64,
    rtt: Rtt,
    /// Segments sent, retransmissions included.
    sent_packets: u64,
    dup_acks: u32,
    /// Acknowledgements in a row of the same byte, in every state, at most 4: only counted.
    same_acks: u8,
    phase: Phase,
    state: State,
    /// The next new segment says that the window is reduced.
    owes_reduced: bool,
    /// Whether there is [`Self::trouble`]; if not, what stands there is an earlier connection's.
    has_trouble: bool,
    trouble: Option<Box<Trouble>>,
    /// End of the current episode of reduction; while `una` has not passed it no mark reduces again.
    recover: u64,
    prr: Prr,
    /// The first segment is to be sent again as soon as the host's card has room: recovery without SACK.
    owes_first: bool,
    /// Payload bytes sent again, less the position at which counting began; wraps.
    sent_beyond_next: u64,
    retransmitted_packets: u64,
    timeouts: u32,
    triple_duplicates: u32,
    /// Messages before the latest, while segments of theirs may be sent again.
    before: Option<Box<Before>>,
}

/// What a stream has sent before its latest message.
#[derive(Debug, Default)]
struct Before {
    /// Ends of the messages that were not acknowledged when the latest began, ascending; the last is its beginning.
    ends: VecDeque<u64>,
    /// Segments that were sent again, by first byte and bytes, and that nobody has asked for.
    sent: Vec<(u64, u64)>,
}

impl Before {
    /// The latest message ends at `next`.
    fn end_message(&mut self, una: u64, next: u64) {
        let acknowledged = self.ends.partition_point(|&end| end <= una);
        self.ends.drain(..acknowledged);
        self.ends.push_back(next);
    }

    /// End of the message that a byte is of, if that is before the latest. No segment has bytes of two (Linux: `MSG_EOR`).
    fn end_of(&self, seq: u64) -> Option<u64> {
        self.ends.get(self.ends.partition_point(|&end| end <= seq)).copied()
    }
}

const _: () = assert!(offset_of!(Sender, recover) <= 176 && size_of::<Sender>() <= 240);

impl Default for Sender {
    fn default() -> Self {
        Self::new()
    }
}

impl SendingHalf<Tcp> for Sender {
    /// Opens the connection, unless it is open, and appends bytes to the stream.
    fn begin<H: Host>(&mut self, tcp: &Tcp, framing: Framing, bytes: u64, _: Option<Kept>, host: &mut H) {
        if self.phase == Phase::Closed {
            self.open(tcp, framing, host);
        }
        self.write(tcp, framing, bytes, host);
    }

    /// Takes a [`Kind::SynAck`] or a [`Kind::Ack`].
    #[inline]
    fn receive<H: Host>(&mut self, tcp: &Tcp, framing: Framing, packet: &Packet, host: &mut H) {
        let cx = Context { tcp, framing };
        match (packet.kind, self.phase) {
            (Kind::Ack, Phase::Open) => self.acknowledge(cx, packet, host),
            (Kind::SynAck, Phase::Opening) => self.opened(cx, packet, host),
            // A second answer to a SYN sent twice.
            _ => {}
        }
    }

    fn wake<H: Host>(&mut self, tcp: &Tcp, framing: Framing, host: &mut H) {
        let cx = Context { tcp, framing };
        let now_ps = host.now_ps();
        if self.rack_due_at_ps() <= now_ps && self.find_lost_by_time(cx, now_ps) {
            if self.state == State::Open || self.state == State::Reduced {
                self.enter_recovery(cx, 0, host);
            }
            self.transmit(cx, host);
        }
        if self.written_at_ps() <= now_ps {
            self.end_idleness(now_ps);
            self.transmit(cx, host);
        }
        if self.rto_at_ps <= now_ps {
            if host.waits() {
                // What has not left the host is not lost (Linux: skb_still_in_host_queue).
                self.rto_at_ps = now_ps + self.rtt.timeout_ps(tcp);
            } else {
                self.timed_out(cx, host);
            }
        }
        self.arm(host);
    }

    #[inline(always)]
    fn resume<H: Host>(&mut self, tcp: &Tcp, framing: Framing, host: &mut H) {
        self.push(tcp, framing, host);
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.una == self.written
    }

    fn is_sent(&self, _: &Tcp) -> bool {
        self.next == self.written
    }

    fn counters(&self) -> SenderCounters {
        SenderCounters {
            sent_bytes: self.next.wrapping_add(self.sent_beyond_next),
            sent_packets: self.sent_packets,
            retransmitted_packets: self.retransmitted_packets,
            timeouts: self.timeouts,
            triple_duplicates: self.triple_duplicates,
            not_ready: 0,
        }
    }

    fn bounds(&self, _: &Tcp) -> Bounds {
        Bounds {
            window_bytes: self.window_bytes(),
            rate_bps: u64::MAX,
            rtt_ps: self.rtt.smoothed_ps(),
            empty_rtt_ps: 0,
        }
    }

    fn restart_counters(&mut self) {
        if self.una < self.next {
            self.before.get_or_insert_default().end_message(self.una, self.next);
        } else if let Some(before) = &mut self.before {
            before.ends.clear();
        }
        self.sent_packets = 0;
        self.sent_beyond_next = 0u64.wrapping_sub(self.next);
        self.retransmitted_packets = 0;
        self.timeouts = 0;
        self.triple_duplicates = 0;
    }

    fn acknowledged(&self) -> u64 {
        self.una
    }

    fn take_sent_before(&mut self) -> Vec<(u64, u64)> {
        self.before.as_mut().map(|before| std::mem::take(&mut before.sent)).unwrap_or_default()
    }
}

impl Sender {
    /// A closed one.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self {
            una: 0,
            next: 0,
            written: 0,
            rto_at_ps: u64::MAX,
            congestion: Congestion::new(),
            limited_end: 0,
            rtt: Rtt::default(),
            sent_packets: 0,
            dup_acks: 0,
            same_acks: 0,
            phase: Phase::Closed,
            state: State::Open,
            owes_reduced: false,
            has_trouble: false,
            trouble: None,
            recover: 0,
            prr: Prr::default(),
            owes_first: false,
            sent_beyond_next: 0,
            retransmitted_packets: 0,
            timeouts: 0,
            triple_duplicates: 0,
            before: None,
        }
    }

    /// Resets to a new sender; what is allocated stays, and is not touched.
    pub(crate) fn reset(&mut self) {
        let mut congestion = std::mem::replace(&mut self.congestion, Congestion::new());
        let trouble = self.trouble.take();
        congestion.reset();
        *self = Self { congestion, trouble, ..Self::new() };
    }

    /// The congestion window, in bytes.
    #[inline]
    #[must_use]
    pub(crate) fn window_bytes(&self) -> u64 {
        self.congestion.window
    }

    /// The window that this subflow has to say for itself among linked ones, in bytes, and its smoothed round trip in
    /// picoseconds; `None` before there is one. A window that is being reduced counts as what it is reduced to: what
    /// fast recovery adds for a while is no window (RFC 6356, section 3).
    pub(crate) fn pace(&self) -> Option<(u64, u64)> {
        let window = match self.state {
            State::Open | State::Loss => self.congestion.window,
            State::Reduced | State::Recovery => self.congestion.threshold,
        };
        let rtt_ps = self.rtt.smoothed_ps();
        (rtt_ps > 0).then_some((window, rtt_ps))
    }

    /// Lets the window grow, in congestion avoidance, by no more than a segment for so many acknowledged bytes.
    pub(crate) fn link(&mut self, interval_bytes: u64) {
        if interval_bytes > 0 || self.has_trouble {
            self.trouble().interval_bytes = interval_bytes;
        }
    }

    /// Begins: sends SYN, or is open at once without a handshake.
    pub(crate) fn open<H: Host>(&mut self, tcp: &Tcp, framing: Framing, host: &mut H) {
        let cx = Context { tcp, framing };
        self.congestion.begin(tcp.control, u64::from(tcp.initial_window.max(1)) * cx.segment());
        if tcp.handshake {
            self.phase = Phase::Opening;
            self.send_syn(cx, host);
            self.arm(host);
        } else {
            self.phase = Phase::Open;
        }
    }

    /// Appends bytes to the stream: those of a flow, which leave no faster than its application writes.
    pub(crate) fn write<H: Host>(&mut self, tcp: &Tcp, framing: Framing, bytes: u64, host: &mut H) {
        let now_ps = host.now_ps();
        self.end_idleness(now_ps);
        if let Some(pace) = tcp.pace {
            self.trouble().bucket = Some(Bucket::begin(pace, self.written, now_ps));
        }
        self.written += bytes;
        if self.phase == Phase::Open {
            self.transmit(Context { tcp, framing }, host);
        }
    }

    /// New data come. If all before was acknowledged, congestion control learns how long there was nothing to send.
    fn end_idleness(&mut self, now_ps: u64) {
        if self.next > 0 && self.una == self.next {
            self.congestion.idled(now_ps);
        }
    }

    /// Sends what the window lets out, if the host has had more for it since.
    pub(crate) fn push<H: Host>(&mut self, tcp: &Tcp, framing: Framing, host: &mut H) {
        if self.phase == Phase::Open {
            self.transmit(Context { tcp, framing }, host);
        }
    }

    fn opened<H: Host>(&mut self, cx: Context<'_>, packet: &Packet, host: &mut H) {
        self.phase = Phase::Open;
        self.rto_at_ps = u64::MAX;
        self.rtt.end_back_off();
        if packet.marks & marks::RETRANSMITTED == 0 {
            self.rtt.measure(Rtt::since(packet.stamp_ns, host.now_ps()));
        }
        if self.timeouts > 1 {
            // RFC 5681, section 3.1, has it so for each lost SYN or SYN-ACK; Linux for the second, since the first may
            // only have waited longer than the timeout. With datacenters' timeouts it often has.
            self.congestion.window = cx.segment();
        }
        self.transmit(cx, host);
    }

    /// Outstanding bytes that are in the network (RFC 6675's pipe; without SACK all but those a timeout gave up).
    #[inline(always)]
    fn pipe(&self) -> u64 {
        self.next - self.una - self.known_trouble().map_or(0, |trouble| trouble.board.absent_bytes())
    }

    #[inline(always)]
    fn arm<H: Host>(&mut self, host: &mut H) {
        let at_ps = self.rto_at_ps.min(self.rack_due_at_ps()).min(self.written_at_ps());
        if at_ps != u64::MAX {
            host.wake_at(at_ps);
        }
    }
}

/// Looked at by tests.
#[cfg(test)]
impl Sender {
    /// The slow start threshold, in bytes; `u64::MAX` before the first reduction.
    pub(super) fn threshold_bytes(&self) -> u64 {
        self.congestion.threshold
    }

    /// DCTCP's estimate of the fraction of marked bytes (alpha); `None` under other laws.
    pub(super) fn marked_fraction(&self) -> Option<f64> {
        self.congestion.marked_fraction()
    }
}
