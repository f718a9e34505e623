//! A packet: 64 bytes, one cache line.

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
    /// A message between switches, of the load balancer's own: [`Packet::connection`] names a host of the leaf that sent
    /// it, [`Packet::destination`] one of the leaf it is for.
    Probe,
    /// A message between hosts, of the load balancer's own: [`Packet::connection`] names the host that sent it.
    HostProbe,
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
            Self::Probe | Self::HostProbe => "probe",
        }
    }

    /// Whether it is a load balancer's message.
    #[must_use]
    pub const fn is_probe(self) -> bool {
        matches!(self, Self::Probe | Self::HostProbe)
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
    /// Forwarded by [`super::Packet::labels`] instead of the load balancer.
    pub const LABELLED: u8 = 16;
    /// Sent before: no round trip may be measured by it (Karn's rule).
    pub const RETRANSMITTED: u8 = 32;
}

/// A range of received bytes, as distances from the acknowledgement number. Empty if `end` is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte, counted from [`Packet::seq`].
    pub start: u32,
    /// First byte after it, counted from [`Packet::seq`].
    pub end: u32,
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
    /// Value of the header fields that switches hash: same value, same path.
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
    /// Writes the leaf at which a tunnel of the load balancer's own begins: the source in the outer header. Data carry it
    /// where acknowledgements have their last SACK block.
    pub fn set_tunnel_source(&mut self, leaf: u32) {
        self.sack[2] = SackBlock { start: leaf, end: 0 };
    }

    /// Leaf at which the tunnel of a data packet begins, if it is in one.
    #[must_use]
    pub fn tunnel_source(&self) -> u32 {
        self.sack[2].start
    }
}

const _: () = assert!(size_of::<Packet>() == 64);
