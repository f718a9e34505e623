//! A packet: 64 bytes, one cache line.

use std::ops::Range;

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Kind {
    /// A segment with payload.
    #[default]
    Data,
    /// An acknowledgement without payload.
    Ack,
    /// Opens a connection.
    Syn,
    /// Answers [`Kind::Syn`].
    SynAck,
    /// A datagram: nothing comes back.
    Datagram,
    /// Acknowledges one packet, and says which others arrived ([`Arrivals`]): selective RDMA transports.
    Sack,
    /// Asks for packets again: from [`Packet::seq`] on (go-back-N), or the one there, which was trimmed.
    Nack,
    /// Congestion notification of RoCE (annex A17 of the InfiniBand specification): a marked packet arrived.
    Cnp,
    /// Grants the sender bytes that it may send: [`Packet::seq`] is the sum of all grants.
    Credit,
    /// Asks the receiver for credit: [`Packet::demand`] is the sum of grants that the sender wants.
    Request,
    /// A message between switches, of the load balancer's own: [`Packet::connection`] names a host of the leaf that sent
    /// it, [`Packet::destination`] one of the leaf it is for.
    Probe,
    /// A message between hosts, of the load balancer's own: [`Packet::connection`] names the host that sent it.
    HostProbe,
    /// A pause of a class between the two ends of a link, or its end (PFC, IEEE 802.1Qbb): [`Packet::tag`] is the class,
    /// [`Packet::seq`] the time in picoseconds.
    Pause,
    /// Receiver not ready (RNR NAK of the InfiniBand specification): no receive was posted for a message that is sent.
    NotReady,
}

impl Kind {
    /// Its name in results and for load balancers of one's own.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Syn => "syn",
            Self::SynAck => "syn-ack",
            Self::Datagram => "datagram",
            Self::Sack => "sack",
            Self::Nack => "nack",
            Self::Cnp => "cnp",
            Self::Credit => "credit",
            Self::Request => "request",
            Self::Probe | Self::HostProbe => "probe",
            Self::Pause => "pause",
            Self::NotReady => "rnr-nak",
        }
    }

    /// Whether it is a load balancer's message.
    #[must_use]
    pub const fn is_probe(self) -> bool {
        matches!(self, Self::Probe | Self::HostProbe)
    }

    /// Whether it carries payload for an application. All others are control: small, and others wait for them.
    #[inline(always)]
    #[must_use]
    pub const fn has_payload(self) -> bool {
        matches!(self, Self::Data | Self::Datagram)
    }

    /// Whether a connection's receiving half sent it to the sending half.
    #[inline(always)]
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(
            self,
            Self::Ack | Self::SynAck | Self::Sack | Self::Nack | Self::Cnp | Self::Credit | Self::NotReady
        )
    }

    /// Whether it belongs to no stream.
    #[must_use]
    pub const fn is_datagram(self) -> bool {
        self.is_probe() || matches!(self, Self::Datagram)
    }
}

/// Bits of [`Packet::marks`] (RFC 3168).
pub mod marks {
    /// ECN-capable: may be marked instead of dropped.
    pub const CAPABLE: u8 = 1;
    /// Congestion experienced, set by a port.
    pub const EXPERIENCED: u8 = 2;
    /// ECN echo, from receiver to sender.
    pub const ECHO: u8 = 4;
    /// Congestion window reduced, from sender to receiver.
    pub const REDUCED: u8 = 8;
    /// The receiver is to answer at once: of data of RDMA transports, to which [`REDUCED`] says nothing.
    pub const ASKS: u8 = REDUCED;
    /// Of an acknowledgement, to which [`REDUCED`] says nothing: its first block is of bytes that had arrived before (DSACK,
    /// RFC 2883).
    pub const DUPLICATE: u8 = REDUCED;
    /// Forwarded by [`super::Packet::labels`] instead of the load balancer.
    pub const LABELLED: u8 = 16;
    /// Sent before: no round trip may be measured by it (Karn's rule).
    pub const RETRANSMITTED: u8 = 32;
    /// Payload cut off by a port that had no room for it (trimming): a header that goes on in the class of control and
    /// reaches the receiving half. [`super::Packet::payload_bytes`] still says how many bytes are missing.
    pub const TRIMMED: u8 = 64;
    /// Travels in the second class of its sort, see [`super::Packet::class`]. Set by the transport or load balancer that
    /// sends the packet, which knows it from its own key.
    pub const SECOND: u8 = 128;
}

