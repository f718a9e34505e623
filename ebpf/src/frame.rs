//! Parser of a frame up to what selects its path: Ethernet, VLAN, IPv4, IPv6.

use crate::hook::Hook;
use anabranch_split::hash::wyhash32::wyhash32_tuple;
use anabranch_split::protocol::{SCTP, TCP, UDP};

/// Offsets of a frame's headers, and its flow.
#[derive(Clone, Copy)]
pub struct Frame {
    /// The key by which schemes pick: wyhash32 of source, destination, ports and protocol.
    pub key: u32,
    /// Whether it is IPv6.
    pub v6: bool,
    /// Offset of the IP header.
    pub ip: u32,
    /// Offset of the header of `protocol`.
    pub transport: u32,
    /// IANA number of what IP carries.
    pub protocol: u8,
    /// Whether it is a piece of a larger datagram; then the ports count for nothing, so that all pieces go one way.
    pub fragment: bool,
}

/// A destination address as it lies in a packet.
#[derive(Clone, Copy)]
pub enum To {
    /// IPv4.
    V4(u32),
    /// IPv6.
    V6([u32; 4]),
}

const ETHERNET: usize = 14;
const VLAN_TAGS: usize = 2;
const EXTENSIONS: usize = 6;
/// Most bytes of headers: two tags, IPv6, six extensions of 64 bytes and four bytes of ports.
const HEADERS_MAX: usize = ETHERNET + 4 * VLAN_TAGS + 40 + 64 * EXTENSIONS + 4;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// IEEE 802.1Q and 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// Why a packet is none of ours.
enum Foreign {
    /// Not IP, or nobody wants it.
    Other,
    /// It ends too soon, or its headers do not lie in one piece.
    Short,
}

/// The bytes of a packet that lie in one piece.
#[derive(Clone, Copy)]
struct Octets {
    start: usize,
    end: usize,
}

impl Octets {
    /// Value at `offset`, in the processor's byte order.
    #[inline(always)]
    fn read<T: Copy>(self, offset: usize) -> Result<T, Foreign> {
        // The verifier wants the bound checked against the pointer that is read by.
        let at = self.start + (offset & 0x3ff);
        if at + size_of::<T>() > self.end {
            return Err(Foreign::Short);
        }
        // SAFETY: it lies within the packet. Where alignment counts, the kernel aligns what follows Ethernet's header
        // (NET_IP_ALIGN), all offsets from there are multiples of a word, and the verifier checks it; a compiler that
        // may not count on it reads byte by byte.
        Ok(unsafe { core::ptr::read(at as *const T) })
    }
}

/// Reads the headers. `find` makes of the destination what the caller wants of it, and the seed of the key. `None` for
/// what is not IP, or ends too soon, or where `find` finds none.
#[inline(always)]
pub fn read<H: Hook, G>(packet: H, find: impl Fn(To) -> Option<(G, u32)>) -> Option<(G, Frame)> {
    // A loop, so that the parser stands once in the program.
    for _ in 0..2 {
        let (start, end) = packet.piece();
        match parse(Octets { start, end }, &find) {
            Ok(found) => return Some(found),
            Err(Foreign::Short) if packet.pull(HEADERS_MAX as u32) => {}
            Err(_) => return None,
        }
    }
    None
}

#[inline(always)]
fn parse<G>(octets: Octets, find: impl Fn(To) -> Option<(G, u32)>) -> Result<(G, Frame), Foreign> {
    let mut ether_type = u16::from_be(octets.read(12)?);
    let mut ip = ETHERNET;
    for _ in 0..VLAN_TAGS {
        if TAGS.contains(&ether_type) {
            ether_type = u16::from_be(octets.read(ip + 2)?);
            ip += 4;
        }
    }
    match ether_type {
        IPV4 => v4(octets, ip, find),
        IPV6 => v6(octets, ip, find),
        _ => Err(Foreign::Other),
    }
}

