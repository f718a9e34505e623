//! Headers of a frame: Ethernet II, IPv4, and what its carrier has behind them.
//!
//! Fields that the simulator does not model are constant: time to live, code point (DSCP), identification (RFC 6864 allows
//! any value if fragmentation is forbidden).

use crate::pcapng::{checksum, pause, roce, tcp, uec};
use anabranch_sim::transport::{ROCE_PORT, UEC_PORT};
use anabranch_sim::{CapturedPacket, Carrier, Framing, Kind, Packet, address, marks};

const TIME_TO_LIVE: u8 = 64;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const TCP: u8 = 6;
const UDP: u8 = 17;

const ETHERNET_BYTES: usize = 14;
const IPV4_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const UDP_CHECKSUM_AT: usize = 6;
/// Bytes of the frame check sequence behind a frame, which no capture contains.
const FCS_BYTES: u16 = 4;
/// Largest sum of all headers in bytes: those of TCP with all options.
pub(super) const BYTES_MAX: usize = ETHERNET_BYTES + IPV4_BYTES + tcp::BYTES + tcp::OPTIONS_BYTES_MAX;

/// First of the dynamic ports (RFC 6335, section 6): senders of RDMA have one for each entropy, 14 bits of it.
const ENTROPY_PORTS: u16 = 0xc000;

/// Smallest [`Framing::header_bytes`] around a packet of TCP or UDP.
pub(super) fn bytes_min(kind: Kind) -> u16 {
    let transport = if kind.is_datagram() { UDP_BYTES } else { tcp::BYTES };
    (ETHERNET_BYTES + IPV4_BYTES + transport) as u16 + FCS_BYTES
}

/// Writes the headers of a packet that leaves a port of this rate into `out`. `numbers` are those of its sender and of its
/// receiver: ports, queue pairs or packet delivery contexts. Returns the length of the frame without its check sequence:
/// the simulator's, or what the headers need if that is more. Checksums are those of a payload of zeros.
pub(super) fn write(
    capture: &CapturedPacket,
    numbers: [u32; 2],
    framing: Framing,
    rate_bps: u64,
    out: &mut Vec<u8>,
) -> u32 {
    let packet = &capture.packet;
    let frame_bytes = usize::from(packet.frame_bytes.saturating_sub(FCS_BYTES));
    out.clear();
    if packet.kind == Kind::Pause {
        pause::write(packet, capture.port, rate_bps, out);
        return frame_bytes as u32;
    }
    let (source, destination) = (capture.src, packet.destination);
    out.extend(mac(destination));
    out.extend(mac(source));
    out.extend([0x08, 0x00]);
    let ip = out.len();
    out.resize(ip + IPV4_BYTES, 0);
    let transport = out.len();
    let (protocol, checksum_at) = match &capture.carrier {
        Carrier::Stream if packet.kind.is_datagram() => {
            udp(numbers.map(|port| port as u16), out);
            (UDP, UDP_CHECKSUM_AT)
        }
        Carrier::Stream => {
            out.extend(numbers.iter().flat_map(|&port| (port as u16).to_be_bytes()));
            tcp::write(packet, framing, framing.header_bytes - bytes_min(packet.kind), out);
            (TCP, tcp::CHECKSUM_AT)
        }
        Carrier::Roce(position, semantics) => {
            udp([source_port(capture), ROCE_PORT], out);
            roce::write(packet, position, *semantics, numbers[1], out);
            (UDP, UDP_CHECKSUM_AT)
        }
        Carrier::Uec(position) => {
            udp([source_port(capture), UEC_PORT], out);
            uec::write(packet, position, numbers.map(|context| context as u16), out);
            (UDP, UDP_CHECKSUM_AT)
        }
    };
    let is_roce = matches!(capture.carrier, Carrier::Roce(..));
    let behind_bytes = if is_roce { roce::behind_bytes(packet) } else { packet.payload_bytes };
    let segment_bytes = (out.len() - transport) as u16 + behind_bytes;
    if protocol == UDP {
        out[transport + 4..transport + 6].copy_from_slice(&segment_bytes.to_be_bytes());
    }
    let addresses = (address(source), address(destination));
    ipv4(packet, protocol, IPV4_BYTES as u16 + segment_bytes, addresses, &mut out[ip..transport]);
    if capture.carrier == Carrier::Stream {
        // The pseudo header: addresses, protocol, length (RFC 9293, section 3.1; RFC 768).
        let pseudo = checksum::sum(u32::from(protocol) + u32::from(segment_bytes), &out[ip + 12..transport]);
        let sum = checksum::finish(checksum::sum(pseudo, &out[transport..]));
        // RFC 768: zero would say that there is none, as cards say of RDMA.
        let sum = if sum == 0 && protocol == UDP { 0xffff } else { sum };
        let checksum_at = transport + checksum_at;
        out[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    if is_roce && packet.payload_bytes == 0 {
        let check = roce::invariant_crc(&out[ip..]);
        out.extend(check);
    }
    if packet.marks & marks::TRIMMED != 0 {
        // A switch that trims changes the length of the IP datagram, and nothing behind the IP header (Ultra Ethernet 1.0,
        // section 4.1).
        out.truncate(frame_bytes);
        let datagram_bytes = (frame_bytes - ETHERNET_BYTES) as u16;
        ipv4(packet, protocol, datagram_bytes, addresses, &mut out[ip..transport]);
        return frame_bytes as u32;
    }
    frame_bytes.max(transport + usize::from(segment_bytes)) as u32
}

/// Ethernet address of a host, locally administered.
fn mac(host: u32) -> [u8; 6] {
    let [a, b, c, d] = host.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// Source port of RDMA: the packet's, or one that stands for what switches hash of it ideally.
fn source_port(capture: &CapturedPacket) -> u16 {
    capture.header.map_or(ENTROPY_PORTS | capture.packet.entropy as u16, |header| header.source_port)
}

fn ipv4(
    packet: &Packet,
    protocol: u8,
    datagram_bytes: u16,
    addresses: ([u8; 4], [u8; 4]),
    header: &mut [u8],
) {
    // RFC 3168, section 5.
    let ecn = match packet.marks & (marks::CAPABLE | marks::EXPERIENCED) {
        0 => 0,
        marks::CAPABLE => 0b10,
        _ => 0b11,
    };
    header[..2].copy_from_slice(&[0x45, ecn]);
    header[2..4].copy_from_slice(&datagram_bytes.to_be_bytes());
    header[6..8].copy_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
    header[8..10].copy_from_slice(&[TIME_TO_LIVE, protocol]);
    header[10..12].fill(0);
    header[12..16].copy_from_slice(&addresses.0);
    header[16..20].copy_from_slice(&addresses.1);
    let sum = checksum::finish(checksum::sum(0, header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Writes a UDP header with the length and the checksum to come.
fn udp(ports: [u16; 2], out: &mut Vec<u8>) {
    out.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    out.extend([0; 4]);
}
