//! Reordering layer between the network and TCP at the receiver.

mod hold;
mod patience;

pub(super) use hold::Hold;

/// Header fields of a data packet that TCP needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) seq: u64,
    pub(super) stamp_ns: u32,
    pub(super) payload_bytes: u16,
    pub(super) marks: u8,
}

impl Segment {
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.payload_bytes)
    }
}
