//! The congestion window and the law it follows.

use super::acked::Acked;
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

/// CUBIC with what it needs beside its window.
#[derive(Debug)]
struct CubicLaw {
    cubic: Cubic,
    hystart: Option<Hystart>,
    /// When something was sent last.
    sent_ps: u64,
}

impl CubicLaw {
    fn new(hystart: bool) -> Self {
        Self { cubic: Cubic::NEW, hystart: hystart.then_some(Hystart::NEW), sent_ps: 0 }
    }
}

#[derive(Debug)]
enum Law {
    NewReno,
    /// Apart, since connections of the other laws have no room to spare for it.
    Cubic(Box<CubicLaw>),
    Dctcp(Dctcp),
}

/// Window and slow start threshold, in bytes.
#[derive(Debug)]
pub(super) struct Congestion {
    pub(super) window: u64,
    pub(super) threshold: u64,
    /// Bytes acknowledged and not yet turned into window.
    credit: u64,
    law: Law,
}

impl Congestion {
    /// No connection's yet.
    pub(super) fn new() -> Self {
        Self { window: 0, threshold: u64::MAX, credit: 0, law: Law::NewReno }
    }

    /// Makes it new again; what is allocated stays.
    pub(super) fn reset(&mut self) {
        let law = std::mem::replace(&mut self.law, Law::NewReno);
        *self = Self { law, ..Self::new() };
    }

    /// A connection begins; `window` in bytes.
    pub(super) fn begin(&mut self, control: Control, window: u64) {
        self.window = window;
        match (control, &mut self.law) {
            (Control::NewReno, law) => *law = Law::NewReno,
            (Control::Cubic { hystart }, Law::Cubic(law)) => **law = CubicLaw::new(hystart),
            (Control::Cubic { hystart }, law) => *law = Law::Cubic(Box::new(CubicLaw::new(hystart))),
            (Control::Dctcp { .. }, law) => *law = Law::Dctcp(Dctcp::NEW),
        }
    }

    /// Something is sent.
    #[inline(always)]
    pub(super) fn sent(&mut self, now_ps: u64) {
        if let Law::Cubic(law) = &mut self.law {
            law.sent_ps = now_ps;
        }
    }

    /// Each acknowledgement, whether the window may grow or not.
    #[inline]
    pub(super) fn observe(&mut self, acked: &Acked, control: Control) {
        if let (Law::Dctcp(dctcp), Control::Dctcp { gain }) = (&mut self.law, control) {
            dctcp.observe(acked.delivered, acked.echo, acked.una, acked.next, gain);
        }
    }

    /// Slow start with `bytes`, then congestion avoidance with what is left (RFC 5681, section 3.1; counted in bytes without
    /// RFC 3465's limit, as in Linux). `interval`: least bytes to be acknowledged for a segment of growth in congestion
    /// avoidance, where windows are linked ([`super::mptcp`]); zero where this one grows by itself.
    #[inline]
    pub(super) fn grow(&mut self, acked: &Acked, mut bytes: u64, segment: u64, interval: u64) {
        if self.window < self.threshold {
            if let (Law::Cubic(law), Some(rtt)) = (&mut self.law, acked.rtt_ps)
                && let Some(hystart) = &mut law.hystart
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
                Law::NewReno | Law::Dctcp(_) => {
                    newreno::avoid(&mut self.window, &mut self.credit, bytes, segment, interval);
                }
                Law::Cubic(law) => {
                    let Acked { now_ps, least_rtt_ps, .. } = *acked;
                    self.window = law.cubic.avoid(self.window, bytes, segment, now_ps, least_rtt_ps);
                }
            }
        }
    }

    /// Sets the threshold; the window is left to whoever paces the reduction.
    pub(super) fn reduce(&mut self, signal: Signal, flight: u64, segment: u64) {
        self.threshold = match &mut self.law {
            Law::Dctcp(dctcp) if signal == Signal::Echo => dctcp.reduced(self.window, segment),
            // RFC 8257, section 3.5: losses as without DCTCP.
            Law::NewReno | Law::Dctcp(_) => newreno::halved(self.window, flight, segment),
            Law::Cubic(law) => {
                let threshold = law.cubic.reduced(self.window, segment);
                if signal == Signal::Timeout {
                    law.cubic.timed_out();
                }
                threshold
            }
        };
        self.credit = 0;
    }

    /// Nothing was sent until now, and nothing is outstanding.
    pub(super) fn idled(&mut self, now_ps: u64) {
        if let Law::Cubic(law) = &mut self.law {
            law.cubic.idled(now_ps - law.sent_ps, now_ps);
        }
    }

    /// DCTCP's alpha.
    #[cfg(test)]
    pub(super) fn marked_fraction(&self) -> Option<f64> {
        match &self.law {
            Law::Dctcp(dctcp) => Some(dctcp.alpha()),
            Law::NewReno | Law::Cubic(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1448;

    /// Slow start, a loss, congestion avoidance, and a pause.
    fn live(congestion: &mut Congestion, control: Control) {
        for round in 1..100 {
            let una = round * 10 * SEGMENT;
            let acked = Acked {
                delivered: 10 * SEGMENT,
                advanced: 10 * SEGMENT,
                una,
                next: una + 20 * SEGMENT,
                rtt_ps: Some(100_000_000),
                least_rtt_ps: 90_000_000,
                now_ps: round * 100_000_000,
                duplicate: false,
                lost: round == 30,
                echo: round % 7 == 0,
            };
            congestion.sent(acked.now_ps);
            congestion.observe(&acked, control);
            congestion.grow(&acked, acked.advanced, SEGMENT, 0);
            if acked.lost {
                congestion.reduce(Signal::Loss, 20 * SEGMENT, SEGMENT);
                congestion.window = congestion.threshold;
            }
        }
        congestion.idled(20_000_000_000);
    }

    #[test]
    fn what_served_another_connection_begins_as_a_new_one() {
        let controls = [
            Control::NewReno,
            Control::Cubic { hystart: true },
            Control::Cubic { hystart: false },
            Control::Dctcp { gain: 0.0625 },
        ];
        for before in controls {
            for after in controls {
                let (mut used, mut fresh) = (Congestion::new(), Congestion::new());
                used.begin(before, 10 * SEGMENT);
                live(&mut used, before);
                used.reset();
                assert_eq!((used.window, used.threshold), (0, u64::MAX), "no window before it begins");
                used.begin(after, 10 * SEGMENT);
                fresh.begin(after, 10 * SEGMENT);
                assert_eq!(format!("{used:?}"), format!("{fresh:?}"), "{before:?} {after:?}");
            }
        }
    }
}
