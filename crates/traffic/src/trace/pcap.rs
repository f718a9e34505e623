//! The pcap format: a header of 24 bytes, then records (draft-ietf-opsawg-pcap).

use super::TraceError;
use super::byte_order::ByteOrder;
use super::frame::Frame;
use super::window::{RECORD_MAX, Window};
use crate::header::LinkType;

const HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// Snap length that libpcap limits itself to; records may be longer only if the header's snap length says so.
const SNAP_BYTES_MAX: u32 = 262_144;

pub(super) struct Pcap {
    order: ByteOrder,
    ns_per_fraction: u64,
    captured_max: u32,
    link_type: LinkType,
}

impl Pcap {
    /// Byte order and nanoseconds per unit of the fraction, if `magic` begins a pcap file.
    pub(super) fn recognise(magic: [u8; 4]) -> Option<(ByteOrder, u64)> {
        match u32::from_be_bytes(magic) {
            0xa1b2_c3d4 => Some((ByteOrder::Big, 1000)),
            0xd4c3_b2a1 => Some((ByteOrder::Little, 1000)),
            0xa1b2_3c4d => Some((ByteOrder::Big, 1)),
            0x4d3c_b2a1 => Some((ByteOrder::Little, 1)),
            _ => None,
        }
    }

    pub(super) fn open(
        (order, ns_per_fraction): (ByteOrder, u64),
        window: &mut Window,
    ) -> Result<Self, TraceError> {
        let Some(&header) = window.ahead(HEADER_BYTES).first_chunk::<HEADER_BYTES>() else {
            return Err(window.cut(0, "file header"));
        };
        window.take(HEADER_BYTES);
        let (major, minor) = (order.u16([header[4], header[5]]), order.u16([header[6], header[7]]));
        if (major, minor) != (2, 4) {
            return Err(TraceError::Version {
                file: window.file(),
                offset: 4,
                format: "pcap",
                major,
                minor,
                read: "2.4",
                hint: "write it anew with `tcpdump -r old.pcap -w new.pcap`",
            });
        }
        // The upper half of the last word holds the length of the frame check sequence, which no length counts.
        let number = order.u32([header[20], header[21], header[22], header[23]]) as u16;
        let Some(link_type) = LinkType::from_number(number) else {
            return Err(TraceError::LinkTypeUnknown {
                file: window.file(),
                offset: 20,
                number,
                hint:
                    "capture on another interface, or with `tcpdump -y EN10MB` where the interface offers it"
                        .to_owned(),
            });
        };
        let snap_bytes = order.u32([header[16], header[17], header[18], header[19]]);
        let captured_max = snap_bytes.clamp(SNAP_BYTES_MAX, (RECORD_MAX - RECORD_HEADER_BYTES) as u32);
        Ok(Self { order, ns_per_fraction, captured_max, link_type })
    }

    #[inline]
    pub(super) fn next<'w>(&mut self, window: &'w mut Window) -> Result<Option<Frame<'w>>, TraceError> {
        let offset = window.offset();
        let ahead = window.ahead(RECORD_HEADER_BYTES);
        let Some([seconds, fraction, captured, original]) = self.order.words::<4>(ahead) else {
            return if window.is_at_end() { Ok(None) } else { Err(window.cut(offset, "packet record")) };
        };
        if captured > self.captured_max {
            let problem =
                format!("a packet record with {captured} captured bytes (at most {})", self.captured_max);
            return Err(window.damaged(offset, problem));
        }
        let record_bytes = RECORD_HEADER_BYTES + captured as usize;
        if window.ahead(record_bytes).len() < record_bytes {
            return Err(window.cut(offset, "packet record"));
        }
        Ok(Some(Frame {
            time_ns: u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.ns_per_fraction,
            original_bytes: u64::from(original.max(captured)),
            link_type: self.link_type,
            bytes: &window.take(record_bytes)[RECORD_HEADER_BYTES..],
        }))
    }
}
