//! What remembers flows, as schemes see it: a table here, a map in a kernel.

/// A memory of flows: each has a member and a note of the scheme's own (`()`, a time, a byte count).
pub trait Flows {
    /// What a scheme keeps about a flow besides its member.
    type Note: Copy;

    /// The member and note of `flow`, if it is remembered.
    fn get(&self, flow: u64) -> Option<(u16, Self::Note)>;

    /// Fetches what the look-up of `flow` will read, where that is worth it.
    #[inline(always)]
    fn prefetch(&self, _flow: u64) {}

    /// Remembers what `decide` makes of what was known of `flow`, and returns its member.
    fn upsert<D>(&mut self, flow: u64, decide: D) -> u16
    where
        D: FnOnce(Option<(u16, Self::Note)>) -> (u16, Self::Note);

    /// Visits the next `places` places in rotation (at most all of them once), forgets the flows that are `over`, and
    /// tells `freed` their members.
    fn sweep<O, F>(&mut self, places: usize, over: O, freed: F)
    where
        O: Fn(u16, &Self::Note) -> bool,
        F: FnMut(u16);

    /// Forgets all flows of `member`.
    fn purge(&mut self, member: u16) {
        self.sweep(usize::MAX, |m, _| m == member, |_| ());
    }

    /// Flows remembered.
    fn len(&self) -> usize;

    /// Whether no flow is remembered.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places there are, occupied or not: what a full [`Self::sweep`] visits.
    fn places(&self) -> usize;

    /// Bytes allocated for them, the allocator's own excluded.
    fn bytes(&self) -> usize;
}
