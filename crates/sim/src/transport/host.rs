//! Hosts as halves of connections see them.

use crate::Packet;
use crate::telemetry::Carried;

/// Host as seen by a half of a connection that runs on it.
pub(crate) trait Host {
    /// Now, in picoseconds.
    fn now_ps(&self) -> u64;
    /// Rate of the host's link, in bits per second.
    fn link_bps(&self) -> u64 {
        anabranch_fabric::Rate::MOST_BPS
    }
    /// Time that so many bytes take on the host's link, if its queue there has no bound: then nothing else keeps a
    /// half from sending more than the link carries.
    fn unbounded_frame_ps(&self, _wire_bytes: u32) -> Option<u64> {
        None
    }
    /// Hands a packet to the host's port. The half fills every field but those of addressing: `connection`,
    /// `destination`, `entropy`, `labels`, `path` are the host's.
    fn send(&mut self, packet: Packet);
    /// Whether the host's card has room for another frame of this half's data. If not, the host calls
    /// [`super::SendingHalf::resume`] when it has.
    #[inline(always)]
    fn room(&mut self, _frame_bytes: u16) -> bool {
        true
    }
    /// Senders that wait for their turn in the host's card, this one included.
    fn contenders(&mut self) -> u32 {
        1
    }
    /// When a packet that is sent now begins to leave the host: later than now where it waits behind others in the one queue
    /// of a FIFO card.
    fn leaves_ps(&self) -> u64 {
        self.now_ps()
    }
    /// Whether packets of this half have not left the host's card yet.
    fn waits(&mut self) -> bool {
        false
    }
    /// Wants a wake-up at this time. Only the earliest wish is kept; a wake-up that
    /// comes earlier than the half needs (its deadline moved) is answered by wishing again.
    fn wake_at(&mut self, at_ps: u64);
    /// Bytes, at most `most`, that the sender may [`Self::take`] beyond what was written to it, as one segment.
    #[inline(always)]
    fn waiting(&mut self, _most: u64) -> u64 {
        0
    }
    /// The window has room for the bytes that are waiting: they become part of the sender's stream. False if the
    /// other end has no room for them now; the host calls [`super::Sender::push`] when it has.
    #[inline(always)]
    fn take(&mut self, _bytes: u64) -> bool {
        false
    }
    /// Telemetry of the packet that reached the host last: of the ports that it came by, or the packet that caused it.
    fn telemetry(&self) -> Carried {
        Carried::default()
    }
    /// The retransmission timer expired; nothing has been sent again yet.
    fn timed_out(&mut self) {}
}
