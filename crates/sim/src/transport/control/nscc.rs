//! NSCC, the congestion control at senders of Ultra Ethernet 1.0, as `uet-htsim` has it (commit 40ccb05,
//! `sim/uec.cpp`): a window that follows marks and queueing delay, and falls to what arrived where packets are trimmed.
//!
//! Bytes and times are whole numbers, and fractions are cut off where they are there, so that its traces can be replayed
//! without tolerance (`vectors/uec`).

use super::{Answer, CongestionControl, PathFacts, Trim};

/// Round trip for which the constants hold, in picoseconds.
const REFERENCE_RTT_PS: f64 = 12e6;
/// Bytes that 100 Gbit/s carry in it.
const REFERENCE_BDP_BYTES: f64 = 150_000.0;
/// Gain of the moving average of the delay.
const DELAY_GAIN: f64 = 0.0125;
/// Share of the excess delay by which the window falls.
const GAMMA: f64 = 0.8;
/// Delay below which a path counts as empty, in picoseconds.
const EMPTY_PS: u64 = 1_000_000;
/// Full frames that arrive between two adjustments.
const ADJUST_FRAMES: u64 = 8;

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsccSettings {
    /// Queueing delay to aim for, in picoseconds; three quarters of the round trip (as where ports trim) if `None`.
    pub target_ps: Option<u64>,
    /// First window in bytes of frames; the largest, which is 1.5 round trips' worth, if `None`.
    pub window_bytes: Option<u64>,
    /// Quick adaptation needs that less than the largest window divided by 2 to this power arrived.
    pub gate: u8,
}

impl NsccSettings {
    /// Defaults of `uet-htsim`.
    pub const DEFAULT: Self = Self { target_ps: None, window_bytes: None, gate: 3 };
}

/// State of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Nscc {
    /// Network round trip: length of an adjustment period.
    rtt_ps: u64,
    rate_bps: u64,
    target_ps: u64,
    least_window: i64,
    gate: u8,
    /// Growth per acknowledged byte and picosecond below the target.
    alpha: f64,
    /// Growth per acknowledged byte where the delay is above the target without a mark.
    fair: f64,
    /// Growth in each period.
    eta: f64,
    /// Growth per acknowledged byte on an empty path.
    fast: f64,

    window: i64,
    window_max: i64,
    base_rtt_ps: u64,
    average_delay_ps: u64,
    /// Growth to come, times the window.
    growth: i64,
    received: i64,
    achieved: i64,
    empty_bytes: i64,
    grows_fast: bool,
    adjusted_ps: u64,
    decreased_ps: u64,
    quick_end_ps: u64,
    trimmed: bool,
    ignored: i64,
    to_ignore: i64,
}

impl Nscc {
    /// A sender whose flow begins.
    #[must_use]
    pub fn new(settings: &NsccSettings, path: &PathFacts) -> Self {
        let payload = (path.frame_bytes - path.header_bytes) as f64;
        let target_ps = settings.target_ps.unwrap_or((path.rtt_ps as f64 * 0.75) as u64);
        let bdp_bytes = path.bdp_bytes();
        let a = bdp_bytes as f64 / REFERENCE_BDP_BYTES;
        let b = target_ps as f64 / REFERENCE_RTT_PS;
        let window_max = largest_window(bdp_bytes as f64, path.frame_bytes as i64);
        Self {
            rtt_ps: path.rtt_ps,
            rate_bps: path.rate_bps,
            target_ps,
            least_window: path.frame_bytes as i64,
            gate: settings.gate,
            alpha: 4.0 * payload * a * b / target_ps as f64,
            fair: 5.0 * payload * a,
            eta: 0.15 * payload * a,
            fast: 0.25 * a,
            window: settings.window_bytes.map_or(window_max, |bytes| bytes as i64),
            window_max,
            base_rtt_ps: path.rtt_ps,
            average_delay_ps: 0,
            growth: 0,
            received: 0,
            achieved: 0,
            empty_bytes: 0,
            grows_fast: false,
            adjusted_ps: path.began_ps,
            decreased_ps: path.began_ps,
            quick_end_ps: 0,
            trimmed: false,
            ignored: 0,
            to_ignore: 0,
        }
    }

    fn clamp(&mut self) {
        self.window = self.window.max(self.least_window).min(self.window_max);
    }

    /// A round trip was measured: the least one is that of the empty path.
    fn measure(&mut self, rtt_ps: u64) {
        if rtt_ps < self.base_rtt_ps {
            self.base_rtt_ps = rtt_ps;
            let bdp_bytes = (rtt_ps as f64 / 1e6 * self.rate_bps as f64 / 8e6) as i64;
            self.window_max = largest_window(bdp_bytes as f64, self.least_window);
        }
    }

    fn average(&mut self, sample_ps: f64) {
        let average_ps = DELAY_GAIN * sample_ps + (1.0 - DELAY_GAIN) * self.average_delay_ps as f64;
        self.average_delay_ps = average_ps as u64;
    }

