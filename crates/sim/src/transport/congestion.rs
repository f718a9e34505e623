//! The congestion window and the law it follows.

use super::cubic::Cubic;
use super::dctcp::Dctcp;
use super::hystart::Hystart;
use super::{Control, newreno};

/// Why a window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// A segment was lost.
    Loss,
    /// Congestion marks came back.
    Echo,
    /// A retransmission timeout.
    Timeout,
}

/// Result of an acknowledgement, as congestion control takes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    /// Newly acknowledged or SACKed bytes.
    pub(super) delivered: u64,
    /// Bytes by which the acknowledgement number grew.
    pub(super) advanced: u64,
    /// Lowest unacknowledged byte now.
    pub(super) una: u64,
    /// Next byte to be sent.
    pub(super) next: u64,
    /// Round trip, if it measures one.
    pub(super) rtt_ps: Option<u64>,
    /// Least round trip so far.
    pub(super) least_rtt_ps: u64,
    /// When it came.
    pub(super) now_ps: u64,
    /// It counts as a duplicate.
    pub(super) duplicate: bool,
    /// Whether segments were found lost by it.
    pub(super) lost: bool,
    /// It echoes a congestion mark.
    pub(super) echo: bool,
}

#[derive(Clone, Copy, Debug)]
enum Law {
    NewReno,
    Cubic(Cubic, Option<Hystart>),
    Dctcp(Dctcp, f64),
}

/// Window and slow start threshold, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    pub(super) window: u64,
    pub(super) threshold: u64,
    /// Bytes acknowledged and not yet turned into window.
    credit: u64,
    /// Least bytes to be acknowledged for a segment of growth in congestion avoidance, where windows are linked
    /// ([`super::mptcp`]); zero where this one grows by itself.
    pub(super) interval: u64,
    law: Law,
}

impl Congestion {
    /// A connection's beginning; `window` in bytes.
    pub(super) fn new(control: Control, window: u64) -> Self {
        let law = match control {
            Control::NewReno => Law::NewReno,
            Control::Cubic { hystart } => Law::Cubic(Cubic::NEW, hystart.then_some(Hystart::NEW)),
            Control::Dctcp { gain } => Law::Dctcp(Dctcp::NEW, gain),
        };
        Self { window, threshold: u64::MAX, credit: 0, interval: 0, law }
    }

    /// Each acknowledgement, whether the window may grow or not.
    #[inline]
    pub(super) fn observe(&mut self, acked: &Acked) {
        if let Law::Dctcp(dctcp, gain) = &mut self.law {
            dctcp.observe(acked.delivered, acked.echo, acked.una, acked.next, *gain);
        }
    }

    /// Slow start with `bytes`, then congestion avoidance with what is left (RFC 5681, section 3.1; counted in bytes without
    /// RFC 3465's limit, as in Linux).
    #[inline]
    pub(super) fn grow(&mut self, acked: &Acked, mut bytes: u64, segment: u64) {
        if self.window < self.threshold {
            if let (Law::Cubic(_, Some(hystart)), Some(rtt)) = (&mut self.law, acked.rtt_ps)
                && hystart.observe(acked, rtt, self.window, segment)
            {
                self.threshold = self.window;
            }
            let step = bytes.min(self.threshold - self.window);
            self.window += step;
            bytes -= step;
        }
        if bytes > 0 {
            match &mut self.law {
                Law::NewReno | Law::Dctcp(..) => {
                    newreno::avoid(&mut self.window, &mut self.credit, bytes, segment, self.interval);
                }
                Law::Cubic(cubic, _) => {
                    self.window = cubic.avoid(self.window, bytes, segment, acked.now_ps, acked.least_rtt_ps);
                }
            }
        }
    }

    /// Sets the threshold; the window is left to whoever paces the reduction.
    pub(super) fn reduce(&mut self, signal: Signal, flight: u64, segment: u64) {
        self.threshold = match &mut self.law {
            Law::Dctcp(dctcp, _) if signal == Signal::Echo => dctcp.reduced(self.window, segment),
            // RFC 8257, section 3.5: losses as without DCTCP.
            Law::NewReno | Law::Dctcp(..) => newreno::halved(self.window, flight, segment),
            Law::Cubic(cubic, _) => {
                let threshold = cubic.reduced(self.window, segment);
                if signal == Signal::Timeout {
                    cubic.timed_out();
                }
                threshold
            }
        };
        self.credit = 0;
    }

    /// Nothing was sent for so long, and nothing is outstanding.
    pub(super) fn idled(&mut self, idle_ps: u64, now_ps: u64) {
        if let Law::Cubic(cubic, _) = &mut self.law {
            cubic.idled(idle_ps, now_ps);
        }
    }

    /// DCTCP's alpha.
    pub(super) fn marked_fraction(&self) -> Option<f64> {
        match &self.law {
            Law::Dctcp(dctcp, _) => Some(dctcp.alpha()),
            Law::NewReno | Law::Cubic(..) => None,
        }
    }
}
