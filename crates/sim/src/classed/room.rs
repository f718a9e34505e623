//! One port with classes: what it takes in, what it cuts and what it marks.

use super::queues::{PAUSES, Queues, Waiting};
use crate::Class;
use crate::packet::marks;
use crate::slab::Slab;
use anabranch_fabric::{Buffer, Marking};
use anabranch_traffic::random::Stream;

/// Room for control is so many times that of data (uet-htsim at 40ccb05, compositequeue.cpp: 2).
const CONTROL_ROOMS: u32 = 2;

/// Port with classes.
#[repr(C)]
pub(crate) struct ClassedPort {
    pub(crate) queues: Queues,
    buffer: Buffer,
    marking: Marking,
    pub(super) coins: Coins,
}

/// Random numbers of a port.
pub(crate) enum Coins {
    /// Drawn from a stream.
    Drawn(Stream),
    /// Of another implementation's run: the next coin, the next mark, and the probabilities that were asked for.
    #[cfg(test)]
    Recorded { heads: bool, mark: bool, asked: Vec<f64> },
}

impl Coins {
    /// Fair coin.
    fn heads(&mut self) -> bool {
        match self {
            Self::Drawn(stream) => stream.bits() >> 63 == 1,
            #[cfg(test)]
            Self::Recorded { heads, .. } => *heads,
        }
    }

    /// Chance of this probability.
    fn chance(&mut self, probability: f64) -> bool {
        match self {
            Self::Drawn(stream) => stream.unit() < probability,
            #[cfg(test)]
            Self::Recorded { mark, asked, .. } => {
                asked.push(probability);
                *mark
            }
        }
    }
}

/// What became of a frame without room, whose class is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// It is to be cut itself.
    CutArriving,
    /// This one, which came last before it, was taken out of the queue and is to be cut.
    CutNewest(Waiting),
}

impl ClassedPort {
    pub(crate) fn new(buffer: Buffer, marking: Marking, coins: Coins) -> Self {
        Self { queues: Queues::new(), buffer, marking, coins }
    }

    /// Whether a frame fits by what the port itself has.
    #[inline(always)]
    pub(crate) fn fits(&self, queue: usize, frame_bytes: u64) -> bool {
        if queue == PAUSES {
            return true;
        }
        let Buffer { bytes, packets } = self.buffer;
        let (bytes, packets) =
            if queue < Class::Data as usize { (twice(bytes), twice(packets)) } else { (bytes, packets) };
        (bytes == u32::MAX || self.queues.bytes(queue) + frame_bytes <= bytes.into())
            && (packets == u32::MAX || self.queues.packets(queue) < packets)
    }

    /// Decides whom a frame without room costs its payload: itself or, if the coin shows heads, the one that waits and came
    /// last (uet-htsim, compositequeue.cpp: a fair coin).
    pub(crate) fn cut(&mut self, queue: usize, now_ps: u64) -> Admitted {
        if self.coins.heads()
            && let Some(newest) = self.queues.take_newest(queue, now_ps)
        {
            return Admitted::CutNewest(newest);
        }
        Admitted::CutArriving
    }

    /// Whether a mark strikes at this backlog of a queue.
    #[inline]
    pub(crate) fn strikes(&mut self, queue: usize) -> bool {
        let bytes = self.queues.bytes(queue);
        match self.marking {
            Marking::Off => false,
            Marking::Step { bytes: most, packets } => {
                bytes >= most.into() && most != u32::MAX
                    || packets != u32::MAX && self.queues.packets(queue) >= packets
            }
            Marking::Ramp { low_bytes, high_bytes, probability } => {
                let (low, high) = (u64::from(low_bytes), u64::from(high_bytes));
                if bytes <= low || bytes > high {
                    return bytes > high;
                }
                let along = (bytes - low) as f64 / (high - low) as f64;
                self.coins.chance(probability * along)
            }
        }
    }

    /// Whether packets that cannot be marked are dropped instead: RED's ramp does so.
    pub(crate) fn is_ramp(&self) -> bool {
        matches!(self.marking, Marking::Ramp { .. })
    }
}

/// Twice a limit; the largest number means none.
fn twice(limit: u32) -> u32 {
    limit.saturating_mul(CONTROL_ROOMS)
}

/// Cuts the payload off a waiting frame.
pub(crate) fn trim(frame: &mut Waiting, trim_bytes: u16, packets: &mut Slab) {
    let packet = packets.get(frame.id);
    packet.trim(trim_bytes);
    debug_assert!(packet.marks & marks::TRIMMED != 0);
    frame.frame_bytes = packet.frame_bytes;
    frame.ingress = super::NOWHERE;
}
