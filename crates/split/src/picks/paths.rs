//! Whole paths as members: the numbered paths to a destination that carry now.

/// Living paths by destination. A path keeps its number when others die, so that what was learnt of it stays true.
pub trait Paths {
    /// Numbers of the living paths to `destination`, ascending.
    fn living(&self, destination: u32) -> &[u16];
}

impl<L: AsRef<[u16]>> Paths for [L] {
    #[inline(always)]
    fn living(&self, destination: u32) -> &[u16] {
        self.get(destination as usize).map_or(&[], AsRef::as_ref)
    }
}

impl<L: AsRef<[u16]>, const N: usize> Paths for [L; N] {
    #[inline(always)]
    fn living(&self, destination: u32) -> &[u16] {
        self.as_slice().living(destination)
    }
}

#[cfg(feature = "plan")]
impl<L: AsRef<[u16]>> Paths for std::vec::Vec<L> {
    #[inline(always)]
    fn living(&self, destination: u32) -> &[u16] {
        self.as_slice().living(destination)
    }
}
