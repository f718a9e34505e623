//! Flow table: open addressing, linear probing, 8 bytes per slot for key and member together.
//!
//! A slot holds 53 bits of a mix of the 64-bit key and 11 bits of member. The mix is a bijection, so two flows are
//! mistaken for one only if their keys are equal, or differ and agree in those 53 bits: for N random keys N^2 / 2^54
//! such pairs are expected (8e-7 at 120 thousand flows, 6e-5 at a million). The home of a flow is the top of the same
//! bits, so that growth and deletion need no key. Deletion shifts the rest of the cluster back (Knuth, TAOCP vol. 3,
//! 6.4, algorithm R): there are no tombstones, hence the table does not degrade under churn.
//!
//! Look-ups compare four slots at a time without branching on each: the position of a flow in its cluster is random,
//! and a mispredicted branch costs more than four comparisons.

use super::Flows;
use crate::prefetch::prefetch;
use std::vec;
use std::vec::Vec;

/// Number of low bits of a slot that hold member + 1; they are zero in an empty slot.
const MEMBER_BITS: u32 = 11;
const MEMBER_MASK: u64 = (1 << MEMBER_BITS) - 1;
/// Number of homes of a new table, as a power of two.
const BITS_MIN: u32 = 6;
/// Number of slots after the last home, so that probing never wraps around; a cluster that would reach their end grows
/// the table.
const TAIL: usize = 64;
/// Number of slots compared at once.
const WINDOW: usize = 4;
/// Number of slots swept at once, at most 64.
const SWEPT_AT_ONCE: usize = 64;
const EMPTY: u64 = 0;

/// Flows with their members (below 2047) and a note each.
#[derive(Clone, Debug)]
pub struct FlowTable<N> {
    words: Vec<u64>,
    notes: Vec<N>,
    len: usize,
    bits: u32,
    hand: usize,
}

impl<N: Copy + Default> Default for FlowTable<N> {
    fn default() -> Self {
        Self::with_bits(BITS_MIN)
    }
}

impl<N: Copy + Default> FlowTable<N> {
    fn with_bits(bits: u32) -> Self {
        let slots = (1 << bits) + TAIL;
        Self { words: vec![EMPTY; slots], notes: vec![N::default(); slots], len: 0, bits, hand: 0 }
    }

    /// Makes a table that holds `flows` of them without growing.
    #[must_use]
    pub fn with_capacity(flows: usize) -> Self {
        let mut bits = BITS_MIN;
        while Self::limit(bits) < flows {
            bits += 1;
        }
        Self::with_bits(bits)
    }

    /// Largest number of flows at 2^`bits` homes: 9/16, where a miss probes 3.1 slots on average (Knuth, 6.4, eq. 24).
    const fn limit(bits: u32) -> usize {
        (1 << bits) / 16 * 9
    }

    /// Identity of the key, in the bits of a slot that hold it: Fibonacci hashing (Knuth, 6.4) of the folded key, both
    /// steps bijective.
    #[inline(always)]
    const fn tag(flow: u64) -> u64 {
        (flow ^ (flow >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !MEMBER_MASK
    }

    /// Slot at which the search for the tag of `word` begins.
    #[inline(always)]
    fn home(&self, word: u64) -> usize {
        (word >> (64 - self.bits)) as usize
    }

    /// Finds the slot of `tag`, or the empty slot that ends its cluster, with its word; `None` at the end of the table.
    #[inline(always)]
    fn find(&self, tag: u64) -> Option<(usize, u64)> {
        let mut at = self.home(tag);
        loop {
            let window = self.words.get(at..)?.first_chunk::<WINDOW>()?;
            // No flow lies beyond an empty slot, so a match needs no look at what is empty before it.
            let matches = matching(window, |word| word ^ tag <= MEMBER_MASK);
            if matches != 0 {
                let i = matches.trailing_zeros() as usize;
                return Some((at + i, *window.get(i)?));
            }
            let empty = matching(window, |word| word == EMPTY);
            if empty != 0 {
                return Some((at + empty.trailing_zeros() as usize, EMPTY));
            }
            at += WINDOW;
        }
    }

    /// Finds a flow that is known and near its home, as nearly all are: its slot, and its member bits. [`Self::find`]
    /// finds the others.
    ///
    /// At most one word differs from the tag in its member bits alone, so the least difference tells whether there is
    /// one; only tables with notes need its position.
    #[inline(always)]
    fn glance(&self, tag: u64) -> Option<(usize, u64)> {
        let home = self.home(tag);
        let window = self.words.get(home..)?.first_chunk::<WINDOW>()?;
        let [a, b, c, d] = window.map(|word| word ^ tag);
        let least = a.min(b).min(c.min(d));
        // Zero would be an empty slot under a tag of zeros.
        if least.wrapping_sub(1) >= MEMBER_MASK {
            return None;
        }
        let at = |difference: u64, i: usize| i * usize::from(difference <= MEMBER_MASK);
        Some((home + at(b, 1) + at(c, 2) + at(d, 3), least))
    }

    /// Finds the slot of `tag` and its member, or takes an empty slot and counts it.
    #[inline(never)]
    fn slot(&mut self, tag: u64) -> (Option<usize>, Option<u16>) {
        let mut slot = self.find(tag);
        if let Some((at, word)) = slot
            && word != EMPTY
        {
            return (Some(at), Some(member(word)));
        }
        while slot.is_none() || self.len >= Self::limit(self.bits) {
            self.grow();
            slot = self.find(tag);
        }
        self.len += 1;
        (slot.map(|(at, _)| at), None)
    }

    /// Moves everything to a table of twice the size. Homes keep their order, so this runs through both in order.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut bits = self.bits + 1;
        *self = loop {
            if let Some(larger) = self.copied(bits) {
                break larger;
            }
            bits += 1;
        };
    }

    /// Copies the flows to a table of 2^`bits` homes; `None` if a cluster reaches its end.
    fn copied(&self, bits: u32) -> Option<Self> {
        let mut copy = Self::with_bits(bits);
        for (&word, &note) in self.words.iter().zip(&self.notes).filter(|&(&word, _)| word != EMPTY) {
            let (at, _) = copy.find(word & !MEMBER_MASK)?;
            copy.put(at, word, note);
        }
        copy.len = self.len;
        Some(copy)
    }

    #[inline(always)]
    fn put(&mut self, at: usize, word: u64, note: N) {
        if let (Some(w), Some(n)) = (self.words.get_mut(at), self.notes.get_mut(at)) {
            *w = word;
            *n = note;
        }
    }

    /// Empties the slot `hole`, moving back the flows that would not be found otherwise.
    fn remove(&mut self, mut hole: usize) {
        let mut at = hole + 1;
        while let (Some(&word), Some(&note)) = (self.words.get(at), self.notes.get(at))
            && word != EMPTY
        {
            if self.home(word) <= hole {
                self.put(hole, word, note);
                hole = at;
            }
            at += 1;
        }
        self.put(hole, EMPTY, N::default());
        self.len -= 1;
    }
}

/// Makes a word with one bit for each word of the window that passes `test`.
#[inline(always)]
fn matching(window: &[u64; WINDOW], test: impl Fn(u64) -> bool) -> u32 {
    window.iter().enumerate().fold(0, |bits, (i, &word)| bits | u32::from(test(word)) << i)
}

#[inline(always)]
const fn member(word: u64) -> u16 {
    (word & MEMBER_MASK).wrapping_sub(1) as u16
}

impl<N: Copy + Default> Flows for FlowTable<N> {
    type Note = N;

