//! Entropy values on their way back: the receiving host writes value and mark of the packet that causes an acknowledgement
//! into the acknowledgement's tag, and the sending host reads them there.

use anabranch_sim::{Kind, Packet, marks};

/// Bits of a tag above the entropy value it returns.
const RETURNED: u32 = 1 << 16;
const RETURNED_MARKED: u32 = 1 << 17;
const RETURNED_TRIMMED: u32 = 1 << 18;

/// Fate of a packet, as a tag says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returned {
    /// Entropy value of the packet.
    pub(crate) value: u16,
    /// Whether it came with a congestion mark.
    pub(crate) marked: bool,
    /// Whether a switch cut it to its header.
    pub(crate) trimmed: bool,
}

impl Returned {
    /// Fate of a packet that arrived.
    pub(crate) fn of(packet: &Packet) -> Self {
        let is = |mark| packet.marks & mark != 0;
        Self { value: packet.tag as u16, marked: is(marks::EXPERIENCED), trimmed: is(marks::TRIMMED) }
    }

    /// Tag that says so.
    pub(crate) fn tag(self) -> u32 {
        let bit = |set, bit| if set { bit } else { 0 };
        u32::from(self.value)
            | RETURNED
            | bit(self.marked, RETURNED_MARKED)
            | bit(self.trimmed, RETURNED_TRIMMED)
    }

    /// Fate that a tag says, if it returns anything.
    pub(crate) fn read(tag: u32) -> Option<Self> {
        (tag & RETURNED != 0).then_some(Self {
            value: tag as u16,
            marked: tag & RETURNED_MARKED != 0,
            trimmed: tag & RETURNED_TRIMMED != 0,
        })
    }
}

/// Packets that arrived and whose fate the receiver has not returned.
#[derive(Default)]
pub(crate) struct Answers {
    /// Packets that are not acknowledged yet: a packet's end, and the tag that returns its value.
    arrived: Vec<(u64, u32)>,
    /// Number of the last acknowledgement.
    acknowledged: u64,
}

impl Answers {
    /// A packet arrived. Whether it had been acknowledged before.
    pub(crate) fn note(&mut self, packet: &Packet) -> bool {
        let end = packet.seq + u64::from(packet.payload_bytes);
        self.arrived.push((end, Returned::of(packet).tag()));
        end <= self.acknowledged && packet.kind == Kind::Data
    }

    /// Writes the tag of an answer that leaves.
    pub(crate) fn write(&mut self, answer: &mut Packet) {
        match answer.kind {
            Kind::Ack | Kind::SynAck => {
                answer.tag = self.answer(answer.seq);
                self.acknowledged = answer.seq;
            }
            Kind::Sack | Kind::Nack => answer.tag = self.answer_last(),
            _ => {}
        }
    }

    /// The tag of an answer to the packet that arrived last. It stands for those before it too.
    fn answer_last(&mut self) -> u32 {
        let tag = self.arrived.pop().map_or(0, |(_, tag)| tag);
        self.arrived.clear();
        tag
    }

    /// The tag of an acknowledgement of everything before `number`: it is the answer to the packet that ends there,
    /// or, if that was answered before, to the last one that arrived. A receiver that holds packets back answers
    /// them later and in their own order; the one that it waited for came by the worst path and must not be taken
    /// for them all.
    fn answer(&mut self, number: u64) -> u32 {
        let cause = self.arrived.iter().rposition(|&(end, _)| end == number);
        let cause = cause.or_else(|| self.arrived.len().checked_sub(1));
        let tag = cause.map_or(0, |cause| self.arrived.remove(cause).1);
        self.arrived.retain(|&(end, _)| end > number);
        tag
    }
}
