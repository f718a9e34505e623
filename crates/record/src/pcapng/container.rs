//! Writer of the pcapng format: a section of little-endian blocks (draft-ietf-opsawg-pcapng).

use std::io;
use std::io::Write;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINK_TYPE_ETHERNET: u16 = 1;

const OPTION_END: u16 = 0;
const OPTION_HARDWARE: u16 = 2;
const OPTION_APPLICATION: u16 = 4;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_SPEED: u16 = 8;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_FCS_BYTES: u16 = 13;

/// Resolution of times: picoseconds.
const TIME_RESOLUTION: u8 = 12;

/// Writer of one section.
pub(super) struct Container<W> {
    out: W,
    /// Body of the current block.
    body: Vec<u8>,
}

impl<W: Write> Container<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, body: Vec::new() }
    }

    /// Writes the section header, which names the program and the hardware.
    pub(super) fn section(&mut self, hardware: &str, application: &str) -> io::Result<()> {
        self.body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        self.body.extend(1u16.to_le_bytes());
        self.body.extend(0u16.to_le_bytes());
        // The section's length: not given.
        self.body.extend(u64::MAX.to_le_bytes());
        self.option(OPTION_HARDWARE, hardware.as_bytes());
        self.option(OPTION_APPLICATION, application.as_bytes());
        self.option(OPTION_END, &[]);
        self.end_block(SECTION_HEADER)
    }

    /// Writes the next interface, an Ethernet link; interfaces are numbered from zero. At most `snap_bytes` of a frame
    /// are kept.
    pub(super) fn interface(&mut self, name: &str, rate_bps: u64, snap_bytes: u32) -> io::Result<()> {
        self.body.extend(LINK_TYPE_ETHERNET.to_le_bytes());
        self.body.extend(0u16.to_le_bytes());
        self.body.extend(snap_bytes.to_le_bytes());
        self.option(OPTION_INTERFACE_NAME, name.as_bytes());
        self.option(OPTION_SPEED, &rate_bps.to_le_bytes());
        self.option(OPTION_TIME_RESOLUTION, &[TIME_RESOLUTION]);
        // Readers must not take the end of the padding for a checksum.
        self.option(OPTION_FCS_BYTES, &[0]);
        self.option(OPTION_END, &[]);
        self.end_block(INTERFACE_DESCRIPTION)
    }

    /// Writes a frame of `frame_bytes` (without its checksum), of which `captured` is kept.
    pub(super) fn packet(
        &mut self,
        interface: u32,
        time_ps: u64,
        frame_bytes: u32,
        captured: &[u8],
    ) -> io::Result<()> {
        let (time_high, time_low) = ((time_ps >> 32) as u32, time_ps as u32);
        for field in [interface, time_high, time_low, captured.len() as u32, frame_bytes] {
            self.body.extend(field.to_le_bytes());
        }
        self.body.extend(captured);
        self.pad();
        self.end_block(ENHANCED_PACKET)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.body.extend(code.to_le_bytes());
        self.body.extend((value.len() as u16).to_le_bytes());
        self.body.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        let bytes = (self.body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&bytes)?;
        self.out.write_all(&self.body)?;
        self.out.write_all(&bytes)?;
        self.body.clear();
        Ok(())
    }
}
