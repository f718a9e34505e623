//! Link types (`LINKTYPE_*` of the tcpdump.org registry), and the start of the IP header in each.

use super::ip::{self, Datagram};
use super::octets::Octets;
use super::{Unreadable, ether_type, linux_cooked, loopback};

/// Kind of the first header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkType {
    Ethernet,
    LinuxCooked1,
    LinuxCooked2,
    /// IPv4 or IPv6, by the version field.
    RawIp,
    /// BSD loopback: an address family, then IP.
    Loopback,
}

impl LinkType {
    /// Names and numbers of all link types that are read, for error messages.
    pub(crate) const READ: &'static str = "Ethernet (1), Linux cooked (113, 276), raw IP (12, 14, 101, 228, 229) \
                                           and loopback (0, 108)";

    /// Finds the link type by its number. 12 and 14 are `DLT_RAW` as some systems write it without translation.
    pub(crate) fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::RawIp,
            113 => Self::LinuxCooked1,
            276 => Self::LinuxCooked2,
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn datagram(self, octets: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
        match self {
            Self::Ethernet => ether_type::ethernet(octets),
            Self::LinuxCooked1 => linux_cooked::version_1(octets),
            Self::LinuxCooked2 => linux_cooked::version_2(octets),
            Self::RawIp => ip::by_version(octets),
            Self::Loopback => loopback::datagram(octets),
        }
    }
}
