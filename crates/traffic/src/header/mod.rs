//! Parsers from the bytes of a packet to its 5-tuple, one header per file.

mod ether_type;
mod fragment;
mod ip;
mod link_type;
mod linux_cooked;
mod loopback;
mod mpls;
mod octets;
mod transport;
mod tunnel;

use crate::Headers;
use anabranch_split::FiveTuple;
use fragment::FragmentTable;
use ip::Datagram;
use octets::Octets;

pub(crate) use link_type::LinkType;
pub use tunnel::Encapsulation;

/// Largest depth of tunnels in tunnels that are followed inwards.
const TUNNELS_MAX: u32 = 4;

/// Reason why a packet has no 5-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The packet carries something else than IP.
    NonIp,
    /// The snap length cut the packet before its ports.
    Truncated,
    /// The headers contradict themselves or end too early.
    Malformed,
}

/// Role of a packet in a fragmented datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FragmentRole {
    Unfragmented,
    /// Fragment whose ports are known: it has them, or its first fragment was seen.
    Known,
    /// Later fragment whose first fragment was not seen: it has no ports.
    WithoutFirst,
}

/// Decoded headers of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub(crate) tuple: FiveTuple,
    pub(crate) fragment: FragmentRole,
    /// Whether the tuple is that of a packet inside a tunnel.
    pub(crate) tunnelled: bool,
    /// Whether the tuple is that of a tunnel itself.
    pub(crate) is_tunnel: bool,
    pub(crate) headers: Headers,
}

/// Decoder of headers, which remembers first fragments.
pub(crate) struct HeaderDecoder {
    encapsulation: Encapsulation,
    fragments: FragmentTable,
}

impl HeaderDecoder {
    pub(crate) fn new(encapsulation: Encapsulation) -> Self {
        Self { encapsulation, fragments: FragmentTable::default() }
    }

    /// Decodes the 5-tuple of a packet of which the capture kept `bytes`.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        link_type: LinkType,
        bytes: &[u8],
        original_bytes: u64,
    ) -> Result<Decoded, Unreadable> {
        let datagram = link_type.datagram(Octets::new(bytes, original_bytes))?;
        self.connection(&datagram, 0)
    }

    fn connection(&mut self, datagram: &Datagram<'_>, tunnels: u32) -> Result<Decoded, Unreadable> {
        let Some(fragment) = datagram.fragment else {
            return self.defragmented(datagram, tunnels);
        };
        if fragment.is_first {
            let mut decoded = self.defragmented(datagram, tunnels)?;
            self.fragments.insert(fragment.key, decoded.tuple);
            decoded.headers |= Headers::FIRST_FRAGMENT;
            if decoded.fragment == FragmentRole::Unfragmented {
                decoded.fragment = FragmentRole::Known;
            }
            return Ok(decoded);
        }
        let (tuple, role) = match self.fragments.get(&fragment.key) {
            Some(tuple) => (tuple, FragmentRole::Known),
            None => (datagram.tuple, FragmentRole::WithoutFirst),
        };
        Ok(Decoded {
            tuple,
            fragment: role,
            tunnelled: tunnels > 0,
            is_tunnel: tunnel::carries(&tuple),
            headers: datagram.headers | Headers::LATER_FRAGMENT,
        })
    }

    /// Completes a datagram whose payload starts with the header of its protocol.
    #[inline]
    fn defragmented(&mut self, datagram: &Datagram<'_>, tunnels: u32) -> Result<Decoded, Unreadable> {
        let Datagram { mut tuple, payload, headers, .. } = *datagram;
        transport::read_ports(&mut tuple, payload)?;
        if self.encapsulation == Encapsulation::Inner
            && tunnels < TUNNELS_MAX
            && let Some(inner) = tunnel::inner(&tuple, payload)?
        {
            return self.connection(&inner, tunnels + 1);
        }
        let is_tunnel = tunnel::carries(&tuple);
        Ok(Decoded {
            tuple,
            fragment: FragmentRole::Unfragmented,
            tunnelled: tunnels > 0,
            is_tunnel,
            headers,
        })
    }
}
