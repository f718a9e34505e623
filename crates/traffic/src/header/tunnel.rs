//! VXLAN (RFC 7348) and GENEVE (RFC 8926).

use super::ip::{self, Datagram};
use super::octets::Octets;
use super::{Unreadable, ether_type};
use anabranch_split::{FiveTuple, protocol};

/// Which headers of a VXLAN or GENEVE packet count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// Those of the tunnel: what a switch of the fabric hashes.
    #[default]
    Outer,
    /// Those of the packet inside, down to four tunnels deep.
    Inner,
}

const VXLAN_PORT: u16 = 4789;
const GENEVE_PORT: u16 = 6081;

/// The packet inside, if `tuple` is a tunnel's; `payload` starts with the UDP header.
pub(super) fn inner<'a>(tuple: &FiveTuple, payload: Octets<'a>) -> Result<Option<Datagram<'a>>, Unreadable> {
    if tuple.protocol != protocol::UDP {
        return Ok(None);
    }
    match u16::from_be_bytes(tuple.destination_port) {
        VXLAN_PORT => vxlan(payload.split::<8>()?.1),
        GENEVE_PORT => geneve(payload.split::<8>()?.1),
        _ => Ok(None),
    }
}

/// Without the I flag there is no valid network identifier, and this is some other use of the port.
fn vxlan(payload: Octets<'_>) -> Result<Option<Datagram<'_>>, Unreadable> {
    let (header, frame) = payload.split::<8>()?;
    if header[0] & 0x08 == 0 { Ok(None) } else { ether_type::ethernet(frame).map(Some) }
}

/// Version 0 only; control messages (O flag) belong to the tunnel itself.
fn geneve(payload: Octets<'_>) -> Result<Option<Datagram<'_>>, Unreadable> {
    let (header, rest) = payload.split::<8>()?;
    if header[0] >> 6 != 0 || header[1] & 0x80 != 0 {
        return Ok(None);
    }
    let carried = rest.skip(4 * usize::from(header[0] & 0x3f))?;
    match u16::from_be_bytes([header[2], header[3]]) {
        0x6558 => ether_type::ethernet(carried),
        0x0800 => ip::v4(carried),
        0x86dd => ip::v6(carried),
        _ => Err(Unreadable::NonIp),
    }
    .map(Some)
}
