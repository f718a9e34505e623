//! VXLAN (RFC 7348), GENEVE (RFC 8926) and GRE (RFC 2784, RFC 2890).

use super::ip::{self, Datagram};
use super::octets::Octets;
use super::{Unreadable, ether_type};
use anabranch_split::{FiveTuple, protocol};

/// Choice between the headers of a VXLAN, GENEVE or GRE tunnel and those inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// Headers of the tunnel, which a switch of the fabric hashes.
    #[default]
    Outer,
    /// Headers of the packet inside, down to four tunnels deep.
    Inner,
}

/// UDP ports of VXLAN: IANA's number, and the earlier one that is still Linux's default.
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const GENEVE_PORT: u16 = 6081;
/// IANA's protocol number of GRE.
const GRE: u8 = 47;
/// EtherType of an Ethernet frame inside ("transparent Ethernet bridging").
const ETHERNET: u16 = 0x6558;

enum Kind {
    Vxlan,
    Geneve,
    Gre,
}

/// Kind of tunnel that packets of `tuple` belong to.
#[inline]
fn kind(tuple: &FiveTuple) -> Option<Kind> {
    match (tuple.protocol, u16::from_be_bytes(tuple.destination_port)) {
        (protocol::UDP, port) if VXLAN_PORTS.contains(&port) => Some(Kind::Vxlan),
        (protocol::UDP, GENEVE_PORT) => Some(Kind::Geneve),
        (GRE, _) => Some(Kind::Gre),
        _ => None,
    }
}

/// Whether packets of `tuple` are those of a tunnel, by protocol and port.
#[inline]
pub(super) fn carries(tuple: &FiveTuple) -> bool {
    kind(tuple).is_some()
}

/// Reads the packet inside if `tuple` is a tunnel's; `payload` starts with the UDP or GRE header.
pub(super) fn inner<'a>(tuple: &FiveTuple, payload: Octets<'a>) -> Result<Option<Datagram<'a>>, Unreadable> {
    match kind(tuple) {
        None => Ok(None),
        Some(Kind::Vxlan) => vxlan(payload.split::<8>()?.1),
        Some(Kind::Geneve) => geneve(payload.split::<8>()?.1),
        Some(Kind::Gre) => gre(payload),
    }
}

/// Reads VXLAN. Without the I flag there is no valid network identifier, and the port has another use.
fn vxlan(payload: Octets<'_>) -> Result<Option<Datagram<'_>>, Unreadable> {
    let (header, frame) = payload.split::<8>()?;
    if header[0] & 0x08 == 0 { Ok(None) } else { ether_type::ethernet(frame).map(Some) }
}

/// Reads GENEVE, version 0 only; control messages (O flag) belong to the tunnel itself.
fn geneve(payload: Octets<'_>) -> Result<Option<Datagram<'_>>, Unreadable> {
    let (header, rest) = payload.split::<8>()?;
    if header[0] >> 6 != 0 || header[1] & 0x80 != 0 {
        return Ok(None);
    }
    let carried = rest.skip(4 * usize::from(header[0] & 0x3f))?;
    match u16::from_be_bytes([header[2], header[3]]) {
        ETHERNET => ether_type::ethernet(carried),
        0x0800 => ip::v4(carried),
        0x86dd => ip::v6(carried),
        _ => Err(Unreadable::NonIp),
    }
    .map(Some)
}

/// Reads GRE, version 0 without source routes; PPTP's (version 1) carries PPP. Checksum, key and sequence number take
/// four bytes each.
fn gre(payload: Octets<'_>) -> Result<Option<Datagram<'_>>, Unreadable> {
    const CHECKSUM_KEY_SEQUENCE: u8 = 0xb0;
    const ROUTING: u8 = 0x40;
    let (header, rest) = payload.split::<4>()?;
    if header[0] & ROUTING != 0 || header[1] & 0x07 != 0 {
        return Ok(None);
    }
    let carried = rest.skip(4 * (header[0] & CHECKSUM_KEY_SEQUENCE).count_ones() as usize)?;
    match u16::from_be_bytes([header[2], header[3]]) {
        ETHERNET => ether_type::ethernet(carried),
        carried_type => ether_type::datagram(carried_type, carried),
    }
    .map(Some)
}
