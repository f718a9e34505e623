//! Packets as `BPF_PROG_TEST_RUN` takes them.

use std::vec::Vec;

/// A packet for [`crate::Program::try_packet`].
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Bytes from the link layer's header on.
    pub frame: &'a [u8],
    /// Time for a program that was loaded for replay.
    pub now_ns: u64,
    /// Seed of the random numbers of such a program.
    pub random: u32,
    /// Segments on the wire that one packet of the kernel stands for (GSO); zero or one for a plain packet. At tc alone.
    pub segments: u32,
}

impl<'a> Packet<'a> {
    /// A plain packet at time zero.
    #[must_use]
    pub fn new(frame: &'a [u8]) -> Self {
        Self { frame, now_ns: 0, random: 0, segments: 0 }
    }

    /// `struct __sk_buff` of linux/bpf.h.
    pub(crate) fn sk_buff(&self) -> Vec<u8> {
        const MARK: usize = 8;
        const TSTAMP: usize = 152;
        const GSO_SEGS: usize = 164;
        const GSO_SIZE: usize = 176;
        let mut context = std::vec![0; 192];
        context[MARK..MARK + 4].copy_from_slice(&self.random.to_ne_bytes());
        context[TSTAMP..TSTAMP + 8].copy_from_slice(&self.now_ns.to_ne_bytes());
        context[GSO_SEGS..GSO_SEGS + 4].copy_from_slice(&self.segments.to_ne_bytes());
        if self.segments > 1 {
            let size = (self.frame.len() as u32).div_ceil(self.segments);
            context[GSO_SIZE..GSO_SIZE + 4].copy_from_slice(&size.to_ne_bytes());
        }
        context
    }

    /// The frame behind metadata with time and random bits, `struct xdp_md` of linux/bpf.h, and the metadata's bytes.
    pub(crate) fn xdp_md(&self) -> (Vec<u8>, Vec<u8>, usize) {
        const METADATA: usize = 16;
        let mut data = std::vec![0; METADATA];
        data[..8].copy_from_slice(&self.now_ns.to_ne_bytes());
        data[8..12].copy_from_slice(&self.random.to_ne_bytes());
        data.extend(self.frame);
        let mut context = std::vec![0; 24];
        context[..4].copy_from_slice(&(METADATA as u32).to_ne_bytes());
        context[4..8].copy_from_slice(&(data.len() as u32).to_ne_bytes());
        (data, context, METADATA)
    }
}
