//! Headers of a frame: Ethernet II, IPv4, TCP or UDP.
//!
//! Fields that the simulator does not model are constant: time to live, identification (RFC 6864 allows any value if
//! fragmentation is forbidden), the window. Positions in a stream become sequence numbers: SYN has number 0, the first
//! byte number 1.

use crate::pcapng::checksum;
use crate::pcapng::connection_ports::ends;
use anabranch_sim::{CapturedPacket, Framing, Kind, Packet, SackBlock, marks};

/// Port of the host that a connection is opened to.
const SERVER_PORT: u16 = 5001;
const TIME_TO_LIVE: u8 = 64;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const TCP: u8 = 6;
const UDP: u8 = 17;

const ETHERNET_BYTES: usize = 14;
const IPV4_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const OPTIONS_BYTES_MAX: usize = 40;
/// Bytes of the frame check sequence behind a frame, which no capture contains.
pub(super) const FCS_BYTES: u16 = 4;
/// Largest sum of all headers in bytes.
pub(super) const BYTES_MAX: usize = ETHERNET_BYTES + IPV4_BYTES + TCP_BYTES + OPTIONS_BYTES_MAX;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

const NO_OPERATION: u8 = 1;
/// Window scale that, with the largest window, never limits the sender: the simulator's receivers advertise no window.
const WINDOW_SHIFT: u8 = 14;
const WINDOW: u16 = u16::MAX;
/// Bytes of the timestamps option with its padding; the options of a SYN without timestamps take as many.
const OPTION_SET_BYTES: usize = 12;

/// Smallest [`Framing::header_bytes`] around a packet of this kind.
pub(super) fn bytes_min(kind: Kind) -> u16 {
    let transport = if kind.is_datagram() { UDP_BYTES } else { TCP_BYTES };
    (ETHERNET_BYTES + IPV4_BYTES + transport) as u16 + FCS_BYTES
}

