//! Swift (Kumar and others, SIGCOMM 2020, algorithm 1): a window that holds the round trip at a target, which grows with
//! the number of flows that share the path, as the window tells it.

use super::{Answer, CongestionControl, PathFacts};

/// Settings. Times in picoseconds, windows in full frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwiftSettings {
    /// Target of a round trip on top of that of the empty fabric.
    pub queueing_ps: u64,
    /// Largest addition to it for small windows (`fs_range`); none if zero.
    pub range_ps: u64,
    /// Windows between which the addition falls from the largest to zero.
    pub scale_least: f64,
    /// See [`Self::scale_least`].
    pub scale_most: f64,
    /// Growth in a round trip (`ai`).
    pub additive: f64,
    /// Factor beta of decreases.
    pub beta: f64,
    /// Largest decrease at once (`max_mdf`).
    pub decrease_most: f64,
    /// Least window: frames of less than one are paced over several round trips.
    pub window_least: f64,
    /// Timeouts in a row after which the window is the least.
    pub timeouts: u32,
}

impl SwiftSettings {
    /// The paper's constants where it names them; a queueing delay of the order of one round trip in a datacenter.
    pub const DEFAULT: Self = Self {
        queueing_ps: 25_000_000,
        range_ps: 50_000_000,
        scale_least: 0.1,
        scale_most: 100.0,
        additive: 1.0,
        beta: 0.8,
        decrease_most: 0.5,
        window_least: 0.001,
        timeouts: 5,
    };
}

/// State of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Swift {
    settings: SwiftSettings,
    frame_bytes: f64,
    base_rtt_ps: u64,
    window_most: f64,
    /// Window in full frames.
    window: f64,
    rtt_ps: u64,
    decreased_ps: Option<u64>,
    timeouts: u32,
}

impl Swift {
    /// A sender with a window of one round trip's worth of its link.
    #[must_use]
    pub fn new(settings: &SwiftSettings, path: &PathFacts) -> Self {
        let frames = path.bdp_bytes() as f64 / path.frame_bytes as f64;
        Self {
            settings: *settings,
            frame_bytes: path.frame_bytes as f64,
            base_rtt_ps: path.rtt_ps,
            window_most: 2.0 * frames.max(1.0),
            window: frames.max(1.0),
            rtt_ps: path.rtt_ps,
            decreased_ps: None,
            timeouts: 0,
        }
    }

    /// Target of a round trip for the present window, in picoseconds.
    fn target_ps(&self) -> f64 {
        let SwiftSettings { queueing_ps, range_ps, scale_least, scale_most, .. } = self.settings;
        let (least, most) = (1.0 / scale_least.sqrt(), 1.0 / scale_most.sqrt());
        let range_ps = range_ps as f64;
        let slope_ps = range_ps / (least - most);
        let scaled_ps = slope_ps * (1.0 / self.window.sqrt() - most);
        (self.base_rtt_ps + queueing_ps) as f64 + scaled_ps.max(0.0).min(range_ps)
    }

    fn may_decrease(&self, now_ps: u64) -> bool {
        self.decreased_ps.is_none_or(|at_ps| now_ps - at_ps >= self.rtt_ps)
    }

    fn decrease(&mut self, now_ps: u64, factor: f64) {
        if self.may_decrease(now_ps) {
            self.window *= factor;
            self.decreased_ps = Some(now_ps);
        }
        self.clamp();
    }

    fn clamp(&mut self) {
        self.window = self.window.max(self.settings.window_least).min(self.window_most);
    }
}

impl CongestionControl for Swift {
    fn window_bytes(&self) -> u64 {
        (self.window.max(1.0) * self.frame_bytes) as u64
    }

    /// Below one frame, a frame every so many round trips.
    fn rate_bps(&self) -> u64 {
        if self.window >= 1.0 {
            return u64::MAX;
        }
        (self.window * self.frame_bytes * 8e12 / self.rtt_ps as f64).max(1.0) as u64
    }

    fn on_ack(&mut self, answer: &Answer<'_>) {
        self.timeouts = 0;
        let Some(rtt_ps) = answer.rtt_ps else { return };
        self.rtt_ps = rtt_ps;
        let (delay_ps, target_ps) = (rtt_ps as f64, self.target_ps());
        if delay_ps < target_ps {
            let frames = answer.bytes as f64 / self.frame_bytes;
            let divisor = if self.window >= 1.0 { self.window } else { 1.0 };
            self.window += self.settings.additive * frames / divisor;
            self.clamp();
        } else {
            let SwiftSettings { beta, decrease_most, .. } = self.settings;
            let factor = (1.0 - beta * (delay_ps - target_ps) / delay_ps).max(1.0 - decrease_most);
            self.decrease(answer.now_ps, factor);
        }
    }

    fn on_loss(&mut self, now_ps: u64) {
        self.timeouts = 0;
        self.decrease(now_ps, 1.0 - self.settings.decrease_most);
    }

    fn on_timeout(&mut self, now_ps: u64, _bytes: u64) {
        self.timeouts += 1;
        if self.timeouts >= self.settings.timeouts {
            self.window = self.settings.window_least;
            self.decreased_ps = Some(now_ps);
        } else {
            self.decrease(now_ps, 1.0 - self.settings.decrease_most);
        }
    }
}

#[cfg(test)]
mod tests;
