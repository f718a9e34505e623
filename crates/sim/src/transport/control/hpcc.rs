//! HPCC (Li and others, SIGCOMM 2019, algorithm 1): a window that keeps the bytes in flight on the busiest link of the
//! path, as in-band telemetry reports them, a little below what the link holds.

use super::{Answer, CongestionControl, Hop, PathFacts};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HpccSettings {
    /// Utilisation to aim for (eta).
    pub utilization: f64,
    /// Round trips of additive increase in a row (`maxStage`).
    pub stages: u32,
    /// Bytes that the window grows by in each (`W_AI`); what is left of the first window beside `utilization`, divided
    /// by 100 flows, if `None`.
    pub additive_bytes: Option<f64>,
}

impl HpccSettings {
    /// Values of the paper's section 5.
    pub const DEFAULT: Self = Self { utilization: 0.95, stages: 5, additive_bytes: None };
}

/// Most ports on a path.
const HOPS: usize = 8;

/// State of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Hpcc {
    settings: HpccSettings,
    additive_bytes: f64,
    rtt_ps: u64,
    window_max: f64,
    window: f64,
    /// Window of the last round trip, which all of this one's are computed from.
    reference: f64,
    /// Estimate of the bytes in flight on the busiest link, as a share of what it holds.
    in_flight: f64,
    stage: u32,
    /// Acknowledgements above this byte end a round trip.
    round_end: u64,
    last: [Hop; HOPS],
    known: usize,
}

impl Hpcc {
    /// A sender with a window of one round trip's worth of its link.
    #[must_use]
    pub fn new(settings: &HpccSettings, path: &PathFacts) -> Self {
        let window = path.bdp_bytes() as f64;
        let share = window * (1.0 - settings.utilization) / 100.0;
        Self {
            settings: *settings,
            additive_bytes: settings.additive_bytes.unwrap_or(share),
            rtt_ps: path.rtt_ps,
            window_max: window,
            window,
            reference: window,
            in_flight: 1.0,
            stage: 0,
            round_end: 0,
            last: [Hop::default(); HOPS],
            known: 0,
        }
    }

    /// `MeasureInflight` of algorithm 1.
    fn measure(&mut self, hops: &[Hop]) {
        let rtt_ps = self.rtt_ps as f64;
        let (mut most, mut span_ps) = (0.0, 0.0);
        for (hop, last) in hops.iter().zip(&self.last) {
            // An answer that overtook another is older than what is known.
            let since_ps = hop.at_ps.saturating_sub(last.at_ps) as f64;
            if since_ps == 0.0 {
                continue;
            }
            let bytes_per_ps = hop.rate_bps as f64 / 8e12;
            let sent = (hop.sent_bytes - last.sent_bytes) as f64 / since_ps;
            let waiting = hop.backlog_bytes.min(last.backlog_bytes) as f64;
            let share = waiting / (bytes_per_ps * rtt_ps) + sent / bytes_per_ps;
            if share > most {
                (most, span_ps) = (share, since_ps);
            }
        }
        let weight = span_ps.min(rtt_ps) / rtt_ps;
        self.in_flight = (1.0 - weight) * self.in_flight + weight * most;
    }

    /// `ComputeWind` of algorithm 1; `new_round` says whether a round trip has passed.
    fn compute(&mut self, new_round: bool) {
        let excess = self.in_flight / self.settings.utilization;
        let cut = excess >= 1.0 || self.stage >= self.settings.stages;
        let base = if cut { self.reference / excess } else { self.reference };
        self.window = (base + self.additive_bytes).min(self.window_max);
        if new_round {
            self.stage = if cut { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}

impl CongestionControl for Hpcc {
    fn window_bytes(&self) -> u64 {
        self.window.max(1.0) as u64
    }

    /// The window in each round trip.
    fn rate_bps(&self) -> u64 {
        (self.window.max(1.0) * 8e12 / self.rtt_ps as f64) as u64
    }

    fn on_ack(&mut self, answer: &Answer<'_>) {
        let hops = &answer.hops[..answer.hops.len().min(HOPS)];
        // On another path nothing is known yet (section 4.1: the record of a path that changed is thrown away).
        let same = hops.iter().zip(&self.last).all(|(hop, last)| hop.port == last.port);
        if self.known == hops.len() && !hops.is_empty() && same {
            self.measure(hops);
            self.compute(answer.una > self.round_end);
        }
        if answer.una > self.round_end {
            self.round_end = answer.next;
        }
        self.last[..hops.len()].copy_from_slice(hops);
        self.known = hops.len();
    }
}

#[cfg(test)]
mod tests;