/// Class of traffic at a port. Ports of a fabric that asks for classes serve, pause, mark and trim each class by its own
/// settings; all others ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Acknowledgements and whatever else has no payload, and headers of trimmed packets.
    Control,
    /// Control that asked for a class of its own ([`marks::SECOND`]), such as a load balancer's probes.
    SecondControl,
    /// Segments and datagrams.
    Data,
    /// Data that asked for a class of their own ([`marks::SECOND`]).
    SecondData,
}

impl Class {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Control, Self::SecondControl, Self::Data, Self::SecondData];

    /// Its name in keys and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::SecondControl => "second_control",
            Self::Data => "data",
            Self::SecondData => "second_data",
        }
    }
}

/// A range of received bytes, as distances from the acknowledgement number, modulo 2^32. Empty if `end` is zero, unless it
/// is of a duplicate ([`marks::DUPLICATE`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte, counted from [`Packet::seq`].
    pub start: u32,
    /// First byte after it, counted from [`Packet::seq`].
    pub end: u32,
}

impl SackBlock {
    /// The block of these bytes of a stream in an acknowledgement of all below `ack`, which may be above them.
    pub(crate) fn of(bytes: &Range<u64>, ack: u64) -> Self {
        Self { start: bytes.start.wrapping_sub(ack) as u32, end: bytes.end.wrapping_sub(ack) as u32 }
    }
}

/// What a [`Kind::Sack`] says beside the next position expected in order, in the room of three [`SackBlock`]s. Packets are
/// numbered from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Arrivals {
    /// Packet that caused it.
    pub cause: u32,
    /// Packet that the lowest bit of [`Self::bits`] stands for.
    pub base: u32,
    /// Packets that arrived out of order, a bit each.
    pub bits: u64,
    /// Bytes of frames that arrived for the first time so far, modulo 2^32.
    pub frame_bytes: u32,
    /// Packets that wait at the receiver for one before them.
    pub waiting: u32,
}

/// A packet anywhere in the fabric.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Packet {
    /// Number of the first payload byte; in an acknowledgement the next byte expected.
    pub seq: u64,
    /// When the sender sent it, in nanoseconds modulo 2^32; an acknowledgement echoes that of the segment that
    /// caused it.
    pub stamp_ns: u32,
    /// The connection, if it has one: slot in the table of connections in the low 24 bits, its generation above. No
    /// name is given twice in a run.
    pub connection: u32,
    /// Host that receives.
    pub destination: u32,
    /// Value of the header fields that switches hash: same value, same path. Where switches are configured to hash header
    /// fields, the number of its header.
    pub entropy: u32,
    /// Stack of choices, eight bits each, lowest first: one is taken off at each switch that has a choice.
    pub labels: u32,
    /// Field that load balancers write and read.
    pub tag: u32,
    /// Frame with headers and checksum, without preamble and gap.
    pub frame_bytes: u16,
    /// Payload.
    pub payload_bytes: u16,
    /// Kind of packet.
    pub kind: Kind,
    /// Bits of [`marks`].
    pub marks: u8,
    /// Number of the path it took so far: at each switch with n choices, n times the number before plus the choice.
    pub path: u16,
    /// Selective acknowledgement, the newest block first (RFC 2018).
    pub sack: [SackBlock; 3],
}

impl Packet {
    /// Class in which it travels. A rule of kind and marks, so that no sender has to name one: packets with payload are
    /// [`Class::Data`], all others and trimmed ones [`Class::Control`]; [`marks::SECOND`] asks for the second of the two.
    #[inline(always)]
    #[must_use]
    pub const fn class(&self) -> Class {
        let data = self.kind.has_payload() && self.marks & marks::TRIMMED == 0;
        match (data, self.marks & marks::SECOND != 0) {
            (false, false) => Class::Control,
            (false, true) => Class::SecondControl,
            (true, false) => Class::Data,
            (true, true) => Class::SecondData,
        }
    }

