//! Frames of a fabric.

/// Bytes around a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Largest payload of a segment: the MSS after options, 1448 on Ethernet with timestamps.
    pub payload_bytes_max: u16,
    /// Headers and checksum around a payload: 70 on Ethernet (18 + 20 + 20 + 12 of timestamps).
    pub header_bytes: u16,
    /// Shortest frame: 64 on Ethernet.
    pub frame_bytes_min: u16,
    /// Preamble and gap that occupy the link beside each frame: 20 on Ethernet. They wait in no queue.
    pub gap_bytes: u16,
    /// Whether a frame takes whole nanoseconds on a link, rounded down, as in ns-3.
    pub whole_ns: bool,
}

impl Framing {
    /// Ethernet, IPv4, TCP with timestamps: 1448 bytes of payload in 1518 on 1538.
    pub const ETHERNET: Self = Self {
        payload_bytes_max: 1448,
        header_bytes: 70,
        frame_bytes_min: 64,
        gap_bytes: 20,
        whole_ns: false,
    };

    /// The frame around `payload` bytes.
    #[inline(always)]
    #[must_use]
    pub fn frame_bytes(self, payload: u16) -> u16 {
        (payload + self.header_bytes).max(self.frame_bytes_min)
    }
}
