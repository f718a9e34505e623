//! Credit of a sender: bytes that its receiver lets it send (RCCC, section 3.6.14 of Ultra Ethernet 1.0), as `uet-htsim`
//! has it (commit 40ccb05, `sim/uec.cpp`: `startConnection`, `spendCredit`, `stopSpeculating`, `handlePull`,
//! `computePullTarget`).
//!
//! Sender and receiver name sums over the whole flow, so that a message that is lost or overtaken costs nothing once a
//! later one arrives: what the sender wants to have been granted, and what the receiver granted.

/// Unit of grants and demands, in bytes.
pub(super) const QUANTUM_BYTES: u64 = 256;

/// What waits at a sender, in bytes of frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// Never sent.
    pub(super) fresh: u64,
    /// To be sent again.
    pub(super) missing: u64,
    /// A full frame.
    pub(super) frame: u64,
    /// Most that congestion control would have asked for, if it has a say beside credit.
    pub(super) window: u64,
    /// Senders that wait for their turn in the host's card, this one included.
    pub(super) contenders: u32,
}

/// Credit of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    /// Most that it holds, and asks for beyond.
    most: i64,
    /// What it may still send. A packet goes while this is above zero, so it ends below.
    held: i64,
    /// Sum of grants.
    granted: u64,
    /// No answer came yet: it sends on credit that nobody granted.
    speculates: bool,
    /// When an answer came last, in picoseconds, or the flow began.
    heard_ps: u64,
    /// When it asked by a request last.
    asked_ps: Option<u64>,
}

impl Credit {
    /// Credit of a flow that begins, which may send `most` bytes before it hears anything.
    pub(super) fn new(most: u64, now_ps: u64) -> Self {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Self { most, held: most, granted: 0, speculates: true, heard_ps: now_ps, asked_ps: None }
    }

    /// Whether a packet may go.
    pub(super) fn allows(&self) -> bool {
        self.held > 0
    }

    /// What it may still send, in bytes.
    pub(super) fn available_bytes(&self) -> u64 {
        self.held.max(0) as u64
    }

    /// A packet goes.
    pub(super) fn spend(&mut self, frame_bytes: u16) {
        self.held -= i64::from(frame_bytes);
    }

    /// An answer came: from now on only what the receiver granted counts.
    pub(super) fn hear(&mut self, now_ps: u64) {
        self.heard_ps = now_ps;
        self.stop_speculating();
    }

    /// Credit that nobody granted is gone.
    pub(super) fn stop_speculating(&mut self) {
        if std::mem::take(&mut self.speculates) {
            self.held = self.held.min(0);
        }
    }

    /// The receiver has granted so many bytes in all.
    pub(super) fn grant(&mut self, sum: u64) {
        let more = sum.saturating_sub(self.granted);
        self.granted += more;
        self.held = self.held.saturating_add_unsigned(more).min(self.most);
    }

    /// Sum of grants that the sender asks for.
    pub(super) fn demand(&self, waits: &Backlog) -> u64 {
        let bytes = (waits.fresh + waits.missing).min(waits.window.saturating_add(waits.frame));
        let mut wanted = i64::try_from(bytes).unwrap_or(i64::MAX).min(self.most) - self.held;
        if self.speculates && waits.fresh > 0 {
            // A short flow may have credit for all of itself, none of which will count.
            wanted = wanted.max(waits.frame as i64);
        }
        wanted /= i64::from(waits.contenders.max(1));
        let quantum = QUANTUM_BYTES as i64;
        let rounded = wanted.saturating_add(quantum - 1).div_euclid(quantum) * quantum;
        self.granted.saturating_add_signed(rounded)
    }

    /// Since when it has heard nothing: neither an answer nor what its own request was to bring.
    pub(super) fn silent_since_ps(&self) -> u64 {
        self.asked_ps.map_or(self.heard_ps, |asked_ps| asked_ps.max(self.heard_ps))
    }

    /// Whether a request has not been answered.
    pub(super) fn awaits_answer(&self) -> bool {
        self.asked_ps.is_some_and(|asked_ps| asked_ps > self.heard_ps)
    }

    /// Whether it may ask: once in a round trip, so that senders who lost a window each do not flood the receiver.
    pub(super) fn may_ask(&self, now_ps: u64, rtt_ps: u64) -> bool {
        self.asked_ps.is_none_or(|asked_ps| now_ps - asked_ps >= rtt_ps)
    }

    /// It asks.
    pub(super) fn ask(&mut self, now_ps: u64) {
        self.asked_ps = Some(now_ps);
    }
}

#[cfg(test)]
mod tests;
