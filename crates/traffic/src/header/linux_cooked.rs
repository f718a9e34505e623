//! Linux cooked captures, such as those of the `any` interface (`LINKTYPE_LINUX_SLL`, `LINKTYPE_LINUX_SLL2`).

use super::ip::Datagram;
use super::octets::Octets;
use super::{Unreadable, ether_type};

/// Reads packet type, ARPHRD type, address length, address of 8 bytes, protocol.
pub(super) fn version_1(octets: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    let (header, rest) = octets.split::<16>()?;
    ether_type::datagram(u16::from_be_bytes([header[14], header[15]]), rest)
}

/// Reads protocol, reserved, interface index, ARPHRD type, packet type, address length, address of 8 bytes.
pub(super) fn version_2(octets: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    let (header, rest) = octets.split::<20>()?;
    ether_type::datagram(u16::from_be_bytes([header[0], header[1]]), rest)
}