/// RFC 791 section 3.1.
#[inline(always)]
fn v4<G>(octets: Octets, ip: usize, find: impl Fn(To) -> Option<(G, u32)>) -> Result<(G, Frame), Foreign> {
    let header: [u32; 5] = octets.read(ip)?;
    let version_and_length = header[0] as u8;
    let header_bytes = usize::from(version_and_length & 15) * 4;
    if version_and_length >> 4 != 4 || header_bytes < 20 {
        return Err(Foreign::Other);
    }
    // More fragments, or an offset: the word holds identification and flags.
    let fragment = header[1].to_be() & 0x3fff != 0;
    let protocol = header[2].to_le_bytes()[1];
    let transport = ip + header_bytes;
    let ports = ports(octets, transport, protocol, fragment)?;
    let (found, seed) = find(To::V4(header[4])).ok_or(Foreign::Other)?;
    let key = wyhash32_tuple([[header[3], header[4]]], ports, protocol, seed);
    Ok((found, Frame { key, v6: false, ip: ip as u32, transport: transport as u32, protocol, fragment }))
}

/// Kind of a header by IANA number: the unit in bytes of an IPv6 extension header's length, behind its first eight; bit 7
/// for a fragment's, whose length is fixed; zero for what is no extension. A table and no branches: the verifier walks through every way
/// from branch to branch, six times over.
static KIND: [u8; 256] = {
    let mut kind = [0; 256];
    // Hop by hop, routing, destination options: RFC 8200 section 4.
    kind[0] = 8;
    kind[43] = 8;
    kind[60] = 8;
    kind[44] = 0x80;
    // Authentication: RFC 4302 section 2.2 counts in words of four bytes, less two.
    kind[51] = 4;
    kind
};

/// RFC 8200 sections 3 and 4.
#[inline(always)]
fn v6<G>(octets: Octets, ip: usize, find: impl Fn(To) -> Option<(G, u32)>) -> Result<(G, Frame), Foreign> {
    let header: [u32; 10] = octets.read(ip)?;
    if header[0] as u8 >> 4 != 6 {
        return Err(Foreign::Other);
    }
    let mut protocol = header[1].to_le_bytes()[2];
    let mut transport = ip + 40;
    let mut piece = 0;
    for _ in 0..EXTENSIONS {
        let kind = u32::from(KIND[usize::from(protocol)]);
        // What follows a fragment's header is a header in the first piece alone.
        if kind == 0 || piece != 0 {
            break;
        }
        let words: u32 = octets.read(transport)?;
        let [next, length, ..] = words.to_ne_bytes();
        // More fragments, or an offset; an atomic fragment (RFC 6946) is a whole datagram.
        piece = words.to_be() & 0xfff9 & 0u32.wrapping_sub(kind >> 7);
        transport += (8 + u32::from(length) * (kind & 12)) as usize;
        protocol = next;
        if transport > HEADERS_MAX {
            return Err(Foreign::Other);
        }
    }
    if KIND[usize::from(protocol)] != 0 && piece == 0 {
        return Err(Foreign::Other);
    }
    let fragment = piece != 0;
    let ports = ports(octets, transport, protocol, fragment)?;
    let [_, _, s0, s1, s2, s3, d0, d1, d2, d3] = header;
    let (found, seed) = find(To::V6([d0, d1, d2, d3])).ok_or(Foreign::Other)?;
    let addresses = [[s0, s1], [s2, s3], [d0, d1], [d2, d3]];
    let key = wyhash32_tuple(addresses, ports, protocol, seed);
    Ok((found, Frame { key, v6: true, ip: ip as u32, transport: transport as u32, protocol, fragment }))
}

/// Source and destination port as they lie in the packet; zero where there are none.
#[inline(always)]
fn ports(octets: Octets, transport: usize, protocol: u8, fragment: bool) -> Result<u32, Foreign> {
    if fragment || !matches!(protocol, TCP | UDP | SCTP) { Ok(0) } else { octets.read(transport) }
}
