//! BSD loopback (`LINKTYPE_NULL`, `LINKTYPE_LOOP`): an address family of four bytes in front of the packet.

use super::Unreadable;
use super::ip::{self, Datagram};
use super::octets::Octets;

/// Reads the address family. `LINKTYPE_NULL` has the byte order of the capturing host, which the file does not give:
/// families are small, so the half with the zeros reveals it.
pub(super) fn datagram(octets: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    let (&family, rest) = octets.split::<4>()?;
    let big_endian = u32::from_be_bytes(family);
    match if big_endian > 0xffff { big_endian.swap_bytes() } else { big_endian } {
        2 => ip::v4(rest),
        // AF_INET6 of Linux; NetBSD and OpenBSD; FreeBSD; macOS.
        10 | 24 | 28 | 30 => ip::v6(rest),
        _ => Err(Unreadable::NonIp),
    }
}
