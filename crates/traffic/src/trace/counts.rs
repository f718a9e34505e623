//! Counts of a capture's packets: those that were used, and why others were not.

use crate::Headers;
use crate::header::{Decoded, FragmentRole, Unreadable};

/// Counts of the packets read so far: `packets = ip_packets + non_ip + truncated_headers + malformed`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// All packets.
    pub packets: u64,
    /// Packets that became records.
    pub ip_packets: u64,
    /// Packets without IP: ARP, LLDP, spanning tree and others.
    pub non_ip: u64,
    /// Packets cut by the snap length before their ports.
    pub truncated_headers: u64,
    /// Packets whose headers contradict themselves or end too early although the packet was captured whole.
    pub malformed: u64,
    /// Records that are fragments of a larger IP packet, first fragments included.
    pub fragments: u64,
    /// Fragments without ports of their own: all but the first of each datagram.
    pub later_fragments: u64,
    /// Fragments whose first fragment was not seen before them; their ports are 0.
    pub fragments_without_first: u64,
    /// Records whose tuple is that of a packet inside a tunnel.
    pub tunnelled: u64,
    /// Records of VXLAN, GENEVE and GRE packets whose tuple is the tunnel's own.
    pub tunnels: u64,
    /// Records with an authentication header (RFC 4302).
    pub authenticated: u64,
    /// Records with two or more VLAN tags, or one of the older type 0x9100.
    pub stacked_tags: u64,
    /// Records with an MPLS label stack.
    pub mpls: u64,
}

impl TraceCounts {
    #[inline]
    pub(super) fn add(&mut self, packet: &Result<Decoded, Unreadable>) {
        self.packets += 1;
        match packet {
            Ok(decoded) => {
                self.ip_packets += 1;
                self.fragments += u64::from(decoded.fragment != FragmentRole::Unfragmented);
                self.fragments_without_first += u64::from(decoded.fragment == FragmentRole::WithoutFirst);
                self.tunnelled += u64::from(decoded.tunnelled);
                self.tunnels += u64::from(decoded.is_tunnel);
                let has = |headers| u64::from(decoded.headers.contains(headers));
                self.later_fragments += has(Headers::LATER_FRAGMENT);
                self.authenticated += has(Headers::AUTHENTICATED);
                self.stacked_tags += has(Headers::STACKED_TAGS);
                self.mpls += has(Headers::MPLS);
            }
            Err(Unreadable::NonIp) => self.non_ip += 1,
            Err(Unreadable::Truncated) => self.truncated_headers += 1,
            Err(Unreadable::Malformed) => self.malformed += 1,
        }
    }
}
