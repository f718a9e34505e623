//! State of host balancers at the two ends of a connection.

use anabranch_sim::Opened;

/// Hosts at a connection's ends, and the state kept there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends<T> {
    src: u32,
    dst: u32,
    /// State of the host that sends, and of the host that receives.
    halves: [Half<T>; 2],
}

/// One end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half<T> {
    pub(crate) kept: T,
    /// Number of what this host knows of the other, or of its rack; none yet if it is the largest.
    pub(crate) pair: u32,
}

impl<T: Default> Default for Half<T> {
    fn default() -> Self {
        Self { kept: T::default(), pair: u32::MAX }
    }
}

impl<T> Half<T> {
    /// The number, found by `find` the first time.
    #[inline(always)]
    pub(crate) fn pair(&mut self, find: impl FnOnce() -> u32) -> u32 {
        if self.pair == u32::MAX {
            self.pair = find();
        }
        self.pair
    }
}

impl<T: Default> Ends<T> {
    /// Nothing kept yet.
    pub(crate) fn of(flow: &Opened) -> Self {
        Self { src: flow.src, dst: flow.dst, halves: Default::default() }
    }
}

impl<T> Ends<T> {
    /// State kept at an end.
    #[inline(always)]
    pub(crate) fn at(&mut self, host: u32) -> &mut Half<T> {
        &mut self.halves[usize::from(host != self.src)]
    }

    /// The host at the other end.
    #[inline(always)]
    pub(crate) fn peer(&self, host: u32) -> u32 {
        if host == self.src { self.dst } else { self.src }
    }
}
