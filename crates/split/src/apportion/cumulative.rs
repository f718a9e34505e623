//! Intervals of 32-bit hashes in proportion to weights: cumulative rounding, off by less than one hash of 2^32.

use crate::picks::cumulative::Bounds;
use std::vec::Vec;

/// Number of hashes.
pub const HASHES: u64 = 1 << 32;

/// Number of hashes of each member, `HASHES` in sum: the differences of the rounded cumulative weights, raised to one
/// hash for any positive weight. At least one weight must be positive.
#[must_use]
pub fn widths(weights: &[u64]) -> Vec<u64> {
    let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
    let mut left = weights.iter().filter(|&&w| w > 0).count() as u64;
    let (mut cumulative, mut end) = (0u128, 0u64);
    weights
        .iter()
        .map(|&weight| {
            if weight == 0 {
                return 0;
            }
            cumulative += u128::from(weight);
            left -= 1;
            let rounded = (2 * cumulative * u128::from(HASHES) + total) / (2 * total);
            let begin = end;
            end = (rounded as u64).clamp(begin + 1, HASHES - left);
            end - begin
        })
        .collect()
}

/// Bounds that give each member its `widths`; at most `N` members.
#[must_use]
pub fn bounds<const N: usize>(widths: &[u64]) -> Bounds<N> {
    let first = widths.iter().position(|&w| w > 0).unwrap_or(0);
    let mut last = [u32::MAX; N];
    let mut end = 0;
    for (bound, width) in last.iter_mut().zip(&widths[first..]) {
        end += width;
        *bound = (end - 1) as u32;
    }
    Bounds { first: first as u16, last }
}
