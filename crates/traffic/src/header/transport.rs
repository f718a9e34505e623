//! Ports: the first four bytes of TCP, UDP and SCTP. Other protocols have none.

use super::Unreadable;
use super::octets::Octets;
use anabranch_split::{FiveTuple, protocol};

#[inline]
pub(super) fn read_ports(tuple: &mut FiveTuple, payload: Octets<'_>) -> Result<(), Unreadable> {
    if matches!(tuple.protocol, protocol::TCP | protocol::UDP | protocol::SCTP) {
        let (&[s0, s1, d0, d1], _) = payload.split::<4>()?;
        tuple.source_port = [s0, s1];
        tuple.destination_port = [d0, d1];
    }
    Ok(())
}
