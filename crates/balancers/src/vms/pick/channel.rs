//! State of one channel of VMS: packets sent and arrived, and the weight and window that follow from them.

use crate::vms::pick::Parameters;

/// Scale of weights, fractions and parts of a packet: the value of one.
pub const ONE: u32 = 1_000_000;

/// Weight of the newest round in a channel's fraction of marks, as a power of one half: DCTCP's g (SIGCOMM 2010).
const FRACTION_SHIFT: u32 = 4;
/// Number of overdue packets without any feedback that make a channel timed out: fewer may be packets whose
/// acknowledgement carried news of another channel.
const OVERDUE: u32 = 3;

/// State of one channel. Counts are of packets and wrap around.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// Weight, in units of 1 / [`ONE`].
    pub weight: u32,
    /// Virtual window, in units of 1 / [`ONE`] packet.
    pub window: u64,
    /// Average fraction of marked packets, in units of 1 / [`ONE`].
    fraction: u32,
    /// Number of packets sent, and of those reported or lost.
    pub(super) sent: u32,
    pub(super) settled: u32,
    /// Number of packets sent before the last look for losses.
    sent_before: u32,
    /// Number of packets reported since the last look.
    pub(super) heard_since: u32,
    /// Number of packets reported in this round, and of marked ones.
    pub(super) heard: u32,
    pub(super) marked: u32,
    /// Whether its window was full in this round, and whether it timed out.
    pub(super) full: bool,
    timed_out: bool,
}

impl Channel {
    /// Makes a channel without knowledge.
    #[must_use]
    pub const fn new(parameters: &Parameters) -> Self {
        Self {
            weight: ONE,
            window: parameters.window_initial as u64 * ONE as u64,
            fraction: 0,
            sent: 0,
            settled: 0,
            sent_before: 0,
            heard_since: 0,
            heard: 0,
            marked: 0,
            full: false,
            timed_out: false,
        }
    }

    /// Number of packets sent but not reported.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.sent.wrapping_sub(self.settled)
    }

    /// Room in the window, in units of 1 / [`ONE`] packet; negative if it overflows.
    pub(super) fn room(&self) -> i64 {
        self.window as i64 - i64::from(self.in_flight()) * i64::from(ONE)
    }

    /// Counts packets as lost that were sent before the last look and are not reported yet.
    pub(super) fn look_for_losses(&mut self) {
        let overdue = self.sent_before.wrapping_sub(self.settled);
        // More than half of all numbers: not overdue but ahead.
        if overdue != 0 && overdue <= u32::MAX / 2 {
            self.timed_out |= overdue >= OVERDUE && self.heard_since == 0;
            self.settled = self.sent_before;
        }
        self.heard_since = 0;
        self.sent_before = self.sent;
    }

    /// Ends a round: weight and window move.
    pub(super) fn end_round(&mut self, plan: &Parameters) {
        if self.heard > 0 || self.timed_out {
            let marked = u64::from(self.marked.min(self.heard)) * u64::from(ONE);
            let fraction = match marked.checked_div(self.heard.into()) {
                Some(fraction) if !self.timed_out => fraction as u32,
                _ => ONE,
            };
            // w <- clamp(w (1 - f/2) + a (1 - f)), ambiguity S0.19.
            let kept = u64::from(self.weight) * u64::from(2 * ONE - fraction) / u64::from(2 * ONE);
            let gained = u64::from(plan.gain) * u64::from(ONE - fraction) / u64::from(ONE);
            self.weight = ((kept + gained) as u32).clamp(plan.weight_min, ONE);
            self.move_window(plan, fraction);
        }
        (self.heard, self.marked) = (0, 0);
        (self.full, self.timed_out) = (false, false);
    }

    /// Moves the window in DCTCP's steps, once a round: down by half the average fraction of marks, up by a packet if
    /// there was no mark and the window was full, down to the least after a timeout.
    fn move_window(&mut self, plan: &Parameters, fraction: u32) {
        let average = u64::from(self.fraction) * ((1 << FRACTION_SHIFT) - 1) + u64::from(fraction);
        self.fraction = (average >> FRACTION_SHIFT) as u32;
        let (least, most) = (u64::from(plan.window_min), u64::from(plan.window_max));
        if self.timed_out {
            self.window = 0;
        } else if fraction > 0 {
            self.window -= self.window * u64::from(self.fraction) / u64::from(2 * ONE);
        } else if self.full {
            self.window += u64::from(ONE);
        }
        self.window = self.window.clamp(least * u64::from(ONE), most.max(least) * u64::from(ONE));
    }
}
