//! Records that a trace yields.

use anabranch_split::FiveTuple;
use std::ops::{BitOr, BitOrAssign};

/// Headers of a packet because of which a switch may read less than its 5-tuple: a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers(u8);

impl Headers {
    /// First fragment of a datagram: it has the ports, and some switches do not read them.
    pub const FIRST_FRAGMENT: Self = Self(1);
    /// Later fragment of a datagram: it has no ports, and its 5-tuple is that of the first fragment, if that was seen.
    pub const LATER_FRAGMENT: Self = Self(2);
    /// Authentication header (RFC 4302), behind which the protocol and the ports stand.
    pub const AUTHENTICATED: Self = Self(4);
    /// Two or more VLAN tags, or one of the older type 0x9100: a switch that reads one tag sees no IP.
    pub const STACKED_TAGS: Self = Self(8);
    /// MPLS label stack: a switch that reads labels sees no IP.
    pub const MPLS: Self = Self(16);
    /// IPv6 extension headers other than these in front of the protocol: hop-by-hop, routing, destination options, or a
    /// fragment header of a whole packet. Of a later fragment, also what its fragment header names as the next one.
    pub const EXTENSIONS: Self = Self(32);
    /// A VLAN tag of the older type 0x9100, or a third one: few switches look behind it. [`Self::STACKED_TAGS`] is there too.
    pub const ODD_TAGS: Self = Self(64);

    /// Whether all of `other` are there.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits, as arrays have them.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }
}

impl BitOr for Headers {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Headers {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Packet with the fields that a split needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Time of capture, in nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// Bytes on the wire: the original length, even if the capture kept less.
    pub bytes: u64,
    /// Connection it belongs to, in the packet's own direction.
    pub tuple: FiveTuple,
    /// Headers around the 5-tuple: none in flow lists and generated traffic.
    pub headers: Headers,
}
