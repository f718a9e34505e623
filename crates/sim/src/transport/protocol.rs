//! Questions of hosts to a transport: to its settings, and to the two halves of each connection.

use super::SERVER_PORT;
use super::carrier::{Carrier, MessagePosition};
use super::control::Kept;
use super::{Host, Pace, QueuePairs, ReceiverCounters, SenderCounters};
use crate::{Framing, Packet};
use anabranch_fabric::{Change, Fabric, longest_round_trip_ps};
use anabranch_split::protocol::TCP;

/// A problem of settings, and a hint.
pub type Refusal = (&'static str, &'static str);

/// Moment at which a flow has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// When its last byte is at the receiver: the completion of a receive.
    Delivered,
    /// When its sender knows of it: the completion of a write or send.
    Acknowledged,
}

/// Settings of a transport.
pub(crate) trait Protocol {
    /// Largest payload of a segment or datagram, where it is less than [`Framing::payload_bytes_max`].
    fn payload_bytes_max(&self) -> Option<u16>;

    /// Sets [`Self::payload_bytes_max`].
    fn set_payload_bytes_max(&mut self, bytes: Option<u16>);

    /// Lets its application write at a rate.
    ///
    /// # Errors
    /// Why its applications have none.
    fn set_pace(&mut self, pace: Pace) -> Result<(), Refusal>;

    /// Refuses settings that contradict each other.
    ///
    /// # Errors
    /// The first contradiction.
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Sets the times that depend on the fabric, where none were given.
    fn set_times(&mut self, _fabric: &Fabric, _changes: &[Change], _framing: Framing) {}

    /// Whether its sender learns what arrived, and sends again what did not.
    fn is_reliable(&self) -> bool {
        true
    }

    /// Whether flows between two hosts use idle connections again.
    fn is_persistent(&self) -> bool {
        false
    }

    /// Whether its receiving half is given headers of trimmed packets ([`crate::marks::TRIMMED`]). To others they mean
    /// nothing: the host discards them, and the payload counts as dropped.
    fn takes_trimmed(&self) -> bool {
        false
    }

    /// Whether it reads what the ports on a packet's path tell of themselves.
    fn reads_telemetry(&self) -> bool {
        false
    }

    /// Whether a message needs a receive that its application has posted.
    fn needs_receives(&self) -> bool {
        false
    }

    /// Whether its receivers grant credit.
    fn needs_credit(&self) -> bool {
        false
    }

    /// Queue pairs of its messages, if it has any.
    fn queue_pairs(&self) -> Option<QueuePairs> {
        None
    }

    /// The moment at which flows have finished.
    fn completion(&self) -> Completion {
        Completion::Delivered
    }

    /// Frames that answer a message of so many segments, which take so many bytes on the wire, where nothing is lost.
    fn expected_answers(&self, segments: u64, _wire_bytes: u64) -> u64 {
        segments
    }

    /// IANA protocol number and destination port of its packets.
    fn service(&self) -> (u8, u16) {
        (TCP, SERVER_PORT)
    }

    /// Its headers in captures, for a message in this position.
    fn carrier(&self, _position: MessagePosition) -> Carrier {
        Carrier::Stream
    }
}

/// A half in the enum of all that it can be stored in.
pub(crate) trait Stored<Any> {
    /// The half, if it is this one.
    fn of(any: &Any) -> Option<&Self>;

    /// The half, if it is this one, to be changed.
    fn of_mut(any: &mut Any) -> Option<&mut Self>;

    /// Stores a new one in the place of the last.
    fn store(any: &mut Any);
}

/// Bounds of a sender.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes in flight; `u64::MAX` if only the rate is bounded.
    pub(crate) window_bytes: u64,
    /// Rate in bits per second; `u64::MAX` if only the window, or the link, bounds it.
    pub(crate) rate_bps: u64,
    /// Round trip as it is now, in picoseconds; 0 before it is measured.
    pub(crate) rtt_ps: u64,
    /// Round trip of the empty fabric, in picoseconds; 0 where the transport does not know it.
    pub(crate) empty_rtt_ps: u64,
}

/// The sending half of a connection.
pub(crate) trait SendingHalf<Settings> {
    /// A message of so many bytes begins, with what its queue pair `kept` of the message before, if it did.
    fn begin<H: Host>(
        &mut self,
        settings: &Settings,
        framing: Framing,
        bytes: u64,
        kept: Option<Kept>,
        host: &mut H,
    );

    /// Takes an answer of the receiver.
    fn receive<H: Host>(&mut self, settings: &Settings, framing: Framing, packet: &Packet, host: &mut H);

