//! The pcapng format: sections of blocks (draft-ietf-opsawg-pcapng).

use super::TraceError;
use super::byte_order::ByteOrder;
use super::frame::Frame;
use super::interface::Interface;
use super::window::{RECORD_MAX, Window};
use crate::header::LinkType;
use std::ops::Range;

/// Block type of section headers, which reads the same in both byte orders.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Block type of packets that is obsolete, but found in old captures.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Bytes in front of a block's body: type and length. The length follows again behind it.
const BLOCK_HEAD_BYTES: usize = 8;
const BLOCK_TAIL_BYTES: usize = 4;
const INTERFACES_MAX: usize = 65_536;

pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Time of the packet before: simple packet blocks have no time of their own.
    time_ns: u64,
}

/// Fields of a packet block; `captured` is a position in the block's body.
struct PacketFields {
    time_ns: u64,
    original_bytes: u32,
    link_type: LinkType,
    captured: Range<usize>,
}

impl Pcapng {
    pub(super) fn recognise(magic: [u8; 4]) -> bool {
        u32::from_be_bytes(magic) == SECTION_HEADER
    }

    pub(super) fn new() -> Self {
        Self { order: ByteOrder::Little, interfaces: Vec::new(), time_ns: 0 }
    }

    #[inline]
    pub(super) fn next<'w>(&mut self, window: &'w mut Window) -> Result<Option<Frame<'w>>, TraceError> {
        loop {
            let offset = window.offset();
            let Some((kind, bytes)) = self.block_head(window)? else {
                return Ok(None);
            };
            match kind {
                SECTION_HEADER => {
                    self.whole_block(window, offset, bytes, "section header block")?;
                    check_version(self.order, window, offset)?;
                    self.interfaces.clear();
                    window.take(bytes as usize);
                }
                INTERFACE_DESCRIPTION => {
                    let body = self.whole_block(window, offset, bytes, "interface description block")?;
                    match Interface::parse(self.order, body) {
                        Ok(interface) if self.interfaces.len() < INTERFACES_MAX => {
                            self.interfaces.push(interface);
                        }
                        Ok(_) => {
                            let problem = format!("a section with more than {INTERFACES_MAX} interfaces");
                            return Err(window.damaged(offset, problem));
                        }
                        Err(problem) => return Err(window.damaged(offset, problem)),
                    }
                    window.take(bytes as usize);
                }
                ENHANCED_PACKET | SIMPLE_PACKET | PACKET => {
                    let body = self.whole_block(window, offset, bytes, "packet block")?;
                    let fields = self.packet_fields(kind, body);
                    let fields = fields.map_err(|wrong| wrong.error(window, offset))?;
                    self.time_ns = fields.time_ns;
                    let body = &window.take(bytes as usize)[BLOCK_HEAD_BYTES..];
                    let captured = body.get(fields.captured).unwrap_or_default();
                    return Ok(Some(Frame {
                        time_ns: fields.time_ns,
                        original_bytes: u64::from(fields.original_bytes).max(captured.len() as u64),
                        link_type: fields.link_type,
                        bytes: captured,
                    }));
                }
                _ => self.skip_block(window, offset, bytes)?,
            }
        }
    }

    /// Reads type and total length of the block ahead; a section header sets the byte order. `None` at the end.
    #[inline]
    fn block_head(&mut self, window: &mut Window) -> Result<Option<(u32, u32)>, TraceError> {
        let offset = window.offset();
        let Some(&[k0, k1, k2, k3, l0, l1, l2, l3, m0, m1, m2, m3]) = window.ahead(12).first_chunk::<12>()
        else {
            return if window.is_at_end() { Ok(None) } else { Err(window.cut(offset, "block")) };
        };
        if u32::from_be_bytes([k0, k1, k2, k3]) == SECTION_HEADER {
            self.order = match u32::from_be_bytes([m0, m1, m2, m3]) {
                0x1a2b_3c4d => ByteOrder::Big,
                0x4d3c_2b1a => ByteOrder::Little,
                other => {
                    let problem = format!("a section header with byte-order magic {other:#010x}");
                    return Err(window.damaged(offset, problem));
                }
            };
        }
        let kind = self.order.u32([k0, k1, k2, k3]);
        let bytes = self.order.u32([l0, l1, l2, l3]);
        let least = if kind == SECTION_HEADER { 28 } else { 12 };
        if bytes < least || !bytes.is_multiple_of(4) {
            let problem =
                format!("a block of type {kind:#x} and {bytes} bytes (a multiple of 4, at least {least})");
            return Err(window.damaged(offset, problem));
        }
        Ok(Some((kind, bytes)))
    }

    /// Reads the body of the block ahead.
    #[inline]
    fn whole_block<'w>(
        &self,
        window: &'w mut Window,
        offset: u64,
        bytes: u32,
        record: &'static str,
    ) -> Result<&'w [u8], TraceError> {
        let total = bytes as usize;
        if total > RECORD_MAX {
            let problem = format!("a {record} of {bytes} bytes (at most {RECORD_MAX})");
            return Err(window.damaged(offset, problem));
        }
        let tail =
            window.ahead(total).get(total - BLOCK_TAIL_BYTES..).and_then(|tail| self.order.words(tail));
        check_tail(window, offset, bytes, record, tail)?;
        Ok(window.ahead(total).get(BLOCK_HEAD_BYTES..total - BLOCK_TAIL_BYTES).unwrap_or_default())
    }

    fn skip_block(&self, window: &mut Window, offset: u64, bytes: u32) -> Result<(), TraceError> {
        let tail = if window.skip(u64::from(bytes) - BLOCK_TAIL_BYTES as u64) {
            self.order.words(window.ahead(BLOCK_TAIL_BYTES))
        } else {
            None
        };
        check_tail(window, offset, bytes, "block", tail)?;
        window.take(BLOCK_TAIL_BYTES);
        Ok(())
    }

    #[inline]
    fn packet_fields(&self, kind: u32, body: &[u8]) -> Result<PacketFields, Wrong> {
        let short = || Wrong::Block(format!("a packet block with a body of {} bytes", body.len()));
        if kind == SIMPLE_PACKET {
            let [original] = self.order.words::<1>(body).ok_or_else(short)?;
            let interface = self.interface(0)?;
            let snap_bytes = if interface.snap_bytes == 0 { u32::MAX } else { interface.snap_bytes };
            let end = body.len().min(4 + original.min(snap_bytes) as usize);
            return Ok(PacketFields {
                time_ns: self.time_ns,
                original_bytes: original,
                link_type: self.link_type(0, interface)?,
                captured: 4..end,
            });
        }
        let [id, high, low, captured, original] = self.order.words::<5>(body).ok_or_else(short)?;
        let id = if kind == PACKET {
            // Two bytes of interface, two bytes of drops.
            u32::from(self.order.u16([body[0], body[1]]))
        } else {
            id
        };
        let interface = self.interface(id)?;
        let room = body.len() - 20;
        if captured as usize > room {
            let problem = format!("a packet of {captured} captured bytes in a block with room for {room}");
            return Err(Wrong::Block(problem));
        }
        Ok(PacketFields {
            time_ns: interface.time_ns(high, low),
            original_bytes: original,
            link_type: self.link_type(id, interface)?,
            captured: 20..20 + captured as usize,
        })
    }

    #[inline]
    fn interface(&self, id: u32) -> Result<&Interface, Wrong> {
        self.interfaces.get(id as usize).ok_or_else(|| {
            let known = self.interfaces.len();
            Wrong::Block(format!("a packet of interface {id}, where the section has described {known}"))
        })
    }

    #[inline]
    fn link_type(&self, id: u32, interface: &Interface) -> Result<LinkType, Wrong> {
        interface.link_type.ok_or(Wrong::LinkType { id, number: interface.link_number })
    }
}

