//! Ethernet II and the tags between it and IP: 802.1Q, 802.1ad and the older stacked tags.

use super::ip::{self, Datagram};
use super::octets::Octets;
use super::{Unreadable, mpls};
use crate::Headers;

/// Largest number of tags: real stacks have two.
const TAGS_MAX: usize = 8;

/// Reads an Ethernet header: destination, source, type. Below 0x0600 the type is an IEEE 802.3 length, and no IP
/// follows.
#[inline]
pub(super) fn ethernet(frame: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    let (header, rest) = frame.split::<14>()?;
    datagram(u16::from_be_bytes([header[12], header[13]]), rest)
}

/// Reads the datagram behind an EtherType (IANA "IEEE 802 Numbers").
#[inline]
pub(super) fn datagram(mut ether_type: u16, mut rest: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    let mut headers = Headers::default();
    for tags in 0..=TAGS_MAX {
        let mut datagram = match ether_type {
            0x0800 => ip::v4(rest)?,
            0x86dd => ip::v6(rest)?,
            0x8100 | 0x88a8 | 0x9100 => {
                if tags > 0 || ether_type == 0x9100 {
                    headers |= Headers::STACKED_TAGS;
                }
                if tags > 1 || ether_type == 0x9100 {
                    headers |= Headers::ODD_TAGS;
                }
                let (tag, tagged) = rest.split::<4>()?;
                ether_type = u16::from_be_bytes([tag[2], tag[3]]);
                rest = tagged;
                continue;
            }
            0x8847 | 0x8848 => mpls::datagram(rest)?,
            _ => return Err(Unreadable::NonIp),
        };
        datagram.headers |= headers;
        return Ok(datagram);
    }
    Err(Unreadable::Malformed)
}
