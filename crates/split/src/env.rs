//! What the place that runs a scheme gives it: simulator, batch over a capture, or kernel.

/// What a place can give and a scheme can need, as bits so that `const` code can compare them.
pub mod capability {
    /// A clock: [`super::Env::now_ns`] advances.
    pub const CLOCK: u32 = 1;
}

/// The place a scheme runs in. Every method inlines to a field read or a helper call.
pub trait Env {
    /// Bits of [`capability`] this place gives.
    const GIVES: u32;

    /// Time since an origin of the place's own choice, in nanoseconds; never runs back.
    fn now_ns(&mut self) -> u64;

    /// Whether a member can carry traffic now. A place that re-plans on every change leaves the default.
    #[inline(always)]
    fn up(&self, _member: u16) -> bool {
        true
    }
}

/// A place without a clock, where every member of the plan is alive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Still;

impl Env for Still {
    const GIVES: u32 = 0;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        0
    }
}
