//! Bytes of a stream that came in some order: all below a point, and ranges beyond it.

use crate::transport::ranges::Ranges;
use std::ops::Range;

/// A set of bytes, most of them the stream's first.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    /// All below are in.
    end: u64,
    /// Bytes beyond it that are in.
    ahead: Ranges,
}

impl Prefix {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.end = 0;
        self.ahead.clear();
    }

    /// The lowest byte that is not in.
    #[inline(always)]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Adds a range, of which some may be in.
    #[inline]
    pub(super) fn insert(&mut self, span: Range<u64>) {
        if span.start > self.end {
            self.ahead.insert(span);
        } else if span.end > self.end {
            self.end = span.end;
            if !self.ahead.is_empty() {
                self.end = self.ahead.around(span.end).map_or(span.end, |range| range.end);
                self.ahead.remove_below(self.end);
            }
        }
    }

    /// The first bytes of `span` that are not in.
    pub(super) fn first_missing(&self, span: Range<u64>) -> Range<u64> {
        let mut start = span.start.max(self.end);
        if let Some(range) = self.ahead.around(start) {
            start = range.end;
        }
        let end = self.ahead.after(start).map_or(span.end, |range| range.start.min(span.end));
        start..end.max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::Prefix;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_prefix_is_a_set_of_bytes(spans in prop::collection::vec((0u64..100, 1u64..20), 1..40)) {
            let mut prefix = Prefix::default();
            let mut set = [false; 130];
            for (start, length) in spans {
                prefix.insert(start..start + length);
                set[start as usize..(start + length) as usize].fill(true);
                let first_out = set.iter().position(|&is_in| !is_in).unwrap();
                prop_assert_eq!(prefix.end(), first_out as u64);
                let span = start / 2..start / 2 + 30;
                let is_out = |at: &u64| !set[*at as usize];
                let found = prefix.first_missing(span.clone());
                match span.clone().find(is_out) {
                    None => prop_assert!(found.is_empty()),
                    Some(first) => {
                        let end = (first..span.end).find(|at| !is_out(at)).unwrap_or(span.end);
                        prop_assert_eq!(found, first..end);
                    }
                }
            }
        }
    }
}
