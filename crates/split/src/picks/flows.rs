//! Memory of flows as schemes see it: a table in the library, a map in a kernel.

/// Memory of flows: each has a member and a note of the scheme's own (`()`, a time, a byte count).
pub trait Flows {
    /// Note that a scheme keeps about a flow besides its member.
    type Note: Copy;

    /// Finds the member and note of `flow`, if it is remembered.
    fn get(&self, flow: u64) -> Option<(u16, Self::Note)>;

    /// Fetches the memory that the look-up of `flow` will read, if that saves time.
    #[inline(always)]
    fn prefetch(&self, _flow: u64) {}

    /// Calls `decide` with the record of `flow`, remembers the result, and returns its member.
    fn upsert<D>(&mut self, flow: u64, decide: D) -> u16
    where
        D: FnOnce(Option<(u16, Self::Note)>) -> (u16, Self::Note);

    /// Visits the next `slots` slots in rotation (each at most once), forgets the flows that are `over`, and reports
    /// their members to `freed`.
    fn sweep<O, F>(&mut self, slots: usize, over: O, freed: F)
    where
        O: Fn(u16, &Self::Note) -> bool,
        F: FnMut(u16);

    /// Forgets all flows of `member`.
    fn purge(&mut self, member: u16) {
        self.sweep(usize::MAX, |m, _| m == member, |_| ());
    }

    /// Number of flows remembered.
    fn len(&self) -> usize;

    /// Whether no flow is remembered.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of slots, occupied or not: those that a full [`Self::sweep`] visits.
    fn slots(&self) -> usize;

    /// Number of bytes allocated, without the allocator's own.
    fn bytes(&self) -> usize;
}
