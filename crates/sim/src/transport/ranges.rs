//! Sets of stream bytes: sorted, disjoint ranges that neither touch nor overlap.

use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of a stream. Its room is kept when it empties.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    ranges: VecDeque<Range<u64>>,
    bytes: u64,
}

impl Ranges {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
        self.bytes = 0;
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// How many bytes.
    #[inline(always)]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ranges by ascending position.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }

    /// The lowest range.
    #[inline]
    pub(super) fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().cloned()
    }

    /// Index of the first range that ends behind `at`.
    #[inline]
    fn behind(&self, at: u64) -> usize {
        // Most questions concern the newest bytes.
        match self.ranges.back() {
            Some(last) if last.end <= at => self.ranges.len(),
            Some(last) if last.start <= at => self.ranges.len() - 1,
            _ => self.ranges.partition_point(|r| r.end <= at),
        }
    }

    /// The range that holds `at`.
    #[inline]
    pub(super) fn around(&self, at: u64) -> Option<Range<u64>> {
        self.ranges.get(self.behind(at)).filter(|r| r.start <= at).cloned()
    }

    /// The first range that ends behind `at`.
    #[inline]
    pub(super) fn after(&self, at: u64) -> Option<Range<u64>> {
        self.ranges.get(self.behind(at)).cloned()
    }

    /// Adds a range; how many bytes are new.
    pub(super) fn insert(&mut self, new: Range<u64>) -> u64 {
        if new.is_empty() {
            return 0;
        }
        // Ranges that touch the new one melt into it.
        let first = match self.ranges.back() {
            Some(last) if last.end < new.start => self.ranges.len(),
            Some(last) if last.start <= new.start => self.ranges.len() - 1,
            _ => self.ranges.partition_point(|r| r.end < new.start),
        };
        let mut melted = new;
        let mut end = first;
        let mut known = 0;
        while let Some(old) = self.ranges.get(end).filter(|r| r.start <= melted.end) {
            known += old.end - old.start;
            melted = melted.start.min(old.start)..melted.end.max(old.end);
            end += 1;
        }
        let added = melted.end - melted.start - known;
        match end - first {
            0 => self.ranges.insert(first, melted),
            1 => self.ranges[first] = melted,
            _ => {
                self.ranges[first] = melted;
                self.ranges.drain(first + 1..end);
            }
        }
        self.bytes += added;
        added
    }

    /// Takes a range out; how many bytes were in.
    pub(super) fn remove(&mut self, gone: Range<u64>) -> u64 {
        if gone.is_empty() {
            return 0;
        }
        let first = self.behind(gone.start);
        let mut at = first;
        let mut removed = 0;
        while let Some(old) = self.ranges.get(at).filter(|r| r.start < gone.end).cloned() {
            removed += old.end.min(gone.end) - old.start.max(gone.start);
            match (old.start < gone.start, gone.end < old.end) {
                (true, true) => {
                    self.ranges[at].end = gone.start;
                    self.ranges.insert(at + 1, gone.end..old.end);
                    break;
                }
                (true, false) => {
                    self.ranges[at].end = gone.start;
                    at += 1;
                }
                (false, true) => {
                    self.ranges[at].start = gone.end;
                    break;
                }
                (false, false) => {
                    self.ranges.remove(at);
                }
            }
        }
        self.bytes -= removed;
        removed
    }

    /// Takes out all below `at`; how many bytes were in.
    #[inline]
    pub(super) fn remove_below(&mut self, at: u64) -> u64 {
        let mut removed = 0;
        while let Some(first) = self.ranges.front_mut() {
            if first.end <= at {
                removed += first.end - first.start;
                self.ranges.pop_front();
            } else {
                if first.start < at {
                    removed += at - first.start;
                    first.start = at;
                }
                break;
            }
        }
        self.bytes -= removed;
        removed
    }

    /// Adds those bytes of `span` that `except` lacks; how many are new.
    pub(super) fn insert_except(&mut self, span: Range<u64>, except: &Self) -> u64 {
        let mut added = 0;
        let mut at = span.start;
        let mut index = except.behind(at);
        while at < span.end {
            let next = except.ranges.get(index).cloned().unwrap_or(u64::MAX..u64::MAX);
            added += self.insert(at..next.start.min(span.end).max(at));
            at = next.end;
            index += 1;
        }
        added
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;
    use proptest::prelude::*;

    /// One bit per byte: the definition.
    fn bits(ranges: &Ranges) -> u128 {
        ranges.iter().flatten().fold(0, |set, at| set | 1 << at)
    }

    fn span() -> impl Strategy<Value = std::ops::Range<u64>> {
        (0u64..100, 0u64..28).prop_map(|(start, length)| start..start + length)
    }

    fn mask(span: std::ops::Range<u64>) -> u128 {
        span.fold(0, |set, at| set | 1 << at)
    }

    proptest! {
        #[test]
        fn ranges_are_a_set_of_bytes(steps in prop::collection::vec((0u8..4, span()), 1..60)) {
            let (mut ranges, mut other) = (Ranges::default(), Ranges::default());
            let (mut set, mut except) = (0u128, 0u128);
            for (step, span) in steps {
                let before = set.count_ones();
                let changed = match step {
                    0 => {
                        set |= mask(span.clone());
                        ranges.insert(span.clone())
                    }
                    1 => {
                        set &= !mask(span.clone());
                        ranges.remove(span.clone())
                    }
                    2 => {
                        set &= !mask(0..span.start);
                        ranges.remove_below(span.start)
                    }
                    _ => {
                        set |= mask(span.clone()) & !except;
                        ranges.insert_except(span.clone(), &other)
                    }
                };
                if step == 0 && span.start % 3 == 0 {
                    except |= mask(span.clone());
                    other.insert(span.clone());
                }
                prop_assert_eq!(bits(&ranges), set);
                prop_assert_eq!(changed, u64::from(set.count_ones().abs_diff(before)));
                prop_assert_eq!(ranges.bytes(), u64::from(set.count_ones()));
                prop_assert_eq!(ranges.around(span.start).is_some(), set >> span.start & 1 == 1);
                let apart = ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.end < b.start);
                prop_assert!(apart && ranges.iter().all(|r| !r.is_empty()));
            }
        }
    }
}
