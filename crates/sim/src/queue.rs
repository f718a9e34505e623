//! The event queue: a winner tree over sources of events.
//!
//! A source (a port, the timers, ...) shows only its next event; the tree finds the earliest of all sources. So the
//! queue holds links, not packets, and an update touches one leaf-to-root path: a handful of independent loads and a
//! chain of minima. Events at the same time are ordered by the ranks of their sources. A source's leaf of the tree is
//! its number, not its rank: ports that work together stand together.

use anabranch_split::prefetch::prefetch;
use std::hint::select_unpredictable;

/// Winner tree. Keys are `time << bits | rank`, so that one minimum decides both.
pub(crate) struct EventQueue {
    /// Key of the earliest event of all: the tree's root, which stands here instead of in `tree[1]`.
    first: u64,
    /// Source `s` is the leaf `tree[leaves + s]`.
    tree: Box<[u64]>,
    /// Rank of each source, and source of each rank. Each has as many entries as the tree has leaves.
    rank_of: Box<[u32]>,
    source_of: Box<[u32]>,
    leaves: usize,
    bits: u32,
    /// First time behind the horizon.
    beyond_ps: u64,
}

/// Key of a source without an event.
const NEVER: u64 = u64::MAX;

/// Levels of the tree, from its leaves, that caches do not hold.
const COLD_LEVELS: usize = 5;

/// Time of what does not happen.
pub(crate) const NEVER_PS: u64 = u64::MAX;

/// The least power of two that has a leaf of the tree for each source.
fn leaves(sources: usize) -> usize {
    sources.next_power_of_two().max(2)
}

/// The latest time of a queue of so many sources: a key is a time and a source's rank.
pub(crate) fn horizon_ps(sources: usize) -> u64 {
    (1 << (63 - leaves(sources).trailing_zeros())) - 1
}

impl EventQueue {
    /// Queue of these sources, by rank, none with an event.
    pub(crate) fn new(ranked: &[u32]) -> Self {
        let leaves = leaves(ranked.len());
        let (mut rank_of, mut source_of) = (vec![0; leaves], vec![0; leaves]);
        for (rank, &source) in (0..).zip(ranked) {
            rank_of[source as usize] = rank;
            source_of[rank as usize] = source;
        }
        Self {
            first: NEVER,
            tree: vec![NEVER; 2 * leaves].into(),
            rank_of: rank_of.into(),
            source_of: source_of.into(),
            leaves,
            bits: leaves.trailing_zeros(),
            beyond_ps: horizon_ps(leaves) + 1,
        }
    }

    /// Latest time of an event.
    pub(crate) fn horizon_ps(&self) -> u64 {
        self.beyond_ps - 1
    }

