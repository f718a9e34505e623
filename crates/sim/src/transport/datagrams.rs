//! Datagrams at a constant rate (RFC 768): nothing comes back.

use super::SERVER_PORT;
use super::control::Kept;
use super::protocol::{Bounds, Protocol, ReceivingHalf, Reception, Refusal, SendingHalf};
use super::{Host, Pace, ReceiverCounters, SenderCounters};
use crate::{Framing, Kind, Packet};
use anabranch_split::protocol::UDP;

/// Settings of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Rate of frames on the link, preamble and gap included; the host's own link bounds it.
    pub rate: anabranch_fabric::Rate,
    /// Largest payload of a datagram, where it is less than [`Framing::payload_bytes_max`].
    pub payload_bytes_max: Option<u16>,
}

impl Protocol for Udp {
    fn service(&self) -> (u8, u16) {
        (UDP, SERVER_PORT)
    }

    fn payload_bytes_max(&self) -> Option<u16> {
        self.payload_bytes_max
    }

    fn set_payload_bytes_max(&mut self, bytes: Option<u16>) {
        self.payload_bytes_max = bytes;
    }

    fn set_pace(&mut self, _pace: Pace) -> Result<(), Refusal> {
        Err(("UDP has a rate of its own", "give the rate in its transport alone"))
    }

    fn is_reliable(&self) -> bool {
        false
    }

    fn expected_answers(&self, _segments: u64, _wire_bytes: u64) -> u64 {
        0
    }
}

/// The sending half.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagrams {
    sent: u64,
    written: u64,
    /// When the next may begin.
    next_at_ps: u64,
    waits: bool,
    counters: SenderCounters,
}

impl SendingHalf<Udp> for Datagrams {
    fn begin<H: Host>(&mut self, udp: &Udp, framing: Framing, bytes: u64, _: Option<Kept>, host: &mut H) {
        self.written += bytes;
        self.send(udp, framing, host);
    }

    /// Nothing comes back.
    fn receive<H: Host>(&mut self, _: &Udp, _: Framing, _: &Packet, _: &mut H) {}

    fn wake<H: Host>(&mut self, udp: &Udp, framing: Framing, host: &mut H) {
        self.waits = false;
        self.send(udp, framing, host);
    }

    fn resume<H: Host>(&mut self, udp: &Udp, framing: Framing, host: &mut H) {
        self.send(udp, framing, host);
    }

    fn is_idle(&self) -> bool {
        self.sent == self.written
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }

    fn bounds(&self, udp: &Udp) -> Bounds {
        Bounds { window_bytes: u64::MAX, rate_bps: udp.rate.bps(), rtt_ps: 0, empty_rtt_ps: 0 }
    }
}

impl Datagrams {
    /// Sends like a socket that blocks: what has no room waits, and the time is lost.
    fn send<H: Host>(&mut self, udp: &Udp, framing: Framing, host: &mut H) {
        let now_ps = host.now_ps();
        let most = u64::from(udp.payload_bytes_max.unwrap_or(framing.payload_bytes_max));
        while self.sent < self.written && self.next_at_ps <= now_ps {
            let payload = most.min(self.written - self.sent) as u16;
            let frame_bytes = framing.frame_bytes(payload);
            if !host.room(frame_bytes) {
                return;
            }
            host.send(Packet {
                seq: self.sent,
                stamp_ns: (now_ps / 1000) as u32,
                frame_bytes,
                payload_bytes: payload,
                kind: Kind::Datagram,
                ..Packet::default()
            });
            self.sent += u64::from(payload);
            self.counters.sent_bytes += u64::from(payload);
            self.counters.sent_packets += 1;
            let wire_bytes = u32::from(frame_bytes) + u32::from(framing.gap_bytes);
            self.next_at_ps = self.next_at_ps.max(now_ps) + udp.rate.serialization().frame_ps(wire_bytes);
        }
        if self.sent < self.written && !self.waits {
            self.waits = true;
            host.wake_at(self.next_at_ps);
        }
    }
}

/// The receiving half.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatagramReceiver {
    delivered: u64,
    highest: u64,
    counters: ReceiverCounters,
}

impl ReceivingHalf<Udp> for DatagramReceiver {
    fn receive<H: Host>(
        &mut self,
        _: &Udp,
        _: Framing,
        packet: &Packet,
        _: impl FnOnce() -> bool,
        _: &mut H,
    ) -> Reception {
        self.counters.count(packet);
        if packet.seq >= self.highest {
            self.highest = packet.seq;
        } else {
            self.counters.reordered_packets += 1;
        }
        self.delivered += u64::from(packet.payload_bytes);
        Reception::Taken
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn counters(&self) -> ReceiverCounters {
        self.counters
    }
}
