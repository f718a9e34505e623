//! Counts of a capture's packets: those that were used, and why others were not.

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
    /// Fragments whose first fragment was not seen before them; their ports are 0.
    pub fragments_without_first: u64,
    /// Records whose tuple is that of a packet inside a tunnel.
    pub tunnelled: u64,
    /// Records of VXLAN, GENEVE and GRE packets whose tuple is the tunnel's own.
    pub tunnels: u64,
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
            }
            Err(Unreadable::NonIp) => self.non_ip += 1,
            Err(Unreadable::Truncated) => self.truncated_headers += 1,
            Err(Unreadable::Malformed) => self.malformed += 1,
        }
    }
}
