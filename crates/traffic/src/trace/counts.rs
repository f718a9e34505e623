//! What a capture held, and what could not be used.

use crate::header::{Decoded, FragmentRole, Unreadable};

/// Packets read so far, by what became of them: `packets = ip_packets + non_ip + truncated_headers + malformed`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// All of them.
    pub packets: u64,
    /// Those that became records.
    pub ip_packets: u64,
    /// ARP, LLDP, spanning tree and whatever else is no IP.
    pub non_ip: u64,
    /// Cut by the snap length before their ports could be read.
    pub truncated_headers: u64,
    /// Headers that contradict themselves or end too early although the packet was captured whole.
    pub malformed: u64,
    /// Of the records: fragments of a larger IP packet, the first ones included.
    pub fragments: u64,
    /// Of the fragments: those whose first fragment was not seen before them; their ports are 0.
    pub fragments_without_first: u64,
    /// Of the records: those whose tuple is that of a packet inside a tunnel.
    pub tunnelled: u64,
    /// Of the records: VXLAN, GENEVE and GRE packets whose tuple is the tunnel's own.
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
