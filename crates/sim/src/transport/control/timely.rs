//! TIMELY (Mittal and others, SIGCOMM 2015, algorithm 1): a rate that follows round trips and their gradient.

use super::{Answer, CongestionControl, PathFacts};

/// Settings. Times in picoseconds, rates in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelySettings {
    /// Gain alpha of the moving average of the difference of round trips.
    pub gain: f64,
    /// Factor beta of decreases.
    pub beta: f64,
    /// Round trip below which the rate always rises.
    pub low_ps: u64,
    /// Round trip above which the rate always falls.
    pub high_ps: u64,
    /// Round trip by which differences are divided.
    pub least_rtt_ps: u64,
    /// Step of an increase (delta); one 2500th of the link's rate if `None`.
    pub additive_bps: Option<u64>,
    /// Least rate.
    pub rate_min_bps: u64,
}

impl TimelySettings {
    /// Values of `conweave-ns3`: alpha 0.875, beta 0.8, 50 us, 500 us, 20 us.
    pub const DEFAULT: Self = Self {
        gain: 0.875,
        beta: 0.8,
        low_ps: 50_000_000,
        high_ps: 500_000_000,
        least_rtt_ps: 20_000_000,
        additive_bps: None,
        rate_min_bps: 100_000_000,
    };
}

/// Increases by gradient in a row before they are [`HYPER`] times as large.
const PATIENCE: u32 = 5;
const HYPER: f64 = 5.0;

/// State of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Timely {
    settings: TimelySettings,
    additive_bps: f64,
    link_bps: f64,
    rate_bps: f64,
    last_rtt_ps: u64,
    difference_ps: f64,
    /// Increases by gradient in a row.
    increases: u32,
    /// Acknowledgements above this byte end a round trip.
    round_end: u64,
}

impl Timely {
    /// A sender at the rate of its link.
    #[must_use]
    pub fn new(settings: &TimelySettings, path: &PathFacts) -> Self {
        Self {
            settings: *settings,
            additive_bps: settings.additive_bps.unwrap_or(path.rate_bps / 2500) as f64,
            link_bps: path.rate_bps as f64,
            rate_bps: path.rate_bps as f64,
            last_rtt_ps: 0,
            difference_ps: 0.0,
            increases: 0,
            round_end: 0,
        }
    }

    fn update(&mut self, rtt_ps: u64) {
        let Self { settings, .. } = *self;
        let difference_ps = rtt_ps as f64 - self.last_rtt_ps as f64;
        self.difference_ps = (1.0 - settings.gain) * self.difference_ps + settings.gain * difference_ps;
        let gradient = self.difference_ps / settings.least_rtt_ps as f64;
        if rtt_ps < settings.low_ps {
            self.rate_bps += self.additive_bps;
        } else if rtt_ps > settings.high_ps {
            self.rate_bps *= 1.0 - settings.beta * (1.0 - settings.high_ps as f64 / rtt_ps as f64);
            self.increases = 0;
        } else if gradient <= 0.0 {
            self.increases += 1;
            let steps = if self.increases >= PATIENCE { HYPER } else { 1.0 };
            self.rate_bps += steps * self.additive_bps;
        } else {
            self.rate_bps *= (1.0 - settings.beta * gradient).max(0.0);
            self.increases = 0;
        }
        self.rate_bps = self.rate_bps.max(settings.rate_min_bps as f64).min(self.link_bps);
    }
}

impl CongestionControl for Timely {
    fn window_bytes(&self) -> u64 {
        u64::MAX
    }

    fn rate_bps(&self) -> u64 {
        self.rate_bps as u64
    }

    /// The rate changes once in a round trip.
    fn on_ack(&mut self, answer: &Answer<'_>) {
        let Some(rtt_ps) = answer.rtt_ps.filter(|_| answer.una > self.round_end) else { return };
        if self.last_rtt_ps != 0 {
            self.update(rtt_ps);
        }
        self.last_rtt_ps = rtt_ps;
        self.round_end = answer.next;
    }
}

#[cfg(test)]
mod tests;
