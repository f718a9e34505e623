//! DCQCN (Zhu and others, SIGCOMM 2015) as the reaction point of `conweave-ns3` has it (commit 236a801,
//! `rdma-hw.cc`, "Mellanox's version"): a rate that falls with notifications and recovers by a timer.
//!
//! Rates are whole bits per second, and fractions are cut off where they are there, so that its traces can be replayed
//! without tolerance (`vectors/conweave`).

use super::{CongestionControl, PathFacts};

/// Settings. Times in picoseconds, rates in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnSettings {
    /// Gain g of the estimate alpha of congestion.
    pub gain: f64,
    /// Time between two updates of alpha.
    pub alpha_ps: u64,
    /// Time between two decreases, if notifications came.
    pub decrease_ps: u64,
    /// Time between two increases.
    pub increase_ps: u64,
    /// Increases towards the target before the target itself rises.
    pub recovery: u32,
    /// Step of the target in the first increase after that; one 2500th of the link's rate if `None`.
    pub additive_bps: Option<u64>,
    /// Step in each later one; one 1000th of the link's rate if `None`.
    pub hyper_bps: Option<u64>,
    /// Least rate.
    pub rate_min_bps: u64,
    /// Whether the target falls to the present rate with each decrease, also where none of an episode was increased yet.
    pub clamp_target: bool,
}

impl DcqcnSettings {
    /// Defaults of `conweave-ns3`'s configuration: at 100 Gbit/s steps of 40 and 100 Mbit/s.
    pub const DEFAULT: Self = Self {
        gain: 1.0 / 256.0,
        alpha_ps: 1_000_000,
        decrease_ps: 4_000_000,
        increase_ps: 300_000_000,
        recovery: 1,
        additive_bps: None,
        hyper_bps: None,
        rate_min_bps: 100_000_000,
        clamp_target: false,
    };
}

/// Time by which decreases come after the update of alpha that they would coincide with.
const AFTER_ALPHA_PS: u64 = 1000;

/// State of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Dcqcn {
    settings: DcqcnSettings,
    link_bps: u64,
    additive_bps: u64,
    hyper_bps: u64,
    rate_bps: u64,
    target_bps: u64,
    alpha: f64,
    /// Increases since the last decrease.
    stage: u32,
    /// Whether a notification came since alpha was updated last, and since the rate was decreased last.
    marked_for_alpha: bool,
    marked_for_rate: bool,
    alpha_at_ps: u64,
    decrease_at_ps: u64,
    increase_at_ps: u64,
}

impl Dcqcn {
    /// A sender at the rate of its link.
    #[must_use]
    pub fn new(settings: &DcqcnSettings, path: &PathFacts) -> Self {
        Self {
            settings: *settings,
            link_bps: path.rate_bps,
            additive_bps: settings.additive_bps.unwrap_or(path.rate_bps / 2500),
            hyper_bps: settings.hyper_bps.unwrap_or(path.rate_bps / 1000),
            rate_bps: path.rate_bps,
            target_bps: path.rate_bps,
            alpha: 1.0,
            stage: 0,
            marked_for_alpha: false,
            marked_for_rate: false,
            alpha_at_ps: u64::MAX,
            decrease_at_ps: u64::MAX,
            increase_at_ps: u64::MAX,
        }
    }

    /// Updates alpha as often as was due before `until_ps`, or at it.
    fn estimate(&mut self, until_ps: u64) {
        let gain = self.settings.gain;
        while self.alpha_at_ps <= until_ps {
            self.alpha_at_ps += self.settings.alpha_ps;
            let mark = if std::mem::take(&mut self.marked_for_alpha) { gain } else { 0.0 };
            let alpha = (1.0 - gain) * self.alpha + mark;
            if alpha.to_bits() == self.alpha.to_bits() && mark == 0.0 {
                // Rounding keeps it from now on: a quiet hour has no more updates than a quiet second.
                let left = until_ps.saturating_sub(self.alpha_at_ps).div_ceil(self.settings.alpha_ps);
                self.alpha_at_ps += left * self.settings.alpha_ps;
            }
            self.alpha = alpha;
        }
    }

    /// Lets pass the checks without notification before `now_ps`.
    fn skip_checks(&mut self, now_ps: u64) {
        if !self.marked_for_rate && self.decrease_at_ps < now_ps {
            let missed = (now_ps - self.decrease_at_ps).div_ceil(self.settings.decrease_ps);
            self.decrease_at_ps += missed * self.settings.decrease_ps;
        }
    }

    fn decrease(&mut self) {
        let at_ps = self.decrease_at_ps;
        self.estimate(at_ps);
        self.decrease_at_ps += self.settings.decrease_ps;
        if !std::mem::take(&mut self.marked_for_rate) {
            return;
        }
        if self.stage > 0 || self.settings.clamp_target {
            self.target_bps = self.rate_bps;
        }
        let rate_bps = (self.rate_bps as f64 * (1.0 - self.alpha / 2.0)) as u64;
        self.rate_bps = rate_bps.max(self.settings.rate_min_bps);
        self.stage = 0;
        self.increase_at_ps = at_ps + self.settings.increase_ps;
    }

    fn increase(&mut self) {
        self.increase_at_ps += self.settings.increase_ps;
        let step_bps = match self.stage.cmp(&self.settings.recovery) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => self.additive_bps,
            std::cmp::Ordering::Greater => self.hyper_bps,
        };
        self.target_bps = (self.target_bps + step_bps).min(self.link_bps);
        self.rate_bps = self.rate_bps / 2 + self.target_bps / 2;
        self.stage += 1;
    }

    /// The next change up to `now_ps`, if there is one.
    fn step(&mut self, now_ps: u64) -> bool {
        if self.increase_at_ps <= now_ps {
            self.skip_checks(self.increase_at_ps);
        }
        // Where both are due at once, the increase was asked for first.
        if self.increase_at_ps <= now_ps && self.increase_at_ps <= self.decrease_at_ps {
            self.increase();
        } else if self.marked_for_rate && self.decrease_at_ps <= now_ps {
            self.decrease();
        } else {
            return false;
        }
        true
    }
}

impl CongestionControl for Dcqcn {
    fn window_bytes(&self) -> u64 {
        u64::MAX
    }

    fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    fn on_mark(&mut self, now_ps: u64) {
        self.wake(now_ps);
        // A check at this very time was before.
        self.skip_checks(now_ps + 1);
        self.marked_for_rate = true;
        if self.alpha_at_ps == u64::MAX {
            self.alpha_at_ps = now_ps + self.settings.alpha_ps;
            self.decrease_at_ps = now_ps + self.settings.decrease_ps + AFTER_ALPHA_PS;
            self.target_bps = self.rate_bps;
            return;
        }
        // A notification that comes with an update counts for it.
        self.estimate(now_ps - 1);
        self.marked_for_alpha = true;
    }

    fn due_ps(&self) -> u64 {
        let decrease_at_ps = if self.marked_for_rate { self.decrease_at_ps } else { u64::MAX };
        decrease_at_ps.min(self.increase_at_ps)
    }

    fn wake(&mut self, now_ps: u64) {
        while self.step(now_ps) {}
        self.skip_checks(now_ps);
    }
}

#[cfg(test)]
mod tests;
