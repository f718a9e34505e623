//! The event queue: a winner tree over sources of events.
//!
//! A source (a port, the timers, ...) shows only its next event; the tree finds the earliest of all sources. So the
//! queue holds links, not packets, and an update touches one leaf-to-root path: a handful of independent loads and a
//! chain of minima. Events at the same time are ordered by the number of their source; which source has which number is
//! the caller's to say.

use std::hint::select_unpredictable;

/// Winner tree. Keys are `time << bits | source`, so that one minimum decides both.
pub(crate) struct EventQueue {
    /// `tree[1]` is the earliest of all; source `s` is the leaf `tree[leaves + s]`.
    tree: Box<[u64]>,
    leaves: usize,
    bits: u32,
}

/// Key of a source without an event.
const NEVER: u64 = u64::MAX;

/// Time of what does not happen.
pub(crate) const NEVER_PS: u64 = u64::MAX;

impl EventQueue {
    /// For so many sources, none with an event.
    pub(crate) fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        Self { tree: vec![NEVER; 2 * leaves].into(), leaves, bits: leaves.trailing_zeros() }
    }

    /// Times must stay below this.
    pub(crate) fn horizon_ps(&self) -> u64 {
        (1 << (63 - self.bits)) - 1
    }

    /// The key of an event. One after the horizon stands right behind it, where no run comes: its time would wrap into one
    /// that is too early.
    #[inline(always)]
    fn key(&self, source: usize, at_ps: u64) -> u64 {
        at_ps.min(self.horizon_ps() + 1) << self.bits | source as u64
    }

    /// The earliest event: its time and its source.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<(u64, usize)> {
        let key = self.tree[1];
        (key != NEVER).then(|| (key >> self.bits, key as usize & (self.leaves - 1)))
    }

    /// The next event of `source` is at `at_ps`, whatever it was before; [`NEVER_PS`] if it has none.
    #[inline(always)]
    pub(crate) fn set(&mut self, source: usize, at_ps: u64) {
        let key = self.key(source, at_ps);
        let mut key = select_unpredictable(at_ps == NEVER_PS, NEVER, key);
        let mut node = self.leaves + source;
        assert!(node < self.tree.len(), "a source of this queue");
        while node > 1 {
            // SAFETY: `node` is below the tree's length, which is even, and only shrinks; so is its sibling.
            unsafe {
                *self.tree.get_unchecked_mut(node) = key;
                key = key.min(*self.tree.get_unchecked(node ^ 1));
            }
            node >>= 1;
        }
        self.tree[1] = key;
    }

    /// The next event of `source`, which had none, is at `at_ps`.
    ///
    /// Every node on the way keeps the lesser of itself and the new key: no step waits for another. The root is
    /// written behind a branch that is rarely taken, so that the processor goes on with the next event meanwhile.
    #[inline(always)]
    pub(crate) fn insert(&mut self, source: usize, at_ps: u64) {
        let key = self.key(source, at_ps);
        let mut node = self.leaves + source;
        assert!(node < self.tree.len(), "a source of this queue");
        while node > 1 {
            // SAFETY: `node` is below the tree's length and only shrinks.
            let entry = unsafe { self.tree.get_unchecked_mut(node) };
            *entry = key.min(*entry);
            node >>= 1;
        }
        if key < self.tree[1] {
            self.tree[1] = key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_beyond_the_horizon_comes_after_it() {
        let mut queue = EventQueue::new(200);
        let horizon_ps = queue.horizon_ps();
        for at_ps in [horizon_ps + 1, 2 * horizon_ps + 7, i64::MAX as u64, NEVER_PS - 1] {
            queue.set(3, at_ps);
            queue.set(4, NEVER_PS);
            queue.insert(4, at_ps);
            assert!(
                queue.first().is_some_and(|(first_ps, _)| first_ps > horizon_ps),
                "{at_ps}: {:?}",
                queue.first()
            );
        }
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_of_a_sorted_set(
            sources in 1usize..70,
            steps in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(0u64..1000)), 1..300),
        ) {
            let mut queue = EventQueue::new(sources);
            let mut times = vec![None; sources];
            for (index, time) in steps {
                let source = index.index(sources);
                let idle = times[source].is_none();
                times[source] = time;
                match time {
                    Some(at_ps) if idle => queue.insert(source, at_ps),
                    Some(at_ps) => queue.set(source, at_ps),
                    None => queue.set(source, NEVER_PS),
                }
                let sorted: BTreeSet<(u64, usize)> =
                    times.iter().enumerate().filter_map(|(s, t)| t.map(|t| (t, s))).collect();
                prop_assert_eq!(queue.first(), sorted.first().copied());
            }
        }
    }
}