    /// Cuts the payload off: what goes on is a frame of `header_bytes`, or the whole frame if that is shorter. Position
    /// and length of the missing payload stay readable, marks stay too.
    pub fn trim(&mut self, header_bytes: u16) {
        self.marks |= marks::TRIMMED;
        self.frame_bytes = self.frame_bytes.min(header_bytes);
    }

    /// Writes what arrived into a [`Kind::Sack`].
    pub fn set_arrivals(&mut self, arrivals: Arrivals) {
        let Arrivals { cause, base, bits, frame_bytes, waiting } = arrivals;
        self.sack = [
            SackBlock { start: cause, end: base },
            SackBlock { start: bits as u32, end: (bits >> 32) as u32 },
            SackBlock { start: frame_bytes, end: waiting },
        ];
    }

    /// What a [`Kind::Sack`] says that arrived.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals {
        let [first, second, third] = self.sack;
        Arrivals {
            cause: first.start,
            base: first.end,
            bits: u64::from(second.end) << 32 | u64::from(second.start),
            frame_bytes: third.start,
            waiting: third.end,
        }
    }

    /// Writes the sum of grants that the sender of data or of a [`Kind::Request`] wants, where acknowledgements have their
    /// first SACK block.
    pub fn set_demand(&mut self, sum: u64) {
        self.sack[0] = SackBlock { start: sum as u32, end: (sum >> 32) as u32 };
    }

    /// Sum of grants that the sender wants.
    #[must_use]
    pub fn demand(&self) -> u64 {
        u64::from(self.sack[0].end) << 32 | u64::from(self.sack[0].start)
    }

    /// Notes that the last port before the receiver trimmed these data, or that a [`Kind::Nack`] is about such a packet (in
    /// Ultra Ethernet 1.0 a code point of its own, DSCP_TRIMMED_LASTHOP), where acknowledgements have their second block.
    pub fn set_trimmed_last(&mut self) {
        self.sack[1].start = 1;
    }

    /// Whether the last port before the receiver trimmed it.
    #[must_use]
    pub fn trimmed_last(&self) -> bool {
        self.sack[1].start == 1
    }

    /// Writes the leaf at which a tunnel of the load balancer's own begins: the source in the outer header. Data carry it
    /// where acknowledgements have their last SACK block.
    pub fn set_tunnel_source(&mut self, leaf: u32) {
        self.sack[2] = SackBlock { start: leaf, end: 0 };
    }

    /// Writes a number of the load balancer's own beside the leaf at which its tunnel begins.
    pub fn set_tunnel_number(&mut self, number: u32) {
        self.sack[2].end = number;
    }

    /// Number beside the leaf at which the tunnel of a data packet begins, if it is in one that numbers packets.
    #[must_use]
    pub fn tunnel_number(&self) -> u32 {
        self.sack[2].end
    }

    /// Leaf at which the tunnel of a data packet begins, if it is in one.
    #[must_use]
    pub fn tunnel_source(&self) -> u32 {
        self.sack[2].start
    }
}

const _: () = assert!(size_of::<Packet>() == 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_follows_from_kind_and_marks() {
        let class = |kind, marks| Packet { kind, marks, ..Packet::default() }.class();
        assert_eq!(class(Kind::Data, marks::CAPABLE), Class::Data);
        assert_eq!(class(Kind::Datagram, marks::SECOND), Class::SecondData);
        assert_eq!(class(Kind::Ack, 0), Class::Control);
        assert_eq!(class(Kind::HostProbe, marks::SECOND), Class::SecondControl);
        assert_eq!(class(Kind::Data, marks::TRIMMED), Class::Control);
    }

    #[test]
    fn a_trimmed_packet_says_what_is_missing() {
        let mut packet = Packet { frame_bytes: 4150, payload_bytes: 4086, seq: 8172, ..Packet::default() };
        packet.trim(64);
        assert_eq!((packet.frame_bytes, packet.payload_bytes, packet.seq), (64, 4086, 8172));
        packet.frame_bytes = 60;
        packet.trim(64);
        assert_eq!(packet.frame_bytes, 60);
    }
}