/// Writes the headers of a packet into `out`. Checksums are those of a payload of zeros.
pub(super) fn write(capture: &CapturedPacket, client_port: u16, framing: Framing, out: &mut Vec<u8>) {
    let packet = &capture.packet;
    let (source, destination) = (capture.src, packet.destination);
    let (source_port, destination_port) =
        if source == ends(capture).0 { (client_port, SERVER_PORT) } else { (SERVER_PORT, client_port) };
    out.clear();
    out.extend(mac(destination));
    out.extend(mac(source));
    out.extend([0x08, 0x00]);
    let ip = out.len();
    out.resize(ip + IPV4_BYTES, 0);
    let transport = out.len();
    out.extend(source_port.to_be_bytes());
    out.extend(destination_port.to_be_bytes());
    let (protocol, checksum_at) = if packet.kind.is_datagram() {
        out.extend((UDP_BYTES as u16 + packet.payload_bytes).to_be_bytes());
        out.extend([0; 2]);
        (UDP, transport + 6)
    } else {
        tcp(packet, framing, out);
        (TCP, transport + 16)
    };
    let segment_bytes = (out.len() - transport) as u16 + packet.payload_bytes;
    ipv4(packet, protocol, segment_bytes, (address(source), address(destination)), &mut out[ip..transport]);
    // The pseudo header: addresses, protocol, length (RFC 9293, section 3.1; RFC 768).
    let pseudo = checksum::sum(u32::from(protocol) + u32::from(segment_bytes), &out[ip + 12..transport]);
    let sum = checksum::finish(checksum::sum(pseudo, &out[transport..]));
    // RFC 768: zero would say that there is none.
    let sum = if sum == 0 && protocol == UDP { 0xffff } else { sum };
    out[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Ethernet address of a host, locally administered.
fn mac(host: u32) -> [u8; 6] {
    let [a, b, c, d] = host.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// IPv4 address of a host: host 0 has 10.0.0.1.
fn address(host: u32) -> [u8; 4] {
    ((10 << 24) + host + 1).to_be_bytes()
}

fn ipv4(packet: &Packet, protocol: u8, segment_bytes: u16, addresses: ([u8; 4], [u8; 4]), header: &mut [u8]) {
    // RFC 3168, section 5.
    let ecn = match packet.marks & (marks::CAPABLE | marks::EXPERIENCED) {
        0 => 0,
        marks::CAPABLE => 0b10,
        _ => 0b11,
    };
    header[..2].copy_from_slice(&[0x45, ecn]);
    header[2..4].copy_from_slice(&(IPV4_BYTES as u16 + segment_bytes).to_be_bytes());
    header[6..8].copy_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
    header[8..10].copy_from_slice(&[TIME_TO_LIVE, protocol]);
    header[12..16].copy_from_slice(&addresses.0);
    header[16..20].copy_from_slice(&addresses.1);
    let sum = checksum::finish(checksum::sum(0, header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Writes the fields of the TCP header behind the ports.
fn tcp(packet: &Packet, framing: Framing, out: &mut Vec<u8>) {
    let number = (packet.seq as u32).wrapping_add(1);
    let (seq, ack, mut flags) = match packet.kind {
        Kind::Syn => (0, 0, SYN),
        Kind::SynAck => (0, 1, SYN | ACK),
        Kind::Ack | Kind::Sack | Kind::Nack | Kind::Cnp | Kind::Credit | Kind::NotReady => (1, number, ACK),
        Kind::Data | Kind::Datagram | Kind::Request | Kind::Probe | Kind::HostProbe | Kind::Pause => {
            (number, 1, ACK)
        }
    };
    for (mark, flag) in [(marks::ECHO, ECE), (marks::REDUCED, CWR)] {
        flags |= if packet.marks & mark != 0 { flag } else { 0 };
    }
    out.extend(seq.to_be_bytes());
    out.extend(ack.to_be_bytes());
    let offset_at = out.len();
    out.extend([0, flags]);
    out.extend(WINDOW.to_be_bytes());
    // Checksum and urgent pointer.
    out.extend([0; 4]);
    let options_at = out.len();
    options(packet, framing, out);
    out[offset_at] = ((TCP_BYTES + out.len() - options_at) as u8 / 4) << 4;
}

/// Writes TCP options as far as [`Framing::header_bytes`] has room for them: in a handshake the options that Wireshark
/// needs to follow the stream (RFC 9293, 2018, 7323), then SACK blocks, of which at least one is preferred to
/// timestamps, then timestamps. The half of the timestamps that the simulator does not model is zero.
fn options(packet: &Packet, framing: Framing, out: &mut Vec<u8>) {
    let room = usize::from(framing.header_bytes - bytes_min(packet.kind)).min(OPTIONS_BYTES_MAX);
    let handshake = matches!(packet.kind, Kind::Syn | Kind::SynAck) && room >= OPTION_SET_BYTES;
    if handshake {
        // RFC 6691: options do not lessen the MSS.
        let [high, low] = (framing.payload_bytes_max + OPTION_SET_BYTES as u16).to_be_bytes();
        out.extend([2, 4, high, low, NO_OPERATION, NO_OPERATION, 4, 2, NO_OPERATION, 3, 3, WINDOW_SHIFT]);
    }
    // RDMA's answers have other content there.
    let blocks = if packet.kind == Kind::Ack { &packet.sack[..] } else { &[] };
    let blocks = blocks.iter().take_while(|block| block.end != 0).count();
    let first = if handshake || blocks > 0 { OPTION_SET_BYTES } else { 0 };
    let stamped = room >= first + OPTION_SET_BYTES;
    if stamped {
        out.extend([NO_OPERATION, NO_OPERATION, 8, 10]);
        let (value, echo) = match packet.kind {
            kind if kind.is_answer() => (0, packet.stamp_ns),
            _ => (packet.stamp_ns, 0),
        };
        out.extend(value.to_be_bytes());
        out.extend(echo.to_be_bytes());
    }
    let room = room - if stamped { OPTION_SET_BYTES } else { 0 };
    let fitting = blocks.min(room.saturating_sub(4) / 8);
    if fitting > 0 {
        out.extend([NO_OPERATION, NO_OPERATION, 5, 2 + 8 * fitting as u8]);
        for &SackBlock { start, end } in &packet.sack[..fitting] {
            for distance in [start, end] {
                out.extend((packet.seq as u32).wrapping_add(1).wrapping_add(distance).to_be_bytes());
            }
        }
    }
}