/// Error in a packet block.
enum Wrong {
    Block(String),
    LinkType { id: u32, number: u16 },
}

impl Wrong {
    #[cold]
    fn error(self, window: &Window, offset: u64) -> TraceError {
        match self {
            Self::Block(problem) => window.damaged(offset, problem),
            Self::LinkType { id, number } => TraceError::LinkTypeUnknown {
                file: window.file(),
                offset,
                number,
                hint: format!(
                    "leave interface {id} out: `tshark -r old.pcapng -Y 'frame.interface_id != {id}' -w new.pcapng`"
                ),
            },
        }
    }
}

/// Checks that a block ends with its length again; without a `tail` it is cut.
#[inline]
fn check_tail(
    window: &mut Window,
    offset: u64,
    bytes: u32,
    record: &'static str,
    tail: Option<[u32; 1]>,
) -> Result<(), TraceError> {
    match tail {
        Some([tail]) if tail == bytes => Ok(()),
        Some([tail]) => {
            let problem = format!("a block that begins with length {bytes} and ends with length {tail}");
            Err(window.damaged(offset, problem))
        }
        None => Err(window.cut(offset, record)),
    }
}

/// Checks that the section header ahead has major version 1.
fn check_version(order: ByteOrder, window: &mut Window, offset: u64) -> Result<(), TraceError> {
    let Some(&[.., a, b, c, d]) = window.ahead(16).first_chunk::<16>() else {
        return Err(window.cut(offset, "section header block"));
    };
    match (order.u16([a, b]), order.u16([c, d])) {
        (1, _) => Ok(()),
        (major, minor) => Err(TraceError::Version {
            file: window.file(),
            offset: offset + 12,
            format: "pcapng",
            major,
            minor,
            read: "1.x",
            hint: "write it anew with `editcap old.pcapng new.pcapng`",
        }),
    }
}
