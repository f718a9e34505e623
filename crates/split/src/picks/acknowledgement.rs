//! Feedback to a sending host about the packets of one flow, for schemes that run in hosts.

/// News for a host about packets it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// An acknowledgement arrived.
    Acknowledged(Acknowledged),
    /// A switch trimmed a packet to its header, and the receiver asked for it again.
    Trimmed {
        /// Entropy value of the trimmed packet.
        entropy: u16,
    },
    /// The retransmission timer expired.
    TimedOut {
        /// Entropy value of the missing packet, if the host knows it.
        entropy: Option<u16>,
    },
}

/// Acknowledgement, which may stand for several packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Acknowledged {
    /// Entropy value of the packet that caused it, if it is reported.
    pub entropy: Option<u16>,
    /// Number of that packet in its flow, if it is reported.
    pub packet: Option<u32>,
    /// Whether that packet arrived with a congestion mark.
    pub marked: bool,
    /// Number of bytes acknowledged for the first time.
    pub bytes: u32,
    /// Number of those bytes that are reported as marked.
    pub marked_bytes: u32,
    /// Whether it ends a round trip ([`Round`]).
    pub round_ended: bool,
    /// Whether nothing is in flight after it.
    pub idle: bool,
}

impl Feedback {
    /// Entropy value of a packet that arrived without a mark.
    #[inline]
    #[must_use]
    pub fn good(&self) -> Option<u16> {
        match self {
            Self::Acknowledged(Acknowledged { entropy, marked: false, .. }) => *entropy,
            _ => None,
        }
    }

    /// Entropy value of a packet that arrived, marked or not.
    #[inline]
    #[must_use]
    pub fn arrived(&self) -> Option<u16> {
        match self {
            Self::Acknowledged(Acknowledged { entropy, .. }) => *entropy,
            _ => None,
        }
    }
}

/// Round trips of a flow, recognised by its byte numbers: one ends when more is acknowledged than had been sent when it
/// began (the observation window of RFC 8257, section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Round {
    end: u64,
}

impl Round {
    /// Whether an acknowledgement of all bytes before `acknowledged` ends the round; `next` is the first byte not yet
    /// sent. If it does, the next round begins.
    #[inline]
    pub fn ended(&mut self, acknowledged: u64, next: u64) -> bool {
        let ended = acknowledged > self.end;
        if ended {
            self.end = next;
        }
        ended
    }
}

/// Bytes of a round, and how many of them were marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Marked {
    bytes: u64,
    marked: u64,
}

impl Marked {
    /// Counts an acknowledgement; at the end of a round, returns the sums and starts from zero.
    #[inline]
    pub fn count(&mut self, acknowledged: &Acknowledged) -> Option<Self> {
        self.bytes = self.bytes.saturating_add(acknowledged.bytes.into());
        self.marked = self.marked.saturating_add(acknowledged.marked_bytes.into());
        acknowledged.round_ended.then(|| core::mem::take(self)).filter(|sum| sum.bytes > 0)
    }

    /// Whether the marked fraction is above `part` / `whole`.
    #[inline]
    #[must_use]
    pub fn above(self, part: u32, whole: u32) -> bool {
        u128::from(self.marked) * u128::from(whole) > u128::from(self.bytes) * u128::from(part)
    }

    /// Whether the marked fraction is `part` / `whole` or above.
    #[inline]
    #[must_use]
    pub fn at_least(self, part: u32, whole: u32) -> bool {
        u128::from(self.marked) * u128::from(whole) >= u128::from(self.bytes) * u128::from(part)
    }
}
