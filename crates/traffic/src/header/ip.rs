//! IPv4 (RFC 791) and IPv6 with its extension headers (RFC 8200).

use super::Unreadable;
use super::fragment::{Fragment, FragmentKey};
use super::octets::Octets;
use crate::Headers;
use anabranch_split::FiveTuple;

/// Largest number of extension headers. Hosts send each kind once, destination options twice (RFC 8200 section 4.1).
const EXTENSIONS_MAX: usize = 16;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// IP packet without its extension headers.
pub(super) struct Datagram<'a> {
    /// Addresses and protocol; the ports are still zero.
    pub(super) tuple: FiveTuple,
    pub(super) fragment: Option<Fragment>,
    /// Bytes from the header of `tuple.protocol` on, unless this is a later fragment.
    pub(super) payload: Octets<'a>,
    pub(super) headers: Headers,
}

/// Reads IPv4 or IPv6, as the version field says.
pub(super) fn by_version(octets: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    match octets.first()? >> 4 {
        4 => v4(octets),
        6 => v6(octets),
        _ => Err(Unreadable::Malformed),
    }
}

#[inline]
pub(super) fn v4(octets: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    let (h, _) = octets.split::<20>()?;
    let header_bytes = usize::from(h[0] & 0x0f) * 4;
    let total_bytes = usize::from(u16::from_be_bytes([h[2], h[3]]));
    if h[0] >> 4 != 4 || header_bytes < 20 {
        return Err(Unreadable::Malformed);
    }
    // Zero is what segmentation offload leaves in captures at the sender: the packet is as long as it is.
    let octets = if total_bytes == 0 { octets } else { octets.clip(total_bytes) };
    let payload = octets.skip(header_bytes)?;
    let mut tuple = FiveTuple::v4([h[12], h[13], h[14], h[15]], [h[16], h[17], h[18], h[19]], h[9], 0, 0);

    let flags_and_offset = u16::from_be_bytes([h[6], h[7]]);
    let is_first = flags_and_offset & 0x1fff == 0;
    let more = flags_and_offset & 0x2000 != 0;
    let fragment = (more || !is_first).then(|| {
        let id = u32::from(u16::from_be_bytes([h[4], h[5]]));
        Fragment { is_first, key: FragmentKey::new(&tuple, id) }
    });
    if tuple.protocol != AUTHENTICATION {
        return Ok(Datagram { tuple, fragment, payload, headers: Headers::default() });
    }
    let headers = Headers::AUTHENTICATED;
    if is_first {
        let (next, payload) = authentication(payload)?;
        tuple.protocol = next;
        return Ok(Datagram { tuple, fragment, payload, headers });
    }
    Ok(Datagram { tuple, fragment, payload, headers })
}

#[inline]
pub(super) fn v6(octets: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    let (h, payload) = octets.split::<40>()?;
    if h[0] >> 4 != 6 {
        return Err(Unreadable::Malformed);
    }
    let mut tuple = FiveTuple::v6([0; 16], [0; 16], h[6], 0, 0);
    tuple.source.copy_from_slice(&h[8..24]);
    tuple.destination.copy_from_slice(&h[24..40]);
    // Zero stands for a jumbogram (RFC 2675) or for segmentation offload.
    let payload_bytes = usize::from(u16::from_be_bytes([h[4], h[5]]));
    let payload = if payload_bytes == 0 { payload } else { payload.clip(payload_bytes) };
    extensions(tuple, payload)
}

fn extensions(mut tuple: FiveTuple, mut payload: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    let mut fragment = None;
    let mut headers = Headers::default();
    for _ in 0..=EXTENSIONS_MAX {
        match tuple.protocol {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => {
                headers |= Headers::EXTENSIONS;
                let (h, _) = payload.split::<2>()?;
                tuple.protocol = h[0];
                payload = payload.skip(8 * (usize::from(h[1]) + 1))?;
            }
            AUTHENTICATION => {
                headers |= Headers::AUTHENTICATED;
                (tuple.protocol, payload) = authentication(payload)?;
            }
            FRAGMENT => {
                let (h, rest) = payload.split::<8>()?;
                let offset_and_more = u16::from_be_bytes([h[2], h[3]]);
                let is_first = offset_and_more >> 3 == 0;
                // Fragments of one packet may differ in their next header (RFC 8200 section 4.5): it is no key.
                let key = FragmentKey::new(&tuple, u32::from_be_bytes([h[4], h[5], h[6], h[7]]));
                tuple.protocol = h[0];
                payload = rest;
                if !is_first {
                    match tuple.protocol {
                        AUTHENTICATION => headers |= Headers::AUTHENTICATED,
                        HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => headers |= Headers::EXTENSIONS,
                        _ => {}
                    }
                    return Ok(Datagram {
                        tuple,
                        fragment: Some(Fragment { is_first, key }),
                        payload,
                        headers,
                    });
                }
                // First and last at once is an atomic fragment, a whole packet (RFC 6946).
                if offset_and_more & 1 == 1 {
                    fragment = Some(Fragment { is_first, key });
                } else {
                    headers |= Headers::EXTENSIONS;
                }
            }
            _ => return Ok(Datagram { tuple, fragment, payload, headers }),
        }
    }
    Err(Unreadable::Malformed)
}

/// Skips an authentication header (RFC 4302): its length is in words of four bytes, less two.
fn authentication(payload: Octets<'_>) -> Result<(u8, Octets<'_>), Unreadable> {
    let (h, _) = payload.split::<2>()?;
    Ok((h[0], payload.skip(4 * (usize::from(h[1]) + 2))?))
}
