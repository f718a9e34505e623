//! The one wake-up that a half has asked for. Deadlines that move back are not followed: the wake-up comes too early,
//! and asks again.

use super::Host;

/// A wake-up, at or before every deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm {
    at_ps: u64,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { at_ps: u64::MAX }
    }
}

impl Alarm {
    /// The next deadline; `u64::MAX` if there is none.
    #[inline(always)]
    pub(super) fn set<H: Host>(&mut self, at_ps: u64, host: &mut H) {
        if at_ps < self.at_ps {
            self.at_ps = at_ps;
            host.wake_at(at_ps);
        }
    }

    /// It came.
    pub(super) fn rang(&mut self) {
        self.at_ps = u64::MAX;
    }
}
