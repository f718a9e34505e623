//! MPLS label stack (RFC 3032) above IP.

use super::Unreadable;
use super::ip::{self, Datagram};
use super::octets::Octets;
use crate::Headers;

const LABELS_MAX: usize = 16;

/// Reads the packet behind the labels. They do not say what they carry: as routers do for load balancing (RFC 4928),
/// the nibble behind the last one is taken for an IP version. Anything else is a pseudowire (RFC 4385).
pub(super) fn datagram(mut rest: Octets<'_>) -> Result<Datagram<'_>, Unreadable> {
    for _ in 0..LABELS_MAX {
        let (label, below) = rest.split::<4>()?;
        rest = below;
        if label[2] & 1 == 1 {
            let mut datagram = match rest.first()? >> 4 {
                4 => ip::v4(rest),
                6 => ip::v6(rest),
                _ => Err(Unreadable::NonIp),
            }?;
            datagram.headers |= Headers::MPLS;
            return Ok(datagram);
        }
    }
    Err(Unreadable::Malformed)
}