    /// A wake-up.
    fn wake<H: Host>(&mut self, settings: &Settings, framing: Framing, host: &mut H);

    /// The host's card has room again.
    fn resume<H: Host>(&mut self, settings: &Settings, framing: Framing, host: &mut H);

    /// Whether nothing is left to be sent, or to be acknowledged where receivers acknowledge.
    fn is_idle(&self) -> bool;

    /// Whether the next message may follow: all of this one has been sent.
    fn is_sent(&self, _settings: &Settings) -> bool {
        self.is_idle()
    }

    /// Counters so far.
    fn counters(&self) -> SenderCounters;

    /// Bounds as congestion control has them now.
    fn bounds(&self, settings: &Settings) -> Bounds;

    /// Counts from zero: another message begins on its connection, all bytes before which have been sent.
    fn restart_counters(&mut self) {}

    /// Bytes acknowledged, of a stream.
    fn acknowledged(&self) -> u64 {
        0
    }

    /// Segments of messages before the latest that it has sent again, by first byte and bytes. Each is told once.
    fn take_sent_before(&mut self) -> Vec<(u64, u64)> {
        Vec::new()
    }

    /// State of its queue pair for the next message, which begins now, beside this one.
    fn share(&mut self, _settings: &Settings, _framing: Framing) -> Option<Kept> {
        None
    }

    /// All of its message is acknowledged, and it leaves its queue pair: what that keeps for the next message.
    fn leave(&mut self) -> Option<Kept> {
        None
    }
}

/// Use that a receiving half makes of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reception {
    /// Data that arrived.
    Taken,
    /// Data that arrived, and that it discards.
    Discarded,
    /// No data: the beginning of a connection, a request, or a header whose payload was trimmed.
    Heard,
}

/// Place of a receiver in its host's pacer after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// In line: its sender wants more.
    Demand,
    /// Its sender has what it wants, and is given credit in advance where nobody wants any.
    Advance,
    /// In no other than it was: out until its sender wants more, or still to be given credit in advance.
    Neither,
}

/// Credit that a receiving half granted.
pub(crate) struct Grant {
    /// Time until its host may grant again, in picoseconds.
    pub(crate) pause_ps: u64,
    /// Its place in its host's pacer from now on.
    pub(crate) queue: Queue,
}

/// The receiving half of a connection.
pub(crate) trait ReceivingHalf<Settings> {
    /// Takes a packet of the sender. `has_receive`: whether the application posted a receive for the message, where it needs
    /// one.
    fn receive<H: Host>(
        &mut self,
        settings: &Settings,
        framing: Framing,
        packet: &Packet,
        has_receive: impl FnOnce() -> bool,
        host: &mut H,
    ) -> Reception;

    /// Bytes that the application has: in order, where the transport keeps one.
    fn delivered(&self) -> u64;

    /// Whether no acknowledgement yet covers the last bytes that the application has.
    fn owes_answer(&self) -> bool {
        false
    }

    /// Counters so far.
    fn counters(&self) -> ReceiverCounters;

    /// Goes on counting from these counters: a persistent connection carries several messages.
    fn set_counters(&mut self, _counters: &ReceiverCounters) {}

    /// A wake-up.
    fn wake<H: Host>(&mut self, _settings: &Settings, _framing: Framing, _host: &mut H) {}

    /// Whether the pacer of its host is to give it turns to grant credit. To be asked after each packet, and to be followed.
    fn lines_up(&mut self, _settings: &Settings) -> bool {
        false
    }

    /// Its turn at the pacer: grants the sender credit, in advance if it wants none.
    fn grant<H: Host>(
        &mut self,
        _settings: &Settings,
        _framing: Framing,
        _ahead: bool,
        _host: &mut H,
    ) -> Option<Grant> {
        None
    }
}

/// Why RDMA's applications have no rate.
pub(crate) const POSTED_WHOLE: Refusal =
    ("RDMA applications post whole messages", "leave it out, or take a transport of TCP");

/// Longest round trip of the empty fabric, of a full packet and its answer, in picoseconds.
pub(crate) fn empty_round_trip_ps(
    fabric: &Fabric,
    framing: Framing,
    payload_bytes_max: Option<u16>,
    answer_bytes: u16,
) -> u64 {
    let frame_bytes = framing.frame_bytes(payload_bytes_max.unwrap_or(framing.payload_bytes_max));
    let wire_bytes = |frame_bytes: u16| u32::from(frame_bytes) + u32::from(framing.gap_bytes);
    longest_round_trip_ps(fabric, wire_bytes(frame_bytes), wire_bytes(answer_bytes))
}
