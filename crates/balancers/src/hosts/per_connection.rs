//! State of a host balancer for each connection.

use anabranch_sim::connection_slot as place;

/// One `T` for each connection that was opened and whose place no other has taken since.
pub(crate) struct PerConnection<T>(Vec<Option<(u32, T)>>);

impl<T> Default for PerConnection<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> PerConnection<T> {
    pub(crate) fn open(&mut self, connection: u32, new: T) {
        let place = place(connection);
        if place >= self.0.len() {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place] = Some((connection, new));
    }

    #[inline]
    pub(crate) fn get(&mut self, connection: u32) -> Option<&mut T> {
        match self.0.get_mut(place(connection)) {
            Some(Some((name, kept))) if *name == connection => Some(kept),
            _ => None,
        }
    }
}