    /// Quick adaptation, once in a while: where packets are trimmed, or the delay is far above the target, and little
    /// arrived, the window falls to what did arrive, and as much as is in flight tells nothing. Whether this was done, or
    /// this answer is to be ignored.
    fn adapt(&mut self, now_ps: u64, lost: bool, skip: bool, delay_ps: u64, in_flight_bytes: u64) -> bool {
        let mut done = false;
        if self.ignored < self.to_ignore && skip {
            done = true;
        } else if now_ps > self.quick_end_ps {
            let congested = self.trimmed || lost || delay_ps > 4 * self.target_ps;
            if self.quick_end_ps != 0 && congested && self.achieved < self.window_max >> self.gate {
                self.window = self.achieved.max(self.least_window);
                self.to_ignore = in_flight_bytes as i64;
                self.ignored = 0;
                self.trimmed = false;
                done = true;
            }
            self.achieved = 0;
            self.quick_end_ps = now_ps + self.base_rtt_ps + self.target_ps;
        }
        if done {
            self.growth = 0;
            self.received = 0;
        }
        done
    }

    /// No mark, and less delay than the target.
    fn increase(&mut self, bytes: i64, delay_ps: u64) {
        if delay_ps < EMPTY_PS {
            self.empty_bytes += bytes;
            if self.empty_bytes > self.window || self.grows_fast {
                self.window = (self.window as f64 + bytes as f64 * self.fast) as i64;
                self.grows_fast = true;
                return;
            }
        } else {
            self.empty_bytes = 0;
        }
        self.grows_fast = false;
        let room_ps = (self.target_ps - delay_ps) as f64;
        self.growth = (self.growth as f64 + self.alpha * bytes as f64 * room_ps) as i64;
    }

    /// A mark, and no less delay than the target.
    fn decrease(&mut self, now_ps: u64) {
        self.grows_fast = false;
        self.empty_bytes = 0;
        if self.average_delay_ps > self.target_ps && now_ps - self.decreased_ps > self.base_rtt_ps {
            let excess_ps = (self.average_delay_ps - self.target_ps) as f64;
            let factor = (1.0 - GAMMA * excess_ps / self.average_delay_ps as f64).max(0.5);
            self.window = ((self.window as f64 * factor) as i64).max(self.least_window);
            self.decreased_ps = now_ps;
        }
    }

    /// Growth that was saved up becomes window.
    fn adjust(&mut self, now_ps: u64) {
        let since_ps = now_ps - self.adjusted_ps;
        if self.received <= ADJUST_FRAMES as i64 * self.least_window && since_ps <= self.rtt_ps {
            return;
        }
        self.window += self.growth / self.window;
        if since_ps >= self.rtt_ps {
            self.window = (self.window as f64 + self.eta) as i64;
            self.adjusted_ps = now_ps;
        }
        self.growth = 0;
        self.received = 0;
    }
}

/// One and a half times what the link carries in a round trip, and no less than one frame.
fn largest_window(bdp_bytes: f64, least: i64) -> i64 {
    ((1.5 * bdp_bytes) as i64).max(least)
}

impl CongestionControl for Nscc {
    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    fn on_ack(&mut self, answer: &Answer<'_>) {
        let &Answer { now_ps, marked, rtt_ps, in_flight_bytes, .. } = answer;
        let bytes = answer.bytes as i64;
        self.achieved += bytes;
        self.received += bytes;
        self.ignored += bytes;
        let mut delay_ps = self.average_delay_ps;
        if let Some(rtt_ps) = rtt_ps {
            self.measure(rtt_ps);
            delay_ps = rtt_ps - self.base_rtt_ps;
            let elsewhere = !marked && delay_ps > self.target_ps;
            self.average(if elsewhere { self.base_rtt_ps as f64 * 0.25 } else { delay_ps as f64 });
        }
        if self.adapt(now_ps, false, marked, delay_ps, in_flight_bytes) {
            return;
        }
        match (marked, delay_ps >= self.target_ps) {
            (false, true) => self.growth = (self.growth as f64 + self.fair * bytes as f64) as i64,
            (false, false) => self.increase(bytes, delay_ps),
            (true, true) => self.decrease(now_ps),
            // Another path will do.
            (true, false) => {}
        }
        self.clamp();
        self.adjust(now_ps);
        self.clamp();
    }

    fn on_trim(&mut self, trim: &Trim) {
        let &Trim { now_ps, bytes, rtt_ps, in_flight_bytes, elsewhere } = trim;
        self.measure(rtt_ps);
        self.ignored += bytes as i64;
        self.average(self.rtt_ps as f64);
        self.trimmed = true;
        if !self.adapt(now_ps, true, true, 0, in_flight_bytes) && !elsewhere {
            self.window -= bytes as i64;
            self.clamp();
        }
    }

    fn on_timeout(&mut self, _now_ps: u64, bytes: u64) {
        self.window = (self.window - bytes as i64).max(self.least_window);
    }
}

#[cfg(test)]
mod tests;
