//! Alias columns from whole numbers of hashes, so that the columns carry the intervals' shares without rounding.

use super::cumulative::HASHES;
use crate::picks::alias::Column;
use std::boxed::Box;
use std::vec;
use std::vec::Vec;

/// Fills `N` columns with the members' `widths` (at most `N` members, [`HASHES`] in sum): Vose, "A linear algorithm
/// for generating random numbers with a given distribution" (IEEE TSE 1991), over integers.
#[must_use]
pub fn columns<const N: usize>(widths: &[u64]) -> Box<[Column; N]> {
    let capacity = HASHES / N as u64;
    let mut rest = widths.to_vec();
    rest.resize(N, 0);
    let (mut short, mut long): (Vec<usize>, Vec<usize>) = (0..N).rev().partition(|&i| rest[i] < capacity);
    let mut columns = vec![Column::default(); N].into_boxed_slice();
    while let (Some(&donor), Some(column)) = (long.last(), short.pop()) {
        columns[column] = Column {
            split: (column as u64 * capacity + rest[column]) as u32,
            lower: column as u16,
            upper: donor as u16,
        };
        rest[donor] -= capacity - rest[column];
        if rest[donor] < capacity {
            long.pop();
            short.push(donor);
        }
    }
    // What is left holds exactly its column: the widths sum to the columns.
    for column in long {
        columns[column] = Column { split: 0, lower: column as u16, upper: column as u16 };
    }
    columns.try_into().unwrap_or_else(|_| unreachable!("the vector was made with N columns"))
}
