//! Proportional rate reduction (RFC 6937): while the window shrinks, sending is paced by what arrives.

/// One reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// Outstanding bytes when it began (RecoverFS).
    flight: u64,
    delivered: u64,
    sent: u64,
}

impl Prr {
    pub(super) fn begin(flight: u64) -> Self {
        Self { flight: flight.max(1), delivered: 0, sent: 0 }
    }

    #[inline]
    pub(super) fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// How many bytes may be sent after an acknowledgement that says `delivered` bytes arrived. Below the threshold
    /// it slow-starts back to it if the acknowledgement advances and tells of no new loss (`safe`), and otherwise
    /// conserves packets, as Linux does and RFC 9937 says.
    pub(super) fn allowance(
        &mut self,
        delivered: u64,
        pipe: u64,
        threshold: u64,
        segment: u64,
        safe: bool,
    ) -> u64 {
        self.delivered += delivered;
        if pipe > threshold {
            let due = (u128::from(self.delivered) * u128::from(threshold)).div_ceil(u128::from(self.flight));
            return (due as u64).saturating_sub(self.sent);
        }
        let conserved = self.delivered.saturating_sub(self.sent);
        let limit = if safe { conserved.max(delivered) + segment } else { conserved };
        limit.min(threshold - pipe)
    }
}
