//! Captures and packets, byte by byte, and readers for tests.

use anabranch_traffic::PacketRecord;
use anabranch_traffic::trace::{Encapsulation, TraceCounts, TraceError, TraceReader};
use std::io::{Cursor, Write};

/// Byte order: `Little` or `Big`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u64(self, value: u64) -> [u8; 8] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

/// A pcap file of packets: seconds, fraction, original length, captured bytes.
pub(crate) fn pcap(order: Order, magic: u32, link: u32, packets: &[(u32, u32, u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = [
        &order.u32(magic)[..],
        &order.u16(2),
        &order.u16(4),
        &order.u32(0),
        &order.u32(0),
        &order.u32(65_535),
        &order.u32(link),
    ]
    .concat();
    for (seconds, fraction, original, bytes) in packets {
        for field in [*seconds, *fraction, bytes.len() as u32, *original] {
            file.extend(order.u32(field));
        }
        file.extend(bytes);
    }
    file
}

pub(crate) const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Pcap file of whole packets, one per second.
pub(crate) fn pcap_of(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let packets: Vec<_> =
        (1..).zip(packets).map(|(i, bytes)| (i, 0, bytes.len() as u32, bytes.clone())).collect();
    pcap(Order::Little, MICROSECONDS, link, &packets)
}

/// A pcapng file, block by block.
pub(crate) struct Pcapng {
    pub(crate) order: Order,
    pub(crate) file: Vec<u8>,
}

impl Pcapng {
    pub(crate) fn new(order: Order) -> Self {
        let mut new = Self { order, file: Vec::new() };
        new.section(order);
        new
    }

    pub(crate) fn section(&mut self, order: Order) -> &mut Self {
        self.order = order;
        let body = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &order.u64(u64::MAX)].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = self.order.u32((12 + body.len() + padding) as u32);
        self.file.extend(self.order.u32(kind));
        self.file.extend(length);
        self.file.extend(body);
        self.file.extend(vec![0; padding]);
        self.file.extend(length);
        self
    }

    /// Adds an interface with options (code, value).
    pub(crate) fn interface(&mut self, link: u16, snap: u32, options: &[(u16, Vec<u8>)]) -> &mut Self {
        let order = self.order;
        let mut body = [&order.u16(link)[..], &order.u16(0), &order.u32(snap)].concat();
        for (code, value) in options {
            body.extend(order.u16(*code));
            body.extend(order.u16(value.len() as u16));
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            body.extend([0; 4]);
        }
        self.block(1, &body)
    }

    pub(crate) fn enhanced(&mut self, interface: u32, ticks: u64, original: u32, bytes: &[u8]) -> &mut Self {
        let fields = [interface, (ticks >> 32) as u32, ticks as u32, bytes.len() as u32, original];
        let mut body: Vec<u8> = fields.iter().flat_map(|&field| self.order.u32(field)).collect();
        body.extend(bytes);
        self.block(6, &body)
    }

    pub(crate) fn simple(&mut self, original: u32, bytes: &[u8]) -> &mut Self {
        let body = [&self.order.u32(original)[..], bytes].concat();
        self.block(3, &body)
    }

    pub(crate) fn obsolete(&mut self, interface: u16, ticks: u64, original: u32, bytes: &[u8]) -> &mut Self {
        let drops = 7;
        let mut body = [self.order.u16(interface), self.order.u16(drops)].concat();
        for field in [(ticks >> 32) as u32, ticks as u32, bytes.len() as u32, original] {
            body.extend(self.order.u32(field));
        }
        body.extend(bytes);
        self.block(2, &body)
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 1).unwrap()
}

/// Result of reading a capture: records, counts, and the error that ended it.
pub(crate) struct Outcome {
    pub(crate) records: Vec<PacketRecord>,
    pub(crate) counts: TraceCounts,
    pub(crate) error: Option<TraceError>,
}

/// Opens bytes as the file `t.pcap`.
pub(crate) fn open(bytes: &[u8], encapsulation: Encapsulation) -> Result<TraceReader, TraceError> {
    TraceReader::new("t.pcap".to_owned(), Box::new(Cursor::new(bytes.to_vec())), None, encapsulation)
}

/// Reads to the end, in batches of an awkward size.
pub(crate) fn drain(mut reader: TraceReader) -> Outcome {
    let (mut records, mut batch, mut error) = (Vec::new(), Vec::new(), None);
    loop {
        match reader.next_batch(&mut batch, 3) {
            Ok(true) => records.append(&mut batch),
            Ok(false) => break,
            Err(e) => {
                assert!(batch.is_empty() && error.is_none(), "one error, after the records");
                error = Some(e);
            }
        }
    }
    let counts = reader.counts().clone();
    assert_eq!(counts.ip_packets, records.len() as u64);
    let sum = counts.ip_packets + counts.non_ip + counts.truncated_headers + counts.malformed;
    assert_eq!(counts.packets, sum);
    Outcome { records, counts, error }
}

pub(crate) fn read(bytes: &[u8], encapsulation: Encapsulation) -> Outcome {
    drain(open(bytes, encapsulation).unwrap())
}

pub(crate) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &ether_type.to_be_bytes(), payload].concat()
}

/// Tag of four bytes with the type that follows it.
pub(crate) fn tag(next_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[0, 42][..], &next_type.to_be_bytes(), payload].concat()
}

/// Packet from 10.0.0.1 to 10.0.0.2, without options.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_fragment(protocol, 0, 0, payload)
}

/// Fragment with identification, and the word of flags and offset.
pub(crate) fn ipv4_fragment(protocol: u8, id: u16, flags_offset: u16, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    [
        &[0x45, 0][..],
        &total.to_be_bytes(),
        &id.to_be_bytes(),
        &flags_offset.to_be_bytes(),
        &[64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2],
        payload,
    ]
    .concat()
}

pub(crate) const V6_SOURCE: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub(crate) const V6_DESTINATION: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

pub(crate) fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0][..], &length, &[next_header, 64], &V6_SOURCE, &V6_DESTINATION, payload].concat()
}

/// Ports, and the smallest header of TCP and SCTP around them; enough for UDP too.
pub(crate) fn ports(source: u16, destination: u16) -> Vec<u8> {
    [&source.to_be_bytes()[..], &destination.to_be_bytes(), &[0; 16]].concat()
}

pub(crate) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    [&source.to_be_bytes()[..], &destination.to_be_bytes(), &length.to_be_bytes(), &[0, 0], payload].concat()
}

/// VXLAN header with the I flag and network 7.
pub(crate) fn vxlan(frame: &[u8]) -> Vec<u8> {
    udp(50_000, 4789, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], frame].concat())
}

/// GENEVE header with eight bytes of options.
pub(crate) fn geneve(protocol_type: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = protocol_type.to_be_bytes();
    let header = [2, 0, high, low, 0, 0, 7, 0, 1, 2, 3, 1, 9, 9, 9, 9];
    udp(50_001, 6081, &[&header[..], payload].concat())
}