    #[inline(always)]
    fn get(&self, flow: u64) -> Option<(u16, N)> {
        let tag = Self::tag(flow);
        let (at, word) = match self.glance(tag) {
            Some(known) => known,
            None => self.find(tag).filter(|&(_, word)| word != EMPTY)?,
        };
        Some((member(word), *self.notes.get(at)?))
    }

    #[inline(always)]
    fn upsert<D>(&mut self, flow: u64, decide: D) -> u16
    where
        D: FnOnce(Option<(u16, N)>) -> (u16, N),
    {
        let tag = Self::tag(flow);
        let (slot, known) = match self.glance(tag) {
            Some((at, word)) => (Some(at), Some(member(word))),
            None => self.slot(tag),
        };
        let note = |at: usize| self.notes.get(at).copied().unwrap_or_default();
        let (decided, note) = decide(known.map(|member| (member, slot.map(note).unwrap_or_default())));
        if let Some(at) = slot
            && (size_of::<N>() > 0 || known != Some(decided))
        {
            self.put(at, tag | (u64::from(decided) + 1) & MEMBER_MASK, note);
        }
        decided
    }

    #[inline]
    fn sweep<O, F>(&mut self, slots: usize, over: O, mut freed: F)
    where
        O: Fn(u16, &N) -> bool,
        F: FnMut(u16),
    {
        // Downwards, and a full sweep from the end: what a removal moves was visited before and is kept.
        let mut left = slots;
        if slots >= self.words.len() {
            left = self.words.len();
            self.hand = left;
        }
        while left > 0 {
            if self.hand == 0 {
                self.hand = self.words.len();
            }
            let run = self.hand.saturating_sub(left.min(SWEPT_AT_ONCE))..self.hand;
            let mut found = 0u64;
            if let (Some(words), Some(notes)) = (self.words.get(run.clone()), self.notes.get(run.clone())) {
                for (i, (&word, note)) in words.iter().zip(notes).enumerate() {
                    found |= u64::from((word != EMPTY) & over(member(word), note)) << (i & 63);
                }
            }
            while found != 0 {
                let i = 63 - found.leading_zeros();
                let at = run.start + i as usize;
                freed(self.words.get(at).map_or(0, |&word| member(word)));
                self.remove(at);
                found ^= 1 << i;
            }
            left -= run.len();
            self.hand = run.start;
        }
    }

    /// Fetches the home of `flow`. It saves 30 % at 120 thousand flows with notes and half the time at a million,
    /// nothing below 40 thousand.
    #[inline(always)]
    fn prefetch(&self, flow: u64) {
        let home = self.home(Self::tag(flow));
        prefetch(self.words.as_ptr().wrapping_add(home));
        prefetch(self.notes.as_ptr().wrapping_add(home));
    }

    fn len(&self) -> usize {
        self.len
    }

    fn slots(&self) -> usize {
        self.words.len()
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.words[..]) + size_of_val(&self.notes[..])
    }
}
