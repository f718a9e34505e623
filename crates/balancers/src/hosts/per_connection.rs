//! State of a host balancer for each connection.

use anabranch_sim::connection_slot;

/// One `T` for each connection that was opened and whose slot no other has taken since.
pub(crate) struct PerConnection<T>(Vec<Option<(u32, T)>>);

impl<T> Default for PerConnection<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> PerConnection<T> {
    /// The state of a connection, made if there is none: both its hosts may be served here.
    pub(crate) fn open(&mut self, connection: u32, make: impl FnOnce() -> T) -> &mut T {
        let slot = connection_slot(connection);
        if slot >= self.0.len() {
            self.0.resize_with(slot + 1, || None);
        }
        let kept = self.0[slot].take().filter(|&(name, _)| name == connection);
        let (_, kept) = self.0[slot].insert(kept.unwrap_or_else(|| (connection, make())));
        kept
    }

    #[inline]
    pub(crate) fn get(&mut self, connection: u32) -> Option<&mut T> {
        match self.0.get_mut(connection_slot(connection)) {
            Some(Some((name, kept))) if *name == connection => Some(kept),
            _ => None,
        }
    }
}