    /// The earliest event: its time and its source.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<(u64, usize)> {
        if self.first == NEVER {
            return None;
        }
        // SAFETY: there are as many entries as leaves.
        let source = unsafe { *self.source_of.get_unchecked(self.first as usize & (self.leaves - 1)) };
        Some((self.first >> self.bits, source as usize))
    }

    /// Key of the earliest event of all, which is in the order of events; [`u64::MAX`] if there is none.
    #[inline(always)]
    pub(crate) fn first_key(&self) -> u64 {
        self.first
    }

    /// Key of an event of a source at a time.
    pub(crate) fn key_of(&self, source: usize, at_ps: u64) -> u64 {
        if at_ps == NEVER_PS { NEVER } else { self.key(source, at_ps) }
    }

    /// Time of a key; [`NEVER_PS`] of none.
    pub(crate) fn time_ps(&self, key: u64) -> u64 {
        if key == NEVER { NEVER_PS } else { key >> self.bits }
    }

    /// Winner of that of `2^depth` equal parts of the tree in which `source` stands, or `source` if there are fewer; any
    /// source if the part has no event.
    #[inline(always)]
    pub(crate) fn winner(&self, source: usize, depth: u32) -> usize {
        self.source_of[self.winner_rank(source, depth)] as usize
    }

    /// Fetches the source of the rank that [`Self::winner`] will ask for.
    #[inline(always)]
    pub(crate) fn prefetch_source(&self, source: usize, depth: u32) {
        prefetch(&raw const self.source_of[self.winner_rank(source, depth)]);
    }

    #[inline(always)]
    fn winner_rank(&self, source: usize, depth: u32) -> usize {
        let node = (self.leaves + source) >> self.bits.saturating_sub(depth);
        let key = if node == 1 { self.first } else { self.tree[node] };
        key as usize & (self.leaves - 1)
    }

    /// Fetches what [`Self::set`] of a source will need.
    #[inline(always)]
    pub(crate) fn prefetch_path(&self, source: usize) {
        prefetch(self.rank_of.as_ptr().wrapping_add(source));
        let mut node = self.leaves + source;
        for _ in 0..COLD_LEVELS {
            prefetch(self.tree.as_ptr().wrapping_add(node));
            node >>= 1;
        }
    }

    /// Key of an event of a source. One after the horizon stands right behind it, where no run comes: its time would wrap
    /// into one that is too early.
    #[inline(always)]
    fn key(&self, source: usize, at_ps: u64) -> u64 {
        assert!(source < self.leaves, "a source of this queue");
        // SAFETY: there are as many entries as leaves.
        let rank = unsafe { *self.rank_of.get_unchecked(source) };
        at_ps.min(self.beyond_ps) << self.bits | u64::from(rank)
    }

    /// The next event of `source` is at `at_ps`, whatever it was before; [`NEVER_PS`] if it has none.
    #[inline(always)]
    pub(crate) fn set(&mut self, source: usize, at_ps: u64) {
        let mut key = select_unpredictable(at_ps == NEVER_PS, NEVER, self.key(source, at_ps));
        let mut node = self.leaves + source;
        // There are two leaves at least, hence a level below the root.
        loop {
            // SAFETY: `node` is below the tree's length, twice that of its leaves, and only shrinks; so is its sibling.
            unsafe {
                *self.tree.get_unchecked_mut(node) = key;
                key = key.min(*self.tree.get_unchecked(node ^ 1));
            }
            node >>= 1;
            if node == 1 {
                break;
            }
        }
        self.first = key;
    }

    /// The next event of `source`, which had none, is at `at_ps`.
    ///
    /// Every node on the way keeps the lesser of itself and the new key: no step waits for another. The root is
    /// written behind a branch that is rarely taken, so that the processor goes on with the next event meanwhile.
    #[inline(always)]
    pub(crate) fn insert(&mut self, source: usize, at_ps: u64) {
        let key = self.key(source, at_ps);
        let mut node = self.leaves + source;
        loop {
            // SAFETY: `node` is below the tree's length and only shrinks.
            let entry = unsafe { self.tree.get_unchecked_mut(node) };
            *entry = key.min(*entry);
            node >>= 1;
            if node == 1 {
                break;
            }
        }
        if key < self.first {
            self.first = key;
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
        let mut queue = EventQueue::new(&(0..200).collect::<Vec<_>>());
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
            ranked in (1u32..70).prop_flat_map(|sources| Just((0..sources).collect::<Vec<_>>()).prop_shuffle()),
            steps in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(0u64..1000)), 1..300),
        ) {
            let sources = ranked.len();
            let mut queue = EventQueue::new(&ranked);
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
                let sorted: BTreeSet<(u64, usize, usize)> = ranked
                    .iter()
                    .enumerate()
                    .filter_map(|(rank, &s)| times[s as usize].map(|t| (t, rank, s as usize)))
                    .collect();
                prop_assert_eq!(queue.first(), sorted.first().map(|&(time, _, source)| (time, source)));
                for depth in 0..queue.bits + 3 {
                    let part = |source: usize| source >> queue.bits.saturating_sub(depth);
                    if let Some(&(.., first)) = sorted.iter().find(|&&(.., s)| part(s) == part(source)) {
                        prop_assert_eq!(queue.winner(source, depth), first, "of 2^{} parts", depth);
                    }
                }
            }
        }
    }
}
