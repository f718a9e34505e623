//! Datagrams at a constant rate (RFC 768): nothing comes back.

use super::{Host, ReceiverCounters, SenderCounters, Udp};
use crate::{Framing, Kind, Packet};

/// The sending half.
#[derive(Clone, Debug, Default)]
pub struct Datagrams {
    sent: u64,
    written: u64,
    /// When the next may begin.
    next_at_ps: u64,
    waits: bool,
    /// Counters so far.
    pub counters: SenderCounters,
}

impl Datagrams {
    /// One that has sent nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Resets to a new sender.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Whether all written bytes are sent.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.sent == self.written
    }

    /// Appends bytes; they leave at the rate of `udp`.
    pub fn write<H: Host>(&mut self, udp: &Udp, framing: Framing, bytes: u64, host: &mut H) {
        self.written += bytes;
        self.send(udp, framing, host);
    }

    /// A wake-up.
    pub fn wake<H: Host>(&mut self, udp: &Udp, framing: Framing, host: &mut H) {
        self.waits = false;
        self.send(udp, framing, host);
    }

    /// The host's card has room again.
    pub fn resume<H: Host>(&mut self, udp: &Udp, framing: Framing, host: &mut H) {
        self.send(udp, framing, host);
    }

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
pub struct DatagramReceiver {
    delivered: u64,
    highest: u64,
    /// Counters so far.
    pub counters: ReceiverCounters,
}

impl DatagramReceiver {
    /// One that has received nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Resets to a new receiver.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Bytes that arrived, in whatever order.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Takes a [`Kind::Datagram`].
    pub fn receive(&mut self, packet: &Packet) {
        self.counters.count(packet);
        if packet.seq >= self.highest {
            self.highest = packet.seq;
        } else {
            self.counters.reordered_packets += 1;
        }
        self.delivered += u64::from(packet.payload_bytes);
    }
}
