//! Index of connections: from a hash to the numbers of the rows that may have it.
//!
//! Slots of eight bytes, a tag and a number, stand eight to a cache line. The tag is the hash's upper half, and its top bits
//! say in which line the search begins: a probe reads one line and, mostly, no row of another connection, and the index
//! grows without a look at any row.

use anabranch_split::prefetch::prefetch;

const SLOTS: usize = 8;

/// A tag above the row's number plus one. Zero is a free slot; free slots stand behind the others.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line([u64; SLOTS]);

const _: () = assert!(size_of::<Line>() == 64);

#[derive(Debug)]
pub(super) struct Index {
    /// As many as a power of two.
    lines: Vec<Line>,
    rows: usize,
}

/// Search among the rows of one tag.
pub(super) struct Search {
    tag: u32,
    line: usize,
    slot: usize,
}

impl Index {
    pub(super) fn new() -> Self {
        Self { lines: vec![Line::default()], rows: 0 }
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        // Lines are at most 2^32, so that this is below their number.
        ((u64::from(tag) * self.lines.len() as u64) >> 32) as usize
    }

    #[inline]
    fn tag(hash: u64) -> u32 {
        (hash >> 32) as u32
    }

    /// Asks for the line in which a search for this hash begins.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch(&raw const self.lines[self.home(Self::tag(hash))]);
    }

    /// Begins a search for the rows of a hash.
    #[inline]
    pub(super) fn search(&self, hash: u64) -> Search {
        let tag = Self::tag(hash);
        Search { tag, line: self.home(tag), slot: 0 }
    }

    /// Next row that has the tag; `None` when there is no other.
    #[inline]
    pub(super) fn next(&self, search: &mut Search) -> Option<u32> {
        loop {
            let Line(slots) = &self.lines[search.line];
            let mut same = 0u32;
            for (number, &slot) in slots.iter().enumerate() {
                same |= u32::from((slot >> 32) as u32 == search.tag) << number;
            }
            same &= u32::MAX.unbounded_shl(search.slot as u32);
            if same != 0 {
                let slot = same.trailing_zeros() as usize;
                search.slot = slot + 1;
                // Free slots look like those of tag zero.
                return (slots[slot] as u32).checked_sub(1);
            }
            if slots[SLOTS - 1] == 0 {
                return None;
            }
            search.line = self.behind(search.line);
            search.slot = 0;
        }
    }

    /// Line behind another, the first behind the last.
    #[inline]
    fn behind(&self, line: usize) -> usize {
        (line + 1) & (self.lines.len() - 1)
    }

    /// Adds the next row, and returns its number: that of rows so far.
    ///
    /// # Panics
    /// Panics at the 2^32nd row.
    pub(super) fn push(&mut self, hash: u64) -> u32 {
        if 4 * (self.rows + 1) > 3 * SLOTS * self.lines.len() {
            self.grow();
        }
        self.rows += 1;
        let number = u32::try_from(self.rows).expect("fewer than 2^32 connections");
        self.put(u64::from(Self::tag(hash)) << 32 | u64::from(number));
        number - 1
    }

    fn put(&mut self, slot: u64) {
        let mut line = self.home(Self::tag(slot));
        loop {
            if let Some(free) = self.lines[line].0.iter_mut().find(|slot| **slot == 0) {
                *free = slot;
                return;
            }
            line = self.behind(line);
        }
    }

    /// Doubles the lines. Both are gone through from the front.
    #[cold]
    fn grow(&mut self) {
        let doubled = vec![Line::default(); 2 * self.lines.len()];
        for Line(slots) in std::mem::replace(&mut self.lines, doubled) {
            slots.into_iter().filter(|&slot| slot != 0).for_each(|slot| self.put(slot));
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Rows that a search for a hash yields.
    fn found(index: &Index, hash: u64) -> Vec<u32> {
        let mut search = index.search(hash);
        std::iter::from_fn(|| index.next(&mut search)).take(1 + index.rows).collect()
    }

    #[test]
    fn every_row_is_found_by_its_tag_and_no_other() {
        let mut index = Index::new();
        let mut expected: HashMap<u32, Vec<u32>> = HashMap::new();
        // More of the last tags than their line holds, so that they go on in the first, tag zero, which free slots have, and
        // tags that share a line.
        let tags = (0..3).chain((0..30).map(|n| u32::MAX - n % 3)).chain((0..2000u32).map(|n| n * n % 700));
        for (row, tag) in (0..).zip(tags) {
            assert_eq!(index.push(u64::from(tag) << 32 | 5), row);
            expected.entry(tag).or_default().push(row);
        }
        for (tag, rows) in &expected {
            let mut there = found(&index, u64::from(*tag) << 32);
            there.sort_unstable();
            assert_eq!(&there, rows, "tag {tag}");
        }
        assert!(found(&index, 0x1234_5678 << 32).is_empty());
        assert!(index.memory_bytes() <= 2033 * 8 * 3);
    }

    #[test]
    fn nothing_is_found_in_an_empty_index() {
        assert!(found(&Index::new(), 0).is_empty());
    }
}
